"""What `python -m interp` says of strings, maps and sequences, and how they are given to it."""
import json

import onnx
import pytest

from .test_cli import succeeds, values

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
