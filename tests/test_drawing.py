"""Pictures of graphs: where boxes go, what the lines of a tree mean, and that no name of a model is more than text."""
import base64
import hashlib
import json
import os
import pty
import random
import re
import shutil
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from interp import InputError, Unsupported, UsageError
from interp.drawing import draw, heated, scene_of
from interp.drawing.families import COLOURS, FAMILY
from interp.drawing.heat import ramp
from interp.drawing.layout import GAP, arrange, layered
from interp.drawing.numbers import statistics
from interp.ops import FAMILIES
from interp.survey import survey

from .test_cli import DIGITS, ROOT, interp, refused, succeeds

HOSTILE = '</script><img src=x onerror="document.title=1">\\N\x1b[31m"; }\u2028&amp;'
FLOAT = TensorProto.FLOAT


def made(nodes, inputs=(("x", FLOAT, [2, 3]),), outputs=(("y", FLOAT, None),), initializers=(), **keywords):
    """A model in memory."""
    values = [[helper.make_tensor_value_info(*v) for v in side] for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, "made", *values, initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, **keywords)


def diamond():
    """x goes through two branches, which meet again."""
    return made([helper.make_node("Relu", ["x"], ["a"], "left"), helper.make_node("Abs", ["x"], ["b"], "right"),
                 helper.make_node("Exp", ["b"], ["c"], "more"), helper.make_node("Add", ["a", "c"], ["y"], "join")])


def branching():
    """An If whose branches read an outer value."""
    def body(op):
        return helper.make_graph([helper.make_node(op, ["x"], [f"{op}_y"], op)], op, [],
                                 [helper.make_tensor_value_info(f"{op}_y", FLOAT, [2, 3])])
    return made([helper.make_node("If", ["c"], ["y"], "choice", then_branch=body("Relu"), else_branch=body("Abs"))],
                [("c", TensorProto.BOOL, []), ("x", FLOAT, [2, 3])])


def hostile():
    """A model all of whose names are hostile, and whose operator nobody has."""
    weight = numpy_helper.from_array(np.ones(3, np.float32), f"w{HOSTILE}")
    node = helper.make_node(f"Op{HOSTILE}", [f"x{HOSTILE}", f"w{HOSTILE}"], [f"y{HOSTILE}"], f"n{HOSTILE}", domain="mine",
                            label=HOSTILE)
    return made([node], [(f"x{HOSTILE}", FLOAT, [2, 3])], [(f"y{HOSTILE}", FLOAT, None)], [weight])


@pytest.mark.parametrize("seed", range(6))
def test_edges_go_down_and_boxes_lie_apart(seed):
    rng = random.Random(seed)
    count = rng.randint(1, 60)
    sizes = [(rng.uniform(20, 200), rng.uniform(10, 80)) for _ in range(count)]
    edges = list(dict.fromkeys((rng.randrange(t), t) for t in range(1, count) for _ in range(rng.randint(0, 3))))
    found = arrange(sizes, edges)
    boxes = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for (x, y), (w, h) in zip(found.centres, sizes, strict=True)]
    for (s, t), route in zip(edges, found.routes, strict=True):
        heights = [y for _, y in route]
        assert heights == sorted(heights) and boxes[s][3] < boxes[t][1]
        assert route[0] == pytest.approx((found.centres[s][0], boxes[s][3]))
        assert route[-1] == pytest.approx((found.centres[t][0], boxes[t][1]))
    for i, a in enumerate(boxes):
        assert -0.01 <= a[0] and a[2] <= found.width + 0.01 and -0.01 <= a[1] and a[3] <= found.height + 0.01
        for b in boxes[:i]:
            assert a[2] + GAP <= b[0] + 0.01 or b[2] + GAP <= a[0] + 0.01 or a[3] < b[1] or b[3] < a[1]
    assert found == arrange(sizes, edges)


def test_layers_are_the_longest_paths_and_what_needs_no_input_sinks():
    assert layered(5, [(0, 1), (1, 2), (0, 3), (2, 4), (3, 4)]) == [0, 1, 2, 2, 3]
    assert layered(5, [(0, 1), (1, 2), (2, 4), (3, 4)], frozenset([0])) == [0, 1, 2, 2, 3]


def test_a_chain_is_straight_and_branches_do_not_cross():
    chain = arrange([(50, 20)] * 9, [(k, k + 1) for k in range(8)])
    assert len({round(x, 3) for x, _ in chain.centres}) == 1
    ladder = arrange([(50, 20)] * 9, [(0, 1), (0, 2), (1, 4), (2, 3), (3, 6), (4, 5), (5, 7), (6, 7), (7, 8)])
    side = [np.sign(ladder.centres[k][0] - ladder.centres[0][0]) for k in range(9)]
    assert side[1] == side[4] == side[5] == -side[2] == -side[3] == -side[6] != 0


