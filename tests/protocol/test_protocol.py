"""A protocol is frozen, complete, and the same text everywhere."""

import dataclasses
import json
import math
import pickle

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp import Participant
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.losses import PCALoss
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import GainRule, InferenceRule, Protocol, RadiusRule, make_protocol
from geomstats_ldp.server import Server

VARIANTS = [
    {},
    {"dim": 3, "epsilon": math.inf},
    {"mechanism": "gaussian", "delta": 1e-6, "retraction": "projection"},
    {"mechanism": "l2_ball", "n_participants": 101, "pairs_per_round": 3},
    {"preconditioner": [[2.0, 0.3], [0.3, 1.0]], "inference": InferenceRule.paper(guard=0.5)},
    {"radius": RadiusRule.fixed(0.14), "hessian_bound": 1.25},
]


@pytest.mark.parametrize("variant", VARIANTS)
def test_json_reads_back_to_an_equal_protocol(pca_protocol, variant):
    protocol = pca_protocol(**variant)
    text = protocol.to_json()
    rebuilt = Protocol.from_json(text)
    assert rebuilt == protocol
    assert rebuilt.fingerprint == protocol.fingerprint
    assert hash(rebuilt) == hash(protocol)
    # field by field, tuples and lists alike; Python's own JSON writes infinity as it is
    one, other = (json.loads(json.dumps(p.to_spec())) for p in (rebuilt, protocol))
    assert one == other
    for field in ("radius", "gain", "inference", "reference", "basis", "directions"):
        assert getattr(rebuilt, field) == getattr(protocol, field), field
    # the text does not depend on who writes it: same fingerprint from a reformatted text
    reordered = json.dumps(json.loads(text), indent=3, sort_keys=False)
    assert Protocol.from_json(reordered).fingerprint == protocol.fingerprint


def strict_json(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("variant", VARIANTS)
def test_text_is_valid_json_even_with_infinite_epsilon(pca_protocol, variant):
    record = strict_json(pca_protocol(**variant).to_json())
    assert record["format"] == 2


def test_infinite_epsilon_reads_back(pca_protocol):
    rebuilt = Protocol.from_json(pca_protocol(epsilon=math.inf).to_json())
    assert rebuilt.mechanism_spec["epsilon"] == math.inf
    assert math.isinf(rebuilt.mechanism.epsilon)


CHANGES = {
    "epsilon": {"epsilon": 2.5},
    "mechanism": {"mechanism": "l2_ball"},
    "norm_bound": {"norm_bound": 2.5},
    "region": {"region_radius": 0.81},
    "radius": {"radius": RadiusRule(0.3, 0.5, 0.28)},
    "gain": {"gain": GainRule(0.5, 10.0, 0.6, 0.51)},
    "inference": {"inference": InferenceRule(guard=1.0)},
    "hessian_range": {"inference": InferenceRule(hessian_range=(0.5, 4.0))},
    "hessian_blocks": {"inference": InferenceRule(hessian_blocks=((1, 0.5, 4.0), (1, 1.0, 1.0)))},
    "retraction": {"retraction": "projection"},
    "initial_point": {"initial_point": np.array([1.0, 0.0, 0.0])},
    "reference": {"reference": np.array([1.0, 0.0, 0.0])},
    "directions": {"directions": [[0, 1], [0, -1], [1, 0], [-1, 0]]},
    "preconditioner": {"preconditioner": np.diag([1.0, 1.0 + 1e-15 * 4])},
    "hessian_bound": {"hessian_bound": np.nextafter(4.0, 5.0)},
    "pairs_per_round": {"pairs_per_round": 2},
    "n_participants": {"n_participants": 100},
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_changed_field_changes_the_fingerprint(pca_protocol, change):
    protocol, changed = pca_protocol(), pca_protocol(**CHANGES[change])
    assert changed != protocol
    assert changed.fingerprint != protocol.fingerprint


def test_fingerprint_does_not_depend_on_the_type_of_a_number(pca_protocol):
    one = pca_protocol(radius=RadiusRule(1.0, 1.0, 0.0), gain=GainRule(1.0, 0.0, 0.6, 1.0))
    for number in (int, np.float64, np.float32, np.int64):
        other = pca_protocol(
            radius=RadiusRule(number(1), number(1), number(0)),
            gain=GainRule(number(1), number(0), 0.6, number(1)),
        )
        assert other.radius == one.radius
        assert other == one
        assert other.fingerprint == one.fingerprint


def test_numbers_of_a_rule_are_plain_however_it_is_annotated():
    """Annotations are texts here only because of the future import."""

    @dataclasses.dataclass(frozen=True)
    class Rule(RadiusRule.__base__):
        share: float
        count: int
        named: "float"

        def __post_init__(self):
            self._settle()

    rule = Rule(np.float64(2), np.int64(3), np.float32(0.5))
    assert [type(value) for value in rule.to_spec().values()] == [float, int, float]


def test_a_protocol_is_frozen(pca_protocol):
    protocol = pca_protocol()
    for field in dataclasses.fields(Protocol):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(protocol, field.name, None)
    for rule in (protocol.radius, protocol.gain, protocol.inference):
        with pytest.raises(dataclasses.FrozenInstanceError):
            rule.guard = 1.0


def test_a_protocol_pickles_after_its_objects_were_built(pca_protocol):
    protocol = pca_protocol(dim=3)
    _ = protocol.geometry, protocol.mechanism, protocol.schedule, protocol.working_region
    copy = pickle.loads(pickle.dumps(protocol))
    assert copy == protocol
    assert copy.fingerprint == protocol.fingerprint
    np.testing.assert_array_equal(copy.geometry.basis, protocol.geometry.basis)


def test_objects_are_those_that_went_in(pca_protocol):
    protocol = pca_protocol(dim=3, epsilon=4.0, region_radius=0.6, retraction="projection")
    assert protocol.dim == protocol.geometry.dim == 3
    assert protocol.geometry.retraction == "projection"
    assert protocol.mechanism == make_mechanism("privunit", epsilon=4.0, dim=3, bound=2.0)
    assert protocol.working_region.radius == 0.6
    assert protocol.schedule.radius_exponent == 0.27
    np.testing.assert_allclose(protocol.initial_point, protocol.working_region.center, rtol=1e-15)
    assert protocol.hessian_bound == 4.0  # the square of the norm bound
    assert "4.0-LDP" in repr(protocol)


# ------------------------------------------------------------------------ parts that do not fit


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"initial_point": [1.0, 1.0, 0.0]}, "initial_point"),
        ({"initial_point": [1.0, 0.0]}, "initial_point"),
        ({"initial_point": [0.0, 0.0, -1.0]}, "initial_point.*working region"),
        ({"reference": [np.nan, 0.0, 1.0]}, "reference"),
        ({"directions": np.eye(2)}, "directions"),
        ({"preconditioner": np.eye(3)}, "preconditioner"),
        ({"preconditioner": [[1.0, 2.0], [2.0, 1.0]]}, "preconditioner.*definite"),
        ({"preconditioner": [[1.0, 0.5], [0.0, 1.0]]}, "preconditioner.*symmetric"),
        ({"preconditioner": [[np.nan, 0.0], [0.0, 1.0]]}, "preconditioner.*finite"),
        ({"hessian_bound": 0.0}, "hessian_bound"),
        ({"hessian_bound": math.inf}, "hessian_bound"),
        ({"pairs_per_round": 0}, "pairs_per_round"),
        ({"pairs_per_round": 1.5}, "pairs_per_round"),
        ({"n_participants": -3}, "n_participants"),
        ({"n_participants": True}, "n_participants"),
        ({"retraction": "cayley"}, "retraction"),
    ],
)
def test_parts_that_do_not_fit_are_named(pca_protocol, options, match):
    with pytest.raises(ProtocolError, match=match):
        pca_protocol(**options)


