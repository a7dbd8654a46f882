r"""An audit of what is released: how well messages alone tell two data apart.

For any event A the guarantee says P(A | y) <= e^eps P(A | y') + delta, so that

.. math:: \varepsilon \ge \log \{P(A \mid y) - \delta\} - \log P(A \mid y').

Events are sought in one half of the messages and judged in the other, with Clopper and Pearson's
limits, so that the bound holds whatever was tried. It finds leaks; it cannot prove that there are
none, which is what docs/theory/release_by_candidate.md is for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from geomstats_ldp.mechanisms import Mechanism, make_streams
from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import Protocol, Query

#: Quantiles of a feature that are tried as thresholds of an event, besides its smallest values.
_LEVELS = np.linspace(0.02, 0.98, 49)

#: Bytes of a message that the classifier sees.
_BYTES = 96


class AuditResult(NamedTuple):
    """Lower bounds of epsilon, by the kind of event.

    Attributes
    ----------
    place : float
        From where the vector is: its coordinates and the direction between the two data.
    bits : float
        From the binary digits of its doubles, and of the integers that were sent.
    support : float
        From its length, and from zeros in it.
    refusal : float
        From whether anything was released.
    classifier : float
        From a classifier that was trained on the bytes.
    """

    place: float
    bits: float
    support: float
    refusal: float
    classifier: float

    @property
    def epsilon(self) -> float:
        """The largest of them."""
        return max(self)


def audit_release(
    release: Callable,
    data: tuple[ArrayLike, ArrayLike],
    *,
    n: int = 1000,
    unit: float = 1.0,
    delta: float = 0.0,
    confidence: float = 0.99,
) -> AuditResult:
    """Bound epsilon from below by telling two data apart.

    Parameters
    ----------
    release : callable
        From a datum to ``(bytes, vector)``: what leaves the device, and what it stands for in
        coordinates, shape [dim]. An exception is a refusal. `device_release`, `candidate_release`
        and `direct_release` make some.
    data : tuple (datum, datum)
    n : int, default=1000
        Messages for each datum, half of which choose the events. No bound exceeds log n.
    unit : float, default=1.0
        Public factor by which the program multiplies its variates, such as the support radius:
        dividing by it shows the grid of the variates, where there is one.
    delta : float, default=0.0
    confidence : float, default=0.99
        Probability that no bound exceeds the true epsilon, if there is one.

    Returns
    -------
    result : AuditResult
    """
    samples = [[_try(release, datum) for _ in range(n)] for datum in data]
    texts, vectors, refused = zip(*(map(list, zip(*sample)) for sample in samples))
    dim = max([len(v) for vs in vectors for v in vs if v is not None], default=1)
    arrays = [np.array([np.zeros(dim) if v is None else v for v in vs]) for vs in vectors]
    families: dict[str, Any] = {
        "place": [_place(array, arrays) for array in arrays],
        "bits": [_bits(array, unit, _origins(data, dim)) for array in arrays],
        "support": [_support(array) for array in arrays],
        "refusal": [np.array(flags, dtype=float)[:, None] for flags in refused],
        "classifier": _classified(texts, arrays),
    }
    # Two directions of each kind are judged.
    level = (1.0 - confidence) / (2 * len(families))
    return AuditResult(**{name: _bound(a, b, delta, level) for name, (a, b) in families.items()})


def _try(release, datum):
    try:
        text, vector = release(datum)
    except Exception:
        return b"", None, True
    return text, np.asarray(vector, dtype=float), False


# ---------------------------------------------------------------------------- what releases


def device_release(protocol: Protocol, query: Query) -> Callable:
    """Release on a device of a person of their own, the text of a message.

    Parameters
    ----------
    protocol : Protocol
    query : Query

    Returns
    -------
    release : callable
        From a datum of the protocol's loss; see `audit_release`.
    """

    def release(datum):
        device = Participant(protocol, fingerprint=protocol.fingerprint)
        message = device.respond(query, datum)
        coords = protocol.geometry.coordinates(message.tangent_vec, np.asarray(query.point))
        return message.to_json().encode(), coords

    return release


def candidate_release(mechanism: Mechanism) -> Callable:
    """Release of a score vector as on a device, by a mechanism alone; see `audit_release`."""

    def release(vector):
        candidate = mechanism.release_candidate(vector)
        numbers = [candidate] if isinstance(candidate, int) else candidate
        text = b"".join((number % 2**64).to_bytes(8, "little") for number in numbers)
        return text, mechanism.candidate_vector(candidate)

    return release


def direct_release(mechanism: Mechanism, random_state: Seed = 0) -> Callable:
    """Release of a score vector in doubles, by the sampler of simulations; see `audit_release`."""
    streams = make_streams(random_state)

    def release(vector):
        released = mechanism.release(vector, mechanism.draw(1, streams)[0])
        return released.tobytes(), released

    return release


# ---------------------------------------------------------------------------- features


def _place(array, arrays):
    """Coordinates, and the coordinate along the difference of the halves that choose."""
    first, second = (a[: len(a) // 2].mean(axis=0) for a in arrays)
    return np.column_stack([array, array @ (first - second)])


def _origins(data, dim):
    """Zero, and the data where they are vectors that noise may have been added to."""
    vectors = [np.zeros(dim)]
    for datum in data:
        if np.shape(datum) == (dim,) and np.isfinite(np.asarray(datum, dtype=float)).all():
            vectors.append(np.asarray(datum, dtype=float))
    return vectors


def _bits(array, unit, origins):
    """What the last binary digits say of how a number was computed.

    For numbers as they are, and as multiples of the unit from an origin: the place of the last
    digit, and the last digits; whether the multiple gives the number back, and how far it is from
    the grids of the uniforms of 53 and 54 bits.
    """
    mantissa, exponent = np.frexp(array)
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = (whole & -whole).astype(float)
    zeros = np.log2(np.where(lowest > 0, lowest, 1.0))
    features = [zeros, exponent - 53 + zeros, *((whole >> shift) & 1 for shift in range(3))]
    for origin in origins:
        multiple = (array - origin) / unit
        features.append(multiple * unit + origin == array)
        for grid in (2.0**53, 2.0**54):
            features.append(np.abs(multiple * grid - np.rint(multiple * grid)))
    columns = np.concatenate(features, axis=1).astype(float)
    return np.column_stack([columns, *(sum(np.split(f, f.shape[1], axis=1)) for f in features)])


def _support(array):
    return np.column_stack([np.linalg.norm(array, axis=1), np.sum(array == 0.0, axis=1)])


def _classified(texts, arrays):
    """Score of a classifier of bytes, trained on the first halves, shape [n, 1] for each datum."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    tables = [
        np.column_stack([_byte_table(text), array.view(np.uint8).reshape(len(array), -1)])
        for text, array in zip(texts, arrays)
    ]
    half = len(tables[0]) // 2
    seen = np.concatenate([table[:half] for table in tables])
    labels = np.repeat([0, 1], half)
    model = HistGradientBoostingClassifier(max_iter=40, early_stopping=False, random_state=0)
    model.fit(seen[:, : 4 * _BYTES], labels)
    scores = [model.predict_proba(table[:, : 4 * _BYTES])[:, 1:] for table in tables]
    # What the training saw would look too good there: the events are chosen by the second half of
    # it, which is fair as the judging half is another.
    return scores


