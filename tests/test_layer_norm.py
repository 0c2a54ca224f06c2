"""Layer, RMS, group, instance and Lp normalization, rotary embeddings and linear attention: what types alone do not show."""
import ml_dtypes
import numpy as np
import pytest

import interp

from .test_layout import run

FLOATS = ["f4", "f8", "f2", ml_dtypes.bfloat16]
NEAR = {"float32": 4e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2}
RANDOM = np.random.default_rng(5)
EPSILON = float(np.float32(1e-5))


def random(shape, dtype="f4"):
    return RANDOM.uniform(-2, 2, shape).astype(dtype)


def near(found, wanted):
    tolerance = NEAR[found.dtype.name]
    np.testing.assert_allclose(found.astype("f8"), wanted, rtol=tolerance, atol=tolerance)


def standardized(x, axes, epsilon=EPSILON):
    x = x.astype("f8")
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape, axis", [((3, 7), -1), ((2, 3, 5), 1), ((2, 3, 5), 0), ((4, 1), 1), ((2, 259), 1), ((37, 64), 1),
                                         ((1, 1), 0), ((0, 3), 1), ((3, 2, 16), -1), ((5000,), 0)])
def test_rows_are_standardized_and_scaled(shape, axis, dtype):
    x, scale, b = random(shape, dtype), random(shape[axis:], dtype), random(shape[axis:], dtype)
    axes = tuple(range(axis % len(shape), len(shape)))
    outputs = {"Y": dtype, "Mean": "f4", "InvStdDev": "f4"}
    y, mean, spread = run("LayerNormalization", 17, {"X": x, "Scale": scale, "B": b}, outputs, axis=axis)
    near(y, standardized(x, axes) * scale.astype("f8") + b.astype("f8"))
    near(mean, x.astype("f8").mean(axes, keepdims=True))
    near(spread / np.float32(300), 1 / np.sqrt(x.astype("f8").var(axes, keepdims=True) + EPSILON) / 300)
    near(run("LayerNormalization", 17, {"X": x, "Scale": scale}, axis=axis), standardized(x, axes) * scale.astype("f8"))
    root = np.sqrt(np.square(x.astype("f8")).mean(axes, keepdims=True) + EPSILON)
    near(run("RMSNormalization", 23, {"X": x, "scale": scale}, axis=axis), x.astype("f8") / root * scale.astype("f8"))


@pytest.mark.parametrize("scale", [(), (1,), (5,), (3, 1), (3, 5), (2, 1, 1), (1, 3, 5), (2, 3, 5)])
def test_scales_broadcast_to_the_whole_input(scale):
    x, scale = random((2, 3, 5)), random(scale)
    near(run("LayerNormalization", 17, {"X": x, "Scale": scale, "B": scale}), standardized(x, 2) * scale + scale)
    near(run("LayerNormalization", 17, {"X": x, "Scale": scale}, axis=1), standardized(x, (1, 2)) * scale)


def test_a_large_mean_costs_no_digits():
    x = (1e4 + RANDOM.standard_normal((3, 4096))).astype("f4")
    np.testing.assert_allclose(run("LayerNormalization", 17, {"X": x, "Scale": np.ones(1, "f4")}), standardized(x, 1), atol=2e-3)
    x = x[:, :512].astype("f8") * 1e6
    near(run("LayerNormalization", 17, {"X": x, "Scale": np.ones(1)}), standardized(x, 1))


def test_the_statistics_have_the_type_of_stash_type():
    x, scale = random((2, 3), "f2"), np.ones(3, "f2")
    feeds = {"X": x, "Scale": scale}
    for stash, dtype in ((1, "f4"), (16, ml_dtypes.bfloat16)):
        _, mean, spread = run("LayerNormalization", 17, feeds, {"Y": "f2", "Mean": dtype, "InvStdDev": dtype}, stash_type=stash)
        assert mean.dtype == spread.dtype == dtype
        near(mean, x.astype("f8").mean(1, keepdims=True))
    with pytest.raises(interp.InterpError, match="no floating type"):
        run("LayerNormalization", 17, feeds, stash_type=7)


@pytest.mark.parametrize("x, scale, b, axis", [((2, 3), (4,), (3,), -1), ((2, 3), (3,), (4,), -1), ((2, 3), (2, 2, 3), None, -1),
                                               ((2, 3), (3,), None, 2), ((2, 3), (3,), None, -3)])
