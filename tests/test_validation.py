"""Checks of arguments: what they let pass, and what their errors say and leave out."""

import math
from fractions import Fraction

import numpy as np
import pytest

from geomstats_ldp.exceptions import ArgumentTypeError, InvalidMessageError, ProtocolError
from geomstats_ldp.validation import (
    check_all,
    check_choice,
    check_integer,
    check_non_negative,
    check_positive,
    check_real,
    check_shape,
    finite_array,
)


@pytest.mark.parametrize("value", [3, np.int32(3), np.uint8(3), np.array(3)])
def test_integers_of_any_kind_are_plain_ones(value):
    assert type(check_integer("n", value)) is int and check_integer("n", value, 3, 3) == 3


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.array(2.0), Fraction(2)])
def test_real_numbers_of_any_kind_are_plain_ones(value):
    for check in (check_positive, check_non_negative):
        assert type(check("x", value)) is float and check("x", value) == 2.0


@pytest.mark.parametrize("value", [True, np.True_, "3", None, 3.0, [3], np.array([3])])
def test_what_is_no_integer_is_another_type(value):
    with pytest.raises(ArgumentTypeError, match="n must be an integer of at least 1; got"):
        check_integer("n", value)


@pytest.mark.parametrize("value", [False, "3", None, 3j, [3.0], np.array([3.0])])
def test_what_is_no_number_is_another_type(value):
    with pytest.raises(TypeError, match="x must be a real number, positive and finite; got"):
        check_positive("x", value)


@pytest.mark.parametrize("value", [0, -1, 10**400])
def test_integers_out_of_range_are_refused(value):
    with pytest.raises(ProtocolError, match="n must be an integer from 1 to 9; got") as caught:
        check_integer("n", value, high=9)
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize("value", [-1e-300, math.nan, math.inf, -math.inf, 10**400, -(10**400)])
def test_numbers_out_of_range_are_refused(value):
    for check in (check_positive, check_non_negative):
        with pytest.raises(ProtocolError, match=r"x must be .*and finite; got"):
            check("x", value)


def test_the_ends_of_a_range():
    assert check_non_negative("x", 0) == 0.0
    with pytest.raises(ProtocolError, match=r"x must be positive and finite; got 0\.0"):
        check_positive("x", 0)
    assert check_real("x", 10**400, "positive", lambda x: x > 0) == math.inf
    with pytest.raises(ProtocolError, match=r"x must be in \(0, 1\); got 1\.0"):
        check_real("x", 1, "in (0, 1)", lambda x: 0 < x < 1)


def test_choices():
    assert check_choice("mode", "a", ("a", None)) == "a"
    assert check_choice("mode", None, ("a", None)) is None
    for value in ("b", 1, None, ["a"], np.array(["a", "b"])):
        with pytest.raises(ProtocolError, match=r"mode must be one of \('a', 'c'\); got"):
            check_choice("mode", value, ("a", "c"))


@pytest.mark.parametrize(
    ("shape", "good", "bad", "text"),
    [
        ((2, 3), [(2, 3)], [(3,), (3, 2), (1, 2, 3)], r"\(2, 3\)"),
        ((3,), [(3,)], [(), (2,), (1, 3)], r"\(3,\)"),
        ((), [()], [(1,)], r"\(\)"),
        (("n", 3), [(0, 3), (7, 3)], [(3,), (7, 2), (1, 7, 3)], r"\(n, 3\)"),
        ((..., 3), [(3,), (0, 3), (2, 7, 3)], [(), (2,), (3, 2)], r"\[\.\.\., 3\]"),
        ((...,), [(), (2, 3)], [], ""),
    ],
)
def test_shapes(shape, good, bad, text):
    for came in good:
        assert finite_array("x", np.ones(came), shape).shape == came
    for came in bad:
        with pytest.raises(ProtocolError, match=f"x must have shape {text}; got "):
            check_shape("x", np.ones(came), shape)


@pytest.mark.parametrize(
    "values", [["7.25"], [None], [7.25j], [True], [[7.25], [1.0, 2.0]], "7.25", [7.25, "a"]]
)
def test_arrays_of_something_else_are_refused_and_not_quoted(values):
    with pytest.raises(InvalidMessageError, match="x must be an array of real numbers") as caught:
        finite_array("x", values, (...,), InvalidMessageError)
    assert "7.25" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@pytest.mark.parametrize(
    ("shape", "place"),
    [((2, 3, 4), "$"), ((..., 4), r" at index \(1, 2\)$"), ((..., 3, 4), " at index 1$")]
    + [(("n", 3, 4), " at index 1$")],
)
def test_the_place_of_what_is_not_finite_is_named_and_no_value(shape, place):
    values = np.full((2, 3, 4), 7.25)
    values[1, 2, 1] = np.nan
    with pytest.raises(ValueError, match="x must be finite; it contains NaN or inf" + place):
        finite_array("x", values, shape, ValueError)


def test_arrays_are_floats_in_the_order_of_c():
    given = np.asfortranarray(np.arange(6).reshape(2, 3))
    array = finite_array("x", given, (2, 3))
    assert array.dtype == float and array.flags.c_contiguous
    np.testing.assert_array_equal(array, given)


def test_the_first_of_some_points_that_fail():
    check_all("points must be good", np.array([True, True]))
    check_all("points must be good", True)
    with pytest.raises(ProtocolError, match=r"points must be good; this fails at index 1$"):
        check_all("points must be good", np.array([True, False, False]))
    with pytest.raises(ProtocolError, match=r"points must be good; this fails$"):
        check_all("points must be good", False)
