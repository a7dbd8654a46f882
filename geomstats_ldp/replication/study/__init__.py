"""The simulation study of the paper: designs A to F, the methods, their tables and figures."""
