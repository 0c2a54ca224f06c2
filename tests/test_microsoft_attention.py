"""Attention of com.microsoft and its kin: what onnxruntime gives."""
import numpy as np
import pytest

import interp

from .microsoft import agree, ours, theirs

RANDOM = np.random.default_rng(23)


def random(*shape):
    return RANDOM.uniform(-1, 1, shape).astype("f4")


def ints(*values):
    return np.array(values, "i4")


MASKS = {"none": None, "raw": ints([1, 1, 1, 0], [0, 1, 1, 1]), "lengths": ints(3, 4), "spans": ints(3, 4, 0, 1),
         "by_query": np.maximum(RANDOM.integers(0, 2, (2, 4, 4)), np.eye(4, dtype=int)).astype("i4")}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("more", [None, (2, 2, 4, 4), (1, 1, 4, 4)])
def test_attention_with_its_projections(mask, causal, more):
    inputs = [random(2, 4, 6), random(6, 24), random(24), MASKS[mask], None, None if more is None else random(*more)]
    agree("Attention", inputs, num_heads=2, unidirectional=causal)


def test_sizes_of_values_and_scales_of_its_own():
    agree("Attention", [random(2, 4, 6), random(6, 26), random(26), MASKS["raw"]], num_heads=2, qkv_hidden_sizes=[8, 8, 10],
          scale=0.3, mask_filter_value=-3.0)
    agree("Attention", [random(2, 4, 6), random(6, 24)], num_heads=4)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mask", [None, ints([1] * 7, [0, 0, 1, 1, 1, 1, 0])])
def test_attention_keeps_a_cache(causal, mask):
    inputs = [random(2, 4, 6), random(6, 24), random(24), mask, random(2, 2, 2, 3, 4)]
    agree("Attention", inputs, ("f4", "f4"), num_heads=2, unidirectional=causal)


@pytest.mark.parametrize("settings", [dict(do_rotary=1), dict(past_present_share_buffer=1)])
def test_what_attention_does_not_serve_is_refused(settings):
    with pytest.raises(interp.InterpError, match=f"{next(iter(settings))} is not supported"):
        ours("Attention", [random(2, 4, 6), random(6, 24), random(24)], num_heads=2, **settings)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mask", [None, ints([1, 1, 1, 0], [0, 1, 1, 1])])
@pytest.mark.parametrize("kinds", [("u1", "u1"), ("u1", "i1")])
def test_attention_of_bytes(causal, mask, kinds):
    x, w = (RANDOM.integers(0, 100, s).astype(k) for s, k in zip(((2, 4, 6), (6, 24)), kinds, strict=True))
    zeros = [np.array(7, k) for k in kinds]
    inputs = [x, w, random(24), np.array(0.02, "f4"), np.array(0.03, "f4"), mask, *zeros]
    agree("QAttention", inputs, num_heads=2, unidirectional=causal)
    agree("QAttention", [*inputs, random(2, 2, 2, 3, 4)] if mask is None else inputs, ("f4", "f4"), num_heads=2)


@pytest.mark.parametrize("bias", [0, 1])
@pytest.mark.parametrize("mask", [None, ints([1] * 5, [1, 0, 1, 1, 0]), ints(5, 3),
                                  RANDOM.integers(0, 2, (2, 4, 5)).astype("i4")])
@pytest.mark.parametrize("more", [None, (2, 2, 4, 5), (1, 2, 4, 5)])
def test_queries_keys_and_values_apart(bias, mask, more):
    inputs = [random(2, 4, 8), random(2, 5, 8), random(2, 5, 6), random(22) if bias else None, mask,
              None if more is None else random(*more)]
    agree("MultiHeadAttention", inputs, num_heads=2, scale=0.4)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("bias", [0, 1])
def test_multi_head_attention_keeps_a_cache(causal, bias):
    inputs = [random(2, 4, 8), random(2, 4, 8), random(2, 4, 8), random(24) if bias else None, None, None, random(2, 2, 3, 4),
              random(2, 2, 3, 4)]
    agree("MultiHeadAttention", inputs, ("f4",) * 3, num_heads=2, unidirectional=causal)
    agree("MultiHeadAttention", inputs, ("f4",) * 4, num_heads=2)


def test_keys_may_be_by_heads_already():
    agree("MultiHeadAttention", [random(2, 4, 8), random(2, 2, 5, 4), random(2, 2, 5, 4), random(24)], num_heads=2)


def test_packed_keys_are_refused():
    with pytest.raises(interp.InterpError, match="packed"):
        ours("MultiHeadAttention", [random(2, 4, 2, 3, 4)], num_heads=2)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("x", [(2, 3, 16), (2, 2, 3, 8)])
