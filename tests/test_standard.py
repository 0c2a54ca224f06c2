"""Every live version and type of every operator, as models of one node, against the makers of tests/standard."""
from itertools import groupby

import numpy as np
import onnx
import pytest

import interp

from . import standard  # noqa: F401  it registers the makers
from .standard.case import MAKERS, dtype_of, made, one_node, triples
from .tolerance import assert_close, size_of_terms

TRIPLES = triples()
FIRST = {(s.domain, s.name, s.since_version): next((c.type_param_str for c in s.type_constraints), "")
         for s in onnx.defs.get_all_schemas_with_history()}
GROUPS = [(key, list(group)) for key, group in groupby(TRIPLES, lambda t: (t.domain, t.op, t.version)) if key[:2] in MAKERS]


def test_the_triples_are_those_of_the_issue():
    assert len(TRIPLES) == 8855
    assert sum(t.constraint == FIRST[t.domain, t.op, t.version] for t in TRIPLES) == 7319


def test_every_operator_has_a_maker():
    assert sorted({(t.domain, t.op) for t in TRIPLES} - MAKERS.keys()) == []
    assert sum(len(group) for _, group in GROUPS) == len(TRIPLES)


def later_as_constants(node):
    """The same model with all inputs but the first as initializers, which are known while it is bound; None if there are none."""
    model = onnx.ModelProto()
    model.CopyFrom(node.model)
    tensors = {k: x for k, x in list(node.feeds.items())[1:] if isinstance(x, np.ndarray)}
    if not tensors:
        return None
    kept = [i for i in model.graph.input if i.name not in tensors]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(x, k) for k, x in tensors.items())
    return model, {k: x for k, x in node.feeds.items() if k not in tensors}


def compare(got, due, kind, exact, terms):
    """One output against what is due, of the ONNX type `kind`."""
    if isinstance(due, list):
        inner = kind.partition("(")[2][:-1]
        assert isinstance(got, list) and len(got) == len(due), f"{got!r}, expected {due!r}"
        for g, d in zip(got, due, strict=True):
            compare(g, d, inner, exact, terms)
        return
    if due is None or isinstance(due, dict):
        assert got == due
        return
    dtype = dtype_of(kind)
    due = np.asarray(due)
    due = due if due.dtype == dtype else due.astype(dtype)
    assert got.dtype == dtype and got.shape == due.shape, f"{got.dtype}{list(got.shape)}, expected {dtype}{list(due.shape)}"
    if dtype.kind == "c":
        dtype = np.dtype(f"f{dtype.itemsize // 2}")
        got, due = got.view(dtype), due.view(dtype)
    if exact or dtype.kind in "biuOSU" or "int" in dtype.name:
        assert same(got, due), f"{got}, expected {due}"
    else:
        assert_close(got, due, max(size_of_terms(due), 1) if terms is None else terms)


def same(got, due):
    """Whether all elements are equal, NaN with NaN."""
    return bool(np.all((got == due) | ((got != got) & (due != due))))


def run(triple):
    """Run a triple's case with its inputs fed, and with all but the first known beforehand."""
    spec, case = made(triple)
    node = one_node(spec, case.inputs, case.expected, case.attributes, case.outer, case.before)
    onnx.checker.check_model(node.model)
    for model, feeds in filter(None, [(node.model, node.feeds), later_as_constants(node)]):
        got = interp.load(model, threads=1).run(None, feeds)
        there = [(y, t) for y, t in zip(case.expected, node.types, strict=True) if y is not None]
        if case.check:
            case.check(*got)
            for g, (_, kind) in zip(got, there, strict=True):
                assert g.dtype == dtype_of(kind)
            continue
        for g, (y, kind) in zip(got, there, strict=True):
            compare(g, y, kind, case.exact, case.terms)


@pytest.mark.parametrize("group", [g for _, g in GROUPS], ids=[f"{op}-{version}" for (_, op, version), _ in GROUPS])
def test_every_type(group):
    failures = []
    for triple in group:
        try:
            run(triple)
        except Exception as e:  # whatever goes wrong is reported, with the triple's name
            failures.append(f"{triple}: {type(e).__name__}: {str(e)[:600]}")
    assert not failures, f"{len(failures)} of {len(group)} types:\n" + "\n".join(failures)


@pytest.mark.parametrize("got, due, kind, exact", [
    (np.float32([1, 2]), np.float64([1, 2.001]), "tensor(float)", False),
    (np.float32([1]), np.float64([1 + 1e-6]), "tensor(float)", True),
    (np.int64([1]), np.int64([2]), "tensor(int64)", False),
    (np.float64([1]), np.float64([1]), "tensor(float)", False),
    (np.float32([1]), np.float64([[1]]), "tensor(float)", False),
    (np.array(["a"], object), ["b"], "tensor(string)", False),
    ([np.float32([1])], [np.float32([1])] * 2, "seq(tensor(float))", False),
    (np.float32([1]), None, "optional(tensor(float))", False)])
def test_what_differs_is_found(got, due, kind, exact):
    with pytest.raises(AssertionError):
        compare(got, due, kind, exact, None)
