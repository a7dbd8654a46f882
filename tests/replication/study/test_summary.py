"""Summaries against numbers worked out by hand."""

import math

import numpy as np
import pandas as pd
import pytest

from geomstats_ldp.planning.oracle import oracle_semi_axes
from geomstats_ldp.replication.study.designs import load_design
from geomstats_ldp.replication.study.paper_results import PAPER_N, PAPER_REPETITIONS, paper_table
from geomstats_ldp.replication.study.report import study_tables
from geomstats_ldp.replication.study.summary import (
    beside_paper,
    compare_methods,
    summarise,
    to_markdown,
)
from geomstats_ldp.replication.study.tuning import design_mechanism


def rows_of(design="A", epsilon=8.0, n=400, method="spr", errors=(), covered=(), axes=()):
    return pd.DataFrame(
        {
            "design": design,
            "mechanism": "gaussian",
            "epsilon": epsilon,
            "method": method,
            "tuning": "paper",
            "n": n,
            "repetition": range(len(errors)),
            "error": errors,
            "covered": covered,
            "semi_axis_1": axes,
            "informative": [True] * (len(errors) - 1) + [False],
            "hessian_floor_active": [True] + [False] * (len(errors) - 1),
            "hessian_bound_active": False,
        }
    )


def test_summary_by_hand():
    rows = pd.concat(
        [
            rows_of(
                errors=[0.1, 0.2, 0.3, 0.6],
                covered=[True, True, True, False],
                axes=[0.2, 0.3, 0.5, 0.9],
            ),
            rows_of("B", math.inf, errors=[0.1, 0.3], covered=[True, True], axes=[0.1, 0.3]),
        ]
    )
    first, second = (row._asdict() for row in summarise(rows).itertuples())
    assert (first["design"], first["epsilon"], first["repetitions"]) == ("A", 8.0, 4)
    assert math.isclose(first["error"], 0.3)
    # Squares of the deviations: 0.04 + 0.01 + 0 + 0.09.
    assert math.isclose(first["error_se"], math.sqrt(0.14 / 3 / 4))
    assert first["coverage"] == 0.75
    assert math.isclose(first["coverage_se"], math.sqrt(0.75 * 0.25 / 4))
    assert math.isclose(first["semi_axis"], 0.4)
    assert (first["hessian_floor_active"], first["hessian_bound_active"]) == (0.25, 0)
    assert math.isclose(first["uninformative"], 0.25)
    design = load_design("A")
    oracle = oracle_semi_axes(design, design_mechanism(design, "gaussian", 8.0), 400)[0]
    assert math.isclose(first["oracle_semi_axis"], oracle)
    assert math.isclose(first["ratio"], 0.4 / oracle)
    assert (second["design"], second["epsilon"], second["coverage_se"]) == ("B", math.inf, 0)
    assert math.isclose(second["error_se"], 0.1)


def test_beside_the_paper_by_hand(made_up_summary):
    summary = made_up_summary()
    at = (summary["design"] == "A") & (summary["epsilon"] == 8.0) & (summary["method"] == "spr")
    summary.loc[at & (summary["n"] == 32000), ["error", "coverage"]] = [0.0108, 0.93]
    summary.loc[at, "repetitions"] = 96
    table = beside_paper(summary)
    assert len(table) == 2 * 3  # designs and epsilons of the made-up summary, once
    row = table[(table["design"] == "A") & (table["epsilon"] == 8.0)].iloc[0]
    assert math.isclose(row["error_difference"], 0.0108 / 0.0099 - 1)
    ours, theirs = (0.93 * 96 + 2) / 100, (475 + 2) / 504
    variance = ours * (1 - ours) / 100 + theirs * (1 - theirs) / 504
    assert math.isclose(row["coverage_z"], (0.93 - 0.95) / math.sqrt(variance))
    perfect = table[(table["design"] == "A") & (table["epsilon"] == 1.0)].iloc[0]
    assert perfect["paper_coverage"] == 1.0 and np.isfinite(perfect["coverage_z"])


def test_only_what_the_paper_did_is_set_beside_it(made_up_summary):
    summary = made_up_summary(mechanisms=("privunit",))
    assert beside_paper(summary).empty
    assert beside_paper(made_up_summary().query("n < 32000")).empty


def test_the_table_of_the_paper():
    table = paper_table().set_index(["design", "epsilon"])
    assert len(table) == 30 and (PAPER_N, PAPER_REPETITIONS) == (32000, 500)
    assert tuple(table.loc[("A", math.inf)]) == (0.0012, 0.962)
    assert tuple(table.loc[("B", 4.0)]) == (0.0335, 0.950)
    assert tuple(table.loc[("C", 8.0)]) == (0.0135, 0.936)
    assert tuple(table.loc[("F", 1.0)]) == (0.1632, 1.000)
    # Section 5.2: ranges at epsilon 8, 4 and inf, and the smallest at epsilon 1.
    ranges = table["paper_coverage"].groupby("epsilon").agg(["min", "max"])
    assert tuple(ranges.loc[8.0]) == (0.936, 0.956)
    assert tuple(ranges.loc[4.0]) == (0.942, 0.968)
    assert tuple(ranges.loc[math.inf]) == (0.944, 0.962)
    assert ranges.loc[1.0, "min"] == 0.962


def test_methods_side_by_side(made_up_summary):
    table = compare_methods(made_up_summary())
    assert table.index.tolist()[:2] == [("gaussian", "A", math.inf), ("gaussian", "A", 8.0)]
    row = table.loc[("gaussian", "B", 8.0)]
    assert math.isclose(row["error_half_sample"], 1.5 * row["error_spr"])
    assert row["coverage_trajectory"] == 0.75


def test_markdown():
    table = pd.DataFrame({"design": ["A", "B"], "epsilon": [math.inf, 8.0], "x": [0.12345, np.nan]})
    assert to_markdown(table, {"x": 3}) == (
        "| design | epsilon | x |\n| --- | --- | --- |\n| A | inf | 0.123 |\n| B | 8 |  |\n"
    )


def test_tables_hold_every_part(made_up_summary):
    text = study_tables(made_up_summary(mechanisms=("gaussian", "privunit")))
    for title in (
        "## gaussian, paper tuning, symmetric pairs, n = 32,000",
        "## privunit, paper tuning",
        "## Beside the paper",
        "## Methods",
    ):
        assert text.count(title) == 1
    assert "n = 8,000" not in text


def test_rounds_stand_beside_pairs(made_up_summary):
    summary = made_up_summary(methods=("spr", "rounds")).assign(tuning="default")
    text = study_tables(summary)
    assert "## gaussian, default tuning, rounds, n = 32,000" in text
    assert "## Methods, default tuning" in text
    table = compare_methods(summary, "default")
    np.testing.assert_allclose(table["error_rounds"], 1.05 * table["error_spr"])


@pytest.mark.parametrize("methods", [("spr",), ("spr", "half_sample")])
def test_tables_of_part_of_a_study(made_up_summary, methods):
    text = study_tables(made_up_summary(methods=methods))
    assert ("## Methods" in text) == (len(methods) > 1)
