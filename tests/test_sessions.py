"""Sessions among other things: pickled, copied, closed, awaited; tensors from inside, given arrays, feeds of other libraries."""
import array
import asyncio
import concurrent.futures
import copy
import ctypes
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import numpy as np
import onnx
import pytest

import interp

from .test_runs import FOREVER
from .toys import IF, TAIL, agree, doubled, floats, independent, model, registry, session

TWO = """m (float[N,3] x) => (float[N,3] y, float[N,3] z) <float[3] w = {1, 2, 3}> {
    a = Mul(x, w) b = Relu(a) c = Add(b, x) y = Sub(c, w) z = Neg(c) }"""
TENSORS = ["a", "b", "c"]


def with_outputs(text, names):
    """A model that gives more of its tensors."""
    proto = model(text)
    proto.graph.output.extend(onnx.helper.make_tensor_value_info(n, 1, None) for n in names)
    return proto


@interp.op("Halved", domain="toys", shape=lambda x: [x.shape])
def halved(x):
    """An operator that a pickle can name."""
    return x / 2


# Tensors from inside


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("names", [["b"], ["c", "a"], TENSORS, ["a", "a"], ["x"], ["w"], ["y"]])
def test_tensors_from_inside_follow_the_outputs(names, level):
    s, x = session(TWO, optimize=level), floats(0, 4, 3)
    due = dict(zip(["y", "z", *TENSORS], independent(with_outputs(TWO, TENSORS), {"x": x}), strict=True))
    due |= {"x": x, "w": np.array([1, 2, 3], "f4")}
    for _ in range(2):
        agree(s.run(None, {"x": x}, tensors=names), [due["y"], due["z"], *(due[n] for n in names)])
        agree(s.run(["z"], {"x": x}, tensors=names), [due["z"], *(due[n] for n in names)])
        agree(s.run([], {"x": x}, tensors=names), [due[n] for n in names])


def test_the_tensors_of_a_model_are_listed_as_they_are_written():
    s = session(TWO)
    assert [v.name for v in s.tensors] == ["a", "b", "c", "y", "z"]
    assert (s.tensors[3].type, s.tensors[3].shape) == ("tensor(float)", ("N", 3))


@pytest.mark.parametrize("text, name, told", [
    (TWO, "B", "no tensor B; did you mean b?"), (TWO, "elsewhere", "no tensor elsewhere; known: a, b, c, y, z"),
    (IF.replace("b = If", "[choice] b = If"), "q", "q is made inside a body of choice"),
])
def test_tensors_that_there_are_not_are_refused(text, name, told):
    with pytest.raises(interp.UsageError, match=told.replace("?", r"\?")):
        session(text).run(None, {"x": floats(0, 2, 3), "c": np.array(True)} if text is not TWO else {"x": floats(0, 2, 3)},
                          tensors=[name])


def test_a_model_is_counted_with_its_bodies():
    assert session(IF).metadata["nodes"] == 6
    text = IF.replace("q = Mul(a, x)", "k = Constant<value = float[3] {1, 2, 3}>() q = Mul(a, k)")
    assert (session(text).metadata["parameters"], session(text).metadata["bytes"]) == (3, 12)


def test_tensors_are_named_in_a_list():
    with pytest.raises(interp.UsageError, match="given as a list"):
        session(TWO).run(None, {"x": floats(0, 2, 3)}, tensors="a")


def test_tensors_whose_sizes_only_the_data_tell():
    x = np.array([1, -1, 2], "f4")
    [i] = session(TAIL).run([], {"x": x}, tensors=["i"])
    assert i.tolist() == [[0, 2]]


