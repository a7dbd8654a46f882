"""Known answers for devices in other languages: prints the file docs/known_answers.json.

Run ``python tests/collection/page/known_answers.py > docs/known_answers.json`` after a change of
the format of protocols. The answers of SHA-256 and Philox come from their authors, not from here.
"""

import json

import numpy as np
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDLogEuclideanMetric, SPDMatrices

from geomstats_ldp import (
    Participant,
    PrivateFrechetMean,
    PrivatePCA,
    PrivateSPDCovariance,
    PrivateVMFLocation,
)
from geomstats_ldp.collection.study import make_published, study_protocol_with
from geomstats_ldp.losses import loss_of, score_coords
from geomstats_ldp.mechanisms import make_mechanism, sphere_points
from geomstats_ldp.mechanisms.candidates import N_CANDIDATES, draw_candidate
from geomstats_ldp.scouting import NormHistogram
from geomstats_ldp.scouting.device import bins_of
from geomstats_ldp.serialization import canonical_json
from geomstats_ldp.server import make_server

#: Examples of FIPS 180-4, as NIST publishes them.
SHA256 = [
    ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
    [
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
    ],
    [
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
        "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
    ],
]

#: Of the file kat_vectors of Random123, philox4x32 with 10 rounds: counter, key, words.
PHILOX = [
    ["00000000 00000000 00000000 00000000", "00000000 00000000"]
    + ["6627e8d5 e169c58d bc57ac4c 9b00dbd8"],
    ["ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff"]
    + ["408f276d 41c83b0e a20bc7c6 6d5451fd"],
    ["243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0"]
    + ["d16cfe09 94fdcceb 5001e420 24126ea1"],
]

CANDIDATES = [0, 1, 2**32, 2**63 + 12345, 11400714819323198485, N_CANDIDATES - 1]
PLAN = {"n_participants": 1000, "n_rounds": 5}


def _spd(n, metric):
    space = SPDMatrices(n, equip=False)
    space.equip_with_metric(metric)
    return space


def protocols():
    """A protocol of every kind that the page for browsers answers."""
    spaces = {
        "Euclidean mean": None,
        "hyperbolic mean": Hyperboloid(dim=2),
        "SPD(2) mean": _spd(2, SPDAffineMetric),
        "SPD(3) mean": _spd(3, SPDAffineMetric),
        "SPD(3) log-Euclidean mean": _spd(3, SPDLogEuclideanMetric),
    }
    for name, space in spaces.items():
        mean = PrivateFrechetMean(space, data_radius=1.5, epsilon=4.0, **PLAN)
        yield name, mean.start(3 if space is None else None)
    yield "mean direction", PrivateVMFLocation(epsilon=2.0, **PLAN).start(3)
    yield "principal component", PrivatePCA(norm_bound=2.0, epsilon=8.0, **PLAN).start(4)
    covariance = PrivateSPDCovariance(norm_bound=3.0, mechanism="l2_ball", **PLAN)
    yield "covariance", covariance.start(2)


def data_for(protocol):
    """A datum within the bounds, one beyond them and one that has no score."""
    geometry, loss = protocol.geometry, protocol.loss_spec
    rng = np.random.default_rng(7)
    if loss["name"] != "frechet":
        near = rng.normal(size=geometry.shape[0]) / 2
        return [near.tolist(), (20 * near).tolist(), [1.0]]
    center = np.array(loss["center"])
    coords = rng.normal(size=geometry.dim) / np.sqrt(geometry.dim)
    points = [geometry.exp(geometry.lift(s * coords, center), center) for s in (0.5, 3.0)]
    return [point.tolist() for point in points] + [[1.0]]


def score(protocol, point, datum):
    """Score in frame coordinates; zero for a datum that has none."""
    geometry, loss, out = protocol.geometry, loss_of(protocol), np.zeros(protocol.dim)
    try:
        clipped = loss.clip(geometry, loss.check_data(geometry, datum))
    except ValueError:
        return out
    score_coords(loss, geometry, point, clipped, np.empty(geometry.shape), out)
    return out


def known_scores():
    """Texts of protocols with their fingerprints, a query, data and their scores."""
    for name, estimator in protocols():
        protocol = estimator.protocol_
        Participant(protocol, fingerprint=protocol.fingerprint)
        query = estimator.queries()[1]
        yield {
            "name": name,
            "protocol": protocol.to_json(),
            "fingerprint": protocol.fingerprint,
            "query": json.loads(query.to_json()),
            "data": data_for(protocol),
            "scores": [score(protocol, query.point, d).tolist() for d in data_for(protocol)],
        }


