"""`interp profile`, `run -p` and `--trace`, as the real process."""
import json

import pytest

from .test_cli import DIGITS, interp, refused, succeeds

CONVOLUTIONS = 8 * 8 * 16 * 9 + 4 * 4 * 48 * 16 * 9  # of the digits: two of 3 x 3


def test_every_node_and_operator_is_listed_in_a_pipe():
    told = succeeds("profile", DIGITS, "-d", "N=1", "-n", 5, "-O", 0)
    assert "opset 22   10 nodes" in told and "unobserved" in told and "5 runs each" in told
    for name in ("conv1", "relu1", "maxpool", "conv2", "relu2", "averagepool", "globallppool", "flatten", "gemm", "softmax"):
        assert name in told.split("  node\n")[1]
    assert f"{(CONVOLUTIONS + 480) / 1000:.3g} k a run" in told


@pytest.mark.parametrize("by, head", [("node", "operator"), ("op", "nodes"), ("shape", "reads")])
def test_one_table_where_one_is_asked_for(by, head):
    told = succeeds("profile", DIGITS, "-d", "N=1", "-n", 2, "--by", by)
    assert told.count("share") == 1 and head in next(line for line in told.splitlines() if "share" in line)


def test_the_report_for_programs_is_complete():
    found = json.loads(succeeds("profile", DIGITS, "-d", "N=1", "-n", 4, "--json"))
    assert found["schema"] == 1 and found["runs"] == 4 and found["model"].endswith("digits.onnx")
    nodes = found["nodes"]
    assert [n["index"] for n in nodes] == list(range(len(nodes)))
    assert sum(n["share"] for n in nodes) == pytest.approx(1)
    assert found["seconds"] == pytest.approx(sum(n["seconds"] for n in nodes))
    assert {"index", "name", "op_type", "domain", "sources", "outputs", "seconds", "share", "bytes", "macs"} <= nodes[0].keys()
    assert sorted(s for n in nodes for s in n["sources"]) == sorted(
        ["conv1", "relu1", "maxpool", "conv2", "relu2", "averagepool", "globallppool", "flatten", "gemm", "softmax"])
    assert sum(n["macs"] for n in nodes) == CONVOLUTIONS + 480
    assert found["memory"]["programs"] >= found["memory"]["peak"]["bytes"] > 0 and found["wall"]["plain"] > 0


def test_a_trace_is_written_beside_the_table(tmp_path):
    succeeds("profile", DIGITS, "-d", "N=1", "-n", 2, "--trace", tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert [e["cat"] for e in events if e["ph"] == "X"].count("run") == 2
    assert all({"name", "ph", "pid", "tid", "args"} <= e.keys() for e in events)
    assert all(e["ph"] == "M" or e["ts"] >= 0 and e["dur"] > 0 for e in events)


def test_a_run_prints_the_same_table_and_writes_a_trace(tmp_path):
    told = succeeds(DIGITS, "-d", "N=1", "-n", 2, "-p", "--trace", tmp_path / "t.json")
    assert "output   probability" in told and "unobserved" in told and "MAC/s" in told
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert "unobserved" not in succeeds(DIGITS, "-d", "N=1", "--trace", tmp_path / "t.json")
    assert json.loads(succeeds(DIGITS, "-d", "N=1", "-n", 2, "-p", "--json"))["profile"]["runs"] == 2


def test_what_cannot_be_written_or_run_is_one_line(tmp_path):
    assert "trace" in refused(2, "profile", DIGITS, "-d", "N=1", "-n", 1, "--trace", tmp_path / "no" / "trace.json")
    assert "profile" in refused(2, "profile") and "did you mean --trace?" in refused(2, "profile", DIGITS, "--trce")
    assert "no runs" in refused(2, "profile", DIGITS, "-n", 0)


def test_help_begins_with_examples():
    done = interp("profile", "--help")
    assert done.returncode == 0 and done.stdout.startswith("examples:\n  interp profile model.onnx")
