"""What `python -m interp` says of strings, maps and sequences, and how they are given to it."""
import json
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest

from .test_cli import DIGITS, ROOT, interp, refused, succeeds, values

HEAD = '<ir_version: 10, opset_import: ["": 22, "ai.onnx.ml": 3]>'


@pytest.fixture
def parsed(tmp_path):
    """A function that writes a model from its text."""
    def made(text):
        onnx.save(onnx.parser.parse_model(HEAD + text), tmp_path / "made.onnx")
        return tmp_path / "made.onnx"
    return made


@pytest.fixture
def zipped(parsed):
    """Rows of scores become maps from the names of two classes."""
    return parsed('''g (float[n,2] x) => (seq(map(string, float)) scores)
        { scores = ai.onnx.ml.ZipMap<classlabels_strings = ["cat", "dog"]>(x) }''')


def test_the_first_strings_are_shown_as_many_as_a_line_holds(parsed):
    copied = parsed("g (string[n] x) => (string[n] y) { y = Identity(x) }")
    assert succeeds(copied, "-i", 'x=["a","ü\\n"]').splitlines()[2].split() == ["output", "y", "string[2]", '"a"', '"ü\\n"']
    many = succeeds(copied, "-i", f"x={json.dumps(['word'] * 100)}").splitlines()[2]
    assert many.count('"word"') == 7 and many.endswith("…")
    assert succeeds(copied, "-i", f"x={json.dumps(['x' * 1000])}").splitlines()[2].count("x") == 59


def test_a_map_of_scores_is_shown_by_its_best_classes(zipped):
    assert "top 2: dog (0.75) cat (0.25)" in succeeds(zipped, "-i", "x=[[0.25,0.75]]")
    assert "top" not in succeeds(zipped, "-i", "x=[[0.25,0.75]]", "--topk", 0)
    report = json.loads(succeeds(zipped, "-i", "x=[[0.25,0.75]]", "--json"))
    assert report["outputs"][0]["top"][0][0] == {"index": 1, "label": "dog", "value": 0.75}


def test_of_many_maps_the_first_is_shown_or_the_best_of_each(zipped):
    told = succeeds(zipped, "-i", "x=[[0.25,0.75],[1,0]]")
    assert "2 × map of 2  first: cat 0.25  dog 0.75" in told and "top" not in told
    told = succeeds(zipped, "-i", "x=[[0.25,0.75],[1,0]]", "--topk", 1)
    assert "row 0  top 1: dog (0.75)" in told and "row 1  top 1: cat (1)" in told


def test_all_items_of_a_sequence_are_on_lines_of_their_own(zipped):
    told = succeeds(zipped, "-i", "x=[[0.25,0.75],[1,0]]", "--print", "full")
    assert "\n0: {'cat': 0.25, 'dog': 0.75}\n1: {'cat': 1.0, 'dog': 0.0}\n" in told
    assert values(zipped, "-i", "x=[[0.25,0.75]]", output="scores") == [{"cat": 0.25, "dog": 0.75}]


def test_a_literal_is_a_sequence_of_tensors_or_an_absent_optional(parsed):
    joined = parsed("g (seq(float[k]) s) => (float[n] y) { y = ConcatFromSequence<axis = 0>(s) }")
    assert values(joined, "-i", "s=[[1,2],[3]]") == [1, 2, 3]
    assert "-i 's=[[1,2],[3]]'" in refused(5, joined)
    assert "give a list of its tensors" in refused(5, joined, "-i", "s=1")
    asked = parsed("g (optional(float[n]) o) => (bool y) { y = OptionalHasElement(o) }")
    assert values(asked, "-i", "o=null") is False and values(asked, "-i", "o=[1]") is True


def test_strings_without_quotes_are_told_how_they_are_given(parsed):
    copied = parsed("g (string[n] x) => (string[n] y) { y = Identity(x) }")
    assert """-i 'x=["a", "b"]'""" in refused(5, copied, "-i", "x=hello")


def test_an_archive_of_other_names_is_told_how_to_choose(parsed, tmp_path):
    copied = parsed("g (float[n] x) => (float[n] y) { y = Identity(x) }")
    np.savez(tmp_path / "two.npz", a=np.ones(2, np.float32), b=np.ones(3, np.float32))
    line = refused(5, copied, "-i", f"x={tmp_path}/two.npz")
    assert "known: a, b;" in line and line.endswith("two.npz:KEY takes one")
    assert values(copied, "-i", f"x={tmp_path}/two.npz:b") == [1, 1, 1]


