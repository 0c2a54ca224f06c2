"""`python -m interp`, each time as a process of its own: what it prints, writes and exits with."""
import json
import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from interp.cli import INTERRUPTED, interrupts_heard

ROOT = Path(__file__).parent.parent
DIGITS = ROOT / "examples/digits/digits.onnx"
SEVEN = DIGITS.with_name("seven.png")


def interp(*args, cwd=ROOT, **env):
    """The finished process; stdout and stderr apart."""
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    return subprocess.run([sys.executable, "-m", "interp", *map(str, args)], capture_output=True, text=True, cwd=cwd,
                          env={**clean, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **env}, timeout=120)


def succeeds(*args, **keywords):
    done = interp(*args, **keywords)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(code, *args, **keywords):
    """The one line on stderr of a call that must fail."""
    done = interp(*args, **keywords)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    [line] = [text for text in done.stderr.splitlines() if "notice" not in text]
    assert line.startswith("interp: "), line
    return line


def model(path, nodes, inputs, outputs):
    """Write a model; inputs and outputs are (name, type, shape)."""
    values = [[helper.make_tensor_value_info(*v) for v in side] for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, "made", *values)
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("mine", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


@pytest.fixture
def identity(tmp_path):
    """A function that writes a model which gives its one input back as y."""
    def made(kind, shape, name="x"):
        return model(tmp_path / "identity.onnx", [helper.make_node("Identity", [name], ["y"], "copy")],
                     [(name, kind, shape)], [("y", kind, shape)])
    return made


@pytest.fixture
def added(tmp_path):
    """A model of y = a + b, with a named size."""
    return model(tmp_path / "add.onnx", [helper.make_node("Add", ["a", "b"], ["y"], "plus")],
                 [(name, TensorProto.FLOAT, ["rows", 3]) for name in "ab"], [("y", TensorProto.FLOAT, ["rows", 3])])


def values(*args, output="y", **keywords):
    """An output's values and element type, by way of JSON."""
    report = json.loads(succeeds(*args, "--json", "--print", "full", "-q", "-n", 0, **keywords))
    [found] = [o for o in report["outputs"] if o["name"] == output]
    return found["values"]


def test_a_first_word_that_is_no_command_is_a_model():
    short, long = (succeeds(*words, DIGITS, "-q", "-n", 0).splitlines()[:-1] for words in ([], ["run"]))
    assert short == long
    assert short[0].startswith("digits.onnx   opset 22   10 nodes   7.61 k parameters")


def test_an_image_is_classified_with_the_models_labels():
    told = succeeds(DIGITS, "-i", f"image={SEVEN}", "--topk", 1, "--expect", SEVEN.with_suffix(".npz"))
    assert "top 1: 7 (0.998)" in told
    assert "float32[1,1,8,8]" in told and "expect   probability: matches" in told


def test_help_begins_with_examples():
    for words in (["--help"], ["run", "--help"], []):
        assert succeeds(*words).startswith("examples:\n  interp ")


def test_only_argparse_is_imported_before_the_arguments_are_read():
    code = "import sys; sys.argv = ['interp', 'run', '--help']\nfrom interp.cli import main; main()\n" \
           "print([m for m in ('numpy', 'onnx', 'rich', 'ml_dtypes', 'PIL') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_plain_run_needs_neither_rich_nor_pillow(identity):
    code = f"import sys; from interp.cli import main; main([{str(identity(TensorProto.FLOAT, [2]))!r}])\n" \
           "print([m for m in ('rich', 'PIL', 'interp.observe', 'interp.profiling', 'interp.writing') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


LITERALS = [
    (TensorProto.FLOAT, "[[1,2.5],[3,4]]", [[1, 2.5], [3, 4]]),
    (TensorProto.FLOAT, "[1,NaN,Infinity,-Infinity]", [[1, "NaN"], ["Infinity", "-Infinity"]]),
    (TensorProto.INT64, "[1,2,3,9007199254740993]", [[1, 2], [3, 9007199254740993]]),
    (TensorProto.BOOL, "[[true,false],[false,true]]", [[True, False], [False, True]]),
    (TensorProto.STRING, '[["a","b"],["c=1",""]]', [["a", "b"], ["c=1", ""]]),
    (TensorProto.FLOAT, "zeros", [[0, 0], [0, 0]]),
    (TensorProto.INT32, "ones", [[1, 1], [1, 1]]),
    (TensorProto.DOUBLE, "arange", [[0, 1], [2, 3]]),
    (TensorProto.FLOAT, "rand:2:2", [[2, 2], [2, 2]]),
    (TensorProto.INT64, "rand:5:5", [[5, 5], [5, 5]]),
]


def test_literals_and_generators_take_the_inputs_type_and_shape(tmp_path):
    path = model(tmp_path / "m.onnx", [helper.make_node("Identity", [f"x{i}"], [f"y{i}"]) for i in range(len(LITERALS))],
                 [(f"x{i}", kind, [2, 2]) for i, (kind, _, _) in enumerate(LITERALS)],
                 [(f"y{i}", kind, [2, 2]) for i, (kind, _, _) in enumerate(LITERALS)])
    words = [word for i, (_, spec, _) in enumerate(LITERALS) for word in ("-i", f"x{i}={spec}")]
    report = json.loads(succeeds(path, *words, "--json", "--print", "full"))
    for output, (_, spec, due) in zip(report["outputs"], LITERALS, strict=True):
        assert output["values"] == due, spec


def test_files_of_every_kind_are_read(identity, tmp_path):
    array = np.array([[0.5, 1], [-2, 3]], np.float32)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", first=array, second=-array)
    (tmp_path / "a.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    (tmp_path / "a.json").write_text("[[0.5, 1], [-2, 3]]")
    (tmp_path / "a.txt").write_text("0.5 1\n-2 3\n")
    (tmp_path / "a.csv").write_text("0.5,1\n-2,3\n")
    copy = identity(TensorProto.FLOAT, [2, 2])
    for file in ("a.npy", "a.npz:first", "a.pb", "a.json", "a.txt", "a.csv"):
        assert values(copy, "-i", f"x={tmp_path / file}") == array.tolist(), file
    assert values(copy, "-i", f"x={tmp_path}/a.npz:second") == (-array).tolist()
    assert "did you mean second?" in refused(5, copy, "-i", f"x={tmp_path}/a.npz:secnd")


def test_a_sequence_is_read_from_protobuf_and_saved(tmp_path):
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [None]))
    graph = helper.make_graph([helper.make_node("Identity", ["s"], ["y"])], "g", [helper.make_value_info("s", kind)],
                              [helper.make_value_info("y", kind)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8), tmp_path / "s.onnx")
    items = [np.ones(2, np.float32), np.ones(3, np.float32)]
    (tmp_path / "s.pb").write_bytes(numpy_helper.from_list(items).SerializeToString())
    told = succeeds(tmp_path / "s.onnx", "-i", f"s={tmp_path}/s.pb", "-o", tmp_path / "s.npz")
    assert "2 × float32[2]" in told
    with np.load(tmp_path / "s.npz") as saved:
        assert {name: saved[name].tolist() for name in saved} == {"y.0": [1, 1], "y.1": [1, 1, 1]}
    assert "y.1: matches" in succeeds(tmp_path / "s.onnx", "-i", f"s={tmp_path}/s.pb", "--expect", tmp_path / "s.npz")
    assert "nothing is made" in refused(5, tmp_path / "s.onnx")


