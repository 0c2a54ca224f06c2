"""Attention: masks of every kind, caches, caps, grouped heads, windows and each output of the products, key by key in float64."""
import ml_dtypes
import numpy as np
import pytest

import interp

from .every import one_node

RANDOM = np.random.default_rng(11)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
NEAR = {"float32": 4e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2}
INPUTS = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")
OUTPUTS = ("Y", "present_key", "present_value", "qk_matmul_output")


def random(shape, dtype="f4"):
    return RANDOM.uniform(-1, 1, shape).astype(dtype)


def run(opset, feeds, outputs=("Y",), threads=1, **attributes):
    feeds = dict(zip(INPUTS, feeds, strict=False))
    model = one_node("Attention", opset, feeds, attributes, outputs)
    return interp.load(model, threads=threads).run(None, {k: a for k, a in feeds.items() if a is not None})


def attend(q, k, v, seen=None, bias=None, scale=None, cap=0.0):
    """One query after the other: (products, scores, probabilities, results), of what `seen(b, h, i, j)` lets take part."""
    (batch, heads, rows, size), keys = q.shape, k.shape[2]
    scale = 1 / np.sqrt(size) if scale is None else scale
    q, k, v = (a.astype("f8") for a in (q, k, v))
    k, v = (a.repeat(heads // a.shape[1], 1) for a in (k, v))
    products = np.einsum("bhid,bhjd->bhij", q, k) * scale
    scores = cap * np.tanh(products / cap) if cap else products.copy()
    shares, y = np.zeros((batch, heads, rows, keys)), np.zeros((batch, heads, rows, v.shape[3]))
    for at in np.ndindex(batch, heads, rows):
        for j in range(keys):
            scores[at][j] += 0 if bias is None else bias[at][j]
            if seen and not seen(*at, j):
                scores[at][j] = -np.inf
        allowed = np.isfinite(scores[at])
        if allowed.any():
            shares[at][allowed] = np.exp(scores[at][allowed] - scores[at][allowed].max())
            shares[at] /= shares[at].sum()
        y[at] = shares[at] @ v[at[:2]]
    return products, scores, shares, y


def near(found, wanted):
    tolerance = NEAR[found.dtype.name]
    np.testing.assert_allclose(found.astype("f8"), wanted, rtol=tolerance, atol=tolerance)


def projected(batch=2, heads=4, kv_heads=2, rows=3, keys=6, size=5, v_size=7, dtype="f4"):
    return (random((batch, heads, rows, size), dtype), random((batch, kv_heads, keys, size), dtype),
            random((batch, kv_heads, keys, v_size), dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", BFLOAT16])
@pytest.mark.parametrize("opset", [23, 24, 25])
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_a_head_of_keys_serves_a_group_of_queries(opset, dtype, kv_heads):
    q, k, v = projected(kv_heads=kv_heads, dtype=dtype)
    near(run(opset, (q, k, v))[0], attend(q, k, v)[3])


@pytest.mark.parametrize("sizes", [dict(rows=1, keys=1), dict(rows=1, keys=300), dict(rows=70, keys=70), dict(rows=97, keys=513),
                                   dict(size=1, v_size=1), dict(size=64, v_size=64, rows=33, keys=259),
                                   dict(size=17, v_size=33, rows=13, keys=31), dict(batch=0), dict(rows=0),
                                   dict(batch=1, heads=1, kv_heads=1, rows=131, keys=257, size=8, v_size=8)])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("threads", [1, 2])
def test_sizes_of_every_kind_agree_with_the_formula(sizes, causal, threads):
    q, k, v = projected(**sizes)
    [y] = run(24, (q, k, v), is_causal=causal, threads=threads)
    near(y, attend(q, k, v, (lambda b, h, i, j: j <= i) if causal else None)[3])


def test_large_scores_do_not_overflow():
    q, k, v = projected(rows=9, keys=600)
    q *= 1000
    np.testing.assert_allclose(run(24, (q, k, v))[0], attend(q, k, v)[3], atol=2e-3)  # scores themselves are rounded to 1e-4


def test_no_keys_give_zeros():
    q, k, v = projected(keys=0)
    np.testing.assert_array_equal(run(24, (q, k, v))[0], np.zeros((2, 4, 3, 7)))


@pytest.mark.parametrize("shape", [(6,), (1,), (3, 6), (3, 1), (1, 6), (4, 3, 6), (1, 3, 6), (4, 1, 6), (2, 4, 3, 6),
                                   (2, 1, 3, 6), (2, 1, 1, 6), (1, 4, 3, 6)])
@pytest.mark.parametrize("dtype", ["?", "f4", "u1", "i8"])
def test_masks_broadcast_from_the_right(shape, dtype):
    q, k, v = projected()
    mask = RANDOM.integers(0, 2, shape).astype(dtype) if dtype != "f4" else random(shape)
    if dtype == "?":
        mask[..., 0] = True
    full = np.broadcast_to(mask, (2, 4, 3, 6)).astype("f8")
    if dtype == "?":
        full = np.where(full, 0, -np.inf)
    near(run(23, (q, k, v, mask))[0], attend(q, k, v, bias=full)[3])


@pytest.mark.parametrize("opset", [23, 24, 25])
@pytest.mark.parametrize("dtype", ["?", "f4"])
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_a_row_without_keys_is_zeros(opset, dtype, mode):
    q, k, v = projected()
    allowed = np.ones((3, 6), bool)
    allowed[1] = False
    mask = allowed if dtype == "?" else np.where(allowed, 0, -np.inf).astype("f4")
    found = run(opset, (q, k, v, mask), OUTPUTS, qk_matmul_output_mode=mode)
    steps = attend(q, k, v, lambda b, h, i, j: i != 1)
    near(found[0], steps[3])
    assert not found[0][:, :, 1].any()
    near(found[3], (steps[0], steps[0], steps[1], steps[2])[mode])
    near(run(opset, (q, k, v, mask))[0], steps[3])


def test_what_a_mask_hides_may_be_nan_or_infinite():
    q, k, v = projected()
    k[:, :, 2], v[:, :, 2] = np.inf, 0
    mask = np.array([True, True, False, True, True, True])
    near(run(24, (q, k, v, mask))[0], attend(q, np.where(np.isfinite(k), k, 0), v, lambda b, h, i, j: j != 2)[3])


@pytest.mark.parametrize("where", range(3))
def test_nan_that_takes_part_is_kept(where):
    arrays = projected()
    arrays[where][0, 0, 1, 2] = np.nan
    [y] = run(24, arrays)
    assert np.isnan(y[0, 0]).any() and not np.isnan(y[1]).any()


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("cap", [0.0, 0.4])
def test_every_stage_of_the_products_is_shown(mode, cap):
    q, k, v = projected()
    mask = random((3, 6))
    found = run(24, (q, k, v, mask), OUTPUTS, qk_matmul_output_mode=mode, softcap=cap, is_causal=1)
    full = np.broadcast_to(mask, (2, 4, 3, 6)).astype("f8")
    raw, scores, shares, y = attend(q, k, v, lambda b, h, i, j: j <= i, full, cap=cap)
    near(found[0], y)
    near(found[3], (raw, cap * np.tanh(raw / cap) if cap else raw, scores, shares)[mode])


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", BFLOAT16])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("cache", ["before", "outside", "windowed"])
def test_every_stage_is_shown_with_a_cache_and_grouped_heads(mode, dtype, flat, cache):
    """A cache before the keys or outside of the operator, a window, a mask that hides a whole row; heads beside each other."""
    q, k, v = projected(dtype=dtype)
    past_k, past_v = random((2, 2, 2, 5), dtype), random((2, 2, 2, 7), dtype)
    valid = None if cache != "outside" else np.array([6, 4])
    keys, values = (k, v) if valid is not None else (np.concatenate([past_k, k], 2), np.concatenate([past_v, v], 2))
    mask = RANDOM.integers(0, 3, (2, 1, 3, keys.shape[2])) > 0
    mask[1, 0, 2] = False

    def seen(b, h, i, j):
        last = i + (2 if valid is None else valid[b] - 3)
        return mask[b, 0, i, j] and j <= last and (cache != "windowed" or j >= last - 2)

    raw, scores, shares, y = attend(q, keys, values, seen, cap=0.5)
    given = [a.swapaxes(1, 2).reshape(2, a.shape[2], -1) for a in (q, k, v)] if flat else [q, k, v]
    given += [mask, None, None, valid] if valid is not None else [mask, past_k, past_v]
    settings = dict(q_num_heads=4, kv_num_heads=2) if flat else {}
    settings |= dict(left_window_size=2) if cache == "windowed" else {}
    found = run(25, given, OUTPUTS, is_causal=1, softcap=0.5, qk_matmul_output_mode=mode, **settings)
    near(found[0], y.swapaxes(1, 2).reshape(2, 3, -1) if flat else y)
    near(found[3], (raw, 0.5 * np.tanh(raw / 0.5), scores, shares)[mode])


@pytest.mark.parametrize("cap", [0.3, 5.0, 50.0])
def test_a_cap_bends_the_scores_before_the_mask(cap):
    q, k, v = projected()
    mask = np.array([0, 0, -np.inf, 1, 0, 0], "f4")
    q *= 20
    near(run(24, (q, k, v, mask), softcap=cap)[0], attend(q, k, v, bias=np.broadcast_to(mask, (2, 4, 3, 6)), cap=cap)[3])


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", BFLOAT16])
@pytest.mark.parametrize("opset", [23, 25])
@pytest.mark.parametrize("past", [1, 4, 40])
def test_a_cache_goes_before_the_keys(opset, dtype, past):
    q, k, v = projected(dtype=dtype)
    past_k, past_v = random((2, 2, past, 5), dtype), random((2, 2, past, 7), dtype)
    y, keys, values = run(opset, (q, k, v, None, past_k, past_v), OUTPUTS[:3], is_causal=1)
    np.testing.assert_array_equal(keys, np.concatenate([past_k, k], 2))
    np.testing.assert_array_equal(values, np.concatenate([past_v, v], 2))
    wanted = attend(q, keys, values, lambda b, h, i, j: j <= i + past)[3]
    near(y, wanted)
    near(run(opset, (q, k, v, None, past_k, past_v), is_causal=1)[0], wanted)


def test_caches_grow_also_where_there_are_no_heads_of_queries():
    k, v, past_k, past_v = random((2, 3, 2, 5)), random((2, 3, 2, 7)), random((2, 3, 4, 5)), random((2, 3, 4, 7))
    y, keys, values = run(24, (np.zeros((2, 0, 2, 5), k.dtype), k, v, None, past_k, past_v), OUTPUTS[:3])
    assert y.shape == (2, 0, 2, 7)
    np.testing.assert_array_equal(keys, np.concatenate([past_k, k], 2))
    np.testing.assert_array_equal(values, np.concatenate([past_v, v], 2))


def test_heads_may_lie_side_by_side():
    q, k, v = projected()
    past_k, past_v = random((2, 2, 4, 5)), random((2, 2, 4, 7))
    flat = [a.swapaxes(1, 2).reshape(2, a.shape[2], -1) for a in (q, k, v)]
    y, keys, values = run(24, (*flat, None, past_k, past_v), OUTPUTS[:3], q_num_heads=4, kv_num_heads=2)
    np.testing.assert_array_equal(keys, np.concatenate([past_k, k], 2))
    near(y, attend(q, keys, values)[3].swapaxes(1, 2).reshape(2, 3, 28))
    near(run(24, flat, q_num_heads=4, kv_num_heads=2)[0], attend(q, k, v)[3].swapaxes(1, 2).reshape(2, 3, 28))


@pytest.mark.parametrize("opset", [24, 25])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("valid", [(6, 6), (3, 5), (2, 1), (0, 9)])
def test_only_valid_keys_of_a_cache_outside_count(opset, causal, valid):
    q, k, v = projected()
    [y] = run(opset, (q, k, v, None, None, None, np.array(valid)), is_causal=causal)
    near(y, attend(q, k, v, lambda b, h, i, j: j < valid[b] and (not causal or j <= i + valid[b] - 3))[3])


def test_a_short_mask_hides_the_rest():
    q, k, v = projected()
    for mask in (random((3, 4)), np.ones((3, 4), bool), random((3, 1))):
        full = np.full((2, 4, 3, 6), -np.inf)
        full[..., :mask.shape[1]] = 0 if mask.dtype == bool else mask
        near(run(24, (q, k, v, mask))[0], attend(q, k, v, bias=full)[3])
    with pytest.raises(interp.InterpError, match="broadcast"):
        run(23, (q, k, v, random((3, 4))))


@pytest.mark.parametrize("left, right", [(0, 0), (2, 1), (-1, 0), (1, -1), (9, 9)])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("past", [0, 2])
def test_a_window_hides_what_is_far(left, right, causal, past):
    q, k, v = projected(rows=5)
    caches = (random((2, 2, past, 5)), random((2, 2, past, 7))) if past else ()

    def seen(b, h, i, j):
        at = i + past
        return (left < 0 or j >= at - left) and (right < 0 or j <= at + right) and (not causal or j <= at)

    y = run(25, (q, k, v, None, *caches) if past else (q, k, v), is_causal=causal, left_window_size=left,
            right_window_size=right)[0]
    keys, values = (np.concatenate([c, a], 2) for c, a in zip(caches, (k, v), strict=True)) if past else (k, v)
    near(y, attend(q, keys, values, seen)[3])


def test_a_wider_softmax_shows_in_nothing_but_its_rounding():
    q, k, v = projected(dtype="f2")
    near(run(24, (q, k, v), softmax_precision=11)[0], attend(q, k, v)[3])


def test_values_may_have_a_type_of_their_own():
    q, k, _ = projected(dtype="f2")
    v = random((2, 2, 6, 7), "f8")
    near(run(24, (q, k, v))[0], attend(q, k, v)[3])


@pytest.mark.parametrize("broken, message", [
    (lambda q, k, v: (q, k[:1], v), "batches"),
    (lambda q, k, v: (q, k[:, :1], v), "heads of keys and values"),
    (lambda q, k, v: (q[:, :3], k, v), "cannot share"),
    (lambda q, k, v: (q, k[..., :4], v), "sizes of heads"),
    (lambda q, k, v: (q, k[:, :, :4], v), "numbers of keys and values"),
    (lambda q, k, v: (q, k, v, np.ones((4, 5, 6), bool)), "broadcast"),
    (lambda q, k, v: (q, k, v, np.ones((1, 1, 1, 3, 6), bool)), "broadcast"),
    (lambda q, k, v: (q, k, v, None, random((2, 2, 4, 5))), "come together"),
    (lambda q, k, v: (q, k, v, None, random((2, 2, 4, 5)), random((2, 2, 3, 7))), "a cache of"),
    (lambda q, k, v: (q, k, v, None, random((2, 2, 4, 5)), random((2, 2, 4, 7)), np.array([3, 3])), "a cache outside"),
    (lambda q, k, v: (q, k, v, None, None, None, np.array([3, 3, 3])), "nonpad_kv_seqlen")])
def test_what_does_not_fit_is_refused(broken, message):
    with pytest.raises(interp.InterpError, match=message):
        run(24, broken(*projected()))


@pytest.mark.parametrize("settings, message", [
    (dict(qk_matmul_output_mode=4), "0 to 3"), (dict(softmax_precision=7), "floating"), (dict(left_window_size=-2), "window"),
    (dict(q_num_heads=3), "attribute says 3")])
def test_attributes_that_mean_nothing_are_refused(settings, message):
    with pytest.raises(interp.InterpError, match=message):
        run(25, projected(), **settings)
    with pytest.raises(interp.InterpError, match="number of heads"):
        run(24, [a[0] for a in projected()])
