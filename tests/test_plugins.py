"""Plug-ins: found without being imported, imported where a model needs them, and told about where they fail."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import onnx
import pytest

import interp
from interp import plugins
from interp.errors import ModelError, RunError, Unsupported
from interp.loading import load
from interp.opaque import tolerant

ROOT = Path(__file__).parent.parent
HEAD = '<ir_version: 10, opset_import: ["" : 21, "org.example" : 1]>\n'
PLUG = HEAD + "g (float[n] x) => (float[n] y) { a = Abs(x)  y = org.example.Doubled(a) }"
PLAIN = HEAD + "g (float[n] x) => (float[n] y) { y = Abs(x) }"


def process(*words, path=(), **env):
    """A new interpreter with some folders on its path."""
    places = os.pathsep.join([*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, cwd=ROOT, timeout=120,
                          env={**os.environ, "PYTHONPATH": places, "PYTHONIOENCODING": "utf-8", **env})


@pytest.fixture
def toy(tmp_path):
    """A folder with a distribution whose plug-in tells when it is imported, one that fails, and models."""
    (tmp_path / "toy_kernels.py").write_text("""
import sys
from interp import op
print("imported", file=sys.stderr)
@op("Doubled", domain="org.example", shape=lambda x: [x.shape])
def doubled(x):
    return x + x
""")
    (tmp_path / "broken_kernels.py").write_text("raise OSError('libfast.so is missing')")
    for name, domain, module in (("toy", "org.example", "toy_kernels"), ("broken", "org.broken", "broken_kernels")):
        info = tmp_path / f"{name}_plugin-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-plugin\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text(f"[interp.kernels]\n{domain} = {module}\n")
    for name, text in (("plug", PLUG), ("plain", PLAIN), ("broken", PLUG.replace("org.example", "org.broken"))):
        onnx.save(onnx.parser.parse_model(text), tmp_path / f"{name}.onnx")
    return tmp_path


def test_nothing_is_imported_before_a_model_needs_it(toy):
    done = process("-c", f"""
