"""Numbers of the paper's simulation study, to set beside ours.

Table of section S.3: terminal mean error and coverage of the symmetric-pair procedure at
n = 32,000 with Gaussian noise, 500 repetitions. Of the other methods section 5.1 states only the
worst coverage of the same-trajectory regression, in designs B and E.
"""

from __future__ import annotations

import math

import pandas as pd

#: Sample size and repetitions of the table.
PAPER_N, PAPER_REPETITIONS = 32000, 500

_EPSILONS = (math.inf, 8.0, 4.0, 2.0, 1.0)

_ERROR = {
    "A": (0.0012, 0.0099, 0.0175, 0.0236, 0.0213),
    "B": (0.0082, 0.0196, 0.0335, 0.0396, 0.0303),
    "C": (0.0013, 0.0135, 0.0229, 0.0348, 0.0322),
    "D": (0.0023, 0.0122, 0.0231, 0.0394, 0.0464),
    "E": (0.0025, 0.0079, 0.0143, 0.0273, 0.0539),
    "F": (0.0107, 0.0632, 0.1109, 0.1764, 0.1632),
}
_COVERAGE = {
    "A": (0.962, 0.950, 0.964, 0.990, 1.000),
    "B": (0.944, 0.948, 0.950, 0.996, 1.000),
    "C": (0.950, 0.936, 0.962, 0.994, 1.000),
    "D": (0.954, 0.956, 0.952, 0.954, 1.000),
    "E": (0.944, 0.936, 0.942, 0.972, 0.962),
    "F": (0.950, 0.948, 0.968, 0.994, 1.000),
}

#: Lowest terminal coverage of the same-trajectory regression.
TRAJECTORY_WORST = {"B": 0.732, "E": 0.800}


def paper_table():
    """Paper's terminal errors and coverages, one row for each design and epsilon."""
    rows = [
        (design, epsilon, error, coverage)
        for design in _ERROR
        for epsilon, error, coverage in zip(_EPSILONS, _ERROR[design], _COVERAGE[design])
    ]
    return pd.DataFrame(rows, columns=["design", "epsilon", "paper_error", "paper_coverage"])
