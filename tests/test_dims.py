"""Sizes with names: one canonical text for equal sizes, and the same answers as numbers give."""
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interp.dims import Dim, Fact, divided, fresh, larger, named, names, number, size_of, smaller, substituted

N, M, K = map(named, "NMK")


@pytest.mark.parametrize("a, b", [
    (N * 4 // 4, N), (N + M - N, M), (N * M // M, N), ((N + 1) * (N - 1), N * N - 1), (2 * N + N, N * 3), (N - N, 0), (N * 0, 0),
    (M * N, N * M), ((N + M) * K, K * M + K * N), ((N + M) // (N + M), 1), (N % N, 0), (N * 6 % 3, 0), (0 * N + 5, 5),
    (-1 * -N, N),
    (smaller(N, N), N), (larger(N + 0, N), N), (smaller(3, 5), 3), (larger(3, 5), 5), (7 // divided(2, 1), 3),
    (size_of((2, N, 3)), 6 * N), (size_of(()), 1), (5 - N + N, 5),
])
def test_equal_sizes_have_one_text(a, b):
    assert a == b and str(a) == str(b)
    assert hash(a) == hash(b)


@pytest.mark.parametrize("a, b", [
    (N, M), (N + 1, N), (N // 2 * 2, N), (smaller(N, M), larger(N, M)), (N * N, 2 * N), (N % 2, M % 2)])
def test_other_sizes_have_another(a, b):
    assert a != b


def test_what_comes_to_a_number_is_one():
    assert type(N - N + 3) is int and type((N * 2) // N) is int


def test_every_size_that_only_data_tell_is_another():
    assert fresh() != fresh()


def test_sizes_know_the_names_they_depend_on():
    assert (N * 2 + M // K).names == {"N", "M", "K"}
    assert names((1, N, smaller(M, 3))) == {"N", "M"}
    assert names((1, 2)) == frozenset()


def test_an_unknown_name_is_a_key_error():
    with pytest.raises(KeyError, match="M"):
        number(N + M, {"N": 1})


def test_a_number_is_found_once_and_remembered():
    known = {"N": 3}
    assert number(N * N + 1, known) == 10
    assert known[(N * N + 1).text] == 10


def test_a_fact_lists_its_value_as_sizes():
    import numpy as np
    assert Fact("tensor(int64)", (2,), np.array([N, 3], object)).sizes == [N, 3]
    assert Fact("tensor(int64)", (2,), np.array([1, 3])).sizes == [1, 3]
    assert Fact("tensor(int64)", (2,)).sizes is None


OPERATIONS = ["+", "-", "*", "//", "%", "min", "max"]


def apply(operation, a, b):
    if operation in ("//", "%"):
        b = larger(b, 1)  # sizes are divided by what is at least 1
    return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "//": lambda: a // b, "%": lambda: a % b,
            "min": lambda: smaller(a, b), "max": lambda: larger(a, b)}[operation]()


expressions = st.recursive(
    st.sampled_from(["N", "M", "K"]) | st.integers(-6, 20),
    lambda inner: st.tuples(st.sampled_from(OPERATIONS), inner, inner), max_leaves=8)


def built(expression, leaves):
    if isinstance(expression, tuple):
        operation, a, b = expression
        return apply(operation, built(a, leaves), built(b, leaves))
    return leaves.get(expression, expression)


NAMED = {"N": N, "M": M, "K": K}
numbers = st.fixed_dictionaries({k: st.integers(0, 40) for k in NAMED})


@given(expressions, numbers)
def test_names_come_to_what_numbers_come_to(expression, numbers):
    assert number(built(expression, NAMED), dict(numbers)) == built(expression, numbers)


@given(expressions, numbers)
def test_numbers_in_the_place_of_names_are_the_same(expression, numbers):
    assert substituted(built(expression, NAMED), numbers) == built(expression, numbers)


@given(expressions, numbers)
def test_a_part_of_the_names_may_be_settled_first(expression, numbers):
    first = substituted(built(expression, NAMED), {"N": numbers["N"]})
    assert isinstance(first, int) or "N" not in first.names
    assert number(first, dict(numbers)) == built(expression, numbers)


@given(expressions, expressions, numbers)
def test_sizes_with_one_text_are_equal(a, b, numbers):
    left, right = built(a, NAMED), built(b, NAMED)
    if left == right:
        assert number(left, dict(numbers)) == number(right, dict(numbers))


@given(expressions)
def test_renaming_there_and_back_changes_nothing(expression):
    size = built(expression, NAMED)
    there = substituted(size, {"N": named("A"), "M": named("B"), "K": named("C")})
    assert substituted(there, {"A": N, "B": M, "C": K}) == size


def stretched(a, b):
    return larger(a, b) * smaller(smaller(a, b), 1)


@pytest.mark.parametrize("step", [stretched, lambda a, b: a * (b + 1), lambda a, b: (a + b) // 3 + a],
                         ids=["broadcast", "products", "quotients"])
def test_sizes_made_of_many_names_stay_small(step):
    """Each of these doubles at every step, if nothing is done."""
    begun, size, known = time.perf_counter(), N, {"N": 2}
    for i in range(60):
        size = step(size, named(f"n{i}"))
        known[f"n{i}"] = i % 3
    text = len(str(size))
    settled = number(size, dict(known))
    assert substituted(size, known) == settled
    assert len(size.names) == 61
    assert time.perf_counter() - begun < 2
    assert text < 5000

    expected = 2
    for i in range(60):
        expected = step(expected, i % 3)
    assert settled == expected


def test_a_long_chain_of_sizes_is_no_deep_recursion():
    size, known = N, {"N": 1000}
    for i in range(3000):
        size = smaller(size + 1, named(f"n{i % 7}")) // 2
    known |= {f"n{i}": 50 for i in range(7)}
    assert isinstance(size, Dim) and len(size.names) == 8
    assert number(size, known) == 1 and substituted(size, {"N": 5}).names == {f"n{i}" for i in range(7)}