@pytest.mark.parametrize("shape, mode, options, due", [
    ([1, 3, 2, 1], "RGB", [], [[[[1.0], [0.0]], [[0.0], [0.2]], [[0.0], [0.4]]]]),
    ([1, 2, 1, 3], "RGB", [], [[[[1.0, 0.0, 0.0]], [[0.0, 0.2, 0.4]]]]),
    ([3, 2, 1], "RGB", [], [[[1.0], [0.0]], [[0.0], [0.2]], [[0.0], [0.4]]]),
    (["n", 3, "h", "w"], "RGB", ["--std", "1/255"], [[[[255.0], [0.0]], [[0.0], [51.0]], [[0.0], [102.0]]]]),
    ([1, 3, 2, 1], "RGB", ["--mean", "0.5,0,1", "--std", "0.5,1,2"], [[[[1.0], [-1.0]], [[0.0], [0.2]], [[-0.5], [-0.3]]]]),
    ([2, 1], "L", [], [[0.2], [0.6]]),
    ([1, 2, 1], "L", ["--layout", "NHW"], [[[0.2], [0.6]]]),
])
def test_images_arrive_in_the_inputs_layout(identity, tmp_path, shape, mode, options, due):
    from PIL import Image

    pixels = {"RGB": [[[255, 0, 0]], [[0, 51, 102]]], "L": [[51], [153]]}[mode]
    Image.fromarray(np.array(pixels, np.uint8)).save(tmp_path / "a.png")
    got = values(identity(TensorProto.FLOAT, shape), "-i", f"x={tmp_path}/a.png", *options)
    np.testing.assert_allclose(got, due, rtol=1e-6)


