"""Losses and mechanisms of third parties: known by name, rebuilt from records, never from code."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean

import geomstats_ldp
from geomstats_ldp import PrivateFrechetMean, PrivateMEstimator, Protocol
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.losses import LOSSES, FrechetLoss, Loss, loss_from_spec, loss_of, register_loss
from geomstats_ldp.mechanisms import (
    MECHANISMS,
    L2Ball,
    Mechanism,
    make_mechanism,
    mechanism_from_spec,
    register_mechanism,
)


class MeanLoss(FrechetLoss):
    name = "mean of a third party"


class Coin(Mechanism):
    """Randomised response on the line, written in numpy: +-G coth(eps/2), unbiased."""

    name = "coin"

    def __init__(self, *, epsilon, delta=0.0, dim, bound):
        super().__init__(epsilon=epsilon, delta=delta, dim=dim, bound=bound)
        self._check_finite_epsilon()
        self._check_pure()
        radius = self.bound / np.tanh(self.epsilon / 2)
        self._set(
            noise_variance=radius**2,
            noise_variance_floor=radius**2 - self.bound**2,
            support_radius=radius,
            n_variates=1,
        )

    def noise_covariance(self, vector):
        return self.support_radius**2 - np.atleast_2d(self.bound * self._ball_point(vector)) ** 2

    def draw(self, n, streams):
        return streams.uniform.random((n, 1))

    def release_rows(self, vectors, variates):
        heads = variates < (1 + vectors / self.support_radius) / 2
        return np.where(heads, self.support_radius, -self.support_radius)

    def log_density(self, released, vector):
        share = self.bound * self._ball_point(vector) / self.support_radius
        return np.log1p(np.sign(released) * share)[..., 0] - np.log(2)


@pytest.fixture
def registered():
    """Names that are there for one test only."""
    names = dict(LOSSES), dict(MECHANISMS)
    register_loss(MeanLoss)
    register_mechanism(Coin)
    yield
    for known, before in zip((LOSSES, MECHANISMS), names):
        known.clear()
        known.update(before)


def line_data(n, dim=1):
    return np.random.default_rng(0).normal(0.2, 0.1, size=(n, dim))


def test_a_registered_loss_runs_and_is_rebuilt_from_json(registered):
    X = line_data(401, dim=2)
    loss = MeanLoss(center=[0.0, 0.0], data_radius=1.0)
    mean = PrivateMEstimator(Euclidean(2), loss, epsilon=4.0, random_state=0).fit(X)
    copy = Protocol.from_json(mean.protocol_.to_json())
    assert copy == mean.protocol_
    assert type(loss_of(copy)) is MeanLoss
    own = PrivateFrechetMean(epsilon=4.0, random_state=0).fit(X)
    np.testing.assert_array_equal(mean.estimate_, own.estimate_)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [2.0, np.inf])
def test_a_registered_mechanism_runs_by_name(registered, epsilon):
    mean = PrivateFrechetMean(mechanism="coin", epsilon=epsilon, random_state=0).fit(line_data(800))
    randomiser = Protocol.from_json(mean.protocol_.to_json()).mechanism
    assert randomiser.name == ("coin" if epsilon == 2.0 else "identity")
    assert mean.confidence_region(0.999).contains([0.2])


def test_it_is_the_pure_mechanism_of_the_line(registered):
    """On the line `L2Ball` is the same law: the two must agree, one in numpy, one compiled."""
    coin = make_mechanism("coin", epsilon=1.5, dim=1, bound=2.0)
    ball = L2Ball(epsilon=1.5, dim=1, bound=2.0)
    assert coin.support_radius == pytest.approx(ball.support_radius)
    for z in (-1.0, 1.0):
        for v in (-2.0, 0.3, 2.0):
            gap = coin.log_density([z * coin.support_radius], [v])
            assert gap == pytest.approx(ball.log_density([z * ball.radius], [v]) - np.log(2))


def test_a_mechanism_needs_a_kernel_or_rows():
    class Bare(Coin):
        release_rows = Mechanism.release_rows

    with pytest.raises(NotImplementedError, match="Bare must define release_rows"):
        Bare(epsilon=1.0, dim=1, bound=1.0).randomise([0.5])


def test_unregistered_names_say_what_to_do():
    with pytest.raises(ProtocolError, match="registered, with register_loss"):
        loss_from_spec({"name": MeanLoss.name, "center": [0.0], "data_radius": 1.0})
    with pytest.raises(ValueError, match="registered, with register_mechanism"):
        mechanism_from_spec({"name": "coin", "epsilon": 1.0, "delta": 0.0, "dim": 1, "bound": 1.0})
    loss = MeanLoss(center=[0.0], data_radius=1.0)
    with pytest.raises(ProtocolError, match=r"call register_loss\(MeanLoss\) first"):
        PrivateMEstimator(Euclidean(1), loss).fit(line_data(10))
    with pytest.raises(ProtocolError, match="loss must be an instance of Loss; got 'pca'"):
        PrivateMEstimator(Euclidean(1), "pca").fit(line_data(10))


@pytest.mark.parametrize(
    ("register", "own", "base"),
    [(register_loss, FrechetLoss, Loss), (register_mechanism, L2Ball, Mechanism)],
)
def test_a_name_keeps_its_meaning(register, own, base):
    assert register(own) is own  # the same class again

    class Impostor(own):
        pass

    with pytest.raises(ProtocolError, match=f"name '{own.name}' is taken by {own.__module__}"):
        register(Impostor)
    with pytest.raises(ProtocolError, match=f"must be a subclass of {base.__name__}"):
        register(dict)
    with pytest.raises(ProtocolError, match="must be a subclass"):
        register(own.name)
    with pytest.raises(ProtocolError, match="must define"):
        register(base)
    for name in ("", None, 3):
        nameless = type("Nameless", (own,), {"name": name})
        with pytest.raises(ProtocolError, match=r"Nameless\.name must be a string"):
            register(nameless)


def test_the_same_class_defined_again_takes_its_place(registered):
    again = type("MeanLoss", (FrechetLoss,), {"name": MeanLoss.name, "__module__": __name__})
    again.__qualname__ = MeanLoss.__qualname__
    register_loss(again)
    assert LOSSES[MeanLoss.name] is again


@pytest.mark.slow  # a process
def test_a_device_that_has_not_registered_the_loss_is_told(registered, tmp_path):
    loss = MeanLoss(center=[0.0], data_radius=1.0)
    protocol = PrivateMEstimator(Euclidean(1), loss, epsilon=4.0).start().protocol_
    (tmp_path / "protocol.json").write_text(protocol.to_json())
    device = textwrap.dedent("""
        import sys
        from geomstats_ldp import Participant, Protocol
        protocol = Protocol.from_json(open(sys.argv[1]).read())
        try:
            Participant(protocol, max_epsilon=4.0)
        except ValueError as error:
            print(error)
    """)
    run = subprocess.run(
        [sys.executable, "-c", device, str(tmp_path / "protocol.json")],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(geomstats_ldp.__file__).parents[1],
    )
    assert "got 'mean of a third party'" in run.stdout
    assert "register_loss, in every process" in run.stdout
