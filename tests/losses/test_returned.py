"""A loss of one's own that returns what it must not is named in an emulation, without the datum."""

from typing import NamedTuple

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean

from geomstats_ldp import Participant, PrivateMEstimator
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.losses import Loss, register_loss
from geomstats_ldp.losses.scoring import score_into
from geomstats_ldp.twins import compile_for_twin, jitable


class Location(Loss):
    """Half the squared distance, of which subclasses make something that is none."""

    def check_space(self, geometry):
        pass

    def data_shape(self, geometry):
        return geometry.shape

    def clip(self, geometry, data):
        return np.clip(data, -3.0, 3.0)

    def value(self, geometry, point, data):
        return np.sum((point - data) ** 2, axis=-1) / 2

    def score(self, geometry, point, data):
        return point - data

    def score_bound(self, geometry, query_region):
        return 3 * np.sqrt(2) + np.linalg.norm(query_region.center) + query_region.radius

    def hessian_bound(self, geometry, query_region):
        return 1.0

    def to_spec(self):
        return {"name": self.name}


#: The one datum, of many, at which scores go wrong.
ODD = 2.718281828


@register_loss
class NaNScore(Location):
    name = "nan_score"

    def score(self, geometry, point, data):
        return np.where(data == ODD, np.nan, point - data)


@register_loss
class InfiniteScore(Location):
    name = "infinite_score"

    def score(self, geometry, point, data):
        return np.where(data == ODD, np.inf, point - data)


@register_loss
class ShortScore(Location):
    name = "short_score"

    def score(self, geometry, point, data):
        return (point - data)[..., :1]


@register_loss
class WordyScore(Location):
    name = "wordy_score"

    def score(self, geometry, point, data):
        return (point - data).astype(str)


@register_loss
class NaNCurvature(Location):
    """Scores of single rows are fine, those of many, as curvature is asked for, are not."""

    name = "nan_curvature"

    def score(self, geometry, point, data):
        return (point - data) * (np.nan if data.ndim > 1 else 1.0)


@register_loss
class NaNClip(Location):
    name = "nan_clip"

    def clip(self, geometry, data):
        return np.where(data == ODD, np.nan, data)


@register_loss
class ShortClip(Location):
    name = "short_clip"

    def clip(self, geometry, data):
        return data[..., :1]


class CompiledTwin(NamedTuple):
    odd: float


@jitable
def _score(loss, geometry, point, datum, out):
    for i in range(out.shape[0]):
        out[i] = np.nan if datum[i] == loss.odd else point[i] - datum[i]


compile_for_twin(score_into, CompiledTwin, _score)


@register_loss
class CompiledNaNScore(NaNScore):
    name = "compiled_nan_score"

    def twin(self):
        return CompiledTwin(ODD)


def estimator(loss, n_rounds):
    plan = {"n_rounds": n_rounds} if n_rounds else {}
    return PrivateMEstimator(
        Euclidean(2), loss, epsilon=3.0, initial_point=[0.0, 0.0], random_state=0, **plan
    )


def rows(n=400):
    data = np.random.default_rng(0).normal(size=(n, 2))
    data[n // 2, 0] = ODD
    return data


@pytest.mark.parametrize("n_rounds", [None, 4])
@pytest.mark.parametrize(
    "loss, text",
    [
        (NaNScore(), r"NaNScore\.score must return finite numbers .* got NaN"),
        (InfiniteScore(), r"InfiniteScore\.score must return finite numbers .* got infinity"),
        (ShortScore(), r"ShortScore\.score must return .* shape \(2,\); got one of shape \(1,\)"),
        (WordyScore(), r"WordyScore\.score must return .* of numbers .* and type <U"),
        (NaNClip(), r"NaNClip\.clip must return finite numbers .* got NaN"),
        (ShortClip(), r"ShortClip\.clip must return an array .* got one of shape \(\d+, 1\)"),
        pytest.param(
            CompiledNaNScore(),
            "the compiled score of CompiledNaNScore must be finite .* got NaN or infinity",
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Loss) else "",
)
def test_an_emulation_names_the_loss_and_not_the_datum(loss, text, n_rounds):
    with pytest.raises(ProtocolError, match=text) as caught:
        estimator(loss, n_rounds).fit(rows())
    assert "2.718" not in str(caught.value)


def test_an_emulation_names_the_loss_whose_curvature_is_asked_for():
    with pytest.raises(ProtocolError, match=r"NaNCurvature\.score must return finite numbers"):
        estimator(NaNCurvature(), 8).fit(rows(20_000))


@pytest.mark.parametrize("loss", [NaNScore(), ShortScore(), NaNClip()])
def test_a_device_stays_silent(loss, recwarn):
    started = estimator(loss, None).set_params(n_participants=400).start(n_features=2)
    [query, *_] = started.queries()
    for datum in ([ODD, 0.0], [1.0, 0.0]):
        message = Participant(started.protocol_, max_epsilon=3.0).respond(query, datum)
        assert np.isfinite(message.tangent_vec).all()
    assert not recwarn.list
