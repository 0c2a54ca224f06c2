"""Every operator bound on poisoned buffers, against the unbound path, bit for bit, on the cases of the official suite."""
import numpy as np
import pytest

import interp

from .test_official import collected, model_and_sets
from .unbound import unbound

LARGEST = 300_000  # bytes that a case's arrays have; larger ones say nothing more


def small():
    """The official node tests but for the largest."""
    for case in collected():
        if case.kind == "node" and case.model.graph.node and case.model.ByteSize() < LARGEST:
            yield case


CASES = list(small())


def poisoned(shape, dtype=float, *args, **kwargs):
    made = np.zeros(shape, dtype, *args, **kwargs)
    if not made.dtype.hasobject:
        made.reshape(-1).view(np.uint8)[...] = 0xFF
    return made


def bits(array):
    return array.tolist() if array.dtype.hasobject else (array.dtype, array.shape, array.tobytes())


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_bound_and_unbound_agree(case, monkeypatch):
    model, [(inputs, _), *_] = model_and_sets(case)
    s = interp.load(model, optimize=0, threads=2)
    feeds = {v.name: x if isinstance(x, list) else np.asarray(x) for v, x in zip(s.inputs, inputs, strict=False)}
    if any(n.schema.random for n in s._body.graph.walk()):
        pytest.skip("its results are drawn at random, anew in each run")
    due = unbound(s, feeds)
    arrays = [feeds[i] for i in s._body.inputs]
    whole = s._body.model(arrays).whole
    with monkeypatch.context() as patched:
        patched.setattr(np, "empty", poisoned)
        program = whole.bind(arrays) if whole else None
    for _ in range(2):
        if program is None:
            made = s.run(None, feeds)
        else:
            plain = [isinstance(y, np.ndarray) and not y.dtype.hasobject for y in due]
            made = program.run(arrays, [poisoned(y.shape, y.dtype) if p else None for y, p in zip(due, plain, strict=True)])
        for got, want in zip(made, due, strict=True):
            assert type(got) is type(want)
            assert bits(got) == bits(want) if isinstance(got, np.ndarray) else list(map(bits, got)) == list(map(bits, want))


def test_there_are_cases():
    assert len(CASES) > 100
