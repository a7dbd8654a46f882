"""Estimates from a CSV file: ``geomstats-ldp fit``."""
