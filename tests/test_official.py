"""The official suite through interp/backend.py: everything is served, and passes but for what is listed with its reason."""
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.runner import Runner

import interp
from interp import backend

# Tests that fail, each with its reason. One that passes all the same is an error: take it off the list.
EXPECTED_FAILURES = {
    line.split(maxsplit=1)[0]: line.split(maxsplit=1)[1].strip()
    for line in (Path(__file__).parent / "official_failures.txt").read_text().splitlines() if line and not line.startswith("#")
}
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"


@cache
def collected():
    """Every test that comes with the onnx package: its name, how to load it, and its tolerances."""
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests
        cases = list(load_model_tests(kind="node"))
        for kind in ("simple", "pytorch-converted", "pytorch-operator"):
            cases += load_model_tests(kind=kind)
    return cases


def model_and_sets(case):
    """The model of a test and its data sets, as lists of inputs and of expected outputs."""
    if case.model is not None:
        return case.model, [([plain(x) for x in i], [plain(x) for x in o]) for i, o in case.data_sets]
    folder = Path(case.model_dir)
    model = onnx.load(folder / "model.onnx")
    sets = []
    for data in sorted(folder.glob("test_data_set_*")):
        given = [(data / f"input_{k}.pb", v) for k, v in enumerate(model.graph.input)]
        sets.append(([read(path, v) for path, v in given if path.exists()],
                     [read(data / f"output_{k}.pb", v) for k, v in enumerate(model.graph.output)]))
    return model, sets


def plain(x):
    return numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x


def read(path, value):
    """One value of a data set, by its declared type."""
    kind = value.type.WhichOneof("value")
    proto, convert = {"tensor_type": (onnx.TensorProto, numpy_helper.to_array),
                      "sequence_type": (onnx.SequenceProto, numpy_helper.to_list),
                      "optional_type": (onnx.OptionalProto, numpy_helper.to_optional)}[kind]
    made = proto()
    made.ParseFromString(path.read_bytes())
    return convert(made)


def compare(want, got, rtol, atol):
    """As the official runner compares; sequences element by element."""
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want)
        for w, g in zip(want, got, strict=True):
            compare(w, g, rtol, atol)
    elif want is None:
        assert got is None
    else:
        Runner.assert_similar_outputs([want], [got], rtol=rtol, atol=atol)


@pytest.mark.parametrize("case", collected(), ids=lambda c: f"{c.kind}-{c.name}")
def test_official(case):
    model, sets = model_and_sets(case)
    failure = EXPECTED_FAILURES.get(case.name)
    session = backend.prepare(model)
    try:
        for inputs, outputs in sets:
            for want, got in zip(outputs, session.run(inputs), strict=True):
                compare(want, got, case.rtol, case.atol)
    except Exception:
        if failure is None:
            raise
    else:
        assert failure is None, f"{case.name} passes: take it off the list ({failure})"


LIGHT = sorted((DATA / "light").glob("light_*.onnx"))


@pytest.mark.parametrize("path", LIGHT, ids=lambda p: p.stem)
def test_light_models(path):
    """The nine CNNs that come with onnx, on the input that the official runner feeds them."""
    session = interp.load(path)
    [value] = session.inputs
    shape = tuple(d if isinstance(d, int) else 1 for d in value.shape)
    feed = (np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)).astype(np.float32)
    for k, got in enumerate(session.run(None, {value.name: feed})):
        want = onnx.TensorProto()
        want.ParseFromString(path.with_name(f"{path.stem}_output_{k}.pb").read_bytes())
        np.testing.assert_allclose(got, numpy_helper.to_array(want), rtol=1e-3, atol=1e-7)
