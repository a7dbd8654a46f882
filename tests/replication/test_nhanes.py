"""The NHANES application: its fixed numbers, its oracle, and the coverage of its regions."""

import math

import numpy as np
import pytest

from geomstats_ldp.datasets import NHANES_2015_2016, load_nhanes_body_measures
from geomstats_ldp.losses import PCALoss
from geomstats_ldp.replication.nhanes import (
    EPSILONS,
    batch_direction,
    clipped_fraction,
    nhanes_estimator,
    oracle_semi_axis,
    repeat_nhanes,
    run_nhanes,
    standardised_measures,
)


@pytest.fixture(scope="module")
def data():
    return standardised_measures()


def test_numbers_that_do_not_depend_on_noise(data):
    assert data.shape == (5175, 3)
    assert np.round(batch_direction(data), 3).tolist() == [0.413, 0.670, 0.617]
    assert round(clipped_fraction(data), 3) == 0.116
    record, _, _ = run_nhanes(data, epsilon=8.0)
    assert (record.n_participants, record.n_pairs, record.n_regression_pairs) == (5175, 2587, 2568)
    assert abs(record.gram_condition_number - 1) < 1e-9


def test_without_privacy(data):
    record, estimator, region = run_nhanes(data, epsilon=math.inf)
    assert record.angle_error_deg < 1
    assert 2.2 < record.semi_axis_deg < 3.2
    assert region.contains(batch_direction(data))
    assert "NOT PRIVATE" in repr(estimator.protocol_.mechanism)


def test_oracle_is_the_published_yardstick(data):
    expected = {8: 2.44, 4: 3.92, 2: 7.60, 1: 14.91}
    for epsilon, degrees in expected.items():
        assert oracle_semi_axis(data, "privunit", epsilon) == pytest.approx(degrees, abs=0.006)


def test_oracle_hessian_is_the_second_derivative_of_the_mean_loss(data):
    """Second differences of the mean loss along geodesics through the batch direction."""
    target = batch_direction(data)
    loss, step = PCALoss(norm_bound=2.5), 1e-4
    geometry = nhanes_estimator().start().protocol_.geometry
    frame = geometry.lift(np.eye(2), target)
    clipped = loss.clip(geometry, data)
    hessian = (
        frame
        @ (
            np.max(np.linalg.eigvalsh(clipped.T @ clipped / len(data))) * np.eye(3)
            - clipped.T @ clipped / len(data)
        )
        @ frame.T
    )
    for direction in np.array([[1, 0], [0, 1], [0.6, 0.8]]):
        vector = step * geometry.lift(direction, target)
        values = [
            loss.value(geometry, geometry.exp(s * vector, target), clipped).mean()
            for s in (-1, 0, 1)
        ]
        curvature = (values[0] - 2 * values[1] + values[2]) / step**2
        # Truncation is of order step^2 and rounding of order 1e-16 / step^2.
        assert curvature == pytest.approx(direction @ hessian @ direction, abs=1e-6)


def test_preconditioner_inverts_the_earlier_eigengap_hessian():
    protocol = nhanes_estimator().start().protocol_
    geometry = protocol.geometry
    np.testing.assert_allclose(geometry.reference, NHANES_2015_2016.leading_direction())
    hessian = NHANES_2015_2016.eigengap_hessian(geometry.basis)
    np.testing.assert_allclose(np.array(protocol.preconditioner) @ hessian, np.eye(2), atol=1e-9)


def test_protocol_reads_no_analysis_data(data):
    """The plan depends on the number of rows, never on their values."""
    protocols = [
        nhanes_estimator(random_state=0).fit(rows).protocol_
        for rows in (data[:400], data[:400][::-1] * 3 + 1)
    ]
    assert protocols[0] == protocols[1]
    raw = load_nhanes_body_measures().data
    assert np.array_equal(NHANES_2015_2016.standardise(raw), data)


#: Longest semi-axes, in degrees, of the single runs of the paper with Gaussian noise.
PUBLISHED = {8.0: 19.75, 4.0: 50.23, 2.0: 82.98, 1.0: 86.30}


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_coverage_of_resampled_participants(data, epsilon):
    """500 runs: the region covers the batch direction as it promises.

    The Monte Carlo standard error at 0.95 is 0.0097; the band is 0.95 - 3.1 to 0.95 + 3.1 of it.
    Regions of 100 runs with Gaussian noise are far wider.
    """
    private = repeat_nhanes(data, "privunit", epsilon, repetitions=500, seed=1)
    assert 0.92 <= private.coverage <= 0.98
    ratio = private.median_semi_axis_deg / private.oracle_semi_axis_deg
    assert ratio <= {math.inf: 1.25, 8.0: 1.25, 4.0: 1.25, 2.0: 1.5, 1.0: 2.0}[epsilon]
    assert ratio >= 1.0
    if epsilon in PUBLISHED:
        noisy = repeat_nhanes(data, "gaussian", epsilon, repetitions=100, seed=2)
        assert noisy.oracle_semi_axis_deg < noisy.median_semi_axis_deg < PUBLISHED[epsilon]
        assert private.median_semi_axis_deg < 0.5 * noisy.median_semi_axis_deg
        assert noisy.coverage >= 0.92
