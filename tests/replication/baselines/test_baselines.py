"""The two baselines: who is asked what, and what comes out."""

import inspect
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from geomstats_ldp.exceptions import (
    HessianFloorWarning,
    NotReadyError,
    ProtocolError,
    UninformativeRegionWarning,
)
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.protocol import GainRule
from geomstats_ldp.replication.baselines import (
    HalfSampleProbes,
    ProbeRadius,
    SameTrajectoryRegression,
)
from geomstats_ldp.replication.baselines import emulation as baseline_emulation

MECHANISMS = [
    {"epsilon": 4.0},
    {"epsilon": 4.0, "mechanism": "gaussian", "delta": 1e-6},
    {"epsilon": np.inf},
]


#: What says nothing else is run by the interpreter: compiling takes longer than a few hundred rows.
COMMON = {"random_state": 0, "engine": "geomstats"}


def trajectory(protocol, **options):
    return SameTrajectoryRegression(protocol, **COMMON | options)


def half_sample(protocol, **options):
    return HalfSampleProbes(protocol, **COMMON | {"probe_radius": ProbeRadius(0.5, 0.05)} | options)


BOTH = pytest.mark.parametrize("make", [trajectory, half_sample])


def assert_same_fit(one, other, tolerance=0.0):
    assert one.n_participants == other.n_participants
    assert one.n_estimate == other.n_estimate
    pairs = [(one.estimate, other.estimate), (one.anchor, other.anchor)]
    pairs += [(one.sandwich.covariance, other.sandwich.covariance)]
    pairs += [(one.sandwich.regression.slope, other.sandwich.regression.slope)]
    pairs += [(one.sandwich.regression.gram, other.sandwich.regression.gram)]
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(one.safeguards, other.safeguards)


# -------------------------------------------------------------------- the recursion, in numpy


def numpy_walk(protocol, data):
    """The one-query recursion for a Euclidean mean without noise: queries, messages, averages."""
    gain, center, radius = protocol.gain, *protocol.working_region[:2]
    x = average = np.array(protocol.initial_point)
    queries, messages, averages = [], [], [average]
    for i, y in enumerate(data, start=1):
        queries.append(x)
        messages.append(x - y)
        x = x - gain.constant * (i + gain.offset) ** -gain.exponent * (x - y)
        length = np.linalg.norm(x - center)
        x = center + (x - center) * min(1.0, radius / length)
        average = average + (x - average) / i
        averages.append(average)
    return np.array(queries), np.array(messages), np.array(averages)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["compiled", "geomstats"])
@pytest.mark.parametrize("region_radius", [1.0, 0.15])
def test_trajectory_is_ten_lines_of_numpy(mean_protocol, mean_data, engine, region_radius):
    n = 100
    protocol = mean_protocol(region_radius=region_radius, gain=GainRule(0.9, 0.5, 0.7, np.inf))
    data = mean_data(n)
    fitted = trajectory(protocol, engine=engine).fit(data)
    queries, messages, averages = numpy_walk(protocol, data)
    np.testing.assert_allclose(fitted.estimate_, averages[n], rtol=0, atol=1e-12)
    np.testing.assert_allclose(fitted.fits_[n].anchor, averages[33], rtol=0, atol=1e-12)
    assert (fitted.diagnostics_["n_projected_updates"] > 0) == (region_radius < 1)

    w, z = queries[33:] - averages[33], messages[33:]
    w, z = w - w.mean(axis=0), z - z.mean(axis=0)
    gram = w.T @ w
    ridge = n**-0.5 * (1 + np.trace(gram) / 2)
    regression = fitted.fits_[n].sandwich.regression
    assert regression.n_rows == 67
    np.testing.assert_allclose(regression.gram, gram, rtol=0, atol=1e-12)
    slope = z.T @ w @ np.linalg.inv(gram + ridge * np.eye(2))
    np.testing.assert_allclose(regression.slope, slope, rtol=0, atol=1e-10)


