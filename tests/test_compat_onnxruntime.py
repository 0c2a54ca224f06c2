"""interp.compat.onnxruntime beside onnxruntime itself: the same calls, the same answers, the same exceptions."""
import inspect
import json
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, parser

import interp.compat.onnxruntime as ours
from interp.compat.onnxruntime import options
from interp.compat.onnxruntime.capi import onnxruntime_pybind11_state as our_state

theirs = pytest.importorskip("onnxruntime", "1.32", reason="onnxruntime 1.32 is what is followed; it is part of the test extra")
their_state = theirs.capi.onnxruntime_pybind11_state
theirs.set_default_logger_severity(4)
ROOT = Path(__file__).parent.parent
ONE = np.ones(2, np.float32)
X = np.arange(6, dtype=np.float32).reshape(3, 2)


def model(text, header='ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]'):
    return parser.parse_model(f"<{header}> {text}").SerializeToString()


ADD = model("g (float[N,2] x, float[2] b) => (float[N,2] y) { y = Add(x, b) }")
PAIR = model("g (float[N] x, float[N] z) => (float[N] y) { y = Add(x, z) }")
SCALAR = model("g (float x) => (float y) { y = Neg(x) }")
TEXT = model("g (string[N] x) => (string[N] y) { y = Identity(x) }")
WHOLE = model("g (int32[N] x, uint8[N] u, bool[N] f) => (int32[N] y, uint8[N] v, bool[N] g) "
              "{ y = Neg(x) v = Identity(u) g = Not(f) }")
SEQUENCE = model("g (seq(float[N]) x) => (float[N] y, seq(float[N]) z) "
                 "{ k = Constant<value = int64 {0}>() y = SequenceAt(x, k) z = Identity(x) }")