def test_three_thousand_nodes_are_laid_out_in_seconds():
    edges = [(k - 1, k) for k in range(1, 3000)] + [(k - 9, k) for k in range(10, 3000, 7)]
    since = time.process_time()
    arrange([(120, 60)] * 3000, edges)
    assert time.process_time() - since < 5  # 0.6 s where this was written


def test_a_tree_shows_branches_and_joins():
    lines = draw(diamond(), name="d").splitlines()
    assert lines[0] == "d   opset 17, mine 1   4 nodes"
    assert [line[:line.index("float32")].rstrip() for line in lines[1:]] == [
        "○    Input", "├─●  Relu", "●    Abs".replace("●   ", "● │ "), "● │  Exp", "●─╯  Add", "○    Output"]
    assert lines[2].endswith("float32[2,3]  left")


def test_sub_graphs_are_indented_below_their_node():
    lines = draw(branching()).splitlines()
    at = next(i for i, line in enumerate(lines) if " If " in line)
    inner = {line.split()[-1]: len(line) - len(line.lstrip("│ ")) for line in lines[at + 1:] if "●" in line}
    assert inner.keys() == {"Abs", "Relu"} and min(inner.values()) >= 2
    assert [line.strip("│ ") for line in lines if line.endswith(":")] == ["else_branch:", "then_branch:"]


def test_a_tree_of_plain_characters_has_no_others():
    from interp.drawing.text import text

    assert text(scene_of(survey(diamond())), ascii=True).isascii()


def test_what_has_no_lane_is_named():
    many = [helper.make_node("Relu", ["x"], [f"a{k}"], f"n{k}") for k in range(40)]
    lines = draw(made([*many, helper.make_node("Sum", [f"a{k}" for k in range(40)], ["y"], "sum")])).splitlines()
    [joined] = [line for line in lines if " Sum " in line]
    assert "← n23, n24" in joined and "n38" in joined
    assert max(line.index("Relu") for line in lines if "Relu" in line) < 60