def test_an_image_of_another_size_is_scaled_only_when_asked(identity, tmp_path):
    from PIL import Image

    Image.fromarray(np.full((4, 6), 51, np.uint8)).save(tmp_path / "a.png")
    small = identity(TensorProto.UINT8, [1, 1, 2, 3])
    assert "4x6 pixels, x takes 2x3" in refused(5, small, "-i", f"x={tmp_path}/a.png")
    assert values(small, "-i", f"x={tmp_path}/a.png", "--resize") == [[[[51] * 3] * 2]]
    free = identity(TensorProto.UINT8, [1, 1, "h", "w"])
    assert values(free, "-i", f"x={tmp_path}/a.png", "--resize", "1x2") == [[[[51, 51]]]]
    assert "--resize 224x224" in refused(2, free, "-i", f"x={tmp_path}/a.png", "--resize")


def test_reading_an_image_without_pillow_names_the_extra(tmp_path):
    (tmp_path / "PIL").mkdir()
    (tmp_path / "PIL/__init__.py").write_text("raise ImportError('absent')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", ""), str(ROOT)])
    assert "onnx-interp[image]" in refused(2, DIGITS, "-i", SEVEN, PYTHONPATH=path)


def test_inputs_that_nobody_gives_are_made_from_the_seed(tmp_path):
    kinds = {"attention_mask": TensorProto.INT64, "input_ids": TensorProto.INT64,
             "pixels": TensorProto.FLOAT, "raw": TensorProto.UINT8}
    path = model(tmp_path / "m.onnx", [helper.make_node("Identity", [n], [f"{n}_out"]) for n in kinds],
                 *([(n + end, k, ["batch", 2]) for n, k in kinds.items()] for end in ("", "_out")))
    done = interp(path, "--json", "--print", "full", "-n", 0)
    report = json.loads(done.stdout)
    found = {o["name"]: o["values"] for o in report["outputs"]}
    assert found["attention_mask_out"] == [[1, 1]] and found["input_ids_out"] == [[0, 0]]
    assert np.shape(found["pixels_out"]) == (1, 2) and 0 <= np.min(found["pixels_out"]) <= np.max(found["pixels_out"]) <= 1
    assert done.stderr.count("batch is not given, taken as 1") == 1
    assert values(path, "-n", 0, output="pixels_out") == found["pixels_out"]
    assert values(path, "--seed", 1, output="pixels_out") != found["pixels_out"]
    assert np.shape(values(path, "-d", "batch=5", output="raw_out")) == (5, 2)
    limited = values(path, "-d", "batch=50", "--range", "pixels=-3:-2", output="pixels_out")
    assert -3 <= np.min(limited) < np.max(limited) <= -2


def test_named_sizes_follow_from_the_inputs_that_are_given(added):
    assert values(added, "-i", "b=[[1,2,3],[4,5,6]]", "-i", "a=ones") == [[2, 3, 4], [5, 6, 7]]
    assert np.shape(values(added, "--shape", "a=4,3")) == (4, 3)
    line = refused(5, added, "-i", "a=[[1,2,3]]", "-d", "rows=2")
    assert "rows is 1 here and 2 elsewhere" in line


def test_unknown_names_suggest_the_nearest(added):
    assert "no dimension row; did you mean rows?" in refused(2, added, "-d", "row=2")
    assert "no input aa; did you mean a?" in refused(2, added, "-i", "aa=ones")
    assert "no input c; known: a, b" in refused(2, added, "--shape", "c=1,3")
    assert "no input c; known: a, b" in refused(2, added, "--range", "c=0:1")
    assert "no tensor z; known: y, a, b" in refused(2, added, "--outputs", "z")
    assert "did you mean --expect?" in refused(2, added, "--expct", "x")