OPTIONAL = model("g (optional(float[N]) x) => (bool y) { y = OptionalHasElement(x) }")
EMPTY = model("g (float[N] x) => (optional(float[N]) y) { y = Optional<type = float[N]>() }")
ZIPMAP = model("g (float[N,2] x) => (seq(map(int64, float)) y) { y = ai.onnx.ml.ZipMap<classlabels_int64s = [10, 20]>(x) }")
GATHER = model("g (float[N] x, int64[M] i) => (float[M] y) { y = Gather(x, i) }")
WEIGHT = model("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
NAMED = model("g (float[N,?,3] x, float[2] y) => (float[N,M,3] z, float[2] u) { z = Identity(x) u = Neg(y) }")


def overridable(ir_version):
    made = onnx.load_from_string(WEIGHT)
    made.ir_version = ir_version
    made.graph.input.append(helper.make_tensor_value_info("w", 1, [2]))
    made.doc_string, made.domain, made.producer_name, made.model_version = "what it does", "org.example", "a tool", 7
    made.graph.doc_string = "a graph"
    helper.set_model_props(made, {"key": "value"})
    return made.SerializeToString()


def told(made):
    """A result as something that can be compared."""
    if isinstance(made, np.ndarray):
        return made.dtype.str, made.shape, made.tolist()
    return [told(m) for m in made] if isinstance(made, list | tuple) else made


def outcome(act, module):
    """What a call gives, or the kind of its exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return told(act(module))
        except Exception as e:
            return type(e).__name__


def beside(act):
    """What a call gives on both sides, which is the same."""
    due = outcome(act, theirs)
    assert outcome(act, ours) == due
    return due


RUNS = {
    "arrays": (ADD, None, {"x": X, "b": ONE}),
    "names": (ADD, ["y"], {"x": X, "b": ONE}),
    "no names": (ADD, [], {"x": X, "b": ONE}),
    "a name twice": (ADD, ["y", "y"], {"x": X, "b": ONE}),
    "a name that is no list": (ADD, "y", {"x": X, "b": ONE}),
    "an unknown output": (ADD, ["q"], {"x": X, "b": ONE}),
    "a missing input": (ADD, None, {"x": X}),
    "an unknown input": (ADD, None, {"x": X, "b": ONE, "q": ONE}),
    "another type": (ADD, None, {"x": X.astype(np.float64), "b": ONE}),
    "another rank": (ADD, None, {"x": X[0], "b": ONE}),
    "another size": (ADD, None, {"x": np.ones((3, 5), np.float32), "b": ONE}),
    "not contiguous": (ADD, None, {"x": np.ones((2, 3), np.float32).T, "b": np.ones(4, np.float32)[::2]}),
    "nothing along an axis": (ADD, None, {"x": X[:0], "b": ONE}),
    "lists of numbers": (ADD, None, {"x": [[1.5, 2]], "b": [1, 2]}),
    "a list of arrays": (ADD, None, {"x": [ONE, ONE], "b": ONE}),
    "a list of arrays of another type": (ADD, None, {"x": [ONE.astype(np.float64)], "b": ONE}),
    "an empty list": (ADD, None, {"x": [], "b": ONE}),
    "a ragged list": (ADD, None, {"x": [[1, 2], [3]], "b": ONE}),
    "a tuple": (ADD, None, {"x": ((1.0, 2.0),), "b": ONE}),
    "a number": (ADD, None, {"x": 3.0, "b": ONE}),
    "a NumPy scalar": (SCALAR, None, {"x": np.float32(3)}),
    "a text for numbers": (ADD, None, {"x": "abc", "b": ONE}),
    "nothing for a tensor": (ADD, None, {"x": None, "b": ONE}),
    "a memoryview": (ADD, None, {"x": memoryview(X), "b": ONE}),
    "an array of dates": (ADD, None, {"x": np.zeros((2, 2), "M8[s]"), "b": ONE}),
    "more digits than a double": (ADD, None, {"x": X.astype(np.longdouble), "b": ONE}),
    "a masked array": (ADD, None, {"x": np.ma.masked_array(X, X > 2), "b": ONE}),
    "an input that is no name": (ADD, None, {"x": X, "b": ONE, 1: ONE}),
    "an output that is no name": (ADD, [None], {"x": X, "b": ONE}),
    "texts of numbers": (ADD, None, {"x": [["1.5", "2"]], "b": ONE}),
    "no dictionary": (ADD, None, [X, ONE]),
    "a list for a scalar": (SCALAR, None, {"x": [3.0]}),
    "an array of no axes": (SCALAR, None, {"x": np.array(3, np.float32)}),
    "sizes of one name that differ": (PAIR, None, {"x": np.ones(3, np.float32), "z": np.ones(1, np.float32)}),
    "sizes that do not broadcast": (PAIR, None, {"x": np.ones(3, np.float32), "z": ONE}),
    "whole numbers in lists": (WHOLE, None, {"x": [3.7, -1], "u": [1, 255], "f": [True, False]}),
    "a whole number that is too large": (WHOLE, None, {"x": [1], "u": [300], "f": [True]}),
    "objects of text": (TEXT, None, {"x": np.array(["a", "bé"], object)}),
    "arrays of text": (TEXT, None, {"x": np.array(["a", "bé"])}),
    "a list of texts": (TEXT, None, {"x": ["a", "b"]}),
    "a list of numbers for text": (TEXT, None, {"x": [1, "a"]}),
    "objects of anything for text": (TEXT, None, {"x": np.array(["a", float("nan"), None], object)}),
    "objects of numbers for text": (TEXT, None, {"x": np.array([1, 2], object)}),
    "numbers for text": (TEXT, None, {"x": np.array([1, 2])}),
    "a sequence": (SEQUENCE, None, {"x": [ONE, X[2]]}),
    "a sequence of two types": (SEQUENCE, None, {"x": [ONE, ONE.astype(np.float64)]}),
    "a sequence of another type": (SEQUENCE, None, {"x": [ONE.astype(np.float64)]}),
    "a sequence as a tuple": (SEQUENCE, None, {"x": (ONE, ONE)}),
    "an array for a sequence": (SEQUENCE, None, {"x": X}),
    "lists for a sequence": (SEQUENCE, None, {"x": [[1.0, 2.0]]}),
    "an optional that is None": (OPTIONAL, None, {"x": None}),
    "an optional left out": (OPTIONAL, None, {}),
    "an optional with a value": (OPTIONAL, None, {"x": ONE}),
    "an output without a value": (EMPTY, None, {"x": ONE}),
    "a sequence of maps": (ZIPMAP, None, {"x": X}),
    "an initializer that is no input": (WEIGHT, None, {"x": ONE, "w": ONE}),
    "an initializer that is an input": (overridable(10), None, {"x": ONE, "w": ONE}),
    "one of an old model": (overridable(3), None, {"x": ONE, "w": ONE}),
}


@pytest.mark.parametrize("case", RUNS)
def test_runs_give_and_refuse_the_same(case):
    source, names, feeds = RUNS[case]
    beside(lambda module: module.InferenceSession(source).run(names, feeds))


def test_text_is_checked_in_every_run():
    session = ours.InferenceSession(TEXT)
    session.run(None, {"x": ["a", "b"]})
    with pytest.raises(our_state.InvalidArgument, match="tensor.int64"):
        session.run(None, {"x": np.array([1, 2])})


@pytest.mark.parametrize("source", [ADD, TEXT, WHOLE, SEQUENCE, ZIPMAP, NAMED, overridable(3), overridable(10)],
                         ids="add text whole sequence zipmap named old overridable".split())
def test_inputs_and_outputs_are_described_the_same(source):
    def described(module):
        session = module.InferenceSession(source)
        meta = session.get_modelmeta()
        return ([[(a.name, a.type, a.shape, str(a)) for a in args] for args in (
                    session.get_inputs(), session.get_outputs(), session.get_overridable_initializers())],
                {name: getattr(meta, name) for name in dir(meta) if not name.startswith("_")},
                session.get_providers(), session.get_provider_options())

    beside(described)


def files(tmp_path):
    (tmp_path / "garbage.onnx").write_bytes(b"garbage garbage")
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "good.onnx").write_bytes(ADD)
    mine = 'ir_version: 10, opset_import: ["": 21, "mine": 1]'
    newest = 'ir_version: 10, opset_import: ["": 999]'
    return {
        "NoSuchFile": [str(tmp_path / "none.onnx")],
        "InvalidProtobuf": [str(tmp_path), str(tmp_path / "garbage.onnx"), b"no model at all"],
        "InvalidArgument": [b"", str(tmp_path / "empty.onnx")],
        "TypeError": [3, None, onnx.load_from_string(ADD), bytearray(ADD)],
        "InvalidGraph": [model("g (float[2] x) => (float[2] y) { y = Nope(x) }"),
                         model("g (complex64[2] x) => (complex64[2] y) { y = Neg(x) }"),
                         model("g (float[2] x) => (float[2] y) { y = Neg<what = 3>(x) }")],
        "Fail": [model("g (float[2] x) => (float[2] y) { y = mine.Nope(x) }", mine),
                 model("g (float[2] x) => (float[2] y) { y = Neg(x) }", newest)],
        "ok": [tmp_path / "good.onnx"],
    }


def test_models_that_cannot_be_loaded_raise_the_same(tmp_path):
    for due, sources in files(tmp_path).items():
        for source in sources:
            found = beside(lambda module, source=source: module.InferenceSession(source) and "ok")
            assert found == due, source


def test_exceptions_have_the_codes_of_onnxruntime():
    for module, state in ((ours, our_state), (theirs, their_state)):
        with pytest.raises(state.InvalidArgument, match=r"^\[ONNXRuntimeError\] : 2 : INVALID_ARGUMENT : "):
            module.InferenceSession(ADD).run(["q"], {"x": X, "b": ONE})
    names = {n for n in dir(their_state) if isinstance(kind := getattr(their_state, n), type) and issubclass(kind, Exception)}
    assert {n for n in names if not issubclass(getattr(our_state, n, int), Exception)} == set()


def test_a_kernel_that_fails_names_its_node():
    with pytest.raises(our_state.Fail, match="Gather_0"):
        ours.InferenceSession(GATHER).run(None, {"x": ONE, "i": np.array([7])})


PROVIDERS = {
    "names": {"providers": ["CPUExecutionProvider"]}, "none": {"providers": []}, "one that is not there": {
        "providers": ["CUDAExecutionProvider", "CPUExecutionProvider"]}, "an unknown one": {"providers": ["Unheard"]},
    "an unknown one, and no fallback": {"providers": ["Unheard"], "enable_fallback": 0},
    "options": {"providers": [("CPUExecutionProvider", {"arena_extend_strategy": 1})]},
    "options beside": {"providers": ["CPUExecutionProvider"], "provider_options": [{"a": 1}]},
    "too few options": {"providers": ["CPUExecutionProvider"], "provider_options": [], "enable_fallback": 0},
    "one twice": {"providers": ["CPUExecutionProvider"] * 2}, "something else": {"providers": [3], "enable_fallback": 0},
}


@pytest.mark.parametrize("case", PROVIDERS)
def test_providers_are_settled_the_same(case):
    def settled(module):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            session = module.InferenceSession(ADD, **PROVIDERS[case])
        said = [str(w.message).split("Available")[0] for w in caught if w.category is not ours.IgnoredOption]
        return said, session.get_providers(), session.set_providers(["CPUExecutionProvider"])

    beside(settled)
    assert ours.get_available_providers() == ["CPUExecutionProvider"] and ours.get_device() == theirs.get_device()
    assert ours.get_all_providers() == theirs.get_all_providers()


def test_options_have_the_names_types_and_defaults_of_onnxruntime():
    for kind in ("SessionOptions", "RunOptions"):
        mine, due = getattr(ours, kind)(), getattr(theirs, kind)()
        for name in dir(due):
            value = getattr(due, name)
            if name.startswith("_") or callable(value):
                continue
            assert getattr(mine, name) == value or str(getattr(mine, name)) == str(value), name
            for given in ("x", 2.5, np.int64(1), True, None, ours.ExecutionMode.ORT_PARALLEL, "999999999999999"):
                def put(module, name=name, given=given, kind=kind):
                    made = getattr(module, kind)()
                    setattr(made, name, module.ExecutionMode.ORT_PARALLEL if isinstance(given, ours.ExecutionMode) else given)
                    return str(getattr(made, name))
                assert outcome(put, ours) == outcome(put, theirs), (name, given)
        assert outcome(lambda m, kind=kind: setattr(getattr(m, kind)(), "nothing_of_that_name", 1), ours) == "AttributeError"
    for name in ("GraphOptimizationLevel", "ExecutionMode", "ExecutionOrder"):
        mine, due = getattr(ours, name), getattr(theirs, name)
        assert [(str(v), repr(v), int(v), f"{v}") for v in mine.__members__.values()] == [
            (str(v), repr(v), int(v), f"{v}") for v in due.__members__.values()]
        assert int(mine(0)) == int(due(0)) == 0


NOT_THERE = {  # what serves devices, captured graphs and compiled contexts, of which there are none here
    "create_ortvalue_from_shape_and_type", "get_input_epdevices", "get_input_memory_infos", "get_output_memory_infos",
    "get_provider_graph_assignment_info", "get_tuning_results", "set_tuning_results", "release_captured_graph",
    "add_provider_for_devices", "set_ep_context_data_read_func", "clear_ep_context_data_read_func",
    "set_provider_selection_policy_delegate"}


@pytest.mark.parametrize("kind", ["InferenceSession", "SessionOptions", "RunOptions", "OrtValue", "IOBinding", "OrtDevice",
                                  "NodeArg"])
def test_methods_have_the_names_and_parameters_of_onnxruntime(kind):
    mine, due = getattr(ours, kind), getattr(theirs, kind)
    for name in {n for n in dir(due) if not n.startswith("_")} - NOT_THERE:
        found, expected = getattr(mine, name), getattr(due, name)
        try:
            parameters = list(inspect.signature(expected).parameters)
        except (TypeError, ValueError):  # compiled ones do not tell theirs
            continue
        assert list(inspect.signature(found).parameters) == parameters, name


def test_descriptions_of_memory_are_kept():
    def kept(module):
        memory = module.OrtMemoryInfo("Cpu", module.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, module.OrtMemType.DEFAULT)
        arenas = module.OrtArenaCfg(5, -1, 7, -1), module.OrtArenaCfg({"max_mem": 3, "initial_chunk_size_bytes": 9})
        module.SessionOptions().set_provider_selection_policy(module.OrtExecutionProviderDevicePolicy.MAX_PERFORMANCE)
        enumerations = module.OrtAllocatorType, module.OrtMemType, module.OrtExecutionProviderDevicePolicy
        return (module.create_and_register_allocator(memory, module.OrtArenaCfg(0, -1, -1, -1)), memory.name, memory.device_id,
                str(memory.allocator_type), str(memory.mem_type), [(a.max_mem, a.initial_chunk_size_bytes) for a in arenas],
                [{n: int(v) for n, v in e.__members__.items()} for e in enumerations])

    beside(kept)


def test_entries_by_key_are_kept():
    def kept(module):
        made = module.SessionOptions(), module.RunOptions()
        made[0].add_session_config_entry("a", "b")
        made[1].add_run_config_entry("c", "d")
        return made[0].get_session_config_entry("a"), made[1].get_run_config_entry("c")

    assert beside(kept) == ["b", "d"]
    assert beside(lambda module: module.SessionOptions().get_session_config_entry("q")) == "RuntimeError"
    assert beside(lambda module: module.SessionOptions().add_session_config_entry("q", 3)) == "TypeError"
    assert beside(lambda module: module.SessionOptions().register_custom_ops_library("/none.so")) == "Fail"


@pytest.mark.parametrize("use, error", [
    (lambda m: m.SessionOptions().add_session_config_entry("", "v"), "RuntimeError"),
    (lambda m: m.SessionOptions().add_session_config_entry("k" * 1025, "v"), "RuntimeError"),
    (lambda m: m.RunOptions().add_run_config_entry("", "v"), "RuntimeError"),
    (lambda m: setattr(m.SessionOptions(), "inter_op_num_threads", 2**40), "TypeError"),
    (lambda m: m.OrtValue.ortvalue_from_numpy(np.zeros(2, "M8[s]")), "RuntimeError"),
    (lambda m: m.OrtValue.ortvalue_from_numpy(np.zeros(2, "g")), "RuntimeError"),
    (lambda m: m.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(3, "u1"), 1), "RuntimeError"),
    (lambda m: m.OrtValue.ortvalue_from_shape_and_type([-1, 3], np.float32), "RuntimeError"),
], ids=range(8))
def test_odd_settings_and_values_are_refused(use, error):
    assert beside(use) == error


def test_options_without_effect_warn_once_by_name(monkeypatch):
    monkeypatch.setattr(options, "said", set())
    given = ours.SessionOptions()
    given.enable_mem_pattern, given.inter_op_num_threads, given.intra_op_num_threads = False, 1, 2
    given.add_session_config_entry("session.some_entry", "1")
    given.log_severity_level = 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours.InferenceSession(ADD, given)
    given.log_severity_level = -1
    with pytest.warns(ours.IgnoredOption) as caught:
        ours.InferenceSession(ADD, given)
    assert [str(w.message).split()[0] for w in caught] == ["enable_mem_pattern", "inter_op_num_threads", "session.some_entry"]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours.InferenceSession(ADD, given)


def test_levels_and_threads_reach_the_session():
    given = ours.SessionOptions()
    for level, due in ((ours.GraphOptimizationLevel.ORT_DISABLE_ALL, 0), (ours.GraphOptimizationLevel.ORT_ENABLE_BASIC, 1),
                       (ours.GraphOptimizationLevel.ORT_ENABLE_ALL, 2)):
        given.graph_optimization_level, given.intra_op_num_threads = level, 3
        made = ours.InferenceSession(ADD, given)
        assert made._session._given["optimize"] == due and made._session.threads == 3


def test_free_dimensions_are_numbers_in_the_model():
    def sized(module):
        given = module.SessionOptions()
        given.add_free_dimension_override_by_name("N", 4)
        session = module.InferenceSession(ADD, given)
        shapes = [a.shape for a in [*session.get_inputs(), *session.get_outputs()]]
        try:
            session.run(None, {"x": X, "b": ONE})
        except Exception as e:
            return shapes, type(e).__name__

    assert beside(sized) == [[[4, 2], [2], [4, 2]], "InvalidArgument"]


def test_initializers_are_replaced():
    given = ours.SessionOptions()
    given.add_initializer("w", ours.OrtValue.ortvalue_from_numpy(np.array([10, 20], np.float32)))
    assert ours.InferenceSession(WEIGHT, given).run(None, {"x": ONE})[0].tolist() == [11, 21]
    given.add_initializer("q", ours.OrtValue.ortvalue_from_numpy(ONE))
    with pytest.raises(our_state.Fail, match="no initializer q"):
        ours.InferenceSession(WEIGHT, given)


def test_a_profile_has_the_events_of_onnxruntime(tmp_path):
    found = []
    for module in (ours, theirs):
        given = module.SessionOptions()
        given.enable_profiling, given.profile_file_prefix = True, str(tmp_path / module.__name__)
        session = module.InferenceSession(ADD, given)
        session.run(None, {"x": X, "b": ONE})
        path = session.end_profiling()
        assert path.startswith(str(tmp_path)) and session.end_profiling() == "" and session.get_profiling_start_time_ns() > 0
        events = json.loads(Path(path).read_text())
        [node] = [e for e in events if e["cat"] == "Node" and e["name"].endswith("_kernel_time")]
        assert {"ts", "dur", "pid", "tid", "ph"} <= node.keys() and {"model_run"} <= {e["name"] for e in events}
        found.append((node["args"]["op_name"], node["args"]["provider"], node["ph"], node["args"]["output_type_shape"]))
    assert found[0] == found[1]
    assert ours.InferenceSession(ADD).end_profiling() == "" and ours.InferenceSession(ADD).get_profiling_start_time_ns() == 0


def test_the_optimised_model_is_written_and_runs_in_onnxruntime(tmp_path):
    source = model("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { v = Add(w, w) y = Mul(x, v) }")
    given = ours.SessionOptions()
    for level, nodes in ((ours.GraphOptimizationLevel.ORT_ENABLE_ALL, 1), (ours.GraphOptimizationLevel.ORT_DISABLE_ALL, 2)):
        given.optimized_model_filepath, given.graph_optimization_level = str(tmp_path / "written.onnx"), level
        ours.InferenceSession(source, given)
        assert len(onnx.load(tmp_path / "written.onnx").graph.node) == nodes
        assert theirs.InferenceSession(tmp_path / "written.onnx").run(None, {"x": ONE})[0].tolist() == [2, 4]


def test_runs_end_where_they_are_told_to():
    source = model("g (int64 n, bool c, float[1] x) => (float[1] y) { y = Loop(n, c, x) <body = b (int64 i, bool d, float[1] v) "
                   "=> (bool e, float[1] w) { e = Identity(d) w = Sin(v) }> }")
    session, given, seen = ours.InferenceSession(source), ours.RunOptions(), []
    feeds = {"n": np.array(10**8), "c": np.array(True), "x": ONE[:1]}

    def work():
        try:
            session.run(None, feeds, given)
        except our_state.Fail as e:
            seen.append(str(e))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    session.run(None, {**feeds, "n": np.array(3)}, ours.RunOptions())  # another run of the session goes on
    given.terminate = True
    thread.join(20)
    assert not thread.is_alive() and "terminate flag" in seen[0]
    with pytest.raises(our_state.Fail, match="terminate flag"):
        session.run(None, {**feeds, "n": np.array(3)}, given)
    given.terminate = False
    assert session.run(None, {**feeds, "n": np.array(1)}, given)[0] == np.sin(np.float32(1))


def test_runs_on_another_thread_call_back():
    def heard(module, feeds):
        session, seen, done = module.InferenceSession(ADD), [], threading.Event()
        session.run_async(None, feeds, lambda made, data, error: (seen.append((made, data, bool(error))), done.set()), "data")
        assert done.wait(20)
        return told(seen)

    assert beside(lambda module: heard(module, {"x": X, "b": ONE}))[0][1:] == ["data", False]
    assert beside(lambda module: heard(module, {"x": X.astype(np.float64), "b": ONE})) == [[[], "data", True]]
    assert beside(lambda module: heard(module, {"x": X})) == "ValueError"


def test_values_are_the_same():
    def described(module):
        array = X.copy()
        value = module.OrtValue.ortvalue_from_numpy(array)
        array[:] = 5
        zeros = module.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
        half = module.OrtValue.ortvalue_from_shape_and_type([2, 3], 16)
        other = module.OrtValue.ortvalue_from_numpy(np.zeros((3, 2), np.float32))
        other.update_inplace(value.numpy() + 1)
        return (value.shape(), value.data_type(), value.element_type(), value.device_name(), value.is_tensor(), value.has_value(),
                value.is_sparse_tensor(), value.is_tensor_sequence(), value.numpy(), value.tensor_size_in_bytes(),
                value.data_ptr() == array.ctypes.data, np.asarray(value), np.from_dlpack(value), value.__dlpack_device__(),
                zeros.shape(), half.data_type(), other.numpy(), module.OrtValue.from_dlpack(array).shape(),
                module.OrtDevice.make("cpu", 0).device_type(), module.OrtDevice.make("cuda", 1).device_id())

    beside(described)
    for act in (lambda m: m.OrtValue.ortvalue_from_numpy([1.0]), lambda m: m.OrtValue.ortvalue_from_numpy(X, "cuda", 0),
                lambda m: m.OrtValue.ortvalue_from_numpy(X, "unheard", 0), lambda m: m.OrtDevice.make("unheard", 0),
                lambda m: m.OrtValue.ortvalue_from_numpy(np.array(["a"], object)),
                lambda m: m.OrtValue.ortvalue_from_numpy(X.copy()).update_inplace(ONE)):
        assert beside(act) in ("RuntimeError", "Exception")


def test_runs_of_values_are_the_same():
    def run(module):
        session = module.InferenceSession(ADD)
        feeds = {"x": module.OrtValue.ortvalue_from_numpy(X), "b": module.OrtValue.ortvalue_from_numpy(ONE)}
        made = session.run_with_ort_values(["y"], feeds)
        return [v.numpy() for v in made], session.run(None, feeds)

    beside(run)
    assert beside(lambda m: m.InferenceSession(ADD).run_with_ort_values(None, {"x": X, "b": ONE})) == "AttributeError"
    assert beside(lambda m: m.InferenceSession(ADD).run_with_ort_values(None, {})) == "ValueError"


def bound(module, outputs):
    session = module.InferenceSession(ADD)
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_input("b", "cpu", 0, np.float32, [2], ONE.ctypes.data)
    outputs(module, binding)
    session.run_with_iobinding(binding)
    return binding


def test_bound_runs_are_the_same():
    room = np.zeros((3, 2), np.float32)

    def fresh(module):
        binding = bound(module, lambda _, b: b.bind_output("y"))
        return binding.copy_outputs_to_cpu(), [v.numpy() for v in binding.get_outputs()]

    def by_address(module):
        room[:] = 0
        bound(module, lambda _, b: b.bind_output("y", "cpu", 0, np.float32, room.shape, room.ctypes.data))
        return room.copy()

    def by_value(module, shape=(3, 2)):
        value = module.OrtValue.ortvalue_from_shape_and_type(list(shape), np.float32)
        bound(module, lambda _, b: b.bind_ortvalue_output("y", value))
        return value.numpy()

    assert beside(fresh)[0] == beside(fresh)[1]
    assert beside(by_address) == beside(by_value)
    assert beside(lambda m: by_value(m, (4, 2))) == "RuntimeError"
    assert beside(lambda m: bound(m, lambda *_: None)) == "RuntimeError"
    assert beside(lambda m: bound(m, lambda _, b: b.bind_cpu_input("q", X))) == "RuntimeError"
    assert beside(lambda m: bound(m, lambda _, b: b.bind_output("q"))) == "RuntimeError"
    assert beside(lambda m: bound(m, lambda _, b: (b.bind_output("y"), b.bind_cpu_input("x", X.astype(np.float64))))
                  ) == "RuntimeError"


def test_seeds_repeat_random_numbers():
    source = model("g () => (float[4] y) { y = RandomNormal<shape = [4]>() }")

    def repeated(module):
        module.set_seed(5)
        session = module.InferenceSession(source)
        first, second = session.run(None, {}), session.run(None, {})
        module.set_seed(5)
        again = module.InferenceSession(source).run(None, {})
        return np.array_equal(first, again), np.array_equal(first, second)

    try:
        assert beside(repeated) == [True, False]
    finally:
        from interp.ops import random

        random.reseed(None)


def test_a_model_file_may_go_once_there_is_a_session(tmp_path):
    path = tmp_path / "gone.onnx"
    path.write_bytes(model("g (float[2] x) => (float[2] y, float[2] z) { y = Neg(x) z = Abs(x) }"))

    def run(module):
        path.write_bytes(model("g (float[2] x) => (float[2] y, float[2] z) { y = Neg(x) z = Abs(x) }"))
        session = module.InferenceSession(path)
        path.unlink()
        return session.run(["z"], {"x": ONE})

    beside(run)


def python(*arguments):
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_installed_it_is_what_programs_import():
    done = python("-c", """
import importlib.metadata, importlib.util, sys
import interp.compat.onnxruntime as mine
mine.install(); mine.install()
import onnxruntime, onnxruntime.capi.onnxruntime_pybind11_state as state
from onnxruntime.capi._pybind_state import Fail
from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession
assert onnxruntime is mine and state.Fail is Fail and InferenceSession is mine.InferenceSession
assert importlib.util.find_spec("onnxruntime") is not None
import onnxruntime.backend
assert onnxruntime.backend.supports_device("CPU") and "onnx" in sys.modules
assert importlib.metadata.version("onnxruntime") == onnxruntime.__version__ == "1.32.0"
assert "interp" in onnxruntime.get_build_info()
try:
    import onnxruntime.quantization
except ModuleNotFoundError as e:
    print(e)
mine.uninstall()
assert "onnxruntime" not in sys.modules
""")
    assert done.returncode == 0 and "stands in" in done.stdout, done.stderr


def test_it_does_not_take_the_place_of_one_that_is_in_use():
    done = python("-c", "import onnxruntime, interp.compat.onnxruntime as m; m.install()")
    assert "imported already" in done.stderr.splitlines()[-1]


def test_a_script_runs_with_it_installed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys, onnxruntime\nprint(sys.argv[1:], __name__, onnxruntime.get_build_info())\n")
    done = python("-m", "interp.compat.onnxruntime", str(script), "--flag", "x")
    assert done.stdout.startswith("['--flag', 'x'] __main__ interp "), done.stderr
    assert python("-m", "interp.compat.onnxruntime").returncode == 2
    missing = python("-m", "interp.compat.onnxruntime", "none.py")
    assert (missing.returncode, missing.stderr) == (2, "none.py: there is no such file\n")


def test_it_is_not_imported_unless_asked_for():
    done = python("-c", "import sys, interp; interp.load; print([m for m in sys.modules if 'interp.compat' in m])")
    assert done.stdout.strip() == "[]"


def test_threads_that_share_a_session_get_their_own_answers():
    session, failed = ours.InferenceSession(ADD), []

    def work(given):
        for k in range(30):
            [y] = session.run(None, {"x": np.full((k % 5 + 1, 2), k, np.float32), "b": ONE}, given)
            if y.shape != (k % 5 + 1, 2) or not (y == k + 1).all():
                failed.append(k)

    threads = [threading.Thread(target=work, args=(given,)) for given in [None, None, *(ours.RunOptions() for _ in range(6))]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_a_value_may_be_input_and_output_of_a_bound_run():
    def counted(module):
        session = module.InferenceSession(ADD)
        value = module.OrtValue.ortvalue_from_numpy(np.zeros((3, 2), np.float32))
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", value)
        binding.bind_cpu_input("b", ONE)
        binding.bind_ortvalue_output("y", value)
        for _ in range(3):
            session.run_with_iobinding(binding)
        return value.numpy()

    beside(counted)


def test_external_data_is_read_from_beside_the_model(tmp_path):
    weight = helper.make_tensor("w", 1, [2000], np.arange(2000, dtype=np.float32))
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", 1, [2000])],
                              [helper.make_tensor_value_info("y", 1, [2000])], [weight])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(made, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=10)
    beside(lambda module: module.InferenceSession(tmp_path / "m.onnx").run(None, {"x": np.ones(2000, np.float32)}))
