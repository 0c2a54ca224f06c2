"""What fusions leave of a model, and whether it still gives what the graph as written gives."""
from collections import Counter

import numpy as np
import onnx

import interp

from .tolerance import assert_close, size_of_terms


def model(text):
    """A model out of its text: opset 22, ir version 10, and the domain com.microsoft, unless the text says otherwise."""
    head = "" if text.lstrip().startswith("<") else '<ir_version: 10, opset_import: ["": 22, "com.microsoft": 1]> '
    return onnx.parser.parse_model(head + text)


def operators(session):
    """How often the optimised graph of a session calls each operator."""
    return Counter(n.schema.name for n in session._body.graph.walk())


def fused(source, feeds, **settings):
    """The operators left of a model, after comparing its outputs with those of the graph as written, at one and two threads."""
    as_written = interp.load(source, optimize=False, threads=1).run(None, feeds)
    for threads in (1, 2):
        session = interp.load(source, threads=threads, **settings)
        for got, due in zip(session.run(None, feeds), as_written, strict=True):
            assert_close(got, due, size_of_terms(due))
    return operators(session)


def floats(shape, seed=0, dtype=np.float32):
    """Standard normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