def test_options_of_other_commands_are_not_accepted():
    for option in ("--missing", "--by=node"):
        assert "unknown argument" in refused(2, DIGITS, option)


@pytest.mark.parametrize("code, args", [
    (2, ["-d", "N"]), (2, ["-n", "many"]), (2, ["--layout", "XY"]), (2, ["-O", "7"]), (2, ["--range", "image=2:1"]),
    (5, ["-i", "image=nothing.npy"]), (5, ["-i", "image=sevn"]), (5, ["--data", "nowhere"]), (5, ["-i", "image=[1.5,2]"]),
    (2, ["--kernels", "no_such_module"]), (2, ["--kernels", "no/such.py"]), (2, ["-n", "0", "-o", "no/such/folder/a.npz"]),
])
def test_mistakes_are_one_line_and_an_exit_code(code, args):
    refused(code, DIGITS, *args)


def test_damaged_files_are_bad_input(identity, tmp_path):
    copy = identity(TensorProto.UINT8, [2, 2])
    for suffix in (".npy", ".npz", ".pb", ".json", ".csv", ".png"):
        (tmp_path / f"bad{suffix}").write_bytes(b"PK\x03\x04 nothing of the kind")
        refused(5, copy, "-i", tmp_path / f"bad{suffix}")
    refused(5, copy, "--data", tmp_path / "bad.npz")
    assert "300" in refused(2, copy, "--range", "0:300")


def test_a_model_that_is_none_is_an_error(tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"\xff\x00not a model")
    refused(3, tmp_path / "bad.onnx")
    refused(3, tmp_path / "absent.onnx")


def test_an_operator_without_a_kernel_is_named(tmp_path):
    path = model(tmp_path / "m.onnx", [helper.make_node("Frobnicate", ["x"], ["y"], "odd", domain="mine")],
                 [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, [2])])
    assert "Frobnicate" in refused(4, path)


def test_a_traceback_is_shown_only_when_asked():
    assert "Traceback" not in interp(DIGITS, "-i", "image=nothing.npy").stderr
    assert "Traceback" in interp(DIGITS, "-i", "image=nothing.npy", "--traceback").stderr


OPERATOR = """
import numpy as np
from interp import op

@op("Double", 1, domain="mine", shape=lambda x, **attributes: [x.shape])
def double(x, *, plus=0.0):
    return x * 2 + np.float32(plus)
"""


def test_kernels_of_the_user_are_added(tmp_path):
    (tmp_path / "mine_too.py").write_text(OPERATOR)
    path = model(tmp_path / "m.onnx", [helper.make_node("Double", ["x"], ["y"], domain="mine", plus=0.5)],
                 [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, [2])])
    assert values(path, "-i", "[1,2]", "--kernels", tmp_path / "mine_too.py") == [2.5, 4.5]
    assert values(path, "-i", "[1,2]", "--kernels", "mine_too", cwd=tmp_path) == [2.5, 4.5]
    (tmp_path / "empty.py").write_text("")
    assert "holds no operators" in refused(2, path, "--kernels", tmp_path / "empty.py")
    (tmp_path / "broken.py").write_text("1 / 0")
    assert "ZeroDivisionError" in refused(2, path, "--kernels", tmp_path / "broken.py")


