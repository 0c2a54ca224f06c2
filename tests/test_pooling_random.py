"""Random windows with ties, infinities and NaN against the oracle: what no grid thinks of."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import interp
from interp.ops.window import Window
from tests.every import every, run_node
from tests.oracle.pooling import axes
from tests.windows import WINDOWED, check, expected

CASES = [case.values[0] for op in WINDOWED for case in every(op)]
SPECIAL = {"none": [], "ties": [0.0, 1.0, -0.0], "infinite": [-np.inf, np.inf], "nan": [np.nan, -np.inf, 1.0]}


@st.composite
def windows(draw, cases):
    """A case, a tensor and the attributes of a window on it; now and then one that does not fit."""
    case = draw(st.sampled_from(cases))
    n = draw(st.integers(1, 3))

    def each(low, high, count=n):
        return draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

    attributes = {"kernel_shape": each(1, 4)}
    place = draw(st.sampled_from(["none", "pads", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    if place == "pads":
        attributes["pads"] = each(0, 5, 2 * n)
    elif place != "none":
        attributes["auto_pad"] = place
    optional = {
        "strides": lambda: each(1, 4),
        "dilations": lambda: each(1, 3),
        "ceil_mode": lambda: draw(st.integers(0, 1)),
        "count_include_pad": lambda: draw(st.integers(0, 1)),
        "storage_order": lambda: draw(st.integers(0, 1)),
        "p": lambda: draw(st.sampled_from([0.5, 1.0, 2.0, 3.5] if case.version == 1 else [1, 2, 3, 5])),
    }
    for name, value in optional.items():
        if case.has(name) and draw(st.booleans()):
            attributes[name] = value()
    wide = draw(st.booleans())  # enough for the loops over vectors, and then only one plane
    planes = (1, 1) if wide else (*each(0, 3, 1), *each(1, 3, 1))
    shape = (*planes, *each(1, 6 if n < 3 else 4, n - 1), draw(st.integers(1, 40 if wide else 9)))
    return case, tensor(case, shape, draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from(list(SPECIAL)))), attributes


def tensor(case, shape, seed, special):
    """Random values, half of them replaced by special ones."""
    random = np.random.default_rng(seed)
    if case.dtype.kind in "iu":
        low, high = np.iinfo(case.dtype).min, np.iinfo(case.dtype).max
        return random.integers(low, high if special == "none" else low + 3, shape, endpoint=True).astype(case.dtype)
    values = random.standard_normal(shape)
    if SPECIAL[special]:
        values = np.where(random.random(shape) < 0.5, values, random.choice(SPECIAL[special], shape))
    return values.astype(case.dtype)


@given(windows([case for case in CASES if case.op == "MaxPool"]))
def test_windows_lie_where_the_oracle_has_them(window):
    _, x, attributes = window
    attributes = {name: value for name, value in attributes.items() if name != "storage_order"}
    try:
        along = axes(x.shape, **attributes)
    except ValueError:
        with pytest.raises(ValueError, match="larger than the padded input"):
            Window.of(x.shape, **attributes)
        return
    placed = Window.of(x.shape, **attributes)
    assert placed.out == tuple(a.count for a in along)
    assert placed.before == tuple(a.before for a in along)
    assert placed.after == tuple(a.after for a in along)


def holds(window):
    case, x, attributes = window
    try:
        expected(case, x, attributes)
    except ValueError:
        with pytest.raises(interp.InterpError):
            run_node(case.op, case.version, {"X": x}, attributes)
        return
    check(case, x, attributes)


@pytest.mark.parametrize("op", WINDOWED)
def test_random_windows(op):
    cases = [case for case in CASES if case.op == op]
    settings(max_examples=300)(given(windows(cases))(holds))()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_many_random_windows(case):
    settings(max_examples=1000)(given(windows([case]))(holds))()
