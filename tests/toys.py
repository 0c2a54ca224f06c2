"""Small models for tests: written as text, with operators of the tests' own for what the standard layer lacks."""
import numpy as np
import onnx.parser
import onnxruntime

import interp
from interp.dims import Fact, fresh, size_of
from interp.kernels.step import Later
from interp.types import DTYPE, OF_CODE

HEAD = '<ir_version: 10, opset_import: ["" : 21, "toys" : 1]>\n'


def unknown_count(x):
    return [(len(x.shape), fresh())]


def element_of(x, *_):
    return [Fact(x.type.removeprefix("seq(").removesuffix(")"))]


def laid_out(x, shape, *, allowzero):
    if shape.value is None:
        return [None]
    sizes = [x.shape[i] if n == 0 and not allowzero else n for i, n in enumerate(shape.sizes)]
    if -1 in sizes:
        known = size_of(tuple(n for n in sizes if n != -1))
        sizes[sizes.index(-1)] = size_of(x.shape) // known
    return [tuple(sizes)]


def sizes_of(x, *, start, end):
    picked = x.shape[start or 0:end]
    mixed = any(not isinstance(n, int) for n in picked)
    return [Fact("tensor(int64)", (len(picked),), np.array(picked, object if mixed else np.int64))]


@interp.op("Identity", 1, 25, view=0, shape=lambda x: [x.shape])
def identity(input):
    return input


@interp.op("Reshape", 5, 25, view=0, known=("shape",), shape=laid_out)
def reshape(data, shape, *, allowzero=0):
    sizes = [data.shape[i] if n == 0 and not allowzero else n for i, n in enumerate(shape)]
    return data.reshape(sizes)


@interp.op("Shape", 1, 25, shape=sizes_of)
def shape(data, *, start=0, end=None):
    return np.array(data.shape[start or 0:end], np.int64)


def gathered(data, indices, *, axis):
    axis %= len(data.shape)
    found = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1:])
    if data.value is not None and indices.value is not None and len(data.shape) == 1:
        return [Fact(data.type, found, np.asarray(data.value[indices.value]))]
    return [found]


def joined(*xs, axis):
    axis %= len(xs[0].shape)
    found = tuple(sum(x.shape[i] for x in xs) if i == axis else n for i, n in enumerate(xs[0].shape))
    if all(x.value is not None for x in xs) and len(found) == 1:
        return [Fact(xs[0].type, found, np.concatenate([x.value.astype(object) for x in xs]))]
    return [found]


@interp.op("Gather", 1, 13, shape=gathered)
def gather(data, indices, *, axis):
    return np.take(data, indices, axis)


@interp.op("Concat", 4, 13, shape=joined)
def concat(*inputs, axis):
    return np.concatenate(inputs, axis)


@interp.op("Cast", 9, 25, shape=lambda x, to, **_: [Fact(OF_CODE[to], x.shape, x.value)])
def cast(input, *, to, saturate=None, round_mode=None):
    return input.astype(DTYPE[OF_CODE[to]])


@interp.op("NonZero", 9, 13, shape=unknown_count)
def non_zero(X):
    return np.stack(np.nonzero(X)).astype(np.int64)


@interp.op("Flatten", 1, 25, view=0, shape=lambda x, axis: [(size_of(x.shape[:axis]), size_of(x.shape[axis:]))])
def flatten(input, *, axis):
    return input.reshape(int(np.prod(input.shape[:axis])), -1)


@interp.op("SequenceConstruct", 11, 11, shape=lambda *xs: [Fact(f"seq({xs[0].type})")])
def sequence_construct(*inputs):
    return list(inputs)


@interp.op("SequenceInsert", 11, 11, shape=lambda s, *_: [Fact(s.type)])
def sequence_insert(input_sequence, tensor, position=None):
    made = list(input_sequence)
    made.insert(len(made) if position is None else int(position), tensor)
    return made


@interp.op("SequenceAt", 11, 11, shape=element_of)
def sequence_at(input_sequence, position):
    return input_sequence[int(position)]


@interp.op("StringConcat", 20, 20, shape=lambda x, y: [x.shape])
def string_concat(X, Y):
    return X + Y


@interp.op("TwoHalves", domain="toys", shape=lambda x: [(n := (x.shape[0] // 2, *x.shape[1:])), n])
def two_halves(x, *, outputs):
    """Several outputs, from Python."""
    n = len(x) // 2
    return x[:n], x[n:2 * n]


@interp.op("Doubled", domain="toys", shape=lambda x: [x.shape])
def doubled(x, *, out):
    """A Python step with a buffer to fill."""
    def fill(x, out):
        np.add(x, x, out=out)
    return Later(fill, x, out)


MINE = (gather, concat, cast, identity, reshape, shape, non_zero, flatten, sequence_construct, sequence_insert, sequence_at,
        string_concat, two_halves, doubled)


def registry(*ops):
    """The standard layer, with toys for what it lacks and with ``ops`` above."""
    have = {(o.domain, o.name) for o in interp.standard}
    return interp.Registry(interp.standard).add(*(o for o in MINE if (o.domain, o.name) not in have), *ops)


def model(text, head=HEAD):
    return onnx.parser.parse_model(head + text)


def session(text, *ops, threads=1, head=HEAD, **options):
    """A session on a model in ONNX's text form."""
    return interp.load(model(text, head), registry=registry(*ops), threads=threads, **options)


def independent(proto, feeds):
    """What onnxruntime makes of it."""
    if not isinstance(proto, onnx.ModelProto):
        proto = model(proto)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def floats(seed, *shape, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def agree(made, due, tolerance=1e-6):
    assert len(made) == len(due)
    for got, want in zip(made, due, strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, tolerance, tolerance)


# Models that several tests run

IF = """m (float[N,3] x, bool c) => (float[N,3] y) {
    a = Add(x, x)
    b = If (c) <then_branch = t () => (float[N,3] p) { q = Mul(a, x) p = Relu(q) },
                else_branch = e () => (float[N,3] r) { r = Sub(a, x) }>
    y = Relu(b) }"""

LOOP = """m (float[N,2] x, int64 M) => (float[N,2] z, float[M,N,2] s) {
    go = Constant<value = bool {1}>()
    a = Add(x, x)
    z, s = Loop (M, go, a) <body = b (int64 i, bool c, float[N,2] v) => (bool d, float[N,2] w, float[N,2] t) {
        d = Identity(c) w = Sub(v, x) t = Mul(w, a) }> }"""

NESTED = """m (float[N] x, bool c) => (float[N] z, float[3,N] s) {
    three = Constant<value = int64 {3}>()  two = Constant<value = int64 {2}>()  go = Constant<value = bool {1}>()
    z, s = Loop (three, go, x) <body = outer (int64 i, bool c1, float[N] v) => (bool d1, float[N] w, float[N] t) {
        d1 = Identity(c1)
        u = Loop (two, go, v) <body = inner (int64 j, bool c2, float[N] p) => (bool d2, float[N] q) {
            d2 = Identity(c2)
            q = If (c) <then_branch = yes () => (float[N] f) { h = Mul(p, x) f = Add(h, v) },
                        else_branch = no () => (float[N] g) { g = Sub(p, x) }> }>
        w = Relu(u)
        t = Neg(v) }> }"""

TAIL = """m (float[N] x) => (int64[1,K] y, float[N] z) {
    a = Relu(x) i = NonZero(a) z = Add(a, a) t = Add(i, i) y = Sub(t, i) }"""