import sys, interp, numpy as np
interp.load({str(toy / 'plain.onnx')!r})
assert not {{"toy_kernels", "importlib.metadata", "interp.plugins"}} & set(sys.modules), "too early"
[y] = interp.load({str(toy / 'plug.onnx')!r}).run(None, {{"x": np.float32([-1, 2])}})
assert y.tolist() == [2, 4] and "toy_kernels" in sys.modules and "broken_kernels" not in sys.modules
""", path=[toy])
    assert (done.returncode, done.stderr) == (0, "imported\n")


def test_the_command_lists_them_and_tells_what_failed(toy):
    done = process("-m", "interp", "plugins", path=[toy])
    assert done.returncode == 1
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines == [["domain", "distribution", "version", "state", "operators"],
                     ["org.broken", "broken-plugin", "1.5", "failed"],
                     ["broken_kernels:", "OSError:", "libfast.so", "is", "missing"],
                     ["org.example", "toy-plugin", "1.5", "loaded", "Doubled"]]
    report = json.loads(process("-m", "interp", "plugins", "--json", path=[toy], INTERP_PLUGINS="toy-plugin").stdout)
    assert report["schema"] == 1 and [(p["domain"], p["state"]) for p in report["plugins"]] == [
        ("org.broken", "off"), ("org.example", "loaded")]


def test_one_that_fails_is_told_where_it_is_needed_and_disturbs_no_other(toy):
    done = process("-m", "interp", toy / "broken.onnx", path=[toy])
    assert done.returncode == 4
    assert ("there is no operator Doubled in domain org.broken" in done.stderr and "the plug-in org.broken of broken-plugin 1.5 "
            "cannot be loaded: OSError: libfast.so is missing" in done.stderr)
    assert process("-m", "interp", toy / "plug.onnx", "-q", path=[toy]).returncode == 0


def test_they_can_be_switched_off(toy):
    done = process("-m", "interp", toy / "plug.onnx", path=[toy], INTERP_PLUGINS="0")
    assert done.returncode == 4 and "the plug-in org.example of toy-plugin 1.5 is switched off by INTERP_PLUGINS" in done.stderr
    assert "imported" not in done.stderr
    assert process("-m", "interp", toy / "plug.onnx", path=[toy], INTERP_PLUGINS="other, org.example").returncode == 0


def test_ops_shows_what_runs_a_model(toy):
    done = process("-m", "interp", "ops", toy / "plug.onnx", path=[toy])
    assert done.returncode == 0
    [row] = [line for line in done.stdout.splitlines() if line.startswith("org.example")]
    assert "Doubled" in row and "toy_kernels" in row


@interp.op("Doubled", domain="org.example", shape=lambda x: [x.shape])
def doubled(x):
    return x + x


@interp.op("Tripled", domain="org.example", shape=lambda x: [x.shape])
def tripled(x):
    return 3 * x


def module(*ops):
    made = ModuleType("made")
    for i, o in enumerate(ops):
        setattr(made, f"op{i}", o)
    return made


def installed(monkeypatch, *given, domain="org.example"):
    """The plug-ins of this process are those of entry points that stand for some objects."""
    entries = [SimpleNamespace(name=domain, value=f"kernels{i}", load=lambda g=g: g,
                               dist=SimpleNamespace(name=f"plugin-{i}", version="1.0")) for i, g in enumerate(given)]
    monkeypatch.setattr(plugins, "entry_points", lambda: entries)
    plugins.installed.cache_clear()
    plugins.registry.cache_clear()
    return plugins.installed()


@pytest.fixture(autouse=True)
def own_plugins():
    """What a test installs goes with it."""
    yield
    plugins.installed.cache_clear()
    plugins.registry.cache_clear()


def answer(**keywords):
    [y] = interp.load(onnx.parser.parse_model(PLUG), **keywords).run(None, {"x": np.float32([-1, 2])})
    return y.tolist()


@pytest.mark.parametrize("value", [module(tripled, doubled), doubled, [tripled, doubled], (doubled,), lambda: [doubled],
                                   interp.Registry(interp.standard).add(doubled), lambda: interp.Registry().add(doubled)],
                         ids=["module", "operator", "list", "tuple", "function", "registry", "function of a registry"])
def test_an_entry_point_may_name_any_of_these(monkeypatch, value):
    installed(monkeypatch, value)
    assert answer() == [2, 4]


class Leaving(BaseException):
    """What no `except Exception` catches."""


class Speechless(Exception):
    def __str__(self):
        raise ValueError("no words")


def raising(error):
    def load():
        raise error
    return load


@pytest.mark.parametrize("value, error", [
    (module(), "TypeError: it holds no operators"),
    (3, "TypeError: 3 is no module, Op, list of Ops or Registry"),
    ([doubled, 3], "is no module, Op, list of Ops or Registry"),
    (lambda: sys.exit(3), "SystemExit: 3"),
    (raising(Leaving("for good")), "Leaving: for good"),
    (raising(Speechless()), "Speechless"),
    (interp.op("Doubled", domain="elsewhere")(lambda x: x), "ValueError: Doubled is of the domain elsewhere, the entry point is "
     "named org.example"),
], ids=range(7))
def test_one_that_is_no_plug_in_says_so(monkeypatch, value, error):
    [found] = installed(monkeypatch, value).found()
    with pytest.raises(Unsupported) as refused:
        answer()
    assert error in found.error and found.error in str(refused.value) and found.state == "failed"


def test_one_whose_import_is_interrupted_is_imported_again(monkeypatch):
    turns = iter([raising(KeyboardInterrupt()), lambda: doubled])
    [found] = installed(monkeypatch, lambda: next(turns)()).found()
    with pytest.raises(KeyboardInterrupt):
        answer()
    assert answer() == [2, 4] and found.state == "loaded"


def test_two_for_one_domain_add_up_and_may_not_serve_the_same(monkeypatch):
    found = installed(monkeypatch, doubled, [tripled], [tripled]).found()
    assert answer() == [2, 4]
    assert [p.state for p in found] == ["loaded", "loaded", "failed"] and "Tripled 1- overlaps 1-" in found[2].error


def test_an_operator_that_a_plug_in_lacks_is_told_with_those_that_it_has(monkeypatch):
    installed(monkeypatch, tripled)
    with pytest.raises(Unsupported, match=r"no operator Doubled .*; the plug-in org.example of plugin-0 1.0 has Tripled"):
        answer()


def test_registries_and_functions_of_the_model_come_first(monkeypatch):
    asked = installed(monkeypatch, tripled)
    mine = interp.op("Doubled", domain="org.example", shape=lambda x: [x.shape])(lambda x: x * 0)
    assert answer(registry=interp.Registry(interp.standard).add(mine)) == [0, 0]
    local = onnx.parser.parse_model(PLUG + """
        <domain: "org.example", opset_import: ["" : 21]> Doubled (a) => (b) { b = Neg(a) }""")
    assert interp.load(local).run(None, {"x": np.float32([2])})[0].tolist() == [-2]
    assert asked._found is None  # nobody looked


def test_a_session_may_do_without(monkeypatch):
    installed(monkeypatch, doubled)
    with pytest.raises(Unsupported, match="no operator Doubled"):
        answer(plugins=False)


def test_a_model_that_is_read_tolerantly_still_gets_the_plug_in(monkeypatch):
    installed(monkeypatch, doubled)
    model = onnx.parser.parse_model(PLUG.replace("y = org", "b = org.example.Other(a)  y = org"))
    nodes = load(model, tolerant(model, interp.standard)).nodes
    assert [n.op.run is doubled.run for n in nodes] == [False, False, True] and nodes[1].schema.name == "Other"


@pytest.mark.parametrize("body", [False, True], ids=["main", "branch"])
@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("error", [ValueError("no such luck"), KeyError("luck"), RecursionError("luck")],
                         ids=lambda e: type(e).__name__)
def test_an_operator_that_raises_is_an_error_that_names_the_node(error, level, body):
    @interp.op("Bad", domain="org.example", shape=lambda x: [x.shape])
    def bad(x):
        raise error

    text = HEAD + ("g (float[n] x, bool c) => (float[n] y) { a = Abs(x)  [culprit] y = org.example.Bad(a) }" if not body else
                   """g (float[n] x, bool c) => (float[n] y) { [outer] y = If(c) <
                      then_branch = t () => (float[n] p) { [culprit] p = org.example.Bad(x) },
                      else_branch = e () => (float[n] q) { q = Neg(x) }> }""")
    session = interp.load(onnx.parser.parse_model(text), registry=interp.Registry(interp.standard).add(bad), optimize=level)
    for _ in range(2):  # and the session is as good as before
        with pytest.raises(RunError, match=r"culprit \(org.example:Bad-1\): .*luck") as raised:
            session.run(None, {"x": np.ones(3, np.float32), "c": np.array(True)})
        assert raised.value.__cause__ is error or body
    if body:
        session.run(None, {"x": np.ones(3, np.float32), "c": np.array(False)})


@pytest.mark.parametrize("run, message", [
    (lambda x: x[:2], r"its result is float32\[2\] where float32\[3\] was announced"),
    (lambda x: x.astype("f8"), r"its result is float64\[3\] where"),
    (lambda x: None, r"where float32\[3\] was announced"),
], ids=["shape", "type", "nothing"])
def test_an_operator_that_gives_something_else_than_it_announced_is_named(run, message):
    bad = interp.op("Bad", domain="org.example", shape=lambda x: [x.shape])(run)
    model = onnx.parser.parse_model(PLAIN.replace("y = Abs(x)", "[culprit] y = org.example.Bad(x)"))
    with pytest.raises(RunError, match=rf"culprit \(org.example:Bad-1\): .*{message}"):
        interp.load(model, registry=interp.Registry(interp.standard).add(bad)).run(None, {"x": np.ones(3, np.float32)})


def test_a_shape_rule_that_raises_is_an_error_that_names_the_node():
    def rule(x):
        raise LookupError("not in the table")

    bad = interp.op("Bad", domain="org.example", shape=rule)(lambda x: x)
    model = onnx.parser.parse_model(PLAIN.replace("y = Abs(x)", "[culprit] y = org.example.Bad(x)"))
    with pytest.raises(ModelError, match=r"culprit \(org.example:Bad-1\): not in the table"):
        interp.load(model, registry=interp.Registry(interp.standard).add(bad))


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """examples/plugin, built and installed into a folder of its own, without a network."""
    pytest.importorskip("Cython", reason="Cython is part of the test extra")
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        pytest.skip("there is no C compiler")
    source, target = tmp_path_factory.mktemp("source") / "plugin", tmp_path_factory.mktemp("target")
    shutil.copytree(ROOT / "examples/plugin", source, ignore=shutil.ignore_patterns("build", "*.so", "*.c", "*.egg-info"))
    done = process("-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--target", target,
                   source, CFLAGS="-O1 -g0")
    assert done.returncode == 0, done.stderr
    return target


def test_the_example_installs_and_its_own_tests_pass(example):
    done = process("-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "examples/plugin/tests", path=[example])
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout and "skipped" not in done.stdout


def test_the_example_runs_from_the_command_line(example, tmp_path):
    text = "g (float[n,d] x, float[m,d] y) => (float[n,m] z) { z = org.example.PairDistance(x, y) }"
    onnx.save(onnx.parser.parse_model(HEAD + text), tmp_path / "pairs.onnx")
    done = process("-m", "interp", tmp_path / "pairs.onnx", "-i", "x=[[0,0],[3,4]]", "-i", "y=[[0,0]]", "--print", "full",
                   "-n", 0, path=[example])
    assert done.returncode == 0 and "[[0.]\n [5.]]" in done.stdout, done.stdout + done.stderr
    assert "PairDistance" in process("-m", "interp", "plugins", path=[example]).stdout
