"""The suite catches losses that break their promises, and says how."""

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp.losses import (
    LOSSES,
    FrechetLoss,
    Loss,
    PCALoss,
    PseudoHuberLoss,
    TargetHessian,
    TransformedFrechetLoss,
    register_loss,
    register_transform,
)
from geomstats_ldp.registry import Registry
from geomstats_ldp.testing import ConformanceError, LossCase, run_checks


class Interpreted(PCALoss):
    """Base of the broken ones; without its twin, so that nothing is compiled."""

    name = "broken"

    def twin(self):
        return None


class WrongSign(Interpreted):
    def score(self, geometry, point, data):
        return -super().score(geometry, point, data)


class NotTangent(Interpreted):
    def score(self, geometry, point, data):
        return super().score(geometry, point, data) + point


class UnderstatedScore(Interpreted):
    def score_bound(self, geometry, query_region):
        return 0.98 * super().score_bound(geometry, query_region)


class UnderstatedHessian(Interpreted):
    def hessian_bound(self, geometry, query_region):
        return 0.5 * super().hessian_bound(geometry, query_region)


class ClaimsTooMuch(Interpreted):
    def target_hessian(self, geometry, region):
        return TargetHessian(0.9 * self.norm_bound**2, self.norm_bound**2)


class ClaimsTooLittle(Interpreted):
    def target_hessian(self, geometry, region):
        return TargetHessian(0.0, 0.01)


class ClaimsNonsense(Interpreted):
    def target_hessian(self, geometry, region):
        return TargetHessian(-1.0, self.norm_bound**2)


class ClaimsIsotropy(Interpreted):
    def target_hessian(self, geometry, region):
        return TargetHessian(0.0, self.norm_bound**2, is_isotropic=True)


class ClaimsBlocks(Interpreted):
    def target_hessian(self, geometry, region):
        largest = self.norm_bound**2
        return TargetHessian(0.0, largest, blocks=((1, 0.0, largest), (1, 0.0, largest)))


class NoClipping(Interpreted):
    def clip(self, geometry, data):
        return data


class HalvingClip(Interpreted):
    def clip(self, geometry, data):
        return super().clip(geometry, data) / 2


class ClipsInPlace(Interpreted):
    def clip(self, geometry, data):
        data *= self.norm_bound / np.linalg.norm(data, axis=-1, keepdims=True)
        return data


class TakesNaN(Interpreted):
    def check_data(self, geometry, data):
        return np.asarray(data, dtype=float)


class ForgetsItsBound(Interpreted):
    def to_spec(self):
        return {"name": self.name, "norm_bound": 9.0}


class LosesItsBound(Interpreted):
    def to_spec(self):
        return {"name": self.name}


class BreaksDown(Interpreted):
    def clip(self, geometry, data):
        if data.ndim == 1:
            raise IndexError("no rows")
        return super().clip(geometry, data)


def local_class():
    class OfAFunction(Interpreted):
        pass

    return OfAFunction


class ClaimsFirstMoment(Interpreted):
    def moment(self, geometry):
        return "first"


class ClaimsThirdMoment(Interpreted):
    def moment(self, geometry):
        return "third"


class ClaimsToBeQuadratic(Interpreted):
    def moment(self, geometry):
        return "quadratic"


class ClaimsOneQuery(Interpreted):
    def single_query(self, geometry):
        return geometry.reference


class ClaimsOneQueryElsewhere(Interpreted):
    def single_query(self, geometry):
        return 2 * geometry.reference


class WrongTwin(PCALoss):
    """The compiled score of another loss: a Frechet score for a Rayleigh loss."""

    name = "broken"

    def twin(self):
        return FrechetLoss(center=[1.0, 0.0, 0.0], data_radius=1.0).twin()


