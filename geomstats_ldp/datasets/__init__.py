"""Small public data sets, shipped with the package together with their provenance."""

from geomstats_ldp.datasets.nhanes import (
    NHANES_2015_2016,
    BodyMeasuresReference,
    load_nhanes_body_measures,
)

__all__ = [
    "load_nhanes_body_measures",
    "NHANES_2015_2016",
    "BodyMeasuresReference",
]
