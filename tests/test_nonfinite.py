"""What counts as the first node that is not finite, and what of a value is not."""
import ml_dtypes
import numpy as np
import pytest

import interp
from interp.nonfinite import FirstNonFinite, search, spoilt

from .toys import floats, session

ROOT = "m (float[N] x) => (float[N] y) { [neg] a = Neg(x) [root] b = Sqrt(a) [abs] y = Abs(b) }"


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, "c8"])
def test_elements_that_are_not_finite_are_counted(kind):
    a = np.zeros((2, 3), kind)
    assert spoilt("a", a) is None
    a[0, 2], a[1, 0], a[1, 1] = np.inf, np.nan, np.nan
    found = spoilt("a", a)
    assert (found.nan, found.inf, found.size, found.first) == (2, 1, 6, (0, 2))


@pytest.mark.parametrize("value", [np.array(["nan"], object), np.arange(3), np.zeros(2, ml_dtypes.int4), None, [], {"a": 1.0}])
def test_what_holds_no_such_numbers_is_finite(value):
    assert spoilt("v", value) is None


def test_a_sequence_is_as_its_first_item_that_is_not_finite():
    assert spoilt("s", [np.ones(2), np.array([1, np.nan])]).name == "s[1]"


def test_the_node_is_found_also_where_the_run_fails_later():
    s = session("m (float[N] x, int64[1] d) => (float[N] a, int64[N] y) "
                "{ [root] a = Sqrt(x) [i] b = Cast <to = 7> (x) [div] y = Div(b, d) }",
                optimize=0)
    assert search(s, {"x": np.array([-1], "f4"), "d": np.array([0])}).event.node == "root"
    with pytest.raises(interp.RunError, match="divided by zero"):
        search(s, {"x": np.array([1], "f4"), "d": np.array([0])})
    assert s.observers == []


def test_copies_outlive_the_run():
    s = session(ROOT, optimize=0)
    found = search(s, {"x": np.array([1, -4], "f4")})
    s.run(None, {"x": floats(3, 2)})
    np.testing.assert_array_equal(found.inputs["a"], np.array([-1, 4], "f4"))
    np.testing.assert_array_equal(found.outputs["b"], np.array([np.nan, 2], "f4"))


def test_infinity_that_is_passed_on_is_no_find_and_nan_made_of_it_is():
    s = session("m (float[N] x) => (float[N] y) { [abs] a = Abs(x) [less] y = Sub(a, x) }", optimize=0)
    assert search(s, {"x": np.array([-np.inf], "f4")}) is None
    found = search(s, {"x": np.array([np.inf], "f4")})
    assert (found.event.node, found.made) == ("less", True)


def test_only_nan_where_infinity_does_not_matter():
    s = session("m (float[N] x) => (float[N] y) { [big] a = Exp(x) [less] y = Sub(a, a) }", optimize=0)
    finder = FirstNonFinite(infinite=False)
    s.observers.append(finder)
    s.run(None, {"x": np.array([1000], "f4")})
    assert finder.found.event.node == "less"
    s.observers[:] = []
    assert search(s, {"x": np.array([1000], "f4")}).event.node == "big"