def test_outputs_are_saved_and_compared(added, tmp_path):
    for place in ("out.npz", "out.npy", "folder"):
        succeeds(added, "-i", "a=[[1,2,3]]", "-i", "b=[[1,2,4]]", "-o", tmp_path / place, "-n", 0)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["y"], np.array([[2, 4, 7]], np.float32))
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), np.load(tmp_path / "folder/y.npy"))
    for place in ("out.npz", "out.npy", "folder"):
        assert "matches" in succeeds(added, "-i", "a=[[1,2,3]]", "-i", "b=[[1,2,4]]", "--expect", tmp_path / place)
        line = refused(1, added, "-i", "a=[[1,2,3]]", "-i", "b=[[1,2.5,4]]", "--expect", tmp_path / place)
        assert "y: 1 of 3 values differ" in line and "largest difference 0.5 at [0,1]: got 4.5, expected 4.0" in line
    succeeds(added, "-i", "a=[[1,2,3]]", "-i", "b=[[1,2.5,4]]", "--expect", tmp_path / "out.npz", "--atol", "0.5")
    np.savez(tmp_path / "other.npz", y=np.zeros((2, 3), np.float32))
    assert "is float32[1,3], expected float32[2,3]" in refused(1, added, "-d", "rows=1", "--expect", tmp_path / "other.npz")
    np.savez(tmp_path / "other.npz", y=1, yy=2)
    assert "no output yy; did you mean y?" in refused(5, added, "-d", "rows=1", "--expect", tmp_path / "other.npz")
    np.savez(tmp_path / "inner.npz", hidden=np.ones(1), y=np.ones(1))
    assert "--outputs hidden asks for" in refused(5, added, "-d", "rows=1", "--expect", tmp_path / "inner.npz")


def test_a_folder_of_test_data_is_fed_and_expected(added, tmp_path):
    data = tmp_path / "test_data_set_0"
    data.mkdir()
    for name, array in {"input_0": [[1, 2, 3]], "input_1": [[3, 2, 1]], "output_0": [[4, 4, 4]]}.items():
        (data / f"{name}.pb").write_bytes(numpy_helper.from_array(np.array(array, np.float32)).SerializeToString())
    assert "matches" in succeeds(added, "--data", data, "--expect", data)
    assert values(added, "--data", data, "-i", "a=zeros") == [[3, 2, 1]]
    np.savez(tmp_path / "both.npz", a=np.ones((1, 3), np.float32), b=np.ones((1, 3), np.float32))
    assert values(added, "--data", tmp_path / "both.npz") == [[2, 2, 2]]


def test_nan_in_an_output_fails_and_names_the_node(tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["h"], "fine"), helper.make_node("Log", ["x"], ["l"], "culprit"),
             helper.make_node("Add", ["h", "l"], ["y"], "victim")]
    path = model(tmp_path / "m.onnx", nodes,
                 [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, [2]), ("h", TensorProto.FLOAT, [2])])
    succeeds(path, "-i", "[1,2]", "--check-nan")
    line = refused(1, path, "-i", "[1,-1]", "--check-nan")
    assert "NaN in y" in line and "culprit (Log)" in line
    assert "the input x holds NaN" in refused(1, path, "-i", "[1,NaN]", "--check-nan")


def test_tensors_inside_the_graph_can_be_asked_for():
    report = json.loads(succeeds(DIGITS, "-d", "N=2", "--outputs", "norms", "--json"))
    assert [(o["name"], o["shape"]) for o in report["outputs"]] == [("norms", [2, 48, 1, 1])]
    told = succeeds(DIGITS, "-d", "N=1", "-O", 0, "--all-tensors")
    assert "output   edges " in told and "output   probability " in told


def test_times_of_many_runs_are_told():
    report = json.loads(succeeds(DIGITS, "-n", 5, "--warmup", 2, "-t", 1, "-O", 1, "--precision", "exact", "--json", "-q"))
    assert len(report["seconds"]["runs"]) == 5 and min(report["seconds"]["runs"]) > 0
    assert "median of 5" in succeeds(DIGITS, "-n", 5, "-q")
    assert succeeds(DIGITS, "--print", "none", "-q") == ""


def test_json_is_versioned_and_complete(tmp_path):
    told = succeeds(DIGITS, "-i", SEVEN, f"--json={tmp_path}/report.json", "--expect", SEVEN.with_suffix(".npz"))
    assert "digits.onnx" in told
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["schema"] == 1 and report["ok"] is True
    assert report["model"]["opset"] == {"": 22} and report["model"]["nodes"] == 10 and report["model"]["parameters"] == 7610
    assert report["model"]["props"]["labels"] == "0,1,2,3,4,5,6,7,8,9"
    assert report["inputs"][0]["source"] == str(SEVEN)
    best = report["outputs"][0]["top"][0][0]
    assert best["label"] == "7" and best["value"] == pytest.approx(np.load(SEVEN.with_suffix(".npz"))["probability"].max())
    assert report["expect"][0]["ok"] is True