BROKEN = {
    WrongSign: "score_is_the_gradient",
    NotTangent: "score_is_tangent: score against its tangent part: expected",
    UnderstatedScore: "check_score_bound: norm of the score: expected at most",
    UnderstatedHessian: "hessian_bound: expected at most",
    ClaimsTooMuch: "target_hessian.low, eigenvalue of a Hessian: expected at most",
    ClaimsTooLittle: "eigenvalue of a Hessian, target_hessian.high: expected at most",
    ClaimsNonsense: "target_hessian: expected 0 <= low <= high",
    ClaimsIsotropy: "spread of the eigenvalues, is_isotropic: expected at most",
    ClaimsBlocks: "Hessian outside of its blocks: expected at most",
    NoClipping: "check_score_bound_on_adversarial_data",
    HalvingClip: "clipping clipped data",
    ClipsInPlace: "which must not change them",
    TakesNaN: "datum nan: expected ValueError; got the result",
    ForgetsItsBound: "score from its record",
    LosesItsBound: "check_record: loss from its record: expected no error; got TypeError",
    BreaksDown: "check_clip: expected no error; got IndexError: no rows",
    local_class(): "check_record: loss from its pickle: expected no error; got AttributeError",
    ClaimsFirstMoment: "scores that are linear in a first moment, moment: expected",
    ClaimsThirdMoment: "moment: expected one of",
    ClaimsToBeQuadratic: "moment: expected None off flat spaces",
    ClaimsOneQuery: "single_query: expected None unless moment",
    ClaimsOneQueryElsewhere: "single_query: expected no error; got ProtocolError",
    WrongTwin: "compiled score against the interpreted one",
}


@pytest.fixture
def register(monkeypatch):
    monkeypatch.delitem(LOSSES, "broken", raising=False)
    yield register_loss
    LOSSES.pop("broken", None)


def examine(loss):
    rng, center = np.random.default_rng(0), np.array([0.6, 0.0, 0.8])
    # Stretched along the centre, so that the target lies in the region.
    data = rng.normal(size=(20, 3)) + 3 * rng.normal(size=(20, 1)) * center
    data *= np.geomspace(0.1, 10, 20)[:, None]
    run_checks(LossCase(loss, Hypersphere(2), center, data=data))


@pytest.mark.parametrize("broken", BROKEN, ids=lambda cls: cls.__name__)
def test_broken_losses_are_caught(broken, register):
    register(broken)
    with pytest.raises(ConformanceError, match="expected") as caught:
        examine(broken(norm_bound=1.5))
    assert BROKEN[broken] in str(caught.value)


def test_the_sound_one_passes(register):
    register(Interpreted)
    examine(Interpreted(norm_bound=1.5))


def test_a_loss_of_another_space_is_named():
    with pytest.raises(ConformanceError, match="got ProtocolError: loss 'pca' needs a Hypersphere"):
        run_checks(LossCase(PCALoss(norm_bound=1.0), Euclidean(3), np.zeros(3)))


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_wrong_second_derivative_of_a_transform_is_caught(factor, monkeypatch):
    """The bounds hold all the same: they look at psi'' where it is negative, or is largest."""
    monkeypatch.setattr(
        "geomstats_ldp.losses.transformed_frechet._TRANSFORMS", Registry("transform", repr)
    )
    register_transform("log", np.log1p, lambda t: 1 / (1 + t), lambda t: -factor / (1 + t) ** 2)
    loss = TransformedFrechetLoss(center=np.zeros(2), data_radius=0.5, transform="log")
    with pytest.raises(ConformanceError) as caught:
        run_checks(LossCase(loss, Euclidean(2), np.zeros(2)))
    assert "fails 1 checks\n* check_transform: psi_second against finite" in str(caught.value)


@pytest.mark.parametrize("scale", [0.1, 1e3])
def test_sound_transforms_pass_at_any_scale(scale):
    run_checks(
        LossCase(
            PseudoHuberLoss(center=np.zeros(2), data_radius=0.5, scale=scale),
            Euclidean(2),
            np.zeros(2),
        )
    )


class Jump(Loss):
    """Absolute value on the line, whose score jumps where no derivative is taken."""

    name = "jump"

    def check_space(self, geometry):
        pass

    def data_shape(self, geometry):
        return (1,)

    def clip(self, geometry, data):
        return np.clip(data, -1e100, 1e100)

    def value(self, geometry, point, data):
        return np.abs(point - data)[..., 0]

    def score(self, geometry, point, data):
        return np.sign(point - data)

    def score_bound(self, geometry, query_region):
        return 1.0

    def hessian_bound(self, geometry, query_region):
        return 1.0  # twice a density, as somebody may believe to know


def test_a_score_that_jumps_is_caught(monkeypatch):
    monkeypatch.setitem(LOSSES, "jump", Jump)
    rows = np.linspace(-0.3, 0.3, 24)[:, None]
    with pytest.raises(ConformanceError) as caught:
        run_checks(LossCase(Jump(), Euclidean(1), np.zeros(1), data=rows))
    assert "fails 1 checks\n* check_curvature: difference of scores over" in str(caught.value)
    monkeypatch.setattr(Jump, "asks_curvature", False)
    run_checks(LossCase(Jump(), Euclidean(1), np.zeros(1), data=rows))