def _byte_table(texts):
    rows = [np.frombuffer(text[-_BYTES:].rjust(_BYTES, b"\0"), dtype=np.uint8) for text in texts]
    return np.array(rows)


# ---------------------------------------------------------------------------- bounds


def _bound(first, second, delta, level):
    """Best lower bound among events that features exceed a threshold, or do not."""
    half = len(first) // 2
    pooled = np.concatenate([first[:half], second[:half]])
    events = []
    for column in range(pooled.shape[1]):
        values = pooled[:, column]
        for threshold in {*np.quantile(values, _LEVELS, method="lower"), *np.unique(values)[:3]}:
            counts = [np.count_nonzero(x[:half, column] > threshold) for x in (first, second)]
            events += [(counts[0], counts[1], column, threshold, False)]
            events += [(half - counts[0], half - counts[1], column, threshold, True)]
    best = 0.0
    for swapped in (False, True):
        pairs = np.array([event[1::-1] if swapped else event[:2] for event in events])
        chosen = events[int(np.argmax(_epsilon(pairs[:, 0], pairs[:, 1], half, delta, level)))]
        _, _, column, threshold, below = chosen
        counts = [np.count_nonzero(x[half:, column] > threshold) for x in (first, second)]
        rest = len(first) - half
        counts = [rest - count if below else count for count in counts]
        counts = counts[::-1] if swapped else counts
        best = max(best, float(_epsilon(*map(np.atleast_1d, counts), rest, delta, level)[0]))
    return best


def _epsilon(likely, rare, n, delta, level):
    """Lower limit of log((p - delta)/p') from counts of n, each limit at half the level."""
    low = np.where(likely > 0, beta.ppf(0.5 * level, likely, n - likely + 1), 0.0)
    high = np.where(rare < n, beta.ppf(1.0 - 0.5 * level, rare + 1, n - rare), 1.0)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(low - delta, 0.0)) - np.log(high)


def largest_bound(n, confidence=0.99):
    """Largest bound that `audit_release` can reach, when an event never fails to tell apart."""
    rest, level = n - n // 2, (1.0 - confidence) / (2 * len(AuditResult._fields))
    return float(_epsilon(np.array([rest]), np.array([0]), rest, 0.0, level)[0])
