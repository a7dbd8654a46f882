"""Everything that reproduces the paper, and nothing that a collection needs.

``baselines`` are the two alternatives to symmetric pairs, ``study`` is the simulation study,
``nhanes`` the application to body measures, and ``commands`` runs the last two from the command
line. The rest of the package works without this folder: nothing in it imports from here, except
the command line when it is started.
"""