def test_weights_that_were_packed_for_tensors_go_when_others_are_asked_for():
    nodes = "".join(f"v{k + 1} = Mul(v{k}, w) " for k in range(20))
    s = session(f"m (float[3] v0) => (float[3] v20) <float[3] w = {{1, 2, 4}}> {{ {nodes} }}")
    packed = []
    for k in range(1, 20):
        [v] = s.run([], {"v0": np.ones(3, "f4")}, tensors=[f"v{k}"])
        assert v.tolist() == [1, 2**k, 4**k]
        packed.append(weakref.ref([*s._bodies.values()][-1].settings.constant))
    gc.collect()
    assert sum(p() is not None for p in packed) <= 8


def test_observers_and_tensors_go_together():
    s, seen = session(TWO), []
    s.observers.append(lambda *told: seen.append(told))
    [b] = s.run([], {"x": floats(0, 2, 3)}, tensors=["b"])
    np.testing.assert_array_equal(b, np.maximum(floats(0, 2, 3) * np.array([1, 2, 3], "f4"), 0))
    assert seen


# Outputs into arrays of the caller


def room(*shape, dtype=np.float32):
    return np.full(shape, 77, dtype)


@pytest.mark.parametrize("names, given", [(None, "yz"), (None, "y"), (None, "z"), (["z"], "z"), (["z", "y"], "y"), (None, "")])
def test_outputs_go_into_arrays_of_the_caller(names, given):
    s = session(TWO)
    for n in (4, 4, 0, 7):
        x = floats(n, n, 3)
        due = s.run(names, {"x": x})
        out = {name: room(n, 3) for name in given}
        made = s.run(names, {"x": x}, out=out)
        agree(made, due)
        assert all(made[(names or ["y", "z"]).index(name)] is array for name, array in out.items())


def test_tensors_from_inside_go_into_arrays_too():
    s, out = session(TWO), {"b": room(2, 3)}
    y, z, b = s.run(None, {"x": floats(0, 2, 3)}, tensors=["b"], out=out)
    assert b is out["b"]
    agree([b], s.run([], {"x": floats(0, 2, 3)}, tensors=["b"]))


@pytest.mark.parametrize("text", [TWO, TAIL, "m (float[N,3] x) => (float[N,3] y) { a = toys.Doubled(x) y = toys.Doubled(a) }"],
                         ids=["compiled", "cut", "python"])
@pytest.mark.parametrize("observed", [False, True])
def test_models_of_all_kinds_fill_arrays(text, observed):
    s = session(text)
    x = floats(0, 4, 3) if text is not TAIL else floats(0, 4)
    due = s.run(None, {"x": x})
    if observed:
        s.observers.append(lambda *_: None)
    names = [v.name for v in s.outputs]
    out = {name: np.zeros_like(d) for name, d in zip(names, due, strict=True)}
    made = s.run(None, {"x": x}, out=out)
    agree(made, due)
    assert all(made[k] is out[name] for k, name in enumerate(names))


def test_an_output_wanted_twice_is_one_array():
    s, y = session(TWO), room(2, 3)
    first, second = s.run(["y", "y"], {"x": floats(0, 2, 3)}, out={"y": y})
    assert first is second is y
    agree([y], s.run(["y"], {"x": floats(0, 2, 3)}))


def test_an_array_that_a_feed_lies_in_is_filled_when_all_is_read():
    s = session("m (float[N] x) => (float[N] y) { one = Constant<value = float {1}>() r = CumSum(x, k) y = Sub(r, x) }".replace(
        "one = Constant<value = float {1}>()", "k = Constant<value = int64 {0}>()"))
    x = floats(0, 9)
    [due] = s.run(None, {"x": x})
    whole = np.append(x, np.float32(0))
    for y in (whole[:9], whole[1:]):
        whole[:9] = x
        [made] = s.run(None, {"x": whole[:9]}, out={"y": y})
        assert made is y
        np.testing.assert_array_equal(y, due)


def test_an_array_that_is_not_aligned_is_filled():
    y = np.frombuffer(bytearray(25), "f4", 6, 1).reshape(2, 3)
    assert not y.flags.aligned
    s = session(TWO)
    assert s.run(["y"], {"x": floats(0, 2, 3)}, out={"y": y})[0] is y
    agree([y], s.run(["y"], {"x": floats(0, 2, 3)}))


