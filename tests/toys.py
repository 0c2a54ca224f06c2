"""Small models for tests: written as text, with operators of the tests' own for what the standard layer lacks."""
from functools import lru_cache

import numpy as np
import onnx.parser
import onnxruntime

import interp
from interp.dims import Fact
from interp.kernels.step import Later

HEAD = '<ir_version: 10, opset_import: ["" : 21, "toys" : 1]>\n'


def element_of(x, *_):
    return [Fact(x.type.removeprefix("seq(").removesuffix(")"))]


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


MINE = (sequence_construct, sequence_insert, sequence_at, string_concat, two_halves, doubled)


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
    return engine((proto if isinstance(proto, onnx.ModelProto) else model(proto)).SerializeToString()).run(None, feeds)


@lru_cache(4)
def engine(content):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


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
