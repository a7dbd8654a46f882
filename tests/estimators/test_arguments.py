"""Arguments that are wrong: the error names the one to change, what is allowed, and what came."""

import re
import warnings

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperbolic import Hyperbolic
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDMatrices
from sklearn.base import clone

from geomstats_ldp import (
    PrivateFrechetMean,
    PrivatePCA,
    PrivateSPDCovariance,
    PrivateVMFLocation,
    Tuning,
    register_space,
)
from geomstats_ldp.estimators import emulating
from geomstats_ldp.exceptions import (
    ArgumentTypeError,
    FewParticipantsWarning,
    NotReadyError,
    ProtocolError,
)
from geomstats_ldp.geometry import geodesic_ball, log_box, spectral_band
from geomstats_ldp.protocol import InferenceRule

X = np.random.default_rng(0).normal([0.3, 0.2, 0.1], 0.2, size=(40, 3))

#: Estimators with the size whose unit is that of the data.
SIZES = {
    "norm_bound": (PrivatePCA, {}),
    "norm_bound of a covariance": (PrivateSPDCovariance, {}),
    "data_radius": (PrivateFrechetMean, {}),
    "scale": (PrivateFrechetMean, {"loss": "pseudo_huber"}),
    "kappa": (PrivateVMFLocation, {}),
    "region_radius": (PrivateFrechetMean, {}),
    "region_radius of directions": (PrivatePCA, {}),
}


def sized(what, value):
    name = what.partition(" ")[0]
    kind, options = SIZES[what]
    return name, kind(**options, **{name: value})


@pytest.mark.parametrize("what", SIZES)
@pytest.mark.parametrize("wrong", ["2", True, [1.0, 2.0], 1j])
def test_sizes_of_another_type_are_named(what, wrong):
    name, model = sized(what, wrong)
    with pytest.raises(ArgumentTypeError, match=f"^{name} must be a real number, in "):
        model.start(3)


@pytest.mark.parametrize("what", SIZES)
@pytest.mark.parametrize("wrong", [1e200, 1e-60, 0, -1.0, np.nan, np.inf, 10**400])
def test_sizes_past_what_doubles_can_square_are_named(what, wrong):
    name, model = sized(what, wrong)
    with pytest.raises(ProtocolError, match=rf"^{name} must be in \[1e-40, 1e40\]; got "):
        model.start(3)


@pytest.mark.parametrize("size", [1e-40, 1e40])
def test_sizes_up_to_the_ends_of_the_range_make_a_protocol(size):
    PrivatePCA(norm_bound=size).start(3)
    PrivateSPDCovariance(norm_bound=size).start(3)
    for loss in ("squared", "pseudo_huber"):
        scale = size if loss == "pseudo_huber" else None
        options = {"data_radius": size, "region_radius": size, "scale": scale, "loss": loss}
        for planned in (None, 1000):
            PrivateFrechetMean(**options, n_participants=planned).start(3)
    PrivateVMFLocation(kappa=size).start(3)


def test_none_is_no_size():
    with pytest.raises(ArgumentTypeError, match=r"norm_bound must be a real number.*got None"):
        PrivatePCA(norm_bound=None).fit(X)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: spectral_band(2, "1", 2.0), "lower"),
        (lambda: spectral_band(2, 1.0, True), "upper"),
        (lambda: log_box([0.0], ["1"]), "half_widths"),
        (lambda: log_box(["0"], [1.0]), "center"),
        (lambda: geodesic_ball(["0", "1"], 1.0), "center"),
        (lambda: geodesic_ball([0.0], "1"), "radius"),
        (lambda: InferenceRule(hessian_range=("0", "1")), "hessian_range"),
        (lambda: InferenceRule(prior_hessian=[["1"]], prior_sd=1.0), "prior_hessian"),
        (lambda: register_space("texts", lambda: Euclidean(2), curvature=("0", "0")), "curvature"),
        (lambda: register_space("one", lambda: Euclidean(2), curvature=0.0), "curvature"),
        (lambda: PrivatePCA(initial_point=["1", "2"]).start(), "initial_point"),
        (lambda: PrivateVMFLocation(initial_point="abc").start(), "initial_point"),
        (lambda: PrivateFrechetMean(initial_point=1.0).start(), "initial_point"),
        (lambda: PrivateSPDCovariance(initial_point=[["a"]]).start(), "initial_point"),
        (lambda: PrivatePCA().start("3"), "n_features"),
    ],
)
def test_texts_are_no_numbers_anywhere(make, name):
    with pytest.raises(ProtocolError, match=f"^{name} must be|^{name} must have"):
        make()


# ------------------------------------------------------------------------ rows that do not fit