def test_what_does_not_broadcast_is_refused(x, scale, b, axis):
    with pytest.raises(interp.InterpError, match="broadcast|outside"):
        run("LayerNormalization", 17, {"X": random(x), "Scale": random(scale), "B": None if b is None else random(b)}, axis=axis)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(2, 6, 4), (1, 6, 5, 7), (3, 6), (2, 6, 0), (0, 6, 3), (1, 6, 2, 3, 37), (2, 6, 40, 40)])
def test_groups_and_instances_are_standardized(shape, dtype):
    x, scale, b = random(shape, dtype), random(6, dtype), random(6, dtype)
    along, axes = (1, 6, *(1,) * (len(shape) - 2)), tuple(range(2, len(shape)))
    wide_scale, wide_b = (a.astype("f8").reshape(along) for a in (scale, b))
    with np.errstate(all="ignore"):
        single = standardized(x, axes) * wide_scale + wide_b if x.size else x
        for groups in (1, 2, 3, 6) if x.size else (2,):
            normal = standardized(x.reshape(shape[0], groups, -1), 2).reshape(shape) if x.size else x
            y = run("GroupNormalization", 21, {"X": x, "scale": scale, "bias": b}, num_groups=groups)
            near(y, normal * wide_scale + wide_b if x.size else x)
    near(run("InstanceNormalization", 22 if dtype == ml_dtypes.bfloat16 else 6, {"input": x, "scale": scale, "B": b}), single)


@pytest.mark.parametrize("op, opset, feeds, attributes", [
    ("GroupNormalization", 21, {"X": (2, 6, 3), "scale": (2,), "bias": (6,)}, {"num_groups": 2}),
    ("GroupNormalization", 21, {"X": (2, 6, 3), "scale": (6,), "bias": (6,)}, {"num_groups": 4}),
    ("GroupNormalization", 21, {"X": (2, 6, 3), "scale": (6,), "bias": (6,)}, {"num_groups": 0}),
    ("InstanceNormalization", 6, {"input": (2, 6, 3), "scale": (6,), "B": (3,)}, {}),
    ("LpNormalization", 22, {"input": (2, 3)}, {"p": 3}),
    ("LpNormalization", 22, {"input": (2, 3)}, {"axis": 2}),
    ("MeanVarianceNormalization", 13, {"X": (2, 3, 4)}, {})])
def test_settings_that_do_not_fit_are_refused(op, opset, feeds, attributes):
    with pytest.raises(interp.InterpError):
        run(op, opset, {k: random(s) for k, s in feeds.items()}, **attributes)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_norms_of_zero_leave_zeros(p, axis):
    x = random((3, 4, 5))
    x[:, :, 1] = x[:, 2] = x[0] = 0
    norm = np.linalg.norm(x.astype("f8"), p, axis, keepdims=True)
    near(run("LpNormalization", 22, {"input": x}, p=p, axis=axis), x / np.where(norm == 0, 1, norm))


def test_nan_is_kept():
    x = random((2, 4))
    x[0, 1] = np.nan
    one = np.ones(4, "f4")
    for op, opset, rest in (("LayerNormalization", 17, {"Scale": one}), ("RMSNormalization", 23, {"scale": one}),
                            ("LpNormalization", 22, {})):
        y = run(op, opset, {"X" if rest else "input": x, **rest})
        assert np.isnan(y[0]).all() and not np.isnan(y[1]).any()


# Rotary embeddings


def rotate(x, cos, sin, n, interleaved):
    """Pair by pair, as complex numbers: x is (batch, heads, rows, size), cos and sin (batch, rows, n)."""
    pairs = [(2 * k, 2 * k + 1) if interleaved else (k, k + n) for k in range(n)]
    y = x.astype("f8").copy()
    for k, (a, b) in enumerate(pairs):
        turned = (x[..., a].astype("f8") + 1j * x[..., b]) * (cos[..., k].astype("f8") + 1j * sin[..., k])[:, None]
        y[..., a], y[..., b] = turned.real, turned.imag
    return y


