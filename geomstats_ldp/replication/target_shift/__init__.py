"""What noise on data, instead of on scores, does to the target (section S.4 of the paper)."""
