"""Audit what devices release, and what doubles would have told; print a table in Markdown.

python docs/audit/run.py            # some minutes
python docs/audit/run.py --n 4000   # sharper
"""

from __future__ import annotations

import argparse

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.testing import audit_release, candidate_release, direct_release
from geomstats_ldp.testing.audit import largest_bound

MECHANISMS = {"privunit": 0.0, "l2_ball": 0.0, "gaussian": 1e-6}
DIMS = (1, 2, 3, 9, 30)
EPSILONS = (0.1, 1.0, 4.0, 8.0, 12.0)


def bounds(mechanism, release, n):
    """Largest bounds over two pairs of scores, opposite and zero against an axis."""
    axis = mechanism.bound * np.eye(mechanism.dim)[0]
    unit = getattr(mechanism, "sigma", mechanism.support_radius)
    pairs = ((axis, -axis), (0 * axis, axis))
    options = {"n": n, "unit": unit, "delta": mechanism.delta}
    return max(audit_release(release(mechanism), pair, **options).epsilon for pair in pairs)


def main():
    """Print one row for each mechanism and dimension."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=500, help="messages for each score")
    n = parser.parse_args().n
    print(f"n = {n}: no bound exceeds {largest_bound(n):.2f}\n")
    header = [f"epsilon = {epsilon:g}" for epsilon in EPSILONS]
    print("| mechanism | d |", " | ".join(header), "|")
    print("| --- | ---: |", " | ".join(["---:"] * len(EPSILONS)), "|")
    for name, delta in MECHANISMS.items():
        for dim in DIMS:
            cells = []
            for epsilon in EPSILONS:
                mechanism = make_mechanism(name, epsilon=epsilon, delta=delta, dim=dim, bound=1.0)
                try:
                    mechanism.check_releasable()
                    device = f"{bounds(mechanism, candidate_release, n):.2f}"
                except ProtocolError:
                    device = "refused"
                doubles = bounds(mechanism, direct_release, n)
                cells.append(f"{device} / {doubles:.2f}")
            print(f"| {name} | {dim} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