def test_strings_go_into_arrays():
    s = session("m (string[N] x) => (string[N] y) { y = StringConcat(x, x) }")
    y = np.full(2, "", object)
    assert s.run(None, {"x": np.array(["a", "b"], object)}, out={"y": y})[0] is y
    assert y.tolist() == ["aa", "bb"]


SHARED = room(3, 3)


@pytest.mark.parametrize("out, error, told", [
    ({"y": room(2, 4)}, interp.InputError, r"y: float\[2,4\] came, float\[2,3\] is due"),
    ({"y": room(6)}, interp.InputError, r"y: float\[6\] came, float\[2,3\] is due"),
    ({"y": room(2, 3, dtype="f8")}, interp.InputError, r"y: double\[2,3\] came, float\[2,3\] is due"),
    ({"y": room(2, 3, dtype=">f4")}, interp.InputError, "y: the array is in another byte order"),
    ({"y": room(3, 2).T}, interp.InputError, "y: the array is not C-contiguous"),
    ({"y": np.broadcast_to(np.float32(0), (2, 3))}, interp.InputError, "y: the array is read-only"),
    ({"y": [[0.0] * 3] * 2}, interp.InputError, "y: .* came; give a NumPy array"),
    ({"y": SHARED[:2], "z": SHARED[1:]}, interp.InputError, "the arrays for y and z share memory"),
    ({"Y": room(2, 3)}, interp.UsageError, r"Y is not among the outputs asked for; did you mean y\?"),
    ([room(2, 3)], interp.InputError, "out is given as {name: array}, not as list"),
])
def test_arrays_that_do_not_fit_are_refused_before_the_run(out, error, told):
    ran = []
    noted = interp.op("Noted", domain="toys", shape=lambda x: [x.shape])(lambda x: (ran.append(1), +x)[1])
    s = session("m (float[N,3] x) => (float[N,3] y, float[N,3] z) { y = toys.Noted(x) z = Neg(x) }", noted)
    for _ in range(2):
        with pytest.raises(error, match=told):
            s.run(None, {"x": floats(0, 2, 3)}, out=out)
        assert not ran


def test_an_array_for_a_size_that_only_the_data_tell_is_checked_after_the_run():
    with pytest.raises(interp.InputError, match=r"y: int64\[1,3\] came, int64\[1,2\] is due"):
        session(TAIL).run(["y"], {"x": np.array([1, -1, 2], "f4")}, out={"y": np.zeros((1, 3), "i8")})


def test_a_sequence_goes_into_no_array():
    s = session("m (float[N] x) => (seq(float[N]) y) { y = SequenceConstruct(x, x) }")
    with pytest.raises(interp.InputError, match="y: float.* came, seq.*cannot be written into an array"):
        s.run(None, {"x": floats(0, 2)}, out={"y": room(2)})


# Feeds of other libraries


