"""A start is light: onnx and families that nobody needs stay unimported, and what was written down is what onnx says."""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.onnx_ml_pb2
import pytest
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper, numpy_helper

import interp
from interp import frozen, messages, schema
from interp.errors import ModelError
from interp.kernels.wire import parse
from interp.ops import FAMILIES, families, standard
from interp.ops.families import file_of, known

ROOT = Path(__file__).parent.parent
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
RUN = f"""
import sys
import numpy as np
import interp
s = interp.load({str(DIGITS)!r})
s.run(None, {{"image": np.zeros((1, 1, 8, 8), np.float32)}})
"""


def told(code):
    """What a fresh process prints, as JSON."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_run_imports_neither_onnx_nor_protobuf_nor_families_that_it_does_not_need():
    modules = set(told(RUN + "import json; print(json.dumps(sorted(sys.modules)))"))
    assert not {"onnx", "google.protobuf", "difflib"} & modules
    assert "interp.ops.conv" in modules
    assert not {"interp.ops.recurrent", "interp.ops.ml.trees", "interp.kernels.recurrent", "interp.ops.text"} & modules


@pytest.mark.parametrize("order", [("onnx", "interp"), ("interp", "onnx")])
def test_models_that_onnx_made_are_read_whichever_was_imported_first(order):
    code = f"import {order[0]}\nimport {order[1]}\n" + RUN + f"""
