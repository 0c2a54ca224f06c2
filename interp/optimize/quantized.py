"""Quantised models: operators in float between DequantizeLinear and QuantizeLinear become ones of whole numbers.

This comes before constants are folded, so that weights are still bytes. Products, sums and convolutions may differ from the
graph as written by one step of the result's scale: sums are exact here and rounded once, biases are whole numbers of the sums'
scale. Functions by table, and what only moves bytes, differ in nothing. Products that stay in float differ by their rounding.
"""
from __future__ import annotations

import numpy as np

from ..call import call
from ..graph import Node
from ..ops.quantize import distances, nearest, quotient
from ..record import record, replace
from .rewrite import Rewriter, Rules, rule

KINDS = {"tensor(uint8)": np.dtype(np.uint8), "tensor(int8)": np.dtype(np.int8)}
MOVES = {"Reshape": 1, "Flatten": 1, "Squeeze": 1, "Unsqueeze": 1, "Transpose": 1, "Slice": 1, "Gather": 1, "Expand": 1,
         "Tile": 1, "Identity": 1, "DepthToSpace": 1, "SpaceToDepth": 1, "MaxPool": 12}  # of bytes from this version on
FUNCTIONS = {"Abs", "Celu", "Clip", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "Neg", "Relu",
             "Selu", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Tanh", "ThresholdedRelu"}
CLAMPS = {"Relu", "Clip"}


@record(frozen=True)
class Bytes:
    """A value of bytes, the names of its scale and zero point, and those as numbers."""

    value: str
    scale: str
    zero: str
    scales: np.ndarray
    zeros: np.ndarray
    axis: int

    @property
    def dtype(self) -> np.dtype:
        return self.zeros.dtype

    @property
    def single(self) -> bool:
        return self.scales.size == 1

    def alike(self, other: Bytes) -> bool:
        """Whether equal bytes stand for equal numbers."""
        return (self.single and other.single and self.dtype == other.dtype and self.scales.item() == other.scales.item()
                and self.zeros.item() == other.zeros.item())


def scaled(node: Node, value: str, at: Rewriter) -> Bytes | None:
    """The bytes that a node quantises to, or from, if it does so by constants, with scales above 0, and not in blocks."""
    given = [*node.inputs, "", ""]
    kind, scales = KINDS.get(at.type(value)), at.constant(given[1])
    if kind is None or scales is None or scales.dtype != np.float32 or node.attributes.get("block_size") or not scales.size:
        return None
    if not (np.isfinite(scales) & (scales > 0)).all():
        return None
    if node.attributes.get("precision") or at.type(node.outputs[0]) not in ("tensor(float)", *KINDS):
        return None
    zero = given[2] or at.store(f"{value}_zero", np.zeros(scales.shape, kind))
    zeros = at.constant(zero)
    if zeros is None or zeros.size != scales.size or zeros.dtype != kind:
        return None
    return Bytes(value, given[1], zero, scales, zeros, node.attributes.get("axis", 1))


def source(value: str, at: Rewriter) -> Bytes | None:
    """The bytes that a value in float comes from."""
    maker = at.maker(value, "DequantizeLinear")
    return None if maker is None else scaled(maker, maker.inputs[0], at)


def weights(value: str, axis: int, at: Rewriter) -> Bytes | None:
    """Constant bytes with one scale, or one for each index of an axis."""
    found = source(value, at)
    array = None if found is None else at.constant(found.value)
    if found is None or array is None or found.single:
        return found if array is not None else None
    return found if found.scales.ndim == 1 and found.axis % array.ndim == axis % array.ndim else None


def whole_bias(value: str, scale: np.ndarray, at: Rewriter) -> str | None:
    """A constant bias as a whole number of the sums' scale: its name, or None."""
    real, maker = at.constant(value), at.maker(value, "DequantizeLinear")
    if maker is not None:
        array, by = at.constant(maker.inputs[0]), at.constant(maker.inputs[1])
        zero = at.constant(maker.inputs[2]) if len(maker.inputs) > 2 else np.zeros(1)
        if array is None or by is None or zero is None or array.ndim != 1 or by.size not in (1, array.size) or np.any(zero):
            return None
        real = array.astype(np.float64) * by.reshape(-1)
    if real is None or real.ndim != 1 or real.dtype.kind != "f":
        return None
    with np.errstate(all="ignore"):
        whole = np.rint(real.astype(np.float64) / scale.astype(np.float64).reshape(-1))
    return at.store(value, whole.astype(np.int32)) if np.all(np.abs(whole) < 2**30) else None


@rule("QuantizeLinear")
def quantised(node: Node, at: Rewriter) -> bool:
    """What comes before a QuantizeLinear, by itself and from bytes, is calculated in whole numbers."""
    y = scaled(node, node.outputs[0], at)
    inner = at.maker(node.inputs[0])
    if y is None or not y.single or inner is None or not at.is_standard(inner) or inner.schema.domain:
        return False
    name = inner.schema.name
    if name == "DequantizeLinear":
        return again(node, inner, y, at)
    if at.sole(node.inputs[0]) is not node or len(inner.outputs) > 1:
        return False
    if name in CLAMPS and clamped(node, inner, y, at):
        return True
    if name in FUNCTIONS:
        return tabulated(node, inner, y, at)
    if name in MOVES:
        return moved(node, inner, y, at)
    made = {"Conv": convolved, "MatMul": multiplied, "Gemm": affine, "Add": paired, "Mul": paired, "Concat": joined}.get(name)
    return made is not None and made(node, inner, y, node.outputs[0], at)


def again(node: Node, inner: Node, y: Bytes, at: Rewriter) -> bool:
    """Bytes quantised anew: by a table, or not at all."""
    x = source(node.inputs[0], at)
    if x is None or not x.single:
        return False
    made = at.make("Identity", [x.value], node.outputs, like=node, domain="") if x.alike(y) else None
    at.replace([node], [made or looked_up(x.value, values(x, y, None, at), node.outputs[0], node, at)])
    return True


def values(x: Bytes, y: Bytes, function: Node | None, at: Rewriter) -> np.ndarray:
    """What becomes of every byte; without a function they only change their scale."""
    real = distances(np.arange(256, dtype=np.uint8).view(x.dtype), x.scales, x.zeros)
    if function is not None:
        rest = [at.constant(i) if i else None for i in function.inputs[1:]]
        [real] = call(function, [real, *rest], function.attributes)
    return nearest(quotient(real, y.scales.reshape(())), y.zeros.reshape(()), y.dtype)


def looked_up(value: str, table: np.ndarray, result: str, node: Node, at: Rewriter) -> Node:
    return at.make("Lookup", [value, at.store(f"{value}_table", table)], [result], like=node)


def tabulated(node: Node, inner: Node, y: Bytes, at: Rewriter) -> bool:
    """A function of one value, of bytes."""
    x = source(inner.inputs[0], at)
    if x is None or not x.single or any(i and at.constant(i) is None for i in inner.inputs[1:]):
        return False
    at.replace([inner, node], [looked_up(x.value, values(x, y, inner, at), node.outputs[0], node, at)])
    return True


def clamped(node: Node, clamp: Node, y: Bytes, at: Rewriter) -> bool:
    """Relu or Clip behind a product or sum: the bytes are clamped, unless their ends are those of the clamp anyway."""
    inner = at.maker(clamp.inputs[0], "Conv", "MatMul", "Gemm", "Add")
    if inner is None or at.sole(clamp.inputs[0]) is not clamp or any(i and at.constant(i) is None for i in clamp.inputs[1:]):
        return False
    ends = values(y, y, clamp, at)
    made = {"Conv": convolved, "MatMul": multiplied, "Gemm": affine, "Add": paired}[inner.schema.name]
    if np.array_equal(ends.view(np.uint8), np.arange(256)):
        return made(node, inner, y, node.outputs[0], at, clamp)
    between = at.fresh(node.outputs[0])
    at.facts[between] = at.facts[node.outputs[0]]
    if not made(node, inner, y, between, at, clamp):
        return False
    [maker] = [n for n in [at.maker(between)] if n is not None]
    at.replace([maker], [maker, looked_up(between, ends, node.outputs[0], node, at)])
    return True


def moved(node: Node, inner: Node, y: Bytes, at: Rewriter) -> bool:
    """What only moves numbers, or takes the largest, does so with bytes."""
    x = source(inner.inputs[0], at)
    if x is None or not x.alike(y) or inner.schema.since < MOVES[inner.schema.name]:
        return False
    at.replace([inner, node], [replace(inner, inputs=[x.value, *inner.inputs[1:]], outputs=node.outputs)])
    return True


def convolved(node: Node, inner: Node, y: Bytes, result: str, at: Rewriter, *also: Node) -> bool:
    """Conv becomes QLinearConv."""
    x, w = source(inner.inputs[0], at), weights(inner.inputs[1], 0, at)
    if x is None or w is None or not x.single:
        return False
    bias = [whole_bias(b, x.scales.reshape(()) * w.scales.astype(np.float64), at) for b in inner.inputs[2:3] if b]
    if None in bias:
        return False
    given = [x.value, x.scale, x.zero, w.value, w.scale, w.zero, y.scale, y.zero, *(b for b in bias if b)]
    for place, b in ((1, x), (2, x), (6, y), (7, y)):  # one number, of no axis
        given[place] = at.store(given[place], (b.scales if place in (1, 6) else b.zeros).reshape(()))
    at.replace([inner, *also, node], [at.make("QLinearConv", given, [result], like=inner, domain="", **inner.attributes)])
    return True


def multiplied(node: Node, inner: Node, y: Bytes, result: str, at: Rewriter, *also: Node) -> bool:
    """MatMul becomes QuantizedMatMul."""
    a, b = source(inner.inputs[0], at), source(inner.inputs[1], at)
    if a is None or b is None or not a.single or not (b.single or weights(inner.inputs[1], -1, at)):
        return False
    given = [a.value, a.scale, a.zero, b.value, b.scale, b.zero, y.scale, y.zero]
    at.replace([inner, *also, node], [at.make("QuantizedMatMul", given, [result], like=inner)])
    return True


def affine(node: Node, inner: Node, y: Bytes, result: str, at: Rewriter, *also: Node) -> bool:
    """Gemm becomes QuantizedMatMul."""
    turned = inner.attributes["transB"]
    a, b = source(inner.inputs[0], at), weights(inner.inputs[1], 0 if turned else 1, at)
    if a is None or b is None or not a.single or inner.attributes["transA"] or inner.attributes["alpha"] != 1:
        return False
    bias = [whole_bias(c, a.scales.reshape(()) * b.scales.astype(np.float64), at) for c in inner.inputs[2:3] if c]
    columns = at.constants[b.value].shape[0 if turned else 1]
    if None in bias or bias and inner.attributes["beta"] != 1 or any(at.shape(c) != (columns,) for c in bias if c):
        return False
    factor = at.store(b.value, np.ascontiguousarray(at.constants[b.value].T)) if turned else b.value
    given = [a.value, a.scale, a.zero, factor, b.scale, b.zero, y.scale, y.zero, *(c for c in bias if c)]
    at.replace([inner, *also, node], [at.make("QuantizedMatMul", given, [result], like=inner)])
    return True


def paired(node: Node, inner: Node, y: Bytes, result: str, at: Rewriter, *also: Node) -> bool:
    """Add and Mul of two quantised values."""
    a, b = (source(i, at) for i in inner.inputs)
    if a is None or b is None or not (a.single and b.single and a.dtype == b.dtype == y.dtype):
        return False
    given = [a.value, a.scale, a.zero, b.value, b.scale, b.zero, y.scale, y.zero]
    at.replace([inner, *also, node], [at.make(f"Quantized{inner.schema.name}", given, [result], like=inner)])
    return True


def joined(node: Node, inner: Node, y: Bytes, result: str, at: Rewriter) -> bool:
    """Concat of quantised values, those of other scales by table."""
    sources = [source(i, at) for i in inner.inputs]
    if not all(s is not None and s.single for s in sources):
        return False
    tables, parts = [], []
    for i, s in zip(inner.inputs, sources, strict=True):
        parts.append(s.value if s is not None else i)
        if s is not None and not s.alike(y):
            parts[-1] = at.fresh(i)
            tables.append(looked_up(s.value, values(s, y, None, at), parts[-1], node, at))
    at.replace([inner, node], [*tables, replace(inner, inputs=parts, outputs=[result])])
    return True


@rule("MatMulInteger")
def dynamic(node: Node, at: Rewriter) -> bool:
    """MatMulInteger, Cast and Mul by the product of two scales, as dynamic quantisation leaves them; and an Add of a bias."""
    cast = at.sole(node.outputs[0], "Cast")
    scaling = at.sole(cast.outputs[0], "Mul") if cast is not None else None
    if cast is None or scaling is None or at.type(cast.outputs[0]) != "tensor(float)" or scaling.inputs[0] == scaling.inputs[1]:
        return False
    both = at.maker(scaling.inputs[scaling.inputs[0] == cast.outputs[0]], "Mul")
    a, b = at.shape(node.inputs[0]), at.shape(node.inputs[1])
    if both is None or a is None or b is None or len(a) < 2 or len(b) != 2:
        return False
    left, right = both.inputs
    if at.shape(left) not in ((), (1,)):
        left, right = right, left
    zeros = [*node.inputs[2:], "", ""]
    if at.shape(left) not in ((), (1,)) or at.shape(right) not in ((), (1,), b[1:]):
        return False
    if zeros[0] and at.shape(zeros[0]) not in ((), (1,)):
        return False
    old, result, bias = [node, cast, scaling], scaling.outputs[0], ""
    add = at.sole(result, "Add")
    if add is not None and at.shape(add.inputs[add.inputs[0] == result]) == b[1:] and b[1] != 1:
        bias = add.inputs[add.inputs[0] == result]
        old, result = [*old, add], add.outputs[0]
    given = [*node.inputs[:2], left, right, *zeros[:2], bias]
    at.replace(old, [at.make("ScaledMatMulInteger", given, [result], like=node)])
    return True


quantized = Rules(quantised, dynamic)
