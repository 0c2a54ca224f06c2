"""Bias, activation, residual and transposes go into the products before or after them, and only where they may."""
import pytest

from .fusing import floats, fused, model

FEEDS = {"a": floats((2, 5, 16)), "b": floats((16, 24), 1), "c": floats(24, 2), "r": floats((2, 5, 24), 3)}


def of(body, outputs="float[2,5,24] y"):
    return model(f"""m (float[2,5,16] a, float[16,24] b, float[24] c, float[2,5,24] r) => ({outputs})
        <float zero = {{0}}, float six = {{6}}> {{ {body} }}""")


@pytest.mark.parametrize("body", (
    "m = MatMul(a, b) y = Add(m, c)", "m = MatMul(a, b) n = Add(c, m) y = Relu(n)",
    "m = MatMul(a, b) n = Add(m, c) y = Add(r, n)",
    "m = MatMul(a, b) n = Add(m, r) y = HardSwish(n)", "m = MatMul(a, b) y = Clip(m, zero, six)",
    "m = MatMul(a, b) n = Add(m, c) o = Add(n, r) y = LeakyRelu<alpha=0.2>(o)",
    "m = MatMul(a, b) y = HardSigmoid<alpha=0.3, beta=0.4>(m)"))
def test_what_follows_a_product_goes_into_it(body):
    assert fused(of(body), FEEDS) == {"FusedMatMul": 1}


@pytest.mark.parametrize("body, outputs, more", (
    ("m = MatMul(a, b) y = Add(m, c)", "float[2,5,24] y, float[2,5,24] m", {"MatMul": 1, "Add": 1}),
    ("m = MatMul(a, b) n = Relu(m) y = Add(n, c)", "float[2,5,24] y", {"FusedMatMul": 1, "Add": 1}),
    ("m = MatMul(a, b) n = Add(m, r) y = Gelu(n)", "float[2,5,24] y", {"FusedMatMul": 1, "Gelu": 1}),
    ("m = MatMul(a, b) y = Add(m, m)", "float[2,5,24] y", {"MatMul": 1, "Add": 1})))
def test_what_may_not_go_into_it_stays(body, outputs, more):
    assert fused(of(body, outputs), FEEDS) == more


def test_a_sum_of_a_larger_shape_stays():
    text = "m (float[1,5,16] a, float[16,24] b, float[3,5,24] r) => (float[3,5,24] y) { m = MatMul(a, b) y = Add(m, r) }"
    feeds = {"a": floats((1, 5, 16)), "b": floats((16, 24), 1), "r": floats((3, 5, 24), 2)}
    assert fused(model(text), feeds)["Add"] == 1


def test_gemm_too():
    text = """m (float[5,16] a, float[24,16] b, float[24] c, float[5,24] r) => (float[5,24] y)
        { m = Gemm<alpha=0.5, beta=2.0, transB=1>(a, b, c) n = Add(m, r) y = Relu(n) }"""
    feeds = {"a": floats((5, 16)), "b": floats((24, 16), 1), "c": floats(24, 2), "r": floats((5, 24), 3)}
    assert fused(model(text), feeds) == {"FusedMatMul": 1}


def test_a_transposed_factor_is_read_as_it_lies():
    text = "m (float[3,5,16] a, float[3,24,16] b) => (float[3,5,24] y) { t = Transpose<perm=[0,2,1]>(b) y = MatMul(a, t) }"
    assert fused(model(text), {"a": floats((3, 5, 16)), "b": floats((3, 24, 16), 1)}) == {"FusedMatMul": 1}
    text = "m (float[3,16,5] a, float[5,3,16] b) => (float[3,16,16] y) { t = Transpose<perm=[1,0,2]>(b) y = MatMul(a, t) }"
    assert fused(model(text), {"a": floats((3, 16, 5)), "b": floats((5, 3, 16), 1)}) == {"MatMul": 1, "Transpose": 1}
