"""How many of the official tests that come with onnx each engine passes: this package, onnxruntime, onnx's reference evaluator.

Run as ``python benchmarks/suite.py``; it takes some minutes. A test passes where all outputs of all its data sets are within the
tolerance that the test states. Each engine runs in a process of its own.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.test_official import collected, compare, model_and_sets  # noqa: E402

ENGINES = ("interp", "onnxruntime", "reference")


def prepared(engine: str, model: onnx.ModelProto) -> Callable[[list[Any]], list[Any]]:
    """A function from inputs in order to outputs in order."""
    if engine == "interp":
        from interp import backend

        return backend.prepare(model).run
    names = [v.name for v in model.graph.input]
    if engine == "reference":
        from onnx.reference import ReferenceEvaluator

        run = ReferenceEvaluator(model).run
    else:
        import onnxruntime

        onnxruntime.set_default_logger_severity(4)
        run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run
    return lambda inputs: run(None, dict(zip(names, inputs, strict=False)))


def passes(engine: str, case: Any) -> bool:
    """Whether the engine gives what a test expects."""
    model, sets = model_and_sets(case)
    try:
        run = prepared(engine, model)
        for inputs, outputs in sets:
            for want, got in zip(outputs, run(inputs), strict=True):
                compare(want, got, case.rtol, case.atol)
    except Exception:  # whatever an engine raises, the test does not pass
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", nargs="?", choices=ENGINES, help="this one alone")
    engine = parser.parse_args().engine
    if engine is None:
        for name in ENGINES:
            subprocess.run([sys.executable, __file__, name], check=True)
        return
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)  # what engines say of the models that they refuse
    cases = collected()
    print(f"{engine:12} {sum(passes(engine, c) for c in cases):5} of {len(cases)}", flush=True)


if __name__ == "__main__":
    main()