model = onnx.load({str(DIGITS)!r})
text = onnx.printer.to_text(model)
import json
print(json.dumps([len(interp.load(m).inputs) for m in (model, model.SerializeToString(), onnx.parser.parse_model(text))]))
"""
    assert told(code) == [1, 1, 1]


def test_loading_leaves_the_search_for_cycles_as_it_was():
    code = RUN + "import gc, json\nprint(json.dumps([gc.isenabled(), gc.get_freeze_count()]))"
    assert told(code) == [True, 0]
    assert told("import gc\ngc.disable()\n" + code)[0] is False
    assert told("import gc\ngc.freeze()\n" + code)[1] > 1000  # what the program froze stays so


# What was written down


def test_what_was_written_down_is_of_the_onnx_that_is_installed():
    kept = frozen.of_onnx()
    assert kept is not None and kept["onnx"] == onnx.__version__, "build anew: python setup.py build_ext --inplace"
    assert kept["newest"] == schema.newest() and kept["messages"] == messages.table()
    assert kept["families"]["files"].keys() == set(FAMILIES)


def test_every_schema_that_was_written_down_is_what_onnx_says():
    ours = frozen.of_onnx()["schemas"]
    theirs = schema.history()
    assert ours.keys() == theirs.keys()
    for key, found in theirs.items():
        assert list(ours[key]) == list(found), key
        for since, s in found.items():
            assert schema.thawed(ours[key][since]) == schema.read(s), (key, since)
            assert schema.schema(key[1], since, key[0]).since == onnx.defs.get_schema(key[1], since, key[0]).since_version


def test_another_version_of_onnx_is_asked_itself(monkeypatch):
    monkeypatch.setattr(onnx, "__version__", "999")
    frozen.of_onnx.cache_clear()
    try:
        assert frozen.of_onnx() is None
    finally:
        monkeypatch.undo()
        frozen.of_onnx.cache_clear()
    code = RUN.replace("import interp\n", "import onnx\nonnx.__version__ = '999'\nimport interp\n", 1)
    code += "from interp import frozen\nprint([frozen.of_onnx(), s.outputs[0].name][0] is None and 1)"
    assert told(code) == 1


# Families


def test_the_index_of_families_has_every_operator():
    index = known()["operators"]
    assert {(o.domain, o.name) for o in standard} == set(index)


def test_a_family_that_was_edited_since_the_build_is_looked_into(monkeypatch):
    layer = families.Families("interp.ops", FAMILIES)
    files = {**known()["files"], "pool": (0, 0)}
    del files["roi"]
    monkeypatch.setattr(families, "known", lambda: {"operators": {}, "files": files, "in_place": True})
    families.changed.cache_clear()
    try:
        assert {o.name for o in layer.at("", "MaxPool")} == {"MaxPool"} and layer.at("", "RoiAlign")
        edited = {f for f in FAMILIES if files.get(f) != file_of(f)}
        assert {"pool", "roi"} <= edited and (bool(layer.at("", "Relu")) == any("activ" in f or "elem" in f for f in edited))
    finally:
        families.changed.cache_clear()


# Messages


def specimen():
    """A model with every kind of field that graphs have."""
    node = helper.make_node("Mine", ["x", ""], ["y"], "n", domain="own", i=-3, f=0.5, s=b"\xff\x00", ints=[1, -1, 0, 2**40],
                            floats=[1.5, -2, 0], strings=["a", "b"], t=numpy_helper.from_array(np.arange(3.0), "t"),
                            g=helper.make_graph([helper.make_node("Abs", ["x"], ["z"])], "inner", [], []))
    tensors = [helper.make_tensor("a", TensorProto.INT32, [2], [-1, 5]),
               helper.make_tensor("b", TensorProto.STRING, [1], [b"\xc3"]),
               helper.make_tensor("c", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0]),
               helper.make_tensor("d", TensorProto.UINT64, [1], [2**64 - 1]),
               helper.make_tensor("e", TensorProto.DOUBLE, [2000], np.arange(2000.0)),
               numpy_helper.from_array(np.arange(5000, dtype=np.float32), "w")]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, None]),
              helper.make_tensor_sequence_value_info("s", TensorProto.INT64, None)]
    graph = helper.make_graph([node], "g", inputs, [], tensors)
    function = helper.make_function("own", "F", ["a"], ["b"], [], [helper.make_opsetid("", 17)])
    model = helper.make_model(graph, functions=[function])
    helper.set_model_props(model, {"k": "v"})
    return model


def assert_same(ours, theirs, where=""):
    """Two messages have the same fields."""
    for field in theirs.DESCRIPTOR.fields:
        a, b, at = getattr(ours, field.name), getattr(theirs, field.name), f"{where}.{field.name}"
        if not field.is_repeated:
            assert ours.HasField(field.name) == theirs.HasField(field.name), at
        if field.message_type and field.is_repeated:
            assert len(a) == len(b), at
            for i, (x, y) in enumerate(zip(a, b, strict=True)):
                assert_same(x, y, f"{at}[{i}]")
        elif field.message_type:
            if theirs.HasField(field.name):
                assert_same(a, b, at)
        elif field.is_repeated:
            assert list(a) == list(b) or np.array_equal(a, b, equal_nan=True), at
        else:
            assert a == b or (a != a and b != b), at
    for group in theirs.DESCRIPTOR.oneofs_by_name:
        assert ours.WhichOneof(group) == theirs.WhichOneof(group), where


def test_messages_are_read_as_protobuf_reads_them():
    model = specimen()
    assert_same(messages.model(model.SerializeToString()), model)


@pytest.mark.parametrize("field,packed,single", [
    (4, b"\x00\x00\x80\x3f", b"\x25\x00\x00\x00\x40"), (5, b"\x07\x00", b"\x28" + b"\xff" * 9 + b"\x01"),
    (7, b"\x80\x01", b"\x38\x00"), (10, bytes(6) + b"\xf0\x3f", b"\x51" + bytes(7) + b"\x40"), (11, b"\x05", b"\x58\x81\x01")])
def test_numbers_are_read_packed_one_by_one_and_mixed(field, packed, single):
    together = bytes([field << 3 | 2, len(packed)]) + packed
    for content in (single, single * 3, together + single * 2, single * 2 + together + single, single + b"\x10\x01" + single):
        theirs = onnx.TensorProto()
        theirs.ParseFromString(content)
        assert_same(parse(messages.kinds()["onnx.TensorProto"], content), theirs)


def test_damaged_messages_are_refused_where_protobuf_refuses_them():
    content = specimen().SerializeToString()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(4000):
        damaged = bytearray(content)
        for _ in range(rng.integers(1, 4)):
            damaged[rng.integers(0, min(len(damaged), 900))] = rng.integers(0, 256)
        damaged = bytes(damaged[:rng.integers(1, len(damaged))] if rng.random() < 0.3 else damaged)
        theirs = onnx.ModelProto()
        try:
            theirs.ParseFromString(damaged)
        except Exception:
            refused += 1
            with pytest.raises(ValueError):
                messages.model(damaged)
        else:
            assert_same(messages.model(damaged), theirs)
    assert refused > 100


@pytest.mark.parametrize("content", [
    b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x3a\x7f", b"\x08", b"\x08" + b"\xff" * 11, b"\x00\x00", b"\x0f", b"\x0c",
    b"\xf3\x01", b"\xf3\x01\xfc\x02", b"\x3a\x02\x52\x05", b"\x7a" * 400, b"\xf3\x01" * 400, b"\xf5\x01\x00", b"\xf1\x01\x00"])
def test_lengths_that_lie_and_endless_nesting_are_refused(content):
    with pytest.raises(DecodeError):
        onnx.ModelProto().ParseFromString(content)
    with pytest.raises(ValueError):
        messages.model(content)
    with pytest.raises(ModelError):
        interp.load(content)


# Memory


GROWTH = """
import sys
from pathlib import Path
import numpy as np
import interp
from tests.unbound import unbound