class Lent:
    """An array that is known by DLPack alone."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)


KEPT = {}


@interp.op("Kept", domain="toys", shape=lambda x: [x.shape])
def kept(x):
    KEPT["address"] = x.ctypes.data
    return +x


FED = """m (float[2,3] x) => (float[2,3] y) { y = toys.Kept(x) }"""


@pytest.mark.parametrize("made", [
    Lent, memoryview, lambda a: memoryview(a.tobytes()).cast("f", (2, 3)), lambda a: (ctypes.c_float * 3 * 2).from_buffer(a),
], ids=["dlpack", "memoryview", "bytes", "ctypes"])
def test_memory_of_others_is_read_where_it_lies(made):
    a = floats(0, 2, 3)
    given = made(a)
    s = session(FED, kept)
    for _ in range(2):
        agree(s.run(None, {"x": given}), [a])
        where = a if isinstance(given, Lent) else np.asarray(given)
        assert KEPT["address"] == where.ctypes.data


@pytest.mark.parametrize("kind, given, due", [
    ("float[N]", array.array("f", [1, 2]), np.array([1, 2], "f4")), ("int64[N]", array.array("q", [3]), np.array([3])),
    ("uint8[N]", b"ab", np.array([97, 98], "u1")), ("uint8[N]", bytearray(b"ab"), np.array([97, 98], "u1")),
    ("bool[N]", Lent(np.array([True])), np.array([True])), ("double[]", Lent(np.array(2.5)), np.array(2.5)),
    ("float[N]", Lent(floats(0, 6)[::2]), floats(0, 6)[::2]), ("float16[N]", memoryview(np.ones(2, "f2")), np.ones(2, "f2")),
])
def test_arrays_of_many_kinds_are_taken(kind, given, due):
    agree(session(f"m ({kind} x) => ({kind} y) {{ y = Identity(x) }}").run(None, {"x": given}), [due])


def test_tensors_of_another_engine_are_taken():
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is part of the test extra")
    value = onnxruntime.OrtValue.ortvalue_from_numpy(floats(0, 2, 3))
    agree(session(FED, kept).run(None, {"x": value._ortvalue}), [floats(0, 2, 3)])
    assert KEPT["address"] == value.data_ptr()


@pytest.mark.parametrize("given, told", [
    (Lent(floats(0, 2, 3), (2, 1)), "x: a Lent on device cuda:1 came; copy it to the CPU first"),
    (Lent(floats(0, 2, 3), (99, 0)), "x: a Lent on device type 99:0 came"),
    (Lent(floats(0, 2, 3).astype("f8")), r"x: double\[2,3\] came, float\[2,3\] is due"),
    (Lent(np.array([["a"] * 3] * 2)), "x: the memory of a Lent cannot be taken as an array"),
    (memoryview(floats(0, 2, 3)).cast("B"), r"x: uint8\[24\] came, float\[2,3\] is due"),
    (array.array("f", range(6)), r"x: float\[6\] came, float\[2,3\] is due; the number of axes differs"),
    (b"abcdef", r"x: uint8\[6\] came"), ("abcdef", "x: str came, .*; give a NumPy array"),
    ([[1.0] * 3] * 2, "x: seq.* came, .*; give a NumPy array"),
])
def test_memory_that_does_not_fit_is_refused(given, told):
    s = session(FED, kept)
    for _ in range(2):
        with pytest.raises(interp.InputError, match=told):
            s.run(None, {"x": given})
        agree(s.run(None, {"x": floats(0, 2, 3)}), [floats(0, 2, 3)])


def test_memory_of_others_is_never_written():
    a = floats(0, 2, 3)
    y, z = session(TWO).run(None, {"x": memoryview(a)})
    y[...] = z[...] = 0
    np.testing.assert_array_equal(a, floats(0, 2, 3))


def test_sequences_of_others_tensors_are_taken():
    s = interp.load(model("m (seq(float[N]) x) => (float[M] y) { y = ConcatFromSequence<axis = 0>(x) }"))
    agree(s.run(None, {"x": [Lent(floats(0, 2)), memoryview(floats(1, 3)), floats(2, 1)]}),
          [np.concatenate([floats(0, 2), floats(1, 3), floats(2, 1)])])


# Pickles and copies


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "two.onnx"
    onnx.save(model(TWO), path)
    return path


def answers(s):
    return s.run(None, {"x": floats(0, 4, 3)})


def test_a_pickle_holds_the_path_and_the_settings(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    s = interp.load(file.name, threads=3, optimize=1, precision="exact", most_iterations=9, most_bytes=2**20)
    s.observers.append(lambda *_: None)
    answers(s)
    content = pickle.dumps(s)
    assert len(content) < 1000 and str(file).encode() in content
    monkeypatch.chdir("/")
    t = pickle.loads(content)
    agree(answers(t), answers(s))
    assert (t.threads, t._given, t.observers) == (3, s._given, [])
    assert pickle.loads(pickle.dumps(t)).threads == 3


@pytest.mark.parametrize("source", [lambda p: p, lambda p: p.SerializeToString(), lambda p: bytearray(p.SerializeToString())],
                         ids=["proto", "bytes", "bytearray"])
def test_a_pickle_of_a_model_without_a_file_holds_it(source):
    s = interp.load(source(model(TWO)))
    agree(answers(pickle.loads(pickle.dumps(s))), answers(s))


@pytest.mark.parametrize("change, told", [
    (lambda f: f.write_bytes(f.read_bytes() + b"\0"), r"two.onnx: changed since this session was loaded \(\d+ bytes of .* then"),
    (lambda f: os.utime(f, (1, 1)), "two.onnx: changed since this session was loaded"),
    (lambda f: f.unlink(), "no such file now"),
])
def test_a_file_that_changed_is_told(file, change, told):
    s = interp.load(file)
    content = pickle.dumps(s)
    due = answers(s)
    change(file)
    with pytest.raises(interp.ModelError, match=told):
        pickle.loads(content)
    with pytest.raises(interp.ModelError, match=told):
        s.run(["y"], {"x": floats(0, 4, 3)})
    agree(answers(s), due)


def test_weights_beside_the_file_that_changed_are_told(tmp_path):
    proto = model("m (float[N,64] x) => (float[N,64] y) { y = MatMul(x, w) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(floats(0, 64, 64), "w"))
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    content = pickle.dumps(interp.load(tmp_path / "m.onnx"))
    pickle.loads(content)
    os.utime(tmp_path / "w.bin", (1, 1))
    with pytest.raises(interp.ModelError, match="w.bin: changed since"):
        pickle.loads(content)


def test_operators_of_ones_own_are_pickled_by_name():
    text = "m (float[N,3] x) => (float[N,3] y) { a = toys.Halved(x) y = toys.Doubled(a) }"
    s = interp.load(model(text), registry=interp.Registry(interp.standard).add(halved, doubled))
    agree(answers(pickle.loads(pickle.dumps(s))), [floats(0, 4, 3)])
    with_toys = session(text, halved)
    agree(answers(pickle.loads(pickle.dumps(with_toys))), [floats(0, 4, 3)])


def test_operators_that_have_no_name_of_their_own_are_told():
    local = interp.op("Local", domain="toys", shape=lambda x: [x.shape])(lambda x: +x)
    s = session("m (float[N,3] x) => (float[N,3] y) { y = toys.Local(x) }", local)
    with pytest.raises(interp.UsageError, match="an operator of its registry cannot: .*; declare it at the top of a module"):
        pickle.dumps(s)
    for made in (copy.copy(s), copy.deepcopy(s)):
        agree(answers(made), answers(s))


def test_operators_that_are_gone_are_told(monkeypatch):
    content = pickle.dumps(session("m (float[N,3] x) => (float[N,3] y) { y = toys.Halved(x) }", halved))
    monkeypatch.delattr(sys.modules[__name__], "halved")
    with pytest.raises(interp.UsageError, match="operators of a pickled session are not to be found here"):
        pickle.loads(content)


def of_pool(s, k):
    return s.run(None, {"x": floats(k, 4, 3)})


@pytest.mark.parametrize("method", [m for m in ("spawn", "fork") if m in multiprocessing.get_all_start_methods()])
def test_sessions_run_in_a_pool_of_processes(file, method):
    s = interp.load(file, registry=registry(halved), threads=1)
    answers(s)
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        for k, made in enumerate(pool.map(of_pool, [s] * 4, range(4))):
            agree(made, of_pool(s, k))


@pytest.mark.parametrize("made", [copy.copy, copy.deepcopy])
def test_a_copy_is_a_session_of_its_own(file, made):
    s = interp.load(file, threads=2)
    s.observers.append(print)
    t = made(s)
    assert t.observers == [print] and t.observers is not s.observers and t.threads == 2
    s.close()
    t.observers.clear()
    agree(answers(t), answers(interp.load(file)))
    agree(t.run(["z"], {"x": floats(0, 4, 3)}), answers(t)[1:])
    t.close()


def test_a_copy_shares_the_weights():
    s = session(TWO)
    assert copy.copy(s)._settings.constant is s._settings.constant
    assert copy.deepcopy(s)._settings.constant is not s._settings.constant


# Closing


@pytest.mark.parametrize("use", [
    lambda s: answers(s), lambda s: s.run(["y"], {"x": floats(0, 4, 3)}), lambda s: s.run(None, {}), lambda s: s.tensors,
    pickle.dumps, copy.copy, copy.deepcopy, lambda s: asyncio.run(s.run_async(None, {"x": floats(0, 4, 3)})),
    lambda s: s.stream({"y": "x"}, sizes={"N": 1}).run({}),
])
def test_a_closed_session_says_so(use):
    s = session(TWO)
    answers(s)
    s.close()
    s.close()
    with pytest.raises(interp.UsageError, match="the session is closed; load the model again"):
        use(s)
    assert [v.name for v in s.inputs] == ["x"]
    s.cancel()


def test_a_block_closes_a_session_also_where_it_fails():
    with pytest.raises(interp.UsageError, match="no output nothing"), session(TWO) as s:
        s.run(["nothing"], {"x": floats(0, 4, 3)})
    with pytest.raises(interp.UsageError, match="is closed"):
        answers(s)


def mappings(path):
    with open("/proc/self/maps") as maps:
        return sum(str(path) in line for line in maps)


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="this system does not list what is mapped")
def test_closing_lets_go_of_weights_programs_and_the_file(tmp_path):
    proto = model("m (float[N,2048] x) => (float[N,2048] y) { a = MatMul(x, w) y = Relu(a) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((2048, 2048), "f4"), "w"))
    path = tmp_path / "large.onnx"
    onnx.save(proto, path)
    s = interp.load(path)
    feeds = {"x": floats(0, 2, 2048)}
    made = [s.run(None, feeds), s.run([], feeds, tensors=["a"]), asyncio.run(s.run_async(None, feeds))]
    assert mappings(path)
    held = [weakref.ref(s._body), weakref.ref(s._settings.constant), weakref.ref(s._graphs)]
    s.close()
    assert [h() for h in held] == [None] * 3 and not mappings(path)
    assert all(np.isfinite(y).all() for [y] in made)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="this system does not tell what memory a process has")
def test_closing_frees_the_memory_of_weights():
    run_in_its_own_process("""
        import os, numpy as np, onnx, interp
        def resident():
            with open("/proc/self/statm") as told:
                return int(told.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        nodes = "".join(f"v{k + 1} = MatMul(v{k}, w{k}) " for k in range(80))
        proto = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 22]> m (float[N,512] v0) => (float[N,512] v80) {'
                                        + nodes + '}')
        proto.graph.initializer.extend(onnx.numpy_helper.from_array(np.eye(512, dtype="f4"), f"w{k}") for k in range(80))
        content = proto.SerializeToString()
        del proto
        before = resident()
        s = interp.load(content)
        s.run(None, {"v0": np.ones((2, 512), "f4")})
        assert resident() > before + 60e6
        s.close()
        assert resident() < before + 30e6
    """)


def run_in_its_own_process(script):
    """What other tests leave in memory must not count."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def slow_session():
    """A session whose run waits, with what tells that it runs and what lets it go on."""
    runs, go_on = threading.Event(), threading.Event()

    @interp.op("Slow", domain="toys", shape=lambda x: [x.shape])
    def slow(x):
        runs.set()
        go_on.wait(10)
        return +x
    return session("m (float[N] x) => (float[N] y) { a = Neg(x) b = toys.Slow(a) y = Neg(b) }", slow), runs, go_on


