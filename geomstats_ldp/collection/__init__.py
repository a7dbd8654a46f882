"""A collection that runs: transport, time and storage around `RoundServer`.

Needs the extra ``geomstats-ldp[collection]``. What handles requests never imports what sees data;
only `device`, which runs at the participant's, and `study`, which makes a protocol out of an
estimator, do.
"""
