"""Other engines that run ONNX models, beside which this package is held: onnxruntime and onnx's reference evaluator."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from .errors import Unsupported, UsageError
from .types import DTYPE, ELEMENTS, type_of, width_of

ROOM = 240  # characters for what an engine says of a problem
PACKAGES = {"onnxruntime": "onnxruntime", "reference": "onnx"}
ENGINES = tuple(PACKAGES)
Run = Callable[[Mapping[str, Any]], list[Any]]
FLATTENING = ("Softmax", "LogSoftmax", "Hardmax")  # over all axes from one on, before version 13


def installed(engine: str) -> bool:
    """Whether an engine is there; nothing is imported to tell."""
    return find_spec(PACKAGES[engine]) is not None


def check(engine: str) -> None:
    """Refuse an engine that is not installed before anything runs."""
    if not installed(engine):
        others = ", or take ".join(["", *filter(installed, ENGINES)])
        raise UsageError(f"{engine} is not installed; pip install {PACKAGES[engine]}{others}")


def default() -> str:
    """onnxruntime, where it is installed."""
    return next((e for e in ENGINES if installed(e)), ENGINES[-1])


def opened(engine: str, model: Any, threads: int | None = None, *, as_written: bool = False) -> Run:
    """A call that runs a model, given as a path, bytes or a ModelProto, once, and returns all of its outputs.

    ``as_written`` keeps an engine from rewriting the graph, and from keeping memory between runs. Raises UsageError where the
    engine is not installed, and Unsupported, here and from the call, where it does not run the model.
    """
    if engine not in ENGINES:
        raise UsageError(f"there is no engine {engine}; known: {', '.join(ENGINES)}")
    check(engine)
    make = onnxruntime if engine == "onnxruntime" else reference
    try:
        run = make(model, threads, as_written)
    except Exception as e:  # each engine has errors of its own
        raise Unsupported(f"{engine} cannot load the model: {brief(e)}") from e

    def once(feeds: Mapping[str, Any]) -> list[Any]:
        try:
            return run(feeds)
        except Exception as e:
            raise Unsupported(f"{engine} cannot run the model: {brief(e)}") from e

    return once


def mistaken(schema: Any, attributes: Mapping[str, Any], arrays: Sequence[Any]) -> str:
    """How onnx's evaluator (1.23) runs a node otherwise than the standard's text has it, or nothing."""
    if schema.domain:
        return ""
    if schema.name in FLATTENING and schema.since < 13 and (attributes["axis"] + 1) % np.ndim(arrays[0]):
        return f"onnx's evaluator runs {schema.name}-{schema.since} over one axis, as later versions do"
    if schema.name == "BatchNormalization" and schema.since < 14:
        return f"onnx's evaluator runs {schema.name}-{schema.since} as in training"
    return ""


def brief(problem: Exception) -> str:
    """What went wrong, on one line that is not too long: the evaluator lists all operators that it has."""
    said = " ".join(str(problem).split()) or type(problem).__name__
    return said if len(said) <= ROOM else f"{said[:ROOM]}…"


def onnxruntime(model: Any, threads: int | None, as_written: bool) -> Run:
    """A session of onnxruntime on the CPU."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    if threads is not None:
        options.intra_op_num_threads = threads
    if as_written:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    source = os.fspath(model) if isinstance(model, str | os.PathLike) else model if isinstance(model, bytes) else (
        model.SerializeToString())
    session = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    kinds = [o.type for o in session.get_outputs()]

    def run(feeds: Mapping[str, Any]) -> list[Any]:
        made = session.run(None, {name: _given(ort, value) for name, value in feeds.items()})
        return [_taken(kind, value) for kind, value in zip(kinds, made, strict=True)]

    return run


def _given(ort: Any, value: Any) -> Any:
    """A feed as onnxruntime takes it: types that NumPy lacks go by their numbers in the standard."""
    kind = type_of(value) if isinstance(value, np.ndarray) else ""
    if not kind or value.dtype.type.__module__ == "numpy" or width_of(kind) < 8:
        return value
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(value, ELEMENTS[kind[len("tensor("):-1]].code)


def _taken(kind: str, value: Any) -> Any:
    """A result with the type that it has in the standard: onnxruntime gives the bytes of those that NumPy lacks."""
    due = DTYPE.get(kind)
    known = due is None or not isinstance(value, np.ndarray) or value.dtype.itemsize != due.itemsize or due.hasobject
    return value if known or due == value.dtype else value.view(due)


def reference(model: Any, threads: int | None, as_written: bool) -> Run:
    """onnx's evaluator in NumPy, one thread, the graph as written."""
    from onnx.reference import ReferenceEvaluator

    session: Any = ReferenceEvaluator(os.fspath(model) if isinstance(model, os.PathLike) else model)
    return lambda feeds: list(session.run(None, dict(feeds)))