def test_closing_waits_for_runs_of_other_threads():
    s, runs, go_on = slow_session()
    x, told = floats(0, 3), []
    run = threading.Thread(target=lambda: told.append(s.run(None, {"x": x})[0]))
    run.start()
    runs.wait(10)
    closers = [threading.Thread(target=lambda: (s.close(), told.append("closed"))) for _ in range(3)]
    for c in closers:
        c.start()
    time.sleep(0.05)
    assert not told
    with pytest.raises(interp.UsageError, match="is closed"):
        s.run(None, {"x": x})
    go_on.set()
    for t in (run, *closers):
        t.join(10)
    np.testing.assert_array_equal(told[0], x)
    assert told[1:] == ["closed"] * 3


def test_closing_inside_a_run_is_refused():
    held = {}

    @interp.op("Closing", domain="toys", shape=lambda x: [x.shape])
    def closing(x):
        held["s"].close()
        return +x
    s = held["s"] = session("m (float[N] x) => (float[N] y) { y = toys.Closing(x) }", closing)
    with pytest.raises(interp.RunError, match="cannot be closed inside of its own run"):
        s.run(None, {"x": floats(0, 3)})
    s.close()


def test_threads_that_run_while_another_closes():
    for _ in range(10):
        s = session(TWO, threads=2)
        due, bad, gate = answers(s), [], threading.Barrier(9)

        def work(s=s, due=due, bad=bad, gate=gate):
            gate.wait()
            try:
                while True:
                    agree(answers(s), due)
            except interp.UsageError as e:
                if "is closed" not in str(e):
                    bad.append(e)
            except Exception as e:
                bad.append(e)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        gate.wait()
        s.close()
        for t in threads:
            t.join(10)
        assert not bad