def known_mechanisms():
    """Thresholds, least weights, and what is released with given random bytes."""
    for name, epsilon, dim in [
        ("privunit", 0.5, 1),
        ("privunit", 2.0, 3),
        ("privunit", 4.0, 9),
        ("l2_ball", 0.5, 1),
        ("l2_ball", 4.0, 5),
    ]:
        mechanism = make_mechanism(name, epsilon=epsilon, dim=dim, bound=2.0)
        vector = np.random.default_rng(dim).normal(size=dim)
        entropy = np.random.default_rng(dim + 100).bytes(16 * 64)
        yield {
            "mechanism": mechanism.to_spec(),
            "threshold": getattr(mechanism, "threshold", None),
            "least_weight": mechanism.least_weight,
            "score": vector.tolist(),
            "random_bytes": entropy.hex(),
            "candidate": str(draw_candidate(mechanism, vector, lambda n, once=entropy: once[:n])),
        }


def known_lengths():
    """The question of scouts for a length: sets of candidates, bins of data, what is released."""
    for epsilon, n_bins in [(0.5, 8), (2.0, 80), (4.0, 80)]:
        norms = NormHistogram(epsilon, 1e-6, 1e6, n_bins)
        data = [[3.0, 4.0], [0.0, 0.0, 0.0], [1e-9], [250.0, -30.0, 4.0], [1e100, 1e100]]
        lengths = [np.linalg.norm(datum) for datum in data]
        entropy = np.random.default_rng(n_bins).bytes(16 * 64)
        one_hot = np.eye(n_bins)[bins_of(norms, lengths[0])]
        released = draw_candidate(norms.mechanism, one_hot, lambda n, once=entropy: once[:n])
        yield {
            "question": norms.to_json(),
            "fingerprint": norms.fingerprint,
            "candidates": list(map(str, CANDIDATES)),
            "sets": [np.flatnonzero(row).tolist() for row in norms.sets(CANDIDATES)],
            "data": data,
            "bins": bins_of(norms, lengths).tolist(),
            "random_bytes": entropy.hex(),
            "candidate": str(released),
        }


def known_studies():
    """Texts of studies that ask scouts, what scouts may find, and the protocol that follows."""
    shared = {"epsilon": 4.0, **PLAN}
    for name, parameters, found in [
        ("PrivatePCA", {"norm_bound": "scout", "initial_point": "scout"}, {"norm_bound": 0.07}),
        ("PrivatePCA", {"norm_bound": "scout", "mechanism": "l2_ball"}, {"norm_bound": 250.0}),
        ("PrivatePCA", {"norm_bound": 3.0, "initial_point": "scout"}, {}),
        ("PrivateVMFLocation", {"initial_point": "scout", "kappa": 2.0}, {}),
    ]:
        study = {"estimator": name, "parameters": {**parameters, **shared}, "n_features": 3}
        study |= {"rounds": {"quota": None, "minimum_batch": None}}
        study |= {"service": {"deadline_seconds": None}}
        scouts = {"n_participants": 400, "n_rounds": 2}
        published = make_published({**study, "scouts": scouts})
        if "initial_point" in parameters:
            found = {**found, "initial_point": [0.48, 0.6, -0.64]}
        if published.plan.tells_moment:
            covariance = np.diag([0.125, 0.25, 0.125, 0.0625, 0.0625, 0.125])
            found["known_moment"] = [np.diag([0.5, 1.0, 0.25]).tolist(), covariance.tolist()]
        found["protocol"] = study_protocol_with(published.study, found).to_json()
        case = {"study": published.to_json(), "fingerprint": published.fingerprint}
        case["found"] = canonical_json(found)
        if published.plan.start is not None:
            query, data = make_server(published.plan.start).queries(1)[0], [[0.3, -4.0, 0.5], [1.0]]
            case |= {"query": json.loads(query.to_json()), "data": data}
            case["scores"] = [score(published.plan.start, query.point, d).tolist() for d in data]
        yield case


def known_answers():
    """All of the file."""
    widths = {width: sphere_points(CANDIDATES, width).tolist() for width in (1, 2, 5)}
    return {
        "sha256": SHA256,
        "philox4x32_10": PHILOX,
        "points": {"candidates": list(map(str, CANDIDATES)), "by_width": widths},
        "mechanisms": list(known_mechanisms()),
        "scores": list(known_scores()),
        "lengths": list(known_lengths()),
        "studies": list(known_studies()),
    }


if __name__ == "__main__":
    print(json.dumps(known_answers(), indent=1))