@pytest.mark.parametrize(
    ("model", "known"),
    [
        (PrivateFrechetMean(initial_point=np.zeros(3)), "initial_point"),
        (PrivatePCA(initial_point=np.ones(3)), "initial_point"),
        (PrivateVMFLocation(initial_point=np.ones(3)), "initial_point"),
        (PrivateSPDCovariance(initial_point=np.eye(3)), "initial_point"),
        (PrivateFrechetMean(Euclidean(3)), "space"),
        (PrivateFrechetMean(Hyperbolic(3, coords_type="ball")), "space"),
    ],
)
def test_rows_of_another_width_are_blamed_on_the_rows(model, known):
    said = re.escape(f"must have shape (n, 3) to fit {known}; got (40, 2)")
    with pytest.raises(ProtocolError, match=f"^X {said}"):
        clone(model).fit(X[:, :2])
    with pytest.raises(ProtocolError, match=f"^blocks {said}"):
        clone(model).fit_blocks([X[:, :2]], n_participants=40)
    with pytest.raises(ProtocolError, match=r"^n_features must be 3 to fit .*; got 2"):
        clone(model).start(2)


# ------------------------------------------------------------------------ points that do not fit


@pytest.mark.parametrize(
    ("space", "point"),
    [
        (Hypersphere(2), [0.0, -0.5, 0.8]),
        (Hyperbolic(2), [1.2, 0.1, 0.1]),
        (Hyperbolic(2, coords_type="ball"), [1.0, 1.0]),
        (SPDMatrices(2), [[1.0, 2.0], [0.0, 1.0]]),
        (SPDMatrices(2), [[1.0, 2.0], [2.0, 1.0]]),
    ],
)
def test_an_initial_point_off_the_space_is_named(space, point):
    with pytest.raises(ProtocolError, match=r"^initial_point "):
        PrivateFrechetMean(space, initial_point=point).start()
    if space.shape != (2,):
        region = geodesic_ball(point, 1.0)
        with pytest.raises(ProtocolError, match=r"^center of working_region "):
            PrivateFrechetMean(space, tuning=Tuning(working_region=region)).start()


def test_a_space_without_bounds_of_its_curvature_says_who_takes_them():
    space = register_space("unbounded curvature", lambda: Hypersphere(2), injectivity_radius=3.0)
    model = PrivateFrechetMean(space, initial_point=[0.0, 0.0, 1.0])
    with pytest.warns(UserWarning, match="no known upper bound, which register_space takes"):
        with pytest.raises(ProtocolError, match=r"^curvature of .*register_space"):
            model.start()


# ------------------------------------------------------------------------ too few rows


@pytest.mark.parametrize("n_rounds", [None, 3])
@pytest.mark.parametrize("dim", [1, 2, 4])
def test_a_region_takes_as_many_as_is_said(dim, n_rounds):
    data = np.random.default_rng(1).normal(size=(300, dim))
    tuning = Tuning(engine="geomstats")
    model = PrivateFrechetMean(epsilon=8.0, n_rounds=n_rounds, random_state=0, tuning=tuning)
    with pytest.warns(FewParticipantsWarning, match="which takes") as caught:
        model.fit(data[:2])
    told = int(re.search(r"takes (\d+)", str(caught[0].message))[1])
    with pytest.raises(NotReadyError, match=r"takes \d+ participants"):
        model.confidence_region()
    with pytest.warns(FewParticipantsWarning):
        model.fit(data[: told - 1])
    with pytest.raises(NotReadyError):
        model.confidence_region()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", FewParticipantsWarning)
        model.fit(data[:told]).confidence_region()


def test_too_few_rows_are_told_of_before_the_work(monkeypatch):
    """As an error, the warning leaves everything undone: 86 matrices of 30 x 30 took a minute."""
    monkeypatch.setattr(emulating, "emulate", None)
    data = np.broadcast_to(np.eye(30), (86, 30, 30))
    mean = PrivateFrechetMean(SPDMatrices(30), initial_point=np.eye(30))
    with warnings.catch_warnings():
        warnings.simplefilter("error", FewParticipantsWarning)
        with pytest.raises(FewParticipantsWarning, match=r"86 .* takes 3720"):
            mean.fit(data)
    assert not hasattr(mean, "server_")


@pytest.mark.parametrize("nothing", [[], (), np.empty((0, 3)), np.empty((0, 7, 2))])
def test_a_round_in_which_all_drop_out_changes_nothing(nothing):
    model = PrivatePCA(epsilon=4.0)
    assert model.partial_fit(nothing) is model
    assert not hasattr(model, "server_")
    model.start(3)
    state = model.server_.state
    assert model.partial_fit(nothing).server_.state is state
    assert model.n_participants_ == 0
    assert len(model.queries()) == 2
