"""Commands of ``python -m geomstats_ldp`` that run the paper's application and study."""
