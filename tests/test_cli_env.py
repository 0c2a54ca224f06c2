"""`interp env`, and `interp completion` as the shells use it."""
import json
import os
import shutil
import subprocess
from importlib import import_module
from importlib.metadata import version

import numpy as np
import pytest

from interp.cli.arguments import COMMANDS, Parser
from interp.environment import scrubbed

from .test_cli import ROOT, refused, succeeds

BASH = """
source {script}
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
compopt() {{ :; }}
_interp
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def test_the_environment_is_told_in_words_and_as_json():
    found = json.loads(succeeds("env", "--json", INTERP_ISA="baseline"))
    assert found["schema"] == 1 and found["versions"]["numpy"] == np.__version__ and found["versions"]["onnx"] == version("onnx")
    assert found["processor"]["picked"] == "baseline" and found["variables"]["INTERP_ISA"] == "baseline"
    assert found["threads"]["default"] <= found["threads"]["affinity"] <= found["threads"]["processors"] == os.cpu_count()
    assert found["memory"]["total"] == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    lines = [line.split() for line in succeeds("env", INTERP_ISA="baseline").splitlines()]
    assert ["picked", "baseline"] in lines and ["INTERP_ISA", "baseline"] in [line[-2:] for line in lines]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinities")
def test_threads_are_those_that_the_process_may_use():
    one = sorted(os.sched_getaffinity(0))[:1]
    code = f"import os; os.sched_setaffinity(0, {one}); from interp.environment import processors; print(processors())"
    done = subprocess.run([os.sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert "'affinity': 1" in done.stdout and "'default': 1" in done.stdout


def test_neither_a_home_nor_a_name_is_told(tmp_path):
    home = tmp_path / "alice"
    home.mkdir()
    found = succeeds("env", HOME=str(home), USER="alice", LOGNAME="alice", LANG=f"{home}/x:/home/bob/lib:alice,malice",
                     PYTHONPATH=f"{ROOT}{os.pathsep}/home/carol/lib")
    assert not {"alice", "bob", "carol"} & set(found.replace("/", " ").replace(":", " ").replace(",", " ").split())
    assert "~/x" in found and "malice" in found
    assert json.loads(succeeds("env", "--json", LANG="/home/dave/x"))["variables"]["LANG"] == "/home/…/x"


def test_a_text_without_names_stays(monkeypatch):
    monkeypatch.setenv("HOME", "/")
    for name in ("USER", "LOGNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    assert scrubbed("xterm-256color") == "xterm-256color" and scrubbed("/usr/lib:/opt") == "/usr/lib:/opt"


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """The script of each shell, as a file."""
    folder = tmp_path_factory.mktemp("scripts")
    for shell in ("bash", "zsh", "fish"):
        (folder / shell).write_text(succeeds("completion", shell))
    return folder


@pytest.fixture
def here(tmp_path):
    """A folder with some files to complete."""
    (tmp_path / "folder").mkdir()
    for name in ("model.onnx", "my model.onnx", "notes.txt"):
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.fixture
def bash(scripts, here):
    """What bash offers after words, the last of which is begun."""
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")

    def offered(*words):
        code = BASH.format(script=scripts / "bash", words=" ".join(f"'{w}'" for w in ("interp", *words)))
        done = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, text=True, cwd=here, check=True)
        assert done.stderr == ""
        return set(filter(None, done.stdout.splitlines()))
    return offered


def options_of(name):
    parser = Parser(prog=name)
    import_module(f"interp.cli.syntax.{name}").arguments(parser)
    return {word for action in parser._actions for word in action.option_strings}


def test_bash_offers_commands_and_models_first(bash):
    assert set(COMMANDS) | {"model.onnx", "my model.onnx", "folder", "--help", "--version"} == bash("")
    assert bash("dra") == {"draw"} and bash("mod") == {"model.onnx"}


@pytest.mark.parametrize("name", COMMANDS)
def test_bash_offers_every_option_of_a_command(bash, name):
    assert bash(name, "x", "--") >= {o for o in options_of(name) if o.startswith("--")} | {"--help"}


def test_bash_completes_what_an_option_takes(bash):
    assert bash("run", "model.onnx", "-O", "") == bash("run", "model.onnx", "--optimize", "=") == {"0", "1", "2"}
    assert bash("run", "model.onnx", "--json", "=", "no") == {"notes.txt"} and "notes.txt" not in bash("run", "--json", "")
    assert bash("draw", "--format", "s") == {"svg"}
    assert bash("draw", "model.onnx", "--profile", "no") == {"notes.txt"}
    assert bash("run", "model.onnx", "-i", "x", "=", "no") == {"notes.txt"}
    assert bash("run", "model.onnx", "--seed", "") == set()
    assert bash("completion", "z") == {"zsh"}
    assert "model.onnx" in bash("draw", "") and "notes.txt" not in bash("draw", "")


def test_in_bash_a_model_alone_is_run(bash):
    assert "--topk" in bash("model.onnx", "--to") and "--layers" not in bash("model.onnx", "--")


def test_fish_offers_the_same(scripts, here):
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")

    def offered(line):
        done = subprocess.run(["fish", "--no-config", "-c", f"source {scripts}/fish; complete -C '{line}'"], capture_output=True,
                              text=True, cwd=here, check=True, env={**os.environ, "HOME": str(here)})
        return {text.partition("\t")[0] for text in done.stdout.splitlines()}
    assert offered("interp ") >= set(COMMANDS) and "model.onnx" in offered("interp mod")
    assert offered("interp draw --form") == {"--format"} and offered("interp draw --format ") == {"text", "dot", "svg", "html"}
    assert "--topk" in offered("interp model.onnx --to") and offered("interp completion z") == {"zsh"}


def test_zsh_takes_its_script(scripts):
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed")
    code = f"autoload -U compinit; compinit -D -u; source {scripts}/zsh; print $_comps[interp] ${{+functions[_interp_draw]}}"
    done = subprocess.run(["zsh", "-f", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["_interp", "1"] and done.stderr == ""


def test_an_unknown_shell_is_refused():
    assert "fish" in refused(2, "completion", "tcsh")
