"""A registry of a dozen NumPy operators, and the plainest way to run a graph: a dictionary of values."""
import numpy as np

from interp.graph import Graph
from interp.registry import Registry, op


@op("Abs")
def absolute(x):
    return np.abs(x)


@op("Add")
def add(a, b, *, axis=None, broadcast=None, consumed_inputs=None):
    return a + b


@op("Mul")
def mul(a, b, *, axis=None, broadcast=None, consumed_inputs=None):
    return a * b


@op("Div")
def div(a, b, *, axis=None, broadcast=None, consumed_inputs=None):
    return a / b


@op("Exp")
def exp(x):
    return np.exp(x)


@op("Identity")
def identity(x):
    return x


@op("Softmax")
def softmax(x, *, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@op("Split", 13)
def split(x, sizes=None, *, axis, num_outputs=None, outputs):
    return tuple(np.split(x, len(outputs), axis))


@op("CastLike")
def cast_like(x, like, *, saturate=None):
    return x.astype(like.dtype)


@op("Less")
def less(a, b):
    return a < b


@op("Where")
def where(c, a, b):
    return np.where(c, a, b)


@op("If")
def branch(c, *outer, then_branch, else_branch):
    return run(then_branch if c else else_branch, outer)


@op("Loop")
def loop(times, go, *rest, body):
    outer = rest[len(rest) - body.captured:]
    carried = rest[:len(rest) - body.captured]
    for i in range(int(times)):
        go, *carried = run(body, [np.array(i), np.array(True), *carried, *outer])
    return tuple(carried)


@op("Scale", domain="own")
def scale(x, *, by=2.0):
    return (x * by).astype(x.dtype)


registry = Registry().add(absolute, add, mul, div, exp, identity, softmax, split, cast_like, less, where, branch, loop, scale)


def run(graph: Graph, feeds) -> tuple:
    """The outputs of a graph for its inputs, in order."""
    values = dict(graph.constants)
    values.update(zip((v.name for v in graph.inputs), feeds, strict=True))
    for node in graph.nodes:
        extras = {"outputs": tuple(map(bool, node.outputs))} if "outputs" in node.op.wants else {}
        made = node.op(*(values[i] if i else None for i in node.inputs), **node.attributes, **extras)
        values.update(zip(node.outputs, made if isinstance(made, tuple) else (made,), strict=True))
    return tuple(values[o.name] for o in graph.outputs)