@pytest.mark.parametrize("positions", [np.array([2]), np.array([[0, 3, 1], [4, 4, 2]])])
@pytest.mark.parametrize("part", [0, 4])
def test_rotary_embeddings(interleaved, x, positions, part):
    caches = random(9, part // 2 or 4), random(9, part // 2 or 4)
    agree("RotaryEmbedding", [random(*x), positions, *caches], interleaved=interleaved,
          **({"num_heads": 2, "rotary_embedding_dim": 4} if part else {}))


def grouped(rows, past, lengths, buffer=None, packed=False, size=16):
    """Inputs of GroupQueryAttention: so many new rows, behind caches of which each batch item has its own length."""
    batch = len(lengths)
    q, k, v = random(batch, rows, 4 * size), random(batch, rows, 2 * size), random(batch, rows, 2 * size)
    caches = [random(batch, 2, buffer or past, size) for _ in range(2)] if past else [None, None]
    start = [np.concatenate([q, k, v], 2), None, None] if packed else [q, k, v]
    return [*start, *caches, ints(*lengths) - 1, np.array(past + rows, "i4")]


CASES = {"prompt": (5, 0, (5, 5)), "one_more": (1, 6, (7, 7)), "uneven": (1, 6, (7, 4)), "several": (3, 6, (9,)),
         "buffer": (1, 6, (7, 5), 12)}


def agree_on_groups(inputs, **settings):
    """Results, and as much of the caches as counts."""
    settings |= {"num_heads": 4, "kv_num_heads": 2}
    found, wanted = (run("GroupQueryAttention", inputs, ("f4",) * 3, **settings) for run in (ours, theirs))
    np.testing.assert_allclose(found[0], wanted[0], rtol=2e-5, atol=2e-5)
    for ours_, theirs_ in zip(found[1:], wanted[1:], strict=True):
        assert ours_.shape == theirs_.shape
        for item, last in enumerate(inputs[5]):
            np.testing.assert_allclose(ours_[item, :, :last + 1], theirs_[item, :, :last + 1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("packed", [0, 1])
@pytest.mark.parametrize("rotary", [0, 1, 2])
def test_groups_of_heads_over_a_cache(case, packed, rotary):
    inputs = grouped(*CASES[case], packed=packed)
    settings = {}
    if rotary:
        inputs += [random(16, 8), random(16, 8)]
        settings = {"do_rotary": 1, "rotary_interleaved": rotary - 1}
    agree_on_groups(inputs, **settings)


@pytest.mark.parametrize("case", ["prompt", "one_more", "uneven", "several"])
@pytest.mark.parametrize("settings", [dict(softcap=0.5), dict(scale=0.2), dict(local_window_size=2), dict(local_window_size=4),
                                      dict(smooth_softmax=1), dict(smooth_softmax=1, local_window_size=2, softcap=2.0)])
def test_settings_of_groups(case, settings):
    agree_on_groups(grouped(*CASES[case]), **settings)


@pytest.mark.parametrize("case", ["prompt", "one_more", "several"])
def test_biases_positions_and_sinks_of_groups(case):
    rows, past, lengths, *_ = CASES[case]
    batch = len(lengths)
    positions = np.tile(np.arange(past, past + rows), (batch, 1))
    agree_on_groups([*grouped(*CASES[case]), random(16, 8), random(16, 8), positions, random(batch, 4, rows, past + rows)],
                    do_rotary=1)
    agree_on_groups([*grouped(*CASES[case]), *[None] * 4, random(4)])


def test_groups_refuse_what_is_not_there():
    inputs = grouped(1, 6, (7, 7))
    for settings in (dict(qk_output=1), dict(k_quant_type="PER_TENSOR"), dict(causal=0)):
        with pytest.raises(interp.InterpError, match="not supported"):
            ours("GroupQueryAttention", inputs, ("f4",) * 3, num_heads=4, kv_num_heads=2, **settings)
    for lengths in ((8, 7), (0, 7)):
        with pytest.raises(interp.InterpError, match="do not fit"):
            ours("GroupQueryAttention", [*inputs[:5], ints(*lengths) - 1, inputs[6]], ("f4",) * 3, num_heads=4, kv_num_heads=2)


def test_sixteen_bits_are_near_what_float_gives():
    inputs = grouped(3, 6, (9,))
    halves = [a.astype("f2") if a is not None and a.dtype == np.float32 else a for a in inputs]
    found = ours("GroupQueryAttention", halves, ("f2",) * 3, num_heads=4, kv_num_heads=2)[0]
    wanted = theirs("GroupQueryAttention", inputs, ("f4",) * 3, num_heads=4, kv_num_heads=2)[0]
    np.testing.assert_allclose(found, wanted, atol=4e-3)
