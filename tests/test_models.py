"""Real models: those of a folder that INTERP_MODELS names, each MODEL.onnx with what it was fed and what came, MODEL.npz.

An archive holds in_names, in0, in1, … and out_names, out0, …, as onnxruntime gave them. Shapes are compared on the CNNs that
come with the onnx package too.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import interp
from interp.dims import Dim
from interp.infer import Scope, declared
from interp.loading import load

ROOT = Path(__file__).parent.parent
LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("light_*.onnx"))
FOLDER = os.environ.get("INTERP_MODELS")
REAL = sorted(Path(FOLDER).glob("*.onnx")) if FOLDER else []
# The order of sums moves the results of the deepest of these networks, a text detector, by 1.1e-4: so far onnxruntime's own
# lie apart with and without its optimisations.
CLOSE = {"rtol": 1e-4, "atol": 2e-4}
needs_folder = pytest.mark.skipif(not REAL, reason="INTERP_MODELS names no folder of models")


def static(shape):
    return shape is not None and not any(isinstance(d, Dim) for d in shape)


def known_to_onnx(model):
    """Values of which onnx's own inference knows every size."""
    del model.graph.value_info[:]
    found = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    return {v.name for v in (*found.value_info, *found.output)
            if v.type.tensor_type.HasField("shape") and all(d.dim_value > 0 for d in v.type.tensor_type.shape.dim)}


@pytest.mark.parametrize("path", [*LIGHT, *REAL], ids=lambda p: p.stem)
def test_inference_knows_all_that_onnx_knows(path):
    graph = load(path, interp.standard)
    scope = Scope(graph)
    scope.infer([declared(v) for v in graph.inputs])
    mine = {name for name, fact in scope.facts.items() if static(fact.shape)}
    assert known_to_onnx(onnx.load(path)) <= mine


def sides(path):
    """What a model was fed and what came, by name; lists of maps are stored as JSON."""
    with np.load(path.with_suffix(".npz")) as data:
        given = {str(n): data[f"in{i}"] for i, n in enumerate(data["in_names"])}
        due = {str(n): json.loads(str(data[f"out{i}"])) if f"out{i}_kind" in data else data[f"out{i}"]
               for i, n in enumerate(data["out_names"])}
    return given, due


@needs_folder
@pytest.mark.parametrize("path", REAL, ids=lambda p: p.stem)
def test_the_command_line_runs_it(path, tmp_path):
    options = []
    if path.with_suffix(".npz").exists():
        given, due = sides(path)
        np.savez(tmp_path / "in.npz", **given)
        np.savez(tmp_path / "out.npz", **{k: v for k, v in due.items() if isinstance(v, np.ndarray)})
        options = ["--data", tmp_path / "in.npz", "--expect", tmp_path / "out.npz", *(f"--{k}={v}" for k, v in CLOSE.items())]
    done = subprocess.run([sys.executable, "-m", "interp", path, *options], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@needs_folder
@pytest.mark.parametrize("path", [p for p in REAL if p.with_suffix(".npz").exists()], ids=lambda p: p.stem)
def test_maps_match(path):
    given, due = sides(path)
    feeds = {k: v.astype(object) if v.dtype.kind == "U" else v for k, v in given.items()}
    session = interp.load(path)
    for got, want in zip(session.run(None, feeds), due.values(), strict=True):
        if isinstance(want, list):
            assert [sorted(map(str, g)) for g in got] == [sorted(w) for w in want]
            for g, w in zip(got, want, strict=True):
                np.testing.assert_allclose([g[k] for k in g], [w[str(k)] for k in g], **CLOSE)