def test_eight_threads_get_what_one_gets():
    s = session(TWO, threads=2)
    asked = [lambda x: s.run(None, {"x": x}), lambda x: s.run(["z"], {"x": x}), lambda x: s.run([], {"x": x}, tensors=["b"]),
             lambda x: s.run(["y"], {"x": x}, out={"y": np.empty_like(x)}), lambda x: s.run(None, {"x": memoryview(x)})]
    xs = [floats(k, 1 + k % 5, 3) for k in range(40)]
    due = [asked[k % 5](x) for k, x in enumerate(xs)]
    bad = []

    def work(first):
        for k in range(first, first + 200):
            made = asked[k % 40 % 5](xs[k % 40])
            if not all(map(np.array_equal, made, due[k % 40])):
                bad.append(k)
    threads = [threading.Thread(target=work, args=(5 * i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad


# Awaiting


def test_runs_are_awaited_side_by_side():
    s = session(TWO)
    xs = [floats(k, 3, 3) for k in range(12)]

    async def main():
        return await asyncio.gather(*(s.run_async(["y"], {"x": x}, tensors=["b"]) for x in xs))
    for x, made in zip(xs, asyncio.run(main()), strict=True):
        agree(made, s.run(["y"], {"x": x}, tensors=["b"]))
    out = {"y": room(3, 3)}
    assert asyncio.run(s.run_async(["y"], {"x": xs[0]}, out=out))[0] is out["y"]


@pytest.mark.parametrize("given", [{"names": [["y"]]}, {"tensors": [["a"]]}, {"names": [None]}, {"tensors": iter([1])}], ids=str)
def test_names_are_texts(given):
    with pytest.raises(interp.UsageError, match="outputs and tensors are named by texts, not by"):
        session(TWO).run(**{"names": None, "feeds": {"x": floats(0, 4, 3)}, **given})


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy before 2 has no StringDType")
def test_texts_of_numpys_own_type_are_refused():
    with pytest.raises(interp.InputError, match=r"x: StringDType\[1\] came, string\[N\] is due"):
        session("m (string[N] x) => (string[N] y) { y = Identity(x) }").run(None, {"x": np.array(["a"], np.dtypes.StringDType())})


def test_errors_of_awaited_runs_are_those_of_runs():
    with pytest.raises(interp.InputError, match="no feed for input x"):
        asyncio.run(session(TWO).run_async(None, {}))


def test_an_observer_that_raises_what_no_future_holds_ends_the_task():
    s = session(TWO)

    def ended(event):
        raise StopIteration
    s.observers.append(ended)
    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(s.run_async(None, {"x": floats(0, 4, 3)}))


def test_a_session_that_its_own_awaited_run_would_close_stays_open():
    s = session(TWO)
    s.observers.append(lambda event: s.close())
    with pytest.raises(interp.UsageError, match="inside of its own run"):
        asyncio.run(s.run_async(None, {"x": floats(0, 4, 3)}))
    s.observers.clear()
    answers(s)


def test_the_loop_turns_while_a_run_is_awaited():
    s, runs, go_on = slow_session()

    async def main():
        task = asyncio.create_task(s.run_async(None, {"x": floats(0, 3)}))
        while not runs.is_set():
            await asyncio.sleep(0.001)
        go_on.set()
        return await task
    agree(asyncio.run(main()), [floats(0, 3)])


@pytest.mark.parametrize("text", [FOREVER, FOREVER.replace("Add(v, x)", "toys.Doubled(v)")], ids=["compiled", "python"])
def test_cancelling_a_task_stops_its_run_alone(text):
    s = session(text.replace('("", go', "(M, go").replace("(float[N] x)", "(float[N] x, int64 M)"))
    x = np.zeros(3, "f4")

    async def main():
        endless = [asyncio.create_task(s.run_async(None, {"x": x, "M": np.array(2**60)})) for _ in range(2)]
        await asyncio.sleep(0.05)
        endless[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await endless[0]
        assert not endless[1].done()
        short = await s.run_async(None, {"x": x, "M": np.array(2)})
        assert not endless[1].done()
        s.cancel()
        with pytest.raises(interp.RunError, match="cancelled"):
            await endless[1]
        return short
    agree(asyncio.run(main()), [x])


def test_a_task_that_is_cancelled_again_and_again_still_waits_for_its_run():
    s, runs, go_on = slow_session()
    x = floats(0, 3)

    async def main():
        task = asyncio.create_task(s.run_async(None, {"x": x}))
        while not runs.is_set():
            await asyncio.sleep(0.001)
        for _ in range(5):
            task.cancel()
            await asyncio.sleep(0.001)
        assert not task.done()
        other = asyncio.create_task(s.run_async(None, {"x": x}))  # not in the first one's place, which is being cancelled
        await asyncio.sleep(0.01)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await other
    agree(asyncio.run(main()), [x])


def test_a_task_that_is_cancelled_while_it_waits_never_runs():
    ran = []

    @interp.op("Noted", domain="toys", shape=lambda x: [x.shape])
    def noted(x):
        ran.append(1)
        return +x
    s = session("m (float[N] x) => (float[N] y) { y = toys.Noted(x) }", noted)

    async def main():
        loop, go_on = asyncio.get_running_loop(), threading.Event()
        loop.set_default_executor(concurrent.futures.ThreadPoolExecutor(1))
        busy = loop.run_in_executor(None, go_on.wait)
        task = asyncio.create_task(s.run_async(None, {"x": floats(0, 3)}))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)
        go_on.set()
        await busy
        assert not ran
        await s.run_async(None, {"x": floats(0, 3)})
    asyncio.run(main())
    assert ran


def test_a_deadline_ends_a_run():
    async def main():
        await asyncio.wait_for(session(FOREVER).run_async(None, {"x": np.zeros(3, "f4")}), 0.05)
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(main())