def test_an_archive_may_number_what_it_holds_beside_a_list_of_names(zipped, tmp_path):
    place = tmp_path / "numbered.npz"
    numbers = np.float32([[0.25, 0.75]])
    held = {"in_names": ["x"], "in0": numbers, "out_names": ["scores"], "out0_kind": "json"}
    np.savez(place, **held, out0=json.dumps([{"cat": 0.25, "dog": 0.75}]))
    assert f"{place}:in0" in succeeds(zipped, "--data", place, "--expect", place)
    assert succeeds(zipped, "-i", f"x={place}", "--expect", place)
    np.savez(place, **held, out0=json.dumps([{"cat": 0.5, "dog": 0.5}]))
    assert "scores" in refused(1, zipped, "--data", place, "--expect", place)
    np.savez(place, **held, out0="[")
    assert str(place) in refused(5, zipped, "--data", place, "--expect", place)
    np.savez(place, in_names=["x", "y"], in0=numbers)
    assert "no input in_names" in refused(5, zipped, "--data", place)


def test_sizes_that_no_input_has_are_told_with_what_there_is(parsed):
    fixed = parsed("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    for command in ("run", "info"):
        assert refused(2, command, fixed, "-d", "batch=2").endswith("no dimension batch; all sizes of its inputs are fixed")
    nameless = parsed("g (float[?] x) => (float[n] y) { y = Neg(x) }")
    assert "--shape" in refused(2, nameless, "-d", "batch=2")


@pytest.mark.parametrize("said", [("run", "-o"), ("bench", "--plot"), ("optimize", "-o"), ("profile", "--trace"), ("draw", "-o")])
def test_files_in_folders_that_are_not_there_are_refused_before_anything_runs(said, tmp_path):
    place = tmp_path / "none" / "made.npz"
    assert f"there is no folder {place.parent}" in refused(2, said[0], "nothing.onnx", said[1], place)
    assert f"there is no folder {place.parent}" in refused(2, said[0], "nothing.onnx", f"{said[1]}={place}")


LACKING = """
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name in ("onnx", "onnxruntime") else find(name, *rest)
from interp.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("said", [("check",), ("ops", "--markdown"), ("compare",), ("compare", "--against", "reference"),
                                  ("optimize", "-o", "made.onnx")])
def test_what_needs_onnx_asks_for_it_where_it_is_not_there(said, tmp_path):
    command, *options = said
    words = [command, *([] if command == "ops" else [str(DIGITS)]), *options]
    done = subprocess.run([sys.executable, "-c", LACKING, *words], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 2 and done.stderr.splitlines()[-1].endswith("pip install onnx"), done.stderr


def test_a_model_in_a_format_that_onnx_reads_is_not_called_damaged_without_it(tmp_path):
    (tmp_path / "m.textproto").write_text("ir_version: 8")
    done = subprocess.run([sys.executable, "-c", LACKING, "run", "m.textproto"], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 2 and "pip install onnx" in done.stderr and "damaged" not in done.stderr


def test_sizes_that_nobody_gave_are_suspected_when_a_run_fails(parsed):
    narrow = parsed("g (float[b,1,n] x, float[1,1,4] w) => (float[b,1,m] y) { y = Conv(x, w) }")
    assert refused(6, narrow, "-d", "n=2").endswith("sizes that nobody gave may not fit, give -d b=SIZE")
    assert refused(6, narrow, "-d", "n=2", "-d", "b=1").endswith("its input is too small")


def test_rows_of_scores_that_are_not_there_are_told(parsed):
    done = interp(parsed("m (float[2,3,4] x) => (float[2,3,4] y) { y = Neg(x) }"), "--topk", 2, "-n", 0, "-v")
    assert "--topk: no output has rows of scores" in done.stderr and "runs" not in done.stdout


def test_outputs_are_not_saved_as_what_is_no_array(parsed, tmp_path):
    path = parsed("m (float[2] x) => (float[2] y) { y = Neg(x) }")
    assert "outputs are saved as .npz, as .npy, or to a folder" in refused(2, path, "-o", "y.csv", cwd=tmp_path)