SPHERE = Geometry(Hypersphere(dim=2), [1.0, 0.0, 0.0])


def assemble(geometry=SPHERE, mechanism_dim=2, bound=2.0, center_size=3, region_radius=0.8):
    return make_protocol(
        geometry,
        PCALoss(norm_bound=2.0),
        make_mechanism("privunit", epsilon=1.0, dim=mechanism_dim, bound=bound),
        geodesic_ball(np.eye(center_size)[0], region_radius),
        radius=RadiusRule(0.3, 0.5, 0.27),
        gain=GainRule(0.5, 10.0, 0.6, 0.5),
    )


def test_mechanism_and_loss_must_fit_the_space():
    assemble()
    with pytest.raises(ProtocolError, match=r"mechanism.*dimension"):
        assemble(mechanism_dim=3)
    with pytest.raises(ProtocolError, match=r"bound must be at least the score bound 2\.0"):
        assemble(bound=1.99)
    with pytest.raises(ProtocolError, match="shape"):
        assemble(center_size=4)
    with pytest.raises(ProtocolError, match="loss 'pca' needs a Hypersphere; got Euclidean"):
        assemble(Geometry(Euclidean(dim=2)), center_size=2)
    with pytest.raises(ProtocolError, match="injectivity radius"):
        assemble(region_radius=3.0)


def test_pairs_have_no_wide_rounds(pca_protocol):
    with pytest.raises(ProtocolError, match="n_wide must be None without rounds; got 2"):
        pca_protocol(radius=RadiusRule(0.3, 0.3, 0.0, n_wide=2))


