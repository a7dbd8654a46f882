"""Studies on real and simulated data that the command line runs."""
