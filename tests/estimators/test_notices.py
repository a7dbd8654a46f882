"""Warnings of estimators: what they are about, and that they point at the line of the user."""

import pickle
import warnings

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean

from geomstats_ldp import (
    PrivateFrechetMean,
    PrivateMEstimator,
    PrivatePCA,
    PrivateVMFLocation,
    Tuning,
)
from geomstats_ldp.data_reader import Clipping
from geomstats_ldp.exceptions import (
    ClippingWarning,
    DiscardWarning,
    LDPWarning,
    ProtocolError,
    SafeguardWarning,
    SeedWarning,
    UninformativeRegionWarning,
    WeakPrivacyWarning,
)
from geomstats_ldp.losses import (
    PCALoss,
    TransformedFrechetLoss,
    loss_of,
    register_transform,
)

# Runs are short, and say so; what they say is tested where it is the point.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.SafeguardWarning")


def rows(n=400, seed=0):
    return np.random.default_rng(seed).normal([0.3, 0.8, 0.3], 0.2, size=(n, 3))


def make_pca(**parameters):
    return PrivatePCA(
        **{"norm_bound": 2.0, "epsilon": 8.0, "initial_point": [1, 2, 1], **parameters}
    )


def caught(kind, call):
    """The one warning of a kind that a call gives."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        call()
    (one,) = [warning for warning in record if warning.category is kind]
    return one


def test_rows_past_the_bounds_are_counted():
    mean = PrivateFrechetMean(data_radius=1.0, random_state=0)
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(1000, 2))
    X[:300] += 3.0
    warning = caught(ClippingWarning, lambda: mean.fit(X))
    assert "30% of the rows lie outside the public bounds of FrechetLoss(data_radius=1) and" in str(
        warning.message
    )
    assert warning.filename == __file__
    assert mean.diagnostics_["clipped_share"] == 0.3
    X[:300] -= 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClippingWarning)
        mean.fit(X)
        assert mean.diagnostics_["clipped_share"] == 0.0
        # Scaling to unit length is no clipping, and neither is rounding.
        PrivateVMFLocation(initial_point=[0, 0, 1], random_state=0).fit(rows())
        make_pca(random_state=0).fit(rows())
    blocks = lambda: mean.fit_blocks([rows()[:, :2] + 5.0], 400)  # noqa: E731
    assert "100% of the rows" in str(caught(ClippingWarning, blocks).message)


@pytest.mark.parametrize("n_rounds", [None, 2])
def test_clipping_is_weighed_against_the_region(n_rounds):
    """By how far it moves a mean: a share alone says nothing."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-0.5, 0.5, size=(4000, 2))
    mean = PrivateFrechetMean(epsilon=8.0, n_rounds=n_rounds, random_state=0)
    far, near, few = X.copy(), X.copy(), X.copy()
    far[:400] += 3.0  # a tenth, which was no reason to warn
    message = str(caught(ClippingWarning, lambda: mean.fit(far)).message)
    assert "10% of the rows" in message and "semi-axis" in message
    near[:2000] *= 1.001 / np.linalg.norm(near[:2000], axis=1, keepdims=True)
    few[0] = [1.5, 0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClippingWarning)
        for rows_in, share in ((near, 0.5), (few, 1 / 4000)):
            assert mean.fit(rows_in).diagnostics_["clipped_share"] == share
    assert "clipped_share" not in PrivateFrechetMean().partial_fit(np.zeros((40, 2))).diagnostics_


@pytest.mark.parametrize("loss", ["squared", "pseudo_huber"])
def test_the_change_that_clipping_makes(loss):
    """The mean score at the centre of the data moves by what is said."""
    scale = None if loss == "squared" else 0.5
    engine = Tuning(engine="geomstats")  # without compilation
    mean = PrivateFrechetMean(loss=loss, scale=scale, epsilon=8.0, random_state=0, tuning=engine)
    X = np.random.default_rng(2).normal(0.4, 0.8, size=(1000, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        mean.fit(X)
    model, geometry = loss_of(mean.protocol_), mean.protocol_.geometry
    kept = model.clip(geometry, X)
    change = model.score(geometry, np.zeros(2), X) - model.score(geometry, np.zeros(2), kept)
    expected = change.mean(axis=0)
    is_moved = np.linalg.norm(X, axis=1) > 1.0
    clipping = Clipping(1000, int(is_moved.sum()), (X[is_moved],), (kept[is_moved],))
    found = clipping.score_change(model, geometry, np.zeros(2))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert mean.diagnostics_["clipped_share"] == clipping.share == np.mean(is_moved)
    assert X[is_moved][0].tobytes() not in pickle.dumps(mean)  # no data outlive the fit


def test_clipped_rows_of_a_principal_direction():
    X = np.random.default_rng(3).normal([0.0, 0.0, 2.0], 0.3, size=(4000, 3))
    pca = make_pca(norm_bound=2.0, initial_point=[0.3, 0.2, 1.0], random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClippingWarning)  # half of them, which turns nothing
        assert pca.fit(X).diagnostics_["clipped_share"] > 0.4


def test_a_bound_that_clips_nearly_all_rows_of_an_elliptical_law_is_no_reason_to_warn():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(8000, 3)) * [1.0, 0.4, 0.3]
    pca = make_pca(norm_bound=0.2, initial_point=[1.0, 0.2, 0.1], epsilon=8.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClippingWarning)
        assert pca.fit(X).diagnostics_["clipped_share"] > 0.95
    X[:400] = 4 * np.array([0.6, 0.8, 0.0])  # which turns the target of all rows only
    assert "may move the target" in str(caught(ClippingWarning, lambda: pca.fit(X)).message)


def test_the_hessian_of_rows_as_they_are():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(500, 3)) * [1.0, 0.4, 0.3]
    geometry, loss = make_pca().start(3).protocol_.geometry, PCALoss(norm_bound=0.2)
    kept = loss.clip(geometry, X)
    clipping = Clipping(500, 500, (X,), (kept,))
    point = geometry.exp(geometry.lift(np.array([0.02, 0.01]), np.eye(3)[0]), np.eye(3)[0])
    found = clipping.hessian_change(loss, geometry, point, np.full(2, 1e-4))
    basis = geometry.lift(np.eye(2), point)
    moments = [rows.T @ rows / 500 for rows in (X, kept)]
    hessians = [(point @ s @ point) * np.eye(2) - basis @ s @ basis.T for s in moments]
    # The public frame turns along the differences, by about the size of the change of the score.
    size = np.linalg.norm(clipping.score_change(loss, geometry, point))
    np.testing.assert_allclose(found, hessians[0] - hessians[1], atol=2 * size + 1e-6)


