"""Activations spelled out by exporters become one operator, and only where they are what they look like."""
import pytest

from .fusing import floats, fused, model

CONSTANTS = """float three = {3}, float[1] six = {6}, float zero = {0}, float sixth = {0.16666667},
    float half = {0.5},
    float one = {1}, float root = {1.4142135}, float over = {0.70710677}, float c = {0.044715}, float d = {0.7978846},
    float two = {2}, float[1] beta = {1.5}"""
SPELLINGS = {
    "HardSwish": ("a = Add(x, three) b = Clip(a, zero, six) c1 = Mul(x, b) y = Div(c1, six)",
                  "a = Add(three, x) b = Clip(a, zero, six) c1 = Div(b, six) y = Mul(c1, x)",
                  "a = Add(x, three) b = Clip(a, zero, six) c1 = Mul(b, sixth) y = Mul(x, c1)",
                  "a = HardSigmoid<alpha=0.16666667, beta=0.5>(x) y = Mul(x, a)"),
    "HardSigmoid": ("a = Add(x, three) b = Clip(a, zero, six) y = Div(b, six)",),
    "Swish": ("a = Sigmoid(x) y = Mul(x, a)", "s = Mul(x, one) a = Sigmoid(s) y = Mul(a, x)",
              "s = Mul(beta, x) a = Sigmoid(s) y = Mul(x, a)"),
    "Mish": ("a = Softplus(x) b = Tanh(a) y = Mul(x, b)", "e = Exp(x) s = Add(e, one) l = Log(s) b = Tanh(l) y = Mul(b, x)"),
    "Gelu": ("a = Div(x, root) b = Erf(a) e = Add(b, one) f = Mul(half, e) y = Mul(x, f)",
             "a = Mul(x, over) b = Erf(a) e = Add(one, b) f = Mul(x, e) y = Mul(f, half)",
             "a = Mul(x, over) b = Erf(a) e = Add(one, b) g = Mul(half, x) y = Mul(g, e)",
             "a = Mul(c, x) b = Mul(x, a) e = Mul(x, b) f = Add(x, e) g = Mul(d, f) h = Tanh(g) i = Add(one, h) "
             "j = Mul(half, i) y = Mul(x, j)",
             "a = Pow(x, three) b = Mul(a, c) f = Add(x, b) g = Mul(f, d) h = Tanh(g) i = Add(h, one) "
             "j = Mul(x, i) y = Mul(j, half)",
             "a = Mul(x, x) b = Mul(a, c) f = Add(b, one) e = Mul(d, x) g = Mul(e, f) h = Tanh(g) i = Add(h, one) "
             "j = Mul(x, half) y = Mul(j, i)")}


def of(body):
    return model(f"m (float[3,5] x) => (float[3,5] y) <{CONSTANTS}> {{ {body} }}")


@pytest.mark.parametrize("name, body", [(n, b) for n, bodies in SPELLINGS.items() for b in bodies])
def test_a_spelling_becomes_one_operator(name, body):
    assert fused(of(body), {"x": 3 * floats((3, 5))}) == {name: 1}


@pytest.mark.parametrize("body", (
    "a = Add(x, three) b = Clip(a, zero, three) c1 = Mul(x, b) y = Div(c1, six)",
    "a = Add(x, two) b = Clip(a, zero, six) c1 = Mul(x, b) y = Div(c1, six)",
    "a = HardSigmoid<alpha=0.2, beta=0.5>(x) y = Mul(x, a)",
    "n = Neg(x) a = Sigmoid(n) y = Mul(x, a)",
    "a = Mul(x, over) b = Erf(a) e = Add(two, b) f = Mul(x, e) y = Mul(f, half)",
    "a = Mul(x, half) b = Erf(a) e = Add(one, b) f = Mul(x, e) y = Mul(f, half)",
    "a = Mul(x, x) b = Mul(a, c) f = Add(x, b) g = Mul(f, d) h = Tanh(g) i = Add(h, one) j = Mul(x, i) y = Mul(j, half)"))
def test_what_only_looks_alike_stays(body):
    assert not set(fused(of(body), {"x": floats((3, 5))})) & set(SPELLINGS) - {"HardSigmoid"}


def test_a_value_that_others_read_stays():
    text = f"m (float[3] x) => (float[3] y, float[3] a) <{CONSTANTS}> {{ a = Sigmoid(x) y = Mul(x, a) }}"
    assert fused(model(text), {"x": floats(3)})["Sigmoid"] == 1