@pytest.mark.parametrize("engine", [pytest.param("compiled", marks=pytest.mark.slow), "geomstats"])
def test_half_sample_is_ten_lines_of_numpy(mean_protocol, mean_data, engine):
    n, m = 101, 50
    protocol, data = mean_protocol(), mean_data(101)
    fitted = half_sample(protocol, engine=engine).fit(data)
    anchor = numpy_walk(protocol, data[:m])[2][m]
    np.testing.assert_allclose(fitted.estimate_, anchor, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(fitted.fits_[n].anchor, fitted.estimate_)

    cycle = 0.5 * n**-0.05 * np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
    w = cycle[np.arange(n - m) % 4]
    z = anchor + w - data[m:]
    w, z = w - w.mean(axis=0), z - z.mean(axis=0)
    gram = w.T @ w
    ridge = m**-0.5 * (1 + np.trace(gram) / 2)
    slope = z.T @ w @ np.linalg.inv(gram + ridge * np.eye(2))
    residual = z - w @ slope.T
    fit = fitted.fits_[n]
    assert (fit.n_participants, fit.n_estimate, fit.sandwich.regression.n_rows) == (n, m, n - m)
    np.testing.assert_allclose(fit.sandwich.regression.slope, slope, rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        fitted.score_covariance_, residual.T @ residual / (n - m - 3), rtol=1e-9
    )
    inverse = np.linalg.inv(fitted.hessian_)
    np.testing.assert_allclose(
        fitted.covariance_, inverse @ fitted.score_covariance_ @ inverse / m, rtol=1e-12
    )


def test_the_step_cap_and_the_preconditioner_act(mean_protocol, mean_data):
    protocol = replace(mean_protocol(), preconditioner=((2.0, 0.0), (0.0, 0.5)))
    gain = GainRule(0.9, 0.0, 0.6, 0.05)
    data = mean_data(40)
    fitted = trajectory(protocol, gain=gain).fit(data)
    x, capped, iterates = np.array(protocol.initial_point), 0, []
    for i, y in enumerate(data, start=1):
        step = -0.9 * i**-0.6 * np.array([2.0, 0.5]) * (x - y)
        length = np.linalg.norm(step)
        capped += length > 0.05
        x = x + step * min(1.0, 0.05 / length)
        iterates.append(x)
    np.testing.assert_allclose(fitted.estimate_, np.mean(iterates, axis=0), rtol=0, atol=1e-12)
    assert 0 < fitted.diagnostics_["n_capped_updates"] == capped < 40


# -------------------------------------------------------------------- engines, checkpoints, blocks


@pytest.mark.slow  # compiles
@BOTH
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("retraction", ["exponential", "projection"])
def test_engines_agree(pca_protocol, pca_data, make, mechanism, retraction):
    protocol, data = pca_protocol(3, retraction=retraction, **mechanism), pca_data(301, 3)
    fits = []
    for engine in ("compiled", "geomstats"):
        fitted = make(protocol, engine=engine, checkpoints=(120, 301)).fit(data)
        assert fitted.engine_ == fitted.diagnostics_["engine"] == engine
        fits.append(fitted.fits_)
    for n in (120, 301):
        assert_same_fit(fits[0][n], fits[1][n], 1e-9)


@pytest.mark.slow
@BOTH
@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_checkpoints_are_the_fits_of_prefixes(pca_protocol, pca_data, make):
    protocol, data, totals = pca_protocol(), pca_data(499), (50, 51, 200, 499)
    together = make(protocol, checkpoints=totals).fit(data)
    assert tuple(together.fits_) == totals
    for n in totals:
        alone = make(protocol).fit(data[:n])
        assert_same_fit(together.fits_[n], alone.fits_[n])
    np.testing.assert_array_equal(together.estimate_, alone.estimate_)
    region = together.confidence_region(checkpoint=200)
    np.testing.assert_array_equal(region.covariance, together.fits_[200].sandwich.covariance)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("block", [1, 7, 64])
def test_results_do_not_depend_on_the_block_size(pca_protocol, pca_data, monkeypatch, make, block):
    protocol, data, totals = pca_protocol(), pca_data(211), (60, 130, 211)
    whole = make(protocol, checkpoints=totals).fit(data)
    monkeypatch.setattr(baseline_emulation, "_BLOCK", block)
    pieced = make(protocol, checkpoints=totals).fit(data)
    for n in totals:
        assert_same_fit(whole.fits_[n], pieced.fits_[n])


@BOTH
def test_each_participant_answers_once(pca_protocol, pca_data, monkeypatch, make):
    """One message from each row, in row order, with noise of its own."""
    protocol, data = pca_protocol(), pca_data(90)
    asked = []

    def spy(geometry, loss, mechanism, query, datum, variates, scratch, out):
        asked.append((query.copy(), datum.copy(), variates.copy()))
        respond(geometry, loss, mechanism, query, datum, variates, scratch, out)

    respond = baseline_emulation.respond_into
    monkeypatch.setattr(baseline_emulation, "respond_into", spy)
    fitted = make(protocol, engine="geomstats").fit(data)
    queries, rows, variates = map(np.array, zip(*asked))
    geometry = protocol.geometry
    lengths = np.linalg.norm(data, axis=1, keepdims=True)
    np.testing.assert_allclose(rows, data * np.minimum(1.0, 2.0 / lengths), rtol=1e-12)
    np.testing.assert_array_equal(variates, protocol.mechanism.draw(90, make_streams(0)))
    if make is trajectory:
        assert protocol.working_region.contains(geometry, queries).all()
        assert len(np.unique(queries, axis=0)) == 90
    else:
        distances = geometry.dist(queries[45:], fitted.estimate_)
        np.testing.assert_allclose(distances, 0.5 * 90**-0.05, rtol=1e-12)
        assert len(np.unique(queries[45:], axis=0)) == 4


@BOTH
def test_seeds_decide(pca_protocol, pca_data, make):
    protocol, data = pca_protocol(), pca_data(60)
    one, again = (make(protocol).fit(data).estimate_ for _ in range(2))
    other = make(protocol, random_state=1).fit(data).estimate_
    np.testing.assert_array_equal(one, again)
    assert not np.allclose(one, other)


# -------------------------------------------------------------------- statistics


def sphere_hessian(geometry, point, second_moment):
    """Hessian of -u^T S u / 2 in the frame at a point: x^T S x I - S on the tangent space."""
    frame = np.stack([geometry.lift(axis, point) for axis in np.eye(geometry.dim)])
    return point @ second_moment @ point * np.eye(len(frame)) - frame @ second_moment @ frame.T


@pytest.mark.slow  # compiles, for 200,000 rows
def test_half_sample_finds_the_hessian(pca_protocol, pca_data):
    """Without noise; the ridge, which is known, is taken out before comparing."""
    n, h = 200_000, 0.1
    protocol = pca_protocol(2, epsilon=np.inf, norm_bound=10.0)
    data = pca_data(n, seed=3) / 1.5
    fitted = half_sample(protocol, probe_radius=h, engine="auto").fit(data)
    regression = fitted.fits_[n].sandwich.regression
    slope = regression.slope @ (np.eye(2) + regression.ridge * np.linalg.inv(regression.gram))
    expected = sphere_hessian(
        protocol.geometry, fitted.estimate_, np.diag(1.0 / np.arange(1.0, 4.0) ** 2)
    )
    # four standard errors of an entry, and the third derivative (4 (l1 - l3) h^2 / 6 for PCA)
    error = 4 * np.sqrt(np.max(regression.residual_covariance) / regression.gram[0, 0])
    np.testing.assert_allclose(slope, expected, rtol=0, atol=error + 4 * h**2 / 6)
    assert error < 0.1  # the eigenvalues are 0.75 and 0.89
    assert np.linalg.cond(regression.gram) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.slow
def test_trajectory_finds_an_affine_hessian_slowly(mean_protocol, mean_data):
    """The Hessian of a Euclidean mean is the identity; its error does not depend on the noise.

    In the linear recursion iterates spread with variance gain * Sigma / 2 about the target, so the
    slope has variance Sigma / Q = 2 / sum of the gains, whatever Sigma is.
    """
    n = 400_000
    gain = GainRule(1.0, 50.0, 0.51, np.inf)
    total = np.sum((np.arange(n // 3, n) + 51.0) ** -0.51)
    for epsilon in (np.inf, 8.0):
        baseline = trajectory(mean_protocol(epsilon=epsilon), gain=gain, engine="auto")
        fitted = baseline.fit(mean_data(n))
        regression = fitted.fits_[n].sandwich.regression
        variance = np.diag(regression.residual_covariance) / np.diag(regression.gram)
        # a Gram entry averages about total / 2 independent squares: three standard deviations
        np.testing.assert_allclose(variance, 2 / total, rtol=3 * np.sqrt(4 / total))
        pulled = regression.ridge * np.linalg.inv(regression.gram)
        slope = regression.slope @ (np.eye(2) + pulled)
        np.testing.assert_allclose(slope, np.eye(2), rtol=0, atol=4 * np.sqrt(2 / total))


@pytest.mark.slow  # 200 repetitions
@pytest.mark.parametrize("epsilon", [np.inf, 8.0])
def test_half_sample_covers(mean_protocol, mean_data, epsilon):
    repetitions, n = 200, 4_000
    protocol = mean_protocol(epsilon=epsilon, gain=GainRule(0.75, 5.0, 0.6, np.inf))
    target = protocol.initial_point + np.array([0.2, 0.1])
    covered = []
    for seed in range(repetitions):
        baseline = half_sample(protocol, random_state=seed, engine="auto")
        fitted = baseline.fit(mean_data(n, seed=10_000 + seed))
        covered.append(fitted.confidence_region(0.95).contains(target))
    # three Monte Carlo standard errors: 0.95 +- 0.046
    assert abs(np.mean(covered) - 0.95) < 3 * np.sqrt(0.95 * 0.05 / repetitions)


# -------------------------------------------------------------------- the estimator's manners


@BOTH
def test_region_tests_and_diagnostics(pca_protocol, pca_data, make):
    fitted = make(pca_protocol(epsilon=np.inf)).fit(pca_data(150))
    region = fitted.confidence_region(level=0.9)
    assert region.level == 0.9
    np.testing.assert_array_equal(region.center, fitted.estimate_)
    np.testing.assert_array_equal(region.covariance, fitted.covariance_)
    assert region.contains(fitted.estimate_)
    report = fitted.diagnostics_
    assert report["n_participants"] == fitted.n_participants_ == 150
    assert report["n_estimate"] == (150 if make is trajectory else 75)
    assert report["n_regression"] == (100 if make is trajectory else 75)
    assert report["gram_condition_number"] >= 1.0


def test_weak_excitation_is_reported(pca_protocol, pca_data):
    """A path that hardly moves leaves the ridge in charge of the Hessian."""
    protocol = pca_protocol(epsilon=np.inf, gain=GainRule(1e-3, 1e6, 0.9, 0.5))
    fitted = trajectory(protocol).fit(pca_data(200))
    assert fitted.diagnostics_["hessian_floor_active"]
    with pytest.warns((HessianFloorWarning, UninformativeRegionWarning)):
        fitted.confidence_region()


@BOTH
def test_clone_pickle_and_repr(pca_protocol, pca_data, make):
    data = pca_data(80)
    estimator = make(pca_protocol(), checkpoints=(40, 80))
    copy = clone(estimator)
    assert copy.get_params()["protocol"] == estimator.protocol
    fitted = pickle.loads(pickle.dumps(estimator.fit(data)))
    np.testing.assert_array_equal(fitted.estimate_, copy.fit(data).estimate_)
    assert type(estimator).__name__ in repr(estimator)
    names = set(inspect.signature(type(estimator).__init__).parameters) - {"self"}
    assert set(estimator.get_params()) == names


@BOTH
@pytest.mark.parametrize("checkpoints", [(), (40,), (90,), (50, 40, 80), (40, 40, 80)])
def test_checkpoints_must_lead_to_the_rows(pca_protocol, pca_data, make, checkpoints):
    with pytest.raises(ProtocolError, match="must increase and end with the 80 rows"):
        make(pca_protocol(), checkpoints=checkpoints).fit(pca_data(80))


@BOTH
def test_wrong_parameters_are_named(pca_protocol, pca_data, make):
    protocol, data = pca_protocol(), pca_data(80)
    with pytest.raises(ProtocolError, match="checkpoints must be an integer of at least 1"):
        make(protocol, checkpoints=(40.0, 80)).fit(data)
    with pytest.raises(ProtocolError, match="protocol must be a Protocol"):
        make("pca").fit(data)
    with pytest.raises(ProtocolError, match="gain must be a GainRule"):
        make(protocol, gain=0.5).fit(data)
    with pytest.raises(ProtocolError, match="engine must be one of"):
        make(protocol, engine="fortran").fit(data)
    with pytest.raises(NotReadyError, match="the regression, which needs 4"):
        make(protocol, checkpoints=(3, 80)).fit(data)
    for bad in (data[0], data[:, :2], data[:0]):
        with pytest.raises(ValueError, match="must have shape"):
            make(protocol).fit(bad)
    data[-1, 0] = np.nan
    with pytest.raises(ValueError, match="finite"):
        make(protocol).fit(data)
    with pytest.raises(ValueError, match="checkpoint must be one of"):
        make(protocol).fit(pca_data(80)).confidence_region(checkpoint=40)


def test_a_failed_fit_leaves_the_last_one(pca_protocol, pca_data):
    fitted = half_sample(pca_protocol()).fit(pca_data(80))
    before = fitted.estimate_
    with pytest.raises(NotReadyError):
        fitted.fit(pca_data(5))
    assert fitted.estimate_ is before
    assert fitted.n_participants_ == 80


@pytest.mark.parametrize(
    ("radius", "match"),
    [(0.0, "positive"), (np.nan, "positive"), ("wide", "a number or a ProbeRadius"), (3.0, "inj")],
)
def test_probe_radius_must_make_sense(pca_protocol, pca_data, radius, match):
    with pytest.raises(ProtocolError, match=match):
        half_sample(pca_protocol(), probe_radius=radius).fit(pca_data(80))


@pytest.mark.slow  # compiles
def test_the_example_of_the_docs_runs(capsys):
    text = (Path(__file__).parents[3] / "docs" / "baselines.md").read_text(encoding="utf-8")
    exec(re.search(r"```python\n(.*?)```", text, re.S)[1], {})
    assert "WaldRegion(level=0.95, dim=2" in capsys.readouterr().out