def status(field):
    [line] = [s for s in Path("/proc/self/status").read_text().splitlines() if s.startswith(field)]
    return int(line.split()[1]) * 1024

x = np.ones((1, 2048), np.float32)
before = status("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
s = interp.load(sys.argv[1], threads=1)
y = s.run(None, {"x": x})[0]
grown = status("VmRSS") - before, status("VmHWM") - before
assert np.abs(y - unbound(s, {"x": x})[0]).max() < 1e-5 * np.abs(y).max()  # weights that were let go are read again
print([*map(int, grown), float(y.sum())])
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured as Linux tells it")
@pytest.mark.parametrize("shift", range(2))
def test_weights_are_mapped_and_resident_once(tmp_path, shift):
    rng = np.random.default_rng(0)
    weights = [rng.integers(-1, 2, (2048, 2048)).astype(np.float32) for _ in range(6)]
    nodes = [helper.make_node("MatMul", [f"h{i}", f"w{i}"], [f"h{i + 1}"], f"n{'x' * shift}") for i in range(6)]
    nodes.append(helper.make_node("Clip", ["h6"], ["y"]))
    nodes[0].input[0] = "x"
    graph = helper.make_graph(nodes, "g" * (1 + shift), [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2048])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2048])],
                              [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph), path)
    done = subprocess.run([sys.executable, "-c", GROWTH, str(path)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rest, peak, total = json.loads(done.stdout)
    size = sum(w.nbytes for w in weights)
    assert rest < 1.3 * size and peak < 1.6 * size, (rest / size, peak / size)
    want = np.ones((1, 2048))
    for w in weights:
        want = want @ w
    assert total == pytest.approx(want.sum(), rel=1e-3)


def test_large_weights_lie_in_the_file_and_are_aligned_for_who_reads_them(tmp_path):
    table = np.arange(3_000_000, dtype=np.float32).reshape(-1, 10)
    for name in ("i", "ii", "iii", "iiii"):
        nodes = [helper.make_node("Gather", ["t", name], ["g"]), helper.make_node("Add", ["g", "r"], ["y"])]
        graph = helper.make_graph(nodes, "g",
                                  [helper.make_tensor_value_info(name, TensorProto.INT64, [2])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 10])],
                                  [numpy_helper.from_array(table, "t"), numpy_helper.from_array(table[:1], "r")])
        path = tmp_path / f"{name}.onnx"
        onnx.save(helper.make_model(graph), path)
        [y] = interp.load(path).run(None, {name: np.array([2, 299_999])})
        np.testing.assert_array_equal(y, table[[2, 299_999]] + table[:1])
