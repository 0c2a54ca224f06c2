"""Inference against the run, on every test of the official suite, and against what onnx's own inference knows."""
import numpy as np
import onnx
import pytest
from onnx import helper

import interp
from interp.dims import Dim, Fact
from interp.infer import UNKNOWN, Scope
from interp.types import type_of

from .test_official import collected, model_and_sets
from .unbound import values_of

# Operators some size of whose results only the data tell, even where all inputs are known: rules do not compute. The range of
# a window's official body is counted in floats.
BY_DATA = {"NonZero", "Compress", "Unique", "NonMaxSuppression", "StringSplit", "ImageDecoder", "Loop", "If", "Scan",
           "SequenceMap", "SplitToSequence", "SequenceAt", "ConcatFromSequence", "OptionalGetElement", "TfIdfVectorizer", "Range",
           "StringNormalizer"}


def session_of(case):
    model, [(inputs, _), *_] = model_and_sets(case)
    session = interp.load(model, optimize=0, threads=1)
    feeds = {v.name: x if isinstance(x, list) or x is None else np.asarray(x)
             for v, x in zip(session.inputs, inputs, strict=False)}
    return model, session, feeds


def fact_of(value, known):
    if isinstance(value, np.ndarray):
        return Fact(type_of(value), value.shape, value if known else None)
    return None


def inferred(session, feeds, known):
    """The facts of all values of a graph, from the shapes of what is fed, or from its values too."""
    graph, scope = session._body.graph, None
    given = []
    for v in graph.inputs:
        found = fact_of(feeds[v.name], known) if v.name in feeds else None
        given.append(found or Fact(v.type or UNKNOWN))
    scope = Scope(graph)
    scope.infer(given)
    return scope.facts


def seen(session, feeds):
    """Every tensor of a run."""
    return values_of(session, feeds)


def contradictions(facts, values):
    """Values whose type or shape is not what was inferred; a name for a size stands for one size."""
    sizes = {}
    for name, fact in facts.items():
        value = values.get(name)
        if not isinstance(value, np.ndarray):
            continue
        kind = fact.type.removeprefix("optional(").rstrip(")") + ")" if fact.type.startswith("optional(") else fact.type
        if kind not in (UNKNOWN, type_of(value)):
            yield f"{name}: {fact.type} inferred, {type_of(value)} came"
        if fact.shape is None:
            continue
        if len(fact.shape) != value.ndim:
            yield f"{name}: {fact.shape} inferred, {value.shape} came"
            continue
        for due, n in zip(fact.shape, value.shape, strict=True):
            if isinstance(due, Dim) and not due.text.isidentifier():
                continue
            if sizes.setdefault(due, n) != n or isinstance(due, int) and due != n:
                yield f"{name}: {fact.shape} inferred, {value.shape} came"
        if fact.value is not None and not any(isinstance(v, Dim) for v in np.ravel(np.asarray(fact.value, object))):
            due = np.asarray(fact.value).astype(value.dtype)
            if value.dtype.kind == "V":  # of ml_dtypes, which NumPy does not know for floats
                due, value = due.astype(np.float64), value.astype(np.float64)
            if not np.array_equal(due, value, equal_nan=value.dtype.kind in "fc"):
                yield f"{name}: the value {fact.value} inferred, {value} came"


def known_to_onnx(model, feeds):
    """The sizes that onnx's inference finds, of every value, from the shapes of what is fed."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for value in fixed.graph.input:
        array = feeds.get(value.name)
        if isinstance(array, np.ndarray) and value.type.HasField("tensor_type"):
            value.CopyFrom(helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, array.shape))
    for value in fixed.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    found = onnx.shape_inference.infer_shapes(fixed, data_prop=True).graph
    return {v.name: [d.dim_value if d.HasField("dim_value") else None for d in v.type.tensor_type.shape.dim]
            for v in (*found.value_info, *found.output) if v.type.tensor_type.HasField("shape")}


@pytest.mark.parametrize("case", collected(), ids=lambda c: f"{c.kind}-{c.name}")
def test_inference_agrees_with_the_run(case):
    model, session, feeds = session_of(case)
    values = seen(session, feeds)
    facts = inferred(session, feeds, known=False)
    assert not list(contradictions(facts, values))
    for name, dims in known_to_onnx(model, feeds).items():
        value, fact = values.get(name), facts.get(name)
        if isinstance(value, np.ndarray) and fact is not None and dims == list(value.shape):
            assert fact.shape is not None, f"{name}: nothing is known, onnx knows {dims}"
            assert not any(isinstance(d, Dim) for d in fact.shape), f"{name}: {fact.shape}, onnx knows {dims}"
    whole = inferred(session, feeds, known=True)
    assert not list(contradictions(whole, values))
    nodes = session._body.graph.nodes
    if not {n.schema.name for n in nodes} & BY_DATA or all(n.attributes.get("stopwords", 1) is None for n in nodes):
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                assert whole[name].shape == value.shape, f"{name}: {whole[name].shape} inferred, {value.shape} came"
