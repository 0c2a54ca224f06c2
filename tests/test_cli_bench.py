"""`interp bench`, as the real process: percentiles, budgets, other engines. Nothing here depends on how fast the machine is."""
import json
import subprocess
import sys
from xml.etree import ElementTree

import onnx
import pytest

from .test_cli import DIGITS, interp, refused, succeeds

QUICK = ("bench", DIGITS, "-d", "N=1", "-n", 12)


def test_a_row_of_percentiles_in_a_pipe():
    told = succeeds(*QUICK, "-t", 1)
    head, row, how = told.splitlines()[1:4]
    assert head.split()[:6] == ["engine", "p50", "p90", "p95", "p99", "mean"] and row.startswith("interp ")
    assert how == "1 thread   1 caller at a time   3 runs of warm-up" and "\x1b" not in told


def test_the_report_for_programs_is_complete():
    found = json.loads(succeeds(*QUICK, "--warmup", 2, "--concurrency", 3, "--json"))
    [(name, measured)] = found["engines"].items()
    assert found["schema"] == 1 and found["ok"] and found["concurrency"] == 3 and found["warmup"] == 2 and name == "interp"
    assert measured["runs"] == len(measured["latencies"]) == 12 and found["inputs"][0]["type"] == "float32[1,1,8,8]"
    order = [measured[k] for k in ("min", "p50", "p90", "p95", "p99", "max")]
    assert order == sorted(order) and measured["min"] <= measured["mean"] <= measured["max"]
    assert measured["throughput"] == pytest.approx(12 / measured["wall"])


def test_a_duration_in_place_of_a_number_of_runs():
    found = json.loads(succeeds("bench", DIGITS, "-d", "N=1", "--duration", 0.2, "--json"))
    assert found["engines"]["interp"]["wall"] >= 0.2 and found["engines"]["interp"]["runs"] > 1


def test_a_budget_that_no_run_can_keep_fails_and_one_that_all_keep_passes():
    done = interp(*QUICK, "--budget-ms", "p50=0.000001")
    assert done.returncode == 1 and "check failed: p50 is " in done.stderr and "more than 1e-06 ms" in done.stderr
    assert json.loads(succeeds(*QUICK, "--budget-ms", 1e8, "--json"))["budget"]["percentile"] == 95


@pytest.mark.parametrize("engine", ["onnxruntime", "reference"])
def test_engines_take_turns_in_processes_of_their_own(engine, tmp_path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is part of the test extra")
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> m (float[n] x) => (float[n] y) { y = Relu(x) }'),
              tmp_path / "relu.onnx")
    words = ("bench", tmp_path / "relu.onnx", "-d", "n=5", "-n", 12, "-t", 1, "--plot", tmp_path / "p.svg", "--json")
    found = json.loads(succeeds(*words, "--compare-with", engine))
    assert list(found["engines"]) == ["interp", engine] and {e["runs"] for e in found["engines"].values()} == {12}
    assert found["ratio"] == pytest.approx(found["engines"][engine]["p50"] / found["engines"]["interp"]["p50"])
    assert f">{engine}</text>" in (tmp_path / "p.svg").read_text()


def test_a_model_that_the_other_engine_lacks_operators_for_is_refused_by_name():
    assert "GlobalLpPool" in refused(4, *QUICK, "--compare-with", "reference")


def test_operators_of_the_user_run_in_the_other_process_too(tmp_path):
    (tmp_path / "mine.py").write_text("import interp, numpy as np\n\n"
                                      "@interp.op('Relu', 1, shape=lambda X: [X.shape])\ndef relu(X):\n"
                                      "    raise ValueError('not today')\n")
    assert "not today" in refused(6, *QUICK, "--kernels", tmp_path / "mine.py", "--compare-with", "reference")


def test_a_histogram_is_drawn(tmp_path):
    succeeds(*QUICK, "--plot", tmp_path / "h.svg")
    tree = ElementTree.parse(tmp_path / "h.svg")
    titles = [e.text for e in tree.iter("{http://www.w3.org/2000/svg}title")]
    assert sum(map(int, titles)) == 12  # every run lies in one bar


def test_mistakes_are_told_before_anything_runs():
    assert "nothing to time" in refused(2, "bench", DIGITS, "-n", 0)
    assert "no percentile" in refused(2, "bench", DIGITS, "--budget-ms", "p101=3")
    assert "milliseconds" in refused(2, "bench", DIGITS, "--budget-ms", "-3")
    assert "1 to 1024" in refused(2, "bench", DIGITS, "--concurrency", 0)
    assert "seconds" in refused(2, "bench", DIGITS, "--duration", "nan")


def test_an_engine_that_is_not_installed_is_named():
    lacking = ("import sys; sys.modules['onnxruntime'] = None; from importlib import util; find = util.find_spec\n"
               "util.find_spec = lambda name, *rest: None if name == 'onnxruntime' else find(name, *rest)\n"
               f"from interp.cli import main; sys.exit(main(['bench', {str(DIGITS)!r}, '--compare-with', 'onnxruntime']))")
    done = subprocess.run([sys.executable, "-c", lacking], capture_output=True, text=True)
    assert done.returncode == 2 and "pip install onnxruntime" in done.stderr and "Traceback" not in done.stderr
