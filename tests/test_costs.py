"""Multiply-accumulates by shapes, against counts of the multiplications that the operators' texts write down."""
from itertools import product

import numpy as np
import pytest

import interp
from interp.costs import macs


def taps(places, kernel, channels, group, batch=1):
    """Multiplications of a convolution, counted: for each output channel and place, each input channel of its group and tap."""
    out_channels, in_channels = channels
    return sum(1 for _ in product(range(batch), range(out_channels), *map(range, places), range(in_channels // group),
                                  *map(range, kernel)))


def test_a_convolution_takes_all_weights_at_every_place():
    due = taps((5, 4), (3, 2), (6, 4), 2, batch=2)
    assert macs("Conv", [(2, 4, 9, 9), (6, 2, 3, 2)], [(2, 6, 5, 4)], {"group": 2}) == due
    assert macs("QLinearConv", [(2, 4, 9, 9), (), (), (6, 2, 3, 2)], [(2, 6, 5, 4)]) == due
    assert macs("BlockedConv", [(2, 1, 9, 9, 8), (6, 2, 3, 2)], [(2, 1, 5, 4, 8)], domain="interp") == due
    assert macs("ConvInteger", [(2, 4, 9), (6, 4, 3)], [(2, 6, 7)]) == taps((7,), (3,), (6, 4), 1, batch=2)


def test_a_transposed_convolution_takes_all_weights_at_every_place_of_its_input():
    due = 2 * 4 * 5 * 3 * 6 * 2 * 2  # batch, channels, places, output channels, taps
    assert macs("ConvTranspose", [(2, 4, 5, 3), (4, 6, 2, 2)], [(2, 6, 10, 6)]) == due
    assert macs("BlockedConvTranspose", [(2, 1, 5, 3, 8), (4, 6, 2, 2)], [(2, 1, 10, 6, 8)], domain="interp") == due


@pytest.mark.parametrize("op, inputs, attributes", [
    ("MatMul", [(3, 1, 4, 5), (2, 5, 6)], {}), ("MatMulInteger", [(3, 1, 4, 5), (2, 5, 6)], {}),
    ("QLinearMatMul", [(3, 1, 4, 5), (), (), (2, 5, 6)], {}),
    ("FusedMatMul", [(3, 1, 5, 4), (2, 6, 5)], {"transA": 1, "transB": 1}),
])
def test_a_product_sums_over_the_shared_axis(op, inputs, attributes):
    assert macs(op, inputs, [(3, 2, 4, 6)], attributes, "interp" if op.startswith("Fused") else "") == 3 * 2 * 4 * 6 * 5


def test_vectors_gemm_and_einsum():
    assert macs("MatMul", [(5,), (5,)], [()]) == 5
    assert macs("Gemm", [(7, 3), (4, 7)], [(3, 4)], {"transA": 1, "transB": 1}) == 3 * 4 * 7
    assert macs("Einsum", [(2, 3, 4), (2, 4, 5)], [(2, 3, 5)], {"equation": "bij, bjk -> bik"}) == 2 * 3 * 4 * 5
    assert macs("Einsum", [(2, 3)], [(3, 2)], {"equation": "ij->ji"}) == 0


@pytest.mark.parametrize("op, gates", [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_a_recurrent_cell_takes_its_weights_at_every_step(op, gates):
    shapes = [(7, 2, 5), (2, gates * 3, 5), (2, gates * 3, 3)]
    assert macs(op, shapes, [(7, 2, 2, 3)]) == 7 * 2 * 2 * gates * 3 * (5 + 3)


def test_attention_multiplies_twice():
    due = 2 * 4 * 6 * 9 * (8 + 5)  # batch, heads, queries, keys, sizes of keys and values
    assert macs("Attention", [(2, 4, 6, 8), (2, 2, 9, 8), (2, 2, 9, 5)], [(2, 4, 6, 5)]) == due
    assert macs("Attention", [(2, 6, 32), (2, 9, 16), (2, 9, 10)], [(2, 6, 20)], {"q_num_heads": 4, "kv_num_heads": 2}) == due
    assert macs("Attention", [(2, 4, 6, 8), (2, 2, 3, 8), (2, 2, 3, 5), None, (2, 2, 6, 8), (2, 2, 6, 5)], [(2, 4, 6, 5)]) == due
    assert macs("FusedAttention", [(2, 6, 4, 8), (2, 4, 9, 8), (2, 9, 4, 5)], [], {"swapped": "qv"}, "interp") == due
    one = 2 * 6 * 10 * 24 + 2 * 6 * 6 * 16  # projections; scores and shares of 8 in all heads together
    assert macs("Attention", [(2, 6, 10), (10, 24)], [(2, 6, 8)], {"num_heads": 2}, "com.microsoft") == one
    rows = [(2, 6, 32), (2, 9, 32), (2, 9, 20)]
    assert macs("MultiHeadAttention", rows, [(2, 6, 20)], {"num_heads": 4}, "com.microsoft") == due


def test_what_has_no_products_is_0_and_what_cannot_be_told_is_none():
    assert macs("MaxPool", [(1, 3, 8, 8)], [(1, 3, 4, 4)], {}) == macs("Relu", [(3,)], [(3,)], {}) == 0
    assert macs("Conv", [("N", 3, 8, 8), (4, 3, 3, 3)], [("N", 4, 6, 6)], {}) is None
    assert macs("MatMul", [None, (3, 4)], [None]) is None
    assert macs("If", [()], [(3,)]) is None and macs("Conv", [(1,)], [(1,)], domain="mine") is None
    assert macs("Einsum", [("a", 3), (3, 2)], [("a", 2)], {"equation": "ij,jk->ik"}) is None
    assert macs("Einsum", [(2, 3)] * 3, [()], {"equation": "ij,ij,ij->"}) is None


def test_a_fused_model_takes_as_many_as_the_model_as_written():
    totals = []
    for level in (0, 2):
        session = interp.load("examples/digits/digits.onnx", optimize=level)
        found = []
        session.observers.append(lambda e, found=found: found.append(macs(
            e.op_type, [np.shape(e.inputs[i]) if i else None for i in e.reads],
            [np.shape(e.outputs[o]) if o else None for o in e.makes], e.attributes, e.domain)))
        session.run(None, {"image": np.zeros((1, 1, 8, 8), np.float32)})
        totals.append(sum(found))
    assert totals[0] == totals[1] > 0
