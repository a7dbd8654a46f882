"""Warnings of estimators: what they are about, and that they point at the line of the user."""

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
from geomstats_ldp.exceptions import (
    ClippingWarning,
    DiscardWarning,
    LDPWarning,
    ProtocolError,
    SafeguardWarning,
    SeedWarning,
    UninformativeRegionWarning,
)
from geomstats_ldp.losses import TransformedFrechetLoss, register_transform


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
    assert "30% of the rows" in str(warning.message) and "data_radius=1.0" in str(warning.message)
    assert warning.filename == __file__
    X[:100] -= 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClippingWarning)
        mean.fit(X)
        # Scaling to unit length is no clipping, and neither is rounding.
        PrivateVMFLocation(initial_point=[0, 0, 1], random_state=0).fit(rows())
        make_pca(random_state=0).fit(rows())
    blocks = lambda: mean.fit_blocks([rows()[:, :2] + 5.0], 400)  # noqa: E731
    assert "100% of the rows" in str(caught(ClippingWarning, blocks).message)


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
