"""Concatenation without copies: what may be made in its place, what may not, and that the answers stay."""
import numpy as np
import pytest

import interp

from .fusing import floats, model
from .unbound import unbound

BOTH = "a = Relu(x) b = Neg(x) y = Concat<axis = 1>(a, b) "
# What a model does with x of [1,4]; its outputs; the steps it takes; the shapes of x.
CASES = {
    "both are made in place": (BOTH + "z = Exp(y)", "z", 3, [(1, 4)]),
    "the result is an output": ("a = Relu(x) b = Neg(x) z = Concat<axis = -1>(a, b)", "z", 2, [(1, 4)]),
    "a feed is copied": ("b = Neg(x) y = Concat<axis = 1>(x, b) z = Exp(y)", "z", 3, [(1, 4)]),
    "a constant is copied": ("b = Neg(x) y = Concat<axis = 1>(w, b) z = Exp(y)", "z", 3, [(1, 4)]),
    "one twice is copied": ("b = Neg(x) y = Concat<axis = 1>(b, b) z = Exp(y)", "z", 3, [(1, 4)]),
    "rows of several are copied": (BOTH + "z = Exp(y)", "z", 4, [(2, 4)]),
    "an output is copied": (BOTH + "z = Exp(y)", "zb", 4, [(1, 4)]),
    "one that is read after the whole is written over": (BOTH + "w2 = Exp(y) z = Neg(w2) e = Sqrt(a)", "ze", 6, [(1, 4)]),
    "one that is written over later": (BOTH + "c = Exp(a) d = Neg(c) e = Sqrt(d) z = Exp(y)", "ze", 7, [(1, 4)]),
    "in a whole that is itself a part": (BOTH + "r = Abs(x) t = Concat<axis = 1>(y, r) z = Tanh(t)", "z", 4, [(1, 4)]),
    "through a view": ("a = Relu(x) b = Neg(x) c = Reshape(a, s) d = Reshape(b, s) y = Concat<axis = 2>(c, d) z = Exp(y)", "z", 3,
                       [(1, 4)]),
    "sizes that the run brings": (BOTH + "z = Exp(y)", "z", 3, [(1, 4), (1, 2), (1, 0)]),
}


@pytest.mark.parametrize("name", CASES)
def test_joined_values(name):
    text, outputs, steps, shapes = CASES[name]
    size = "N" if len(shapes) > 1 else "4"
    rank = ", ".join(f"float[{'a,b,c' if 'view' in name else 'a,b'}] {o}" for o in outputs)
    constants = "float[1,2] w = {5, 6}, int64[3] s = {1, 1, 4}"
    source = model(f"m (float[{shapes[0][0]},{size}] x) => ({rank}) <{constants}> {{ {text} }}")
    session = interp.load(source, optimize=1)  # nothing is fused
    for seed, shape in enumerate(shapes):
        feeds = {"x": floats(shape, seed)}
        for got, due in zip(session.run(None, feeds), unbound(session, feeds), strict=True):  # each result an array of its own
            np.testing.assert_array_equal(got, due)
    assert len(session._body.whole.plan.labels) == steps, session._body.whole.plan.labels
