"""interp bench."""
import argparse

from interp.cli.arguments import Parser
from interp.cli.options import executing, feeding, size, target, telling

EXAMPLES = """\
examples:
  interp bench model.onnx                                 three seconds of runs: percentiles, throughput
  interp bench model.onnx -d N=8 -t 1 --duration 10       eight at a time on one thread, for ten seconds
  interp bench model.onnx -n 500 --concurrency 4          five hundred runs, by four callers at once
  interp bench model.onnx --budget-ms 20                  the exit code is 1 where 5 % of the runs take more than 20 ms
  interp bench model.onnx --budget-ms p99=50              the same for 1 % and 50 ms
  interp bench model.onnx --compare-with onnxruntime      each engine in a process of its own, in turn
  interp bench model.onnx --plot latencies.svg            a picture of the latencies

"""


def arguments(parser: Parser) -> None:
    """All that `bench` takes."""
    parser.add_argument("model", metavar="MODEL", help="an .onnx file")
    group = parser.add_argument_group("measuring")
    group.add_argument("--duration", type=seconds, default=3.0, metavar="S",
                       help="seconds for each engine, where -n does not say how many runs (3)")
    group.add_argument("--concurrency", type=callers, default=1, metavar="N", help="callers of one session at once (1)")
    group.add_argument("--budget-ms", type=budget, metavar="[pNN=]MS", help="fail where the percentile (p95) takes longer")
    group.add_argument("--compare-with", choices=("onnxruntime", "reference"), help="another engine, on the same inputs")
    feeding(parser)
    executing(parser)
    parser.set_defaults(warmup=3)
    group = telling(parser)
    group.add_argument("--plot", metavar="FILE.svg", type=target, help="draw a histogram, or the percentiles of both engines")


def seconds(text: str) -> float:
    """A number of seconds, more than 0 and no more than a day."""
    return within(text, 86400, "seconds")


def within(text: str, most: float, what: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of {what} from above 0 to {most:g}")
    return found


def callers(text: str) -> int:
    if not 1 <= size(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text} callers: give a number from 1 to 1024")
    return int(text)


def budget(text: str) -> tuple[float, float]:
    """A percentile and milliseconds: 20, p99=50."""
    share, given, limit = text.rpartition("=")
    if given and not (share.startswith("p") and share[1:].replace(".", "", 1).isdecimal() and float(share[1:]) <= 100):
        raise argparse.ArgumentTypeError(f"{share!r} is no percentile such as p99")
    return float(share[1:] if given else 95), within(limit, 1e9, "milliseconds")
