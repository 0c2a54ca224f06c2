"""Chains: many elementwise operations in one loop give what they give one by one, however operands broadcast."""
import numpy as np
import pytest

import interp
from interp.kernels import elementwise
from interp.kernels.chain import chain
from interp.ops.fused.chain import calls

from .fusing import floats, fused, model, operators

PROGRAMS = ("mul(x0, x1); add(t0, x2)", "exp(x1); mul(x0, t0); clip(t1, 0, 1); sub(t2, x2); mul(t3, x0)",
            "mul(x1, x2); sigmoid(t0); add(x0, t1); gelu(t2); div(t3, t1)",
            "leaky_relu(x0, 0.25); max(t0, x1); min(x2, t1)")
SHAPES = ((2, 24, 5, 7), (1, 4, 9, 9, 8), (3, 384), (7,), (2, 300, 1), (2, 1, 700), (1, 1), (), (0, 3), (5, 2100),
          (2, 3, 2, 3, 2))


def one_by_one(program, operands):
    registers = list(operands)
    for name, a, b, alpha, beta in calls(program, len(operands)):
        used = [registers[a]] if b is None else [registers[a], registers[b]]
        y = np.empty(np.broadcast_shapes(*[u.shape for u in used]), used[0].dtype)
        made = elementwise.unary(name, *used, y, alpha, beta) if b is None else elementwise.binary(name, *used, y, alpha)
        made()
        registers.append(y)
    return registers[-1]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.float16))
def test_a_chain_gives_the_bits_of_its_operations_one_by_one(shape, program, dtype):
    rng = np.random.default_rng(len(shape))
    for _ in range(6):
        small = [tuple(n if rng.random() < 0.5 else 1 for n in shape)[rng.integers(0, len(shape) + 1):] for _ in range(2)]
        operands = [rng.standard_normal(s).astype(dtype) for s in (shape, *small)]
        due = one_by_one(program, operands)
        for threads in (1, 2):
            y = np.full(shape, np.nan, dtype)
            chain(calls(program, 3), operands, y)(threads)
            assert np.array_equal(y, due)


def test_the_result_may_stand_where_an_operand_stands():
    x, c = floats((3, 1500)), floats((3, 1), 1)
    due = one_by_one("mul(x0, x1); sub(t0, x0)", [x, c])
    chain(calls("mul(x0, x1); sub(t0, x0)", 2), [x, c], x)()
    assert np.array_equal(x, due)


@pytest.mark.parametrize("program, message", (
    ("mul(x0, x2)", "registers 0 and 2 of 2"), ("less(x0, x1)", "no call in a chain: less"), ("mul x0", "no call of a chain"),
    ("mul(x0, x0, x1)", "one or two registers"), ("swim(x0)", "no call in a chain: swim")))
def test_what_is_no_program_is_refused(program, message):
    with pytest.raises(ValueError, match=message):
        chain(calls(program, 2), [floats(3), floats(3)], floats(3))


def test_operands_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="does not broadcast"):
        chain(calls("add(x0, x1)", 2), [floats(3), floats(2)], floats(3))
    with pytest.raises(TypeError, match="no chain of"):
        chain(calls("add(x0, x1)", 2), [floats(3), floats(3).astype("f8")], floats(3))
    with pytest.raises(ValueError, match="what its last call reads"):
        chain(calls("add(x0, x1)", 2), [floats((1, 1)), floats(1)], floats((3, 4)))


def test_a_run_of_operators_becomes_one_chain():
    text = """m (float[2,6,5,5] x, float[6,1,1] s) => (float[2,6,5,5] y) <float[1] a = {0.5}, float b = {3}>
        { p = Mul(x, s) q = Add(p, a) r = HardSigmoid<alpha=0.2, beta=0.5>(q) t = Mul(q, r) u = Pow(t, b) y = Sub(u, x) }"""
    feeds = {"x": floats((2, 6, 5, 5)), "s": floats((6, 1, 1), 1)}
    assert fused(model(text), feeds) == {"Chain": 1}


def test_what_others_read_stays():
    text = """m (float[4] x) => (float[4] y, float[4] q, float[4] z, float[4] w)
        { p = Exp(x) q = Neg(p) t = Abs(q) y = Sqrt(t) s = Cast<to=11>(y) u = Cast<to=1>(s) z = Sqrt(u)
          r = Relu(y) w = Neg(r) }"""
    left = fused(model(text), {"x": floats(4)})
    assert left== {"Chain": 3, "Cast": 2, "Sqrt": 1}


def test_what_is_calculated_in_a_smaller_shape_is_not_repeated():
    text = "m (float[3,40] x, float[40] s) => (float[3,40] y) { t = Sigmoid(s) y = Mul(x, t) }"
    left = fused(model(text), {"x": floats((3, 40)), "s": floats(40, 1)})
    assert left["Chain"] == 0 and left["Sigmoid"] == 1


def test_whole_numbers_and_truths_are_left_alone():
    text = "m (int64[3] x) => (int64[3] y) { p = Add(x, x) y = Mul(p, p) }"
    assert fused(model(text), {"x": np.arange(3)})["Chain"] == 0


def test_a_chain_takes_any_sizes():
    text = "m (float[N,C] x) => (float[N,C] y) { p = Mul(x, x) q = Add(p, x) y = Tanh(q) }"
    session = interp.load(model(text), threads=1)
    assert operators(session) == {"Chain": 1}
    for shape in ((2, 3), (1, 1), (0, 4), (40, 1000)):
        x = floats(shape)
        np.testing.assert_allclose(session.run(None, {"x": x})[0], np.tanh(x * x + x), atol=1e-6)


def test_an_exponent_of_more_axes_gives_them_to_the_result():
    made = interp.load(model("m (float[4] x) => (float[a,b] y) <float[1,1] c = {2}> { p = Pow(x, c) y = Neg(p) }"))
    [y] = made.run(None, {"x": np.float32([1, -2, 3, 0])})
    np.testing.assert_array_equal(y, np.float32([[-1, -4, -9, 0]]))