def test_pipes_get_plain_uncut_text_and_colour_is_obeyed():
    args = (DIGITS, "-q", "--print", "full", "-n", 0)
    assert "\x1b" not in succeeds(*args) and "..." not in succeeds(*args, "-d", "N=500")
    assert "\x1b" in succeeds(*args, FORCE_COLOR="1", TERM="xterm")
    assert "\x1b" not in succeeds(*args, FORCE_COLOR="1", NO_COLOR="1", TERM="xterm")
    assert "\x1b" not in succeeds(*args, FORCE_COLOR="1", TERM="dumb")


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_a_terminal_gets_colour():
    main, terminal = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
    env.pop("NO_COLOR", None)
    subprocess.run([sys.executable, "-m", "interp", DIGITS, "-q"], stdout=terminal, env=env, cwd=ROOT, check=True)
    os.close(terminal)
    assert b"\x1b[" in os.read(main, 65536)


@pytest.mark.skipif(sys.platform == "win32", reason="signals and shells are POSIX")
def test_a_closed_pipe_is_quiet():
    command = f"{sys.executable} -m interp {DIGITS} --all-tensors --print full -q -d N=50 | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.startswith("digits.onnx") and done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
@pytest.mark.parametrize("delay", [0, 0.3])
def test_an_interrupt_ends_quietly(added, delay):
    running = subprocess.Popen([sys.executable, "-m", "interp", added, "-n", "1000000000"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert "rows is not given" in running.stderr.readline()
    time.sleep(delay)  # while it imports, and while it runs
    running.send_signal(signal.SIGINT)
    assert running.communicate(timeout=60) == ("", "")
    # Python itself ends by the signal, which shells count alike, where it struck in what an import evaluates
    assert running.returncode in (INTERRUPTED, -signal.SIGINT)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_an_interrupt_that_an_import_swallows_is_raised_again():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the tests were started with
    since = time.monotonic()
    with pytest.raises(KeyboardInterrupt), interrupts_heard():
        with suppress(KeyboardInterrupt):  # as the import of a Cython module does
            signal.raise_signal(signal.SIGINT)
        while time.monotonic() - since < 60:
            time.sleep(0.01)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"


@pytest.mark.parametrize("name", [path.stem for path in sorted(LIGHT.glob("light_*.onnx"))])
def test_the_light_networks_match_their_shipped_outputs(name, tmp_path):
    graph = onnx.load(LIGHT / f"{name}.onnx").graph
    [given] = [v for v in graph.input if v.name not in {i.name for i in graph.initializer}]
    shape = [d.dim_value for d in given.type.tensor_type.shape.dim]
    ramp = (np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)).astype(np.float32)  # as the official runner feeds them
    np.save(tmp_path / "ramp.npy", ramp)
    told = succeeds(LIGHT / f"{name}.onnx", "-i", tmp_path / "ramp.npy", "--expect", LIGHT / f"{name}_output_0.pb", "-n", 0)
    assert "matches" in told


def test_a_slip_in_a_command_is_told_from_a_model():
    assert refused(2, "rnu", DIGITS).endswith("there is no command rnu; did you mean run?")
    assert "unknown argument extra" in refused(2, "nope.onnx", "extra")


def test_files_of_inputs_that_are_not_there_are_told_with_what_is_near(tmp_path):
    np.save(tmp_path / "image.npy", np.zeros((1, 1, 8, 8), "f4"))
    missing, there = tmp_path / "imag.npy", tmp_path / "image.npy"
    told = f"{missing}: there is no such file; did you mean {there}?"
    assert refused(5, DIGITS, "-i", f"image={missing}").endswith(told)
    assert f"{missing}: there is no such file or folder; did you mean {there}?" in refused(5, DIGITS, "--data", missing)
    assert "nor a folder nowhere" in refused(5, DIGITS, "--expect", "nowhere/y.npz", "-n", 0)


def test_a_folder_of_sets_of_data_asks_for_one(tmp_path):
    (tmp_path / "test_data_set_0").mkdir()
    assert refused(5, DIGITS, "--data", tmp_path).endswith(f"name one of them: {tmp_path / 'test_data_set_0'}")


def test_a_negative_count_is_told_as_such():
    assert "'-1' is not a whole number, 0 or more" in refused(2, DIGITS, "--topk", "-1")