@pytest.mark.parametrize("dtype", ["f4", "f2", ml_dtypes.bfloat16])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("dim", [0, 4, 8, 18])
@pytest.mark.parametrize("flat, by_position", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_pairs_turn_by_their_position(dtype, interleaved, dim, flat, by_position):
    size, n = 18, (dim or 18) // 2
    x, table = random((2, 3, 4, size), dtype), [random((9, n), dtype) for _ in range(2)]
    at = RANDOM.integers(0, 9, (2, 4))
    cos, sin = (t[at] for t in table)
    feeds = {"X": x.swapaxes(1, 2).reshape(2, 4, -1) if flat else x}
    feeds |= dict(zip(("cos_cache", "sin_cache", "position_ids"), (*table, at) if by_position else (cos, sin), strict=False))
    heads = {"num_heads": 3} if flat else {}
    found = run("RotaryEmbedding", 23, feeds, interleaved=interleaved, rotary_embedding_dim=dim, **heads)
    wanted = rotate(x, cos, sin, n, interleaved)
    near(found, wanted.swapaxes(1, 2).reshape(2, 4, -1) if flat else wanted)


def test_positions_outside_of_the_cache_are_refused():
    feeds = {"X": random((1, 1, 2, 4)), "cos_cache": random((3, 2)), "sin_cache": random((3, 2))}
    for bad in ([[0, 3]], [[-1, 0]]):
        with pytest.raises(interp.InterpError):
            run("RotaryEmbedding", 23, {**feeds, "position_ids": np.array(bad)})
    with pytest.raises(interp.InterpError, match="a cache of"):
        run("RotaryEmbedding", 23, {**feeds, "X": random((1, 1, 2, 6)), "position_ids": np.array([[0, 1]])})
    with pytest.raises(interp.InterpError, match="number of heads"):
        run("RotaryEmbedding", 23, {**feeds, "X": random((1, 2, 4)), "position_ids": np.array([[0, 1]])})


# Linear attention


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("wide_decay", [0, 1])
def test_a_state_follows_its_rule(rule, heads, wide_decay):
    rows, size, v_size = 5, 3, 4
    q, k, v = random((2, rows, 2 * size)), random((2, rows, heads * size)) / 2, random((2, rows, heads * v_size))
    decay = -np.abs(random((2, rows, heads * (size if wide_decay else 1)))) if "gated" in rule else None
    beta = np.abs(random((2, rows, 1 if wide_decay else heads))) / 2 if "delta" in rule else None
    past = random((2, heads, size, v_size)) if wide_decay else None
    feeds = dict(zip(("query", "key", "value", "past_state", "decay", "beta"), (q, k, v, past, decay, beta), strict=True))
    y, present = run("LinearAttention", 27, feeds, {"output": "f4", "present_state": "f4"}, q_num_heads=2, kv_num_heads=heads,
                     update_rule=rule)
    wanted = np.zeros((2, rows, 2, v_size))
    for b, h in np.ndindex(2, heads):
        state = np.zeros((size, v_size)) if past is None else past[b, h].astype("f8")
        for t in range(rows):
            key, new = k[b, t].reshape(heads, size)[h].astype("f8"), v[b, t].reshape(heads, v_size)[h].astype("f8")
            if decay is not None:
                state = np.exp(decay[b, t].reshape(heads, -1)[h].astype("f8"))[:, None] * state
            if beta is not None:
                new = beta[b, t][h if beta.shape[2] > 1 else 0] * (new - state.T @ key)
            state = state + np.outer(key, new)
            for head in range(h * 2 // heads, (h + 1) * 2 // heads):
                wanted[b, t, head] = state.T @ q[b, t].reshape(2, size)[head] / np.sqrt(size)
        near(present[b, h], state)
    near(y, wanted.reshape(2, rows, -1))


@pytest.mark.parametrize("change", [dict(decay=None), dict(beta=None), dict(beta=(2, 5, 3)), dict(key=(2, 5, 7)),
                                    dict(value=(2, 4, 4)), dict(past_state=(2, 2, 3, 3))])
def test_a_state_that_does_not_fit_is_refused(change):
    shapes = {"query": (2, 5, 12), "key": (2, 5, 6), "value": (2, 5, 4), "past_state": (2, 2, 3, 2), "decay": (2, 5, 2),
              "beta": (2, 5, 2)} | change
    with pytest.raises(interp.InterpError):
        run("LinearAttention", 27, {k: s and random(s) for k, s in shapes.items()}, {"output": "f4", "present_state": "f4"},
            q_num_heads=4, kv_num_heads=2)