@pytest.mark.parametrize(
    ("rule", "arguments", "match"),
    [
        (RadiusRule, (0.0, 0.5, 0.27), "radius maximum"),
        (RadiusRule, (0.3, -0.5, 0.27), "radius scale"),
        (RadiusRule, (np.inf, 0.5, 0.27), "radius maximum"),
        (GainRule, (0.0, 1.0, 0.6, 0.5), "gain constant"),
        (GainRule, (0.5, -1.0, 0.6, 0.5), "gain offset"),
        (GainRule, (0.5, 1.0, 0.6, np.nan), "step_cap"),
        (InferenceRule, ("smooth",), "hessian"),
        (InferenceRule, ("raw", -0.1), "ridge"),
        (InferenceRule, ("raw", 0.1, 0.0), "hessian_floor"),
    ],
)
def test_rules_name_what_is_out_of_range(rule, arguments, match):
    with pytest.raises(ProtocolError, match=match):
        rule(*arguments)


@pytest.mark.parametrize(
    "bounds",
    [(-0.1, 1.0), (2.0, 1.0), (0.0, 0.0), (0.0, math.inf), (1.0,), 1.0, (), "ab", {"low": 1}],
)
def test_a_range_of_the_hessian_is_one(bounds):
    with pytest.raises(ProtocolError, match="hessian_range must be"):
        InferenceRule(hessian_range=bounds)
    assert InferenceRule(hessian_range=[1, 2]) == InferenceRule(hessian_range=(1.0, 2.0))


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"hessian_blocks": [(2, 0.5)]}, "sequence of"),
        ({"hessian_blocks": [(0, 0.5, 1.0)]}, "size of hessian_blocks must be"),
        ({"hessian_blocks": [(2, 1.0, 0.5)]}, r"hessian_blocks must be \(low, high\)"),
        ({"hessian_blocks": [(2, 0.5, 1.0)], "hessian": "raw"}, "unless hessian is 'shrunk'"),
        (
            {"hessian_blocks": [(2, 0.5, 1.0)], "prior_hessian": np.eye(2), "prior_sd": 1.0},
            "unless hessian is 'shrunk' and has no prior",
        ),
    ],
)
def test_blocks_of_the_hessian_are_checked(fields, match):
    with pytest.raises(ProtocolError, match=match):
        InferenceRule(**fields)
    blocks = [[1, 0.5, 1], [2, 1, 1]]
    assert InferenceRule(hessian_blocks=blocks).hessian_blocks == ((1, 0.5, 1.0), (2, 1.0, 1.0))


def test_blocks_of_the_hessian_fill_the_space(pca_protocol):
    rule = InferenceRule(hessian_blocks=((1, 0.5, 1.0), (2, 1.0, 1.0)))
    with pytest.raises(ProtocolError, match="add up to the dimension 2"):
        pca_protocol(inference=rule)


def test_a_range_of_the_hessian_begins_under_its_bound(pca_protocol):
    with pytest.raises(ProtocolError, match=r"hessian_range must begin under hessian_bound=4\.0"):
        pca_protocol(inference=InferenceRule(hessian_range=(5.0, 6.0)))


def test_paper_rule_is_the_form_of_the_paper():
    rule = InferenceRule.paper(guard=0.2)
    assert (rule.hessian, rule.divisor, rule.horizon) == ("raw", "pairs", False)
    assert (rule.ridge, rule.hessian_floor, rule.hessian_unit) == (0.1, 0.5, 1.0)
    assert (rule.covariance_floor, rule.covariance_unit) == (0.1, 1.0)
    assert (rule.guard, rule.guard_cap, rule.guard_power) == (0.2, 0.35, 1.0)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "{}", '{"format": 99}', None])
def test_other_texts_are_refused(text):
    with pytest.raises(ProtocolError, match="not a protocol"):
        Protocol.from_json(text)


def test_a_device_takes_the_protocol_that_was_published_and_no_other(pca_protocol):
    published, other = pca_protocol(), pca_protocol(epsilon=9.0)
    assert Protocol.from_json(published.to_json(), published.fingerprint) == published
    with pytest.raises(ProtocolError, match=f"{published.fingerprint}; got {other.fingerprint}"):
        Protocol.from_json(other.to_json(), fingerprint=published.fingerprint)


@pytest.mark.parametrize("make", [Server, Participant])
@pytest.mark.parametrize("protocol", ["{}", None])
def test_what_is_no_protocol_is_named(make, protocol):
    came = type(protocol).__name__
    with pytest.raises(ProtocolError, match=f"as Protocol.from_json reads from a text; got {came}"):
        make(protocol)


@pytest.mark.parametrize("field", ["space", "radius", "directions", "inference"])
def test_incomplete_and_padded_records_are_refused(pca_protocol, field):
    record = json.loads(pca_protocol().to_json())
    with pytest.raises(ProtocolError, match=field):
        Protocol.from_json(json.dumps({k: v for k, v in record.items() if k != field}))
    with pytest.raises(ProtocolError, match="surprise"):
        Protocol.from_json(json.dumps(record | {"surprise": 1}))