def test_dot_is_read_by_graphviz():
    if not shutil.which("dot"):
        pytest.skip("Graphviz is not installed")
    for source in (diamond(), branching(), hostile()):
        done = subprocess.run(["dot", "-Tjson0"], input=draw(source, "dot"), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and not done.stderr, done.stderr
        graph = json.loads(done.stdout)
        scene = scene_of(survey(source))
        labels = [n["label"] for n in graph["objects"] if "nodes" not in n]
        assert len(labels) == sum(1 for _ in scene.walk())
    assert any("</script><img" in label for label in labels)


def test_strings_of_dot_end_where_they_should():
    text = draw(hostile(), "dot")
    rest = re.sub(r'"(?:[^"\\\n]|\\.)*"', "", text)
    assert '"' not in rest and "img" not in rest and not re.search("[\x00-\x09\x0b-\x1f]", text)


def test_an_svg_is_xml_whatever_the_names():
    for source in (diamond(), branching(), hostile()):
        tree = ElementTree.fromstring(draw(source, "svg"))
        names = [e.tag.rpartition("}")[2] for e in tree.iter()]
        assert names.count("g") >= 3 and not {"img", "script"} & set(names)
    assert any("</script>" in (e.text or "") for e in tree.iter())


class Markup(HTMLParser):
    """The elements of a page, and the texts of its scripts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.scripts, self.policy = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "meta" and dict(attributes).get("http-equiv"):
            self.policy = dict(attributes)["content"]

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] == "script" and data.strip():
            self.scripts.append(data)


def test_a_page_holds_hostile_names_as_text_alone():
    page = Markup(draw(hostile(), "html", name=HOSTILE))
    assert not [t for t, a in page.tags if t == "img" or any(k.startswith("on") for k in a)]
    data = json.loads(page.scripts[0])
    assert data["boxes"][1]["n"] == f"n{HOSTILE}" and data["boxes"][1]["a"] == [["label", HOSTILE]]
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert page.policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert not [a for _, a in page.tags if a.get("src") or a.get("href")]


def test_statistics_are_numpys():
    array = np.random.default_rng(0).normal(2, 3, (7, 300_001)).astype(np.float32)
    array[0, :5], array[1, 0] = 0, np.nan
    facts = dict(statistics(array)["facts"])
    finite = array[np.isfinite(array)].astype(np.float64)
    due = {"min": finite.min(), "mean": finite.mean(), "max": finite.max(), "std": finite.std()}
    assert {k: float(facts[k]) for k in due} == pytest.approx(due, rel=1e-3)
    assert facts["not finite"] == "1" and facts["zero"] == f"{100 * 5 / array.size:.3g} %"


@pytest.mark.parametrize("array", [np.zeros((0, 3)), np.array(["a", "b"], object), np.array([np.nan, np.inf]), np.array(3),
                                   np.array([True, False]), np.array([1j, 2])], ids=str)
def test_any_array_has_something_to_say(array):
    found = statistics(array)
    assert found["facts"] and all(isinstance(v, str) for pair in found["facts"] for v in pair)
    json.dumps(found, allow_nan=False)


def profile(*nodes):
    return {"schema": 1, "model": "m", "runs": 1, "seconds": 1, "nodes": [
        {"index": i, "name": name, "op_type": "", "domain": "", "sources": sources, "outputs": [], "seconds": s, "share": 0}
        for i, (name, sources, s) in enumerate(nodes)]}


def test_times_reach_nodes_by_name_and_by_what_they_were_made_of():
    scene = scene_of(survey(diamond()))
    heat = heated(scene, profile(("left", ["left"], 3.0), ("right", ["right", "more"], 2.0), ("left", [], 1.0)))
    assert {b.name: b.seconds for b in scene.boxes if b.kind == "node"} == {"left": 4, "right": 2, "more": 2, "join": None}
    assert {b.name: b.together for b in scene.boxes if b.together} == {"right": ("more",), "more": ("right",)}
    assert (heat.most, heat.total) == (4, 6)


@pytest.mark.parametrize("given", [[], {}, {"schema": 2, "nodes": []}, profile(("stranger", [], 1.0)),
                                   {"schema": 1, "nodes": [{}]}, {"schema": 1, "nodes": [{"name": 1, "seconds": 1}]},
                                   {"schema": 1, "nodes": [{"name": "left", "seconds": float("nan")}]},
                                   {"schema": 1, "nodes": [{"name": "left", "seconds": 1, "sources": 7}]}], ids=str)
def test_what_is_no_profile_of_the_model_is_refused(given):
    with pytest.raises(InputError):
        heated(scene_of(survey(diamond())), given)


def test_every_operator_has_a_family_with_a_colour():
    assert {f for f in FAMILIES if f not in FAMILY} <= {"gradient", "ml.classes"}


def light(colour):
    """Relative luminance, of WCAG 2."""
    parts = np.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)]) / 255
    return float(np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


def test_text_on_every_colour_can_be_read():
    on_white = [(1.05) / (light(c) + 0.05) for pair in COLOURS.values() for c in (pair.light, pair.dark)]
    scale = [ramp(k / 100) for k in range(101)]
    warm = [(light(c) + 0.05) / 0.05 if dark else 1.05 / (light(c) + 0.05) for c, dark in scale]
    assert min(on_white + warm) >= 4.5  # level AA
    assert [light(c) for c, _ in scale] == sorted((light(c) for c, _ in scale), reverse=True)


def test_sizes_that_are_said_replace_names_and_shapes():
    source = made([helper.make_node("Relu", ["x"], ["y"], "n")], [("x", FLOAT, ["rows", None])])
    assert "float32[7,?]" in draw(source, sizes={"rows": 7})
    assert "float32[4,5]" in draw(source, shapes={"x": (4, 5)})
    for wrong in ({"sizes": {"row": 7}}, {"shapes": {"z": (1,)}}, {"shapes": {"x": (1, 2, 3)}}):
        with pytest.raises(UsageError):
            draw(source, **wrong)
    with pytest.raises(UsageError, match="text, dot, svg, html"):
        draw(source, "pdf")


def test_operators_that_nobody_has_are_drawn_but_do_not_run():
    found = survey(hostile())
    assert list(found.missing.values()) == [1]
    with pytest.raises(Unsupported):
        survey(hostile(), optimize=2)
    hint = made([helper.make_node("Hat", ["x"], ["h"], "hat", domain="mine", brim=3), helper.make_node("Relu", ["h"], ["y"])])
    hint.graph.value_info.append(helper.make_tensor_value_info("h", FLOAT, [5, 6]))
    [relu] = [line for line in draw(hint).splitlines() if "Relu" in line]
    assert "float32[5,6]" in relu  # what the model declares goes on


def test_attributes_of_any_type_are_told():
    tensor = numpy_helper.from_array(np.arange(20, dtype=np.float32), "v")
    given = {"a": tensor, "b": [1.5, 2.5], "c": ["s", "t"], "d": b"\xff", "e": [tensor]}
    node = helper.make_node("Hat", ["x"], ["y"], "hat", domain="mine", **given)
    [line] = [text for text in draw(made([node])).splitlines() if "hat" in text]
    assert "float32[20]" in line and "b 1.5,2.5" in line and "c s,t" in line
    draw(made([node]), "html")


def test_a_contradiction_leaves_the_rest_drawn():
    wrong = made([helper.make_node("MatMul", ["x", "x"], ["a"], "wrong"), helper.make_node("Relu", ["x"], ["y"], "right")])
    found = survey(wrong)
    assert len(found.problems) == 1 and "wrong" in found.problems[0]
    assert "float32[2,3]" in next(line for line in draw(wrong).splitlines() if "right" in line)


def test_the_command_writes_what_the_name_of_the_file_says(tmp_path):
    for end, begins in ((".svg", "<svg"), (".html", "<!DOCTYPE html>"), (".dot", "digraph"), (".txt", "digits.onnx   opset 22")):
        assert succeeds("draw", DIGITS, "-o", tmp_path / f"g{end}") == ""
        assert (tmp_path / f"g{end}").read_text(encoding="utf-8").startswith(begins)
    assert succeeds("draw", DIGITS, "--format", "svg") == (tmp_path / "g.svg").read_text(encoding="utf-8")
    assert ".html" in refused(2, "draw", DIGITS, "-o", tmp_path / "g.pdf")


def test_the_command_draws_the_graph_that_runs_and_times(tmp_path):
    plain, rewritten = (succeeds("draw", DIGITS, *words).splitlines() for words in ([], ["--optimized"]))
    assert len(rewritten) < len(plain) and any("interp:" in line for line in rewritten)
    name = next(line.split()[-1] for line in plain if " Conv " in line)
    (tmp_path / "p.json").write_text(json.dumps(profile((name, [], 0.0125))))
    assert any("12.5 ms" in line for line in succeeds("draw", DIGITS, "--profile", tmp_path / "p.json").splitlines())
    (tmp_path / "bad.json").write_text("[]")
    assert "interp profile" in refused(5, "draw", DIGITS, "--profile", tmp_path / "bad.json")
    (tmp_path / "bad.json").write_text("{")
    refused(5, "draw", DIGITS, "--profile", tmp_path / "bad.json")


def test_the_command_is_plain_and_whole_in_a_pipe_and_cut_on_a_terminal(tmp_path):
    path = tmp_path / "long.onnx"
    onnx.save(made([helper.make_node("Abs", ["x"], ["y"], "n" * 300)]), path)
    assert "n" * 300 in succeeds("draw", path)
    assert succeeds("draw", path, PYTHONIOENCODING="ascii").isascii()
    leader, follower = pty.openpty()
    subprocess.run([sys.executable, "-m", "interp", "draw", str(path)], stdout=follower, cwd=ROOT, timeout=120, check=True,
                   env={**os.environ, "COLUMNS": "60", "TERM": "xterm"})
    os.close(follower)
    said = os.read(leader, 1 << 16).decode()
    os.close(leader)
    assert "\x1b[" in said and "…" in said
    assert max(len(re.sub("\x1b\\[[0-9;]*m", "", line)) for line in said.splitlines()) <= 60


def test_names_cannot_drive_the_terminal(tmp_path):
    path = tmp_path / "hostile.onnx"
    onnx.save(hostile(), path)
    done = interp("draw", path)
    assert done.returncode == 0 and "\x1b" not in done.stdout + done.stderr
    assert "nothing runs" in done.stderr
    for words in (["--format", "text"], ["-o", tmp_path / "g.txt"]):
        done = interp("draw", path, *words)
        assert done.returncode == 0 and "\x1b" not in done.stdout
    assert "\x1b" not in (tmp_path / "g.txt").read_text()


def test_a_name_of_several_lines_stays_on_one():
    told = draw(made([helper.make_node("Relu", ["x"], ["y"], "one\ntwo\u2028three")]))
    assert len(told.splitlines()) == 4 and "one\\ntwo\\u2028three" in told


def test_the_files_of_the_page_are_installed():
    told = (ROOT / "setup.py").read_text()
    for path in Path(ROOT / "interp/drawing").iterdir():
        if path.suffix not in (".py", "") and path.is_file():
            assert f'"*{path.suffix}"' in told, path
