"""Attention spelled out becomes one operator, with the transposes around it, and only where that is what it is."""
import numpy as np
import pytest

from interp.kernels.attention import attention

from .fusing import floats, fused, model

HEADS = """q = Reshape(a, four) k = Reshape(b, four) v = Reshape(c, four)
    qt = Transpose<perm=[0,2,1,3]>(q) vt = Transpose<perm=[0,2,1,3]>(v)"""
TURNED = "kt = Transpose<perm=[0,2,3,1]>(k)"
TWICE = "kh = Transpose<perm=[0,2,1,3]>(k) kt = Transpose<perm=[0,1,3,2]>(kh)"
FLAT = """kh = Transpose<perm=[0,2,1,3]>(k) kf = Reshape(kh, three) kg = Transpose<perm=[0,2,1]>(kf) kt = Reshape(kg, back)"""
BACK = "m = MatMul(p, vt) t = Transpose<perm=[0,2,1,3]>(m) y = Reshape(t, same)"
CONSTANTS = """float scale = {0.35355339}, float root = {2.828427}, float zero = {0},
    int64[4] four = {2, 9, 3, 8}, int64[3] three = {6, 9, 8},
    int64[4] back = {2, 3, 8, 9}, int64[3] same = {2, 9, 24}"""
FEEDS = {n: floats((2, 9, 24), k) for k, n in enumerate("abc")}


def of(body, mask="float[2,1,1,9] mask"):
    inputs = ", ".join([*(f"float[2,9,24] {n}" for n in "abc"), *([mask] if mask else [])])
    return model(f"m ({inputs}) => (float[2,9,24] y) <{CONSTANTS}> {{ {HEADS} {body} {BACK} }}")


@pytest.mark.parametrize("keys", (TURNED, TWICE, FLAT))
@pytest.mark.parametrize("scores", (
    "s = MatMul(qt, kt) d = Div(s, root) e = Add(d, mask)", "qs = Mul(qt, scale) s = MatMul(qs, kt) e = Add(mask, s)",
    "qs = Div(qt, root) ks = Mul(kt, root) s = MatMul(qs, ks) d = Mul(s, scale) e = Add(d, mask)"))
@pytest.mark.parametrize("forgives", (False, True))
def test_a_spelling_becomes_one_operator(keys, scores, forgives):
    softmax = "r = Softmax<axis=-1>(e) n = IsNaN(r) p = Where(n, zero, r)" if forgives else "p = Softmax<axis=3>(e)"
    mask = np.where(floats((2, 1, 1, 9), 7) > 0, np.float32(0), np.float32(-1e4))
    mask[1] = -np.inf  # no key of this item takes part
    left = fused(of(f"{keys} {scores} {softmax}"), {**FEEDS, "mask": mask})
    assert left == {"Reshape": 4, "FusedAttention": 1}


def test_it_needs_no_mask():
    left = fused(of(f"{TURNED} s = MatMul(qt, kt) d = Mul(s, scale) p = Softmax<axis=-1>(d)", ""), FEEDS)
    assert left == {"Reshape": 4, "FusedAttention": 1}


@pytest.mark.parametrize("shape", ((9, 9), (3, 1, 9), (2, 3, 9, 9), (2, 3, 9, 1), (1,)))
def test_any_mask_that_broadcasts_will_do(shape):
    text = of(f"{TWICE} s = MatMul(qt, kt) e = Add(s, mask) p = Softmax<axis=-1>(e)", f"float[{','.join(map(str, shape))}] mask")
    assert fused(text, {**FEEDS, "mask": floats(shape, 8)})["FusedAttention"] == 1


@pytest.mark.parametrize("body", (
    f"{TURNED} s = MatMul(qt, kt) p = Softmax<axis=2>(s)",
    "kt = Transpose<perm=[0,2,3,1]>(k) s = MatMul(qt, kt) e = Exp(s) p = Softmax<axis=-1>(e)"))
def test_what_only_looks_alike_is_calculated_as_written(body):
    left = fused(of(body, ""), FEEDS)
    assert left["Softmax"] == 1 or left["Exp"] == 0


def test_scores_that_others_read_stay():
    text = f"""m (float[2,9,24] a, float[2,9,24] b, float[2,9,24] c) => (float[2,9,24] y, float[2,3,9,9] p) <{CONSTANTS}>
        {{ {HEADS} {TURNED} s = MatMul(qt, kt) p = Softmax<axis=-1>(s) {BACK} }}"""
    assert fused(model(text), FEEDS)["FusedAttention"] == 0


def test_a_batch_that_repeats_is_left_alone():
    text = """m (float[1,3,4,8] q, float[2,3,8,5] k, float[2,3,5,8] v) => (float[2,3,4,8] y)
        { s = MatMul(q, k) p = Softmax<axis=-1>(s) y = MatMul(p, v) }"""
    feeds = {"q": floats((1, 3, 4, 8)), "k": floats((2, 3, 8, 5), 1), "v": floats((2, 3, 5, 8), 2)}
    assert fused(model(text), feeds)["FusedAttention"] == 0


@pytest.mark.parametrize("lost, due", (("zero", 0), ("nan", np.nan), ("forgiven", 0)))
def test_what_a_query_gets_that_sees_no_key(lost, due):
    q, k, v = (floats((1, 2, 3, 8), s) for s in range(3))
    mask = np.zeros((1, 1, 3, 3), np.float32)
    mask[0, 0, 1] = -np.inf
    y = np.empty_like(q)
    attention(q, k, v, y, mask=mask, scale=1.0, lost=lost)()
    assert np.array_equal(y[:, :, 1], np.full((1, 2, 8), due, np.float32), equal_nan=True) and np.isfinite(y[:, :, ::2]).all()


def test_a_score_that_is_no_number_is_forgiven_where_asked():
    q, k, v = (floats((1, 1, 2, 8), s) for s in range(3))
    q[0, 0, 1, 0] = np.nan
    for lost, due in (("forgiven", np.zeros(8)), ("nan", np.full(8, np.nan))):
        y = np.empty_like(q)
        attention(q, k, v, y, scale=1.0, lost=lost)()
        assert np.array_equal(y[0, 0, 1], due, equal_nan=True)
