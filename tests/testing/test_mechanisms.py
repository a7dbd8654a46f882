"""The suite catches mechanisms that break their promises, and says how."""

import numpy as np
import pytest

from geomstats_ldp.mechanisms import MECHANISMS, Gaussian, PrivUnit, register_mechanism
from geomstats_ldp.testing import ConformanceError, MechanismCase, run_checks


class Interpreted(Gaussian):
    """Base of the broken ones: the Gaussian mechanism in numpy, with a factor on its noise."""

    name = "broken"
    shift, noise = 0.0, 1.0

    def twin(self):
        return None

    def release_rows(self, vectors, variates):
        return vectors + self.shift * self.bound + self.noise * self.sigma * variates


class Biased(Interpreted):
    shift = 0.2


class TooLittleNoise(Interpreted):
    """Its sampler is quieter than it says."""

    noise = 0.8


class TooLittlePrivacy(Gaussian):
    """Consistent with itself, but calibrated for a delta five times larger."""

    name = "broken"

    def __init__(self, *, epsilon, delta, dim, bound, calibration="analytic"):
        super().__init__(epsilon=epsilon, delta=delta, dim=dim, bound=bound)
        weak = Gaussian(epsilon=epsilon, delta=5 * delta, dim=dim, bound=bound)
        self._set(sigma=weak.sigma, noise_variance=weak.sigma**2)
        self._set(noise_variance_floor=weak.sigma**2)


class WeakUnit(PrivUnit):
    """A pure mechanism that runs at twice the epsilon it states."""

    name = "broken"

    def __init__(self, *, epsilon, delta=0.0, dim, bound):
        super().__init__(epsilon=2 * epsilon, delta=delta, dim=dim, bound=bound)
        self._set(epsilon=epsilon, exponent=2 * epsilon)

    def _log_weight(self, depth):
        return np.where(depth <= self.depth, self.exponent, 0.0) - self._log_normaliser


class UnderstatedNoise(Interpreted):
    def __init__(self, **keywords):
        super().__init__(**keywords)
        self._set(noise_variance=0.9 * self.sigma**2, noise_variance_floor=0.0)

    def noise_covariance(self, vector):
        return self.sigma**2 * np.eye(self.dim)


class UnderstatedSupport(PrivUnit):
    name = "broken"

    def in_support(self, released, rtol=0.0):
        return np.linalg.norm(released, axis=-1) <= self.bound


class WeightTooSmall(PrivUnit):
    """Its weights are those of twice the epsilon that it states."""

    name = "broken"

    def weight(self, points, vector):
        return super().weight(points, vector) ** 2


class WeightTooLarge(PrivUnit):
    name = "broken"

    def weight(self, points, vector):
        return 1.1 * super().weight(points, vector)


class WeightOfAnotherMean(PrivUnit):
    """Accepts long scores more easily, so that the number of candidates tells the length."""

    name = "broken"

    def weight(self, points, vector):
        return super().weight(points, vector) ** (1 - 0.3 * np.linalg.norm(vector) / self.bound)


class WeightOfAnotherScore(PrivUnit):
    """In range and of constant mean, but its messages are not about the score."""

    name = "broken"

    def weight(self, points, vector):
        return super().weight(points, 0.5 * vector)


class Mutable(Interpreted):
    def __setattr__(self, name, value):
        self.__dict__[name] = value


class WastesVariates(Interpreted):
    """Draws in blocks of odd size are not those of one block."""

    def draw(self, n, streams):
        return streams.normal.standard_normal((n + 1, self.dim))[:n]


class RandomRelease(Interpreted):
    def release_rows(self, vectors, variates):
        noise = np.random.default_rng().normal(size=vectors.shape)
        return vectors + self.sigma * noise


class TakesNaN(Interpreted):
    def release(self, vectors, variates):
        return np.nan_to_num(vectors) + self.sigma * np.asarray(variates)


BROKEN = {
    Biased: "mean of the messages of",
    TooLittleNoise: "covariance of the messages",
    TooLittlePrivacy: "delta: expected at most 1e-05; got",
    WeakUnit: "log of the largest density ratio, epsilon: expected at most 1.",
    UnderstatedNoise: "eigenvalue of the noise, noise_variance: expected at most",
    UnderstatedSupport: "in_support: expected True for a message; got False",
    WeightTooSmall: "e^-epsilon over the weight: expected at most 1; got 2.7",
    WeightTooLarge: "weight: expected at most 1; got 1.1",
    WeightOfAnotherMean: "check_weight_mean: mean weight of",
    WeightOfAnotherScore: "centred mean of the candidates of",
    Mutable: "setting epsilon: expected AttributeError; got",
    WastesVariates: "variates drawn in blocks",
    RandomRelease: "a second release with the same variates",
    TakesNaN: "a vector with nan: expected ValueError",
}


@pytest.fixture
def register():
    yield register_mechanism
    MECHANISMS.pop("broken", None)


def examine(cls):
    delta = 0.0 if issubclass(cls, PrivUnit) else 1e-5
    run_checks(MechanismCase(cls(epsilon=1.0, delta=delta, dim=2, bound=1.5)))


@pytest.mark.parametrize("broken", BROKEN, ids=lambda cls: cls.__name__)
def test_broken_mechanisms_are_caught(broken, register):
    register(broken)
    with pytest.raises(ConformanceError, match="expected") as caught:
        examine(broken)
    assert BROKEN[broken] in str(caught.value)


def test_a_quiet_sampler_does_not_follow_its_density(register):
    register(TooLittleNoise)
    with pytest.raises(ConformanceError, match=r"check_density: .* of the density"):
        examine(TooLittleNoise)


def test_the_sound_one_passes(register):
    register(Interpreted)
    examine(Interpreted)