def test_a_safeguard_is_told_of_once():
    far = make_pca(initial_point=[1, -1, 0], region_radius=0.3, random_state=0)
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        far.fit(rows()).confidence_region()
        far.test([0, 1, 0])
    assert sum(warning.category is SafeguardWarning for warning in record) == 1


def test_an_estimate_at_the_edge_says_where_the_target_may_be():
    X = np.random.default_rng(0).normal([0.9, 0.9], 0.1, size=(8000, 2))
    mean = PrivateFrechetMean(region_radius=0.5, data_radius=2.0, epsilon=8.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SafeguardWarning)
        mean.fit(X)
    message = str(caught(UninformativeRegionWarning, mean.confidence_region).message)
    assert "the target may lie outside" in message and "initial_point" in message
    assert "more participants" not in message


def test_a_delta_that_is_no_privacy():
    options = {"random_state": 0, "tuning": Tuning(engine="geomstats")}  # without compilation
    mean = PrivateFrechetMean(epsilon=1.0, mechanism="gaussian", **options)
    X = np.zeros((400, 2))
    for delta in (0.5, 2e-3):
        mean.set_params(delta=delta)
        assert f"delta={delta}" in str(caught(WeakPrivacyWarning, lambda: mean.fit(X)).message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakPrivacyWarning)
        mean.set_params(delta=1e-6).fit(X)


def test_a_region_has_what_it_shows():
    region = PrivateFrechetMean(epsilon=8.0, random_state=0).fit(np.zeros((400, 2)))
    region = region.confidence_region()
    assert f"largest_radius={region.largest_radius:.4g}" in repr(region)
    assert region.largest_radius == region.angular_radii.max()


def test_a_seeded_client_is_for_simulation():
    warning = caught(SeedWarning, make_pca(random_state=0).participant)
    assert "random_state=0" in str(warning.message) and warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_pca().participant()


@pytest.mark.parametrize("how", ["start", "load_state", "fit"])
def test_dropping_a_collection_is_not_silent(how, tmp_path):
    path = tmp_path / "collection.npz"
    make_pca().start().save_state(path)
    pca = make_pca()
    pca.partial_fit(np.zeros((4, 3)))
    calls = {
        "start": pca.start,
        "load_state": lambda: pca.load_state(path),
        "fit": lambda: pca.fit(rows()),
    }
    assert "4 participants" in str(caught(DiscardWarning, calls[how]).message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DiscardWarning)
        make_pca().fit(rows()).fit(rows())  # nobody has answered but rows of an emulation
        make_pca().start().start()


def test_every_answer_warns_where_the_run_failed():
    far = make_pca(initial_point=[1, -1, 0], region_radius=0.3, random_state=0)
    assert "initial_point" in str(caught(SafeguardWarning, lambda: far.fit(rows())).message)
    few = make_pca(epsilon=1.0, random_state=0).fit(rows(200))
    for call in (
        few.confidence_region,
        lambda: few.test([0, 1, 0]),
        lambda: few.functional(np.sum),
    ):
        assert caught(UninformativeRegionWarning, call).filename == __file__


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    location = PrivateVMFLocation(initial_point=[0, 0, 1], tuning=Tuning(keep_transcript=True))
    location.partial_fit(np.zeros((4, 3))).save_state(tmp_path / "location.npz")
    pca = make_pca()
    for attempt in (
        lambda: pca.load_state(tmp_path / "location.npz"),
        lambda: pca.partial_fit(location.transcript_),
    ):
        with pytest.raises(ProtocolError, match=r"PrivatePCA.*'pca'.*got 'von_mises_fisher'"):
            attempt()
    assert not hasattr(pca, "server_")


def test_a_loss_without_closed_forms_runs_in_one_engine():
    register_transform("unchanged", lambda t: t, np.ones_like, np.zeros_like)
    loss = TransformedFrechetLoss(center=np.zeros(2), data_radius=1.0, transform="unchanged")
    common = {"random_state": 0, "tuning": Tuning(keep_transcript=True)}
    fitted = PrivateMEstimator(Euclidean(2), loss, **common).fit(rows(40)[:, :2])
    replayed = PrivateMEstimator(Euclidean(2), loss).partial_fit(fitted.transcript_)
    for estimator in (fitted, replayed):
        assert estimator.diagnostics_["engine"] == "geomstats"
    np.testing.assert_array_equal(fitted.estimate_, replayed.estimate_)
    compiled = PrivateMEstimator(Euclidean(2), loss, tuning=Tuning(engine="compiled"))
    with pytest.raises(ProtocolError, match=r"engine=.compiled.*transformed_frechet"):
        compiled.fit(rows(40)[:, :2])


def test_warnings_are_of_one_family():
    for kind in (ClippingWarning, DiscardWarning, SeedWarning):
        assert issubclass(kind, LDPWarning)
