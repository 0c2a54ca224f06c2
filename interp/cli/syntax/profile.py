"""interp profile."""
from interp.cli.arguments import Parser
from interp.cli.options import executing, feeding, target, telling

EXAMPLES = """\
examples:
  interp profile model.onnx                     operators and the longest nodes: time, share, memory, MAC/s
  interp profile model.onnx --by node           every node, in the order in which they run
  interp profile model.onnx --by shape          operators by the shapes that they read
  interp profile model.onnx -n 100 -t 1 -d N=8  a hundred runs on one thread, eight at a time
  interp profile model.onnx -O 0                the nodes as they are written
  interp profile model.onnx --trace t.json      also a trace, for chrome://tracing and ui.perfetto.dev
  interp profile model.onnx --json=p.json       everything; interp draw model.onnx --profile p.json colours nodes by it

"""


def arguments(parser: Parser) -> None:
    """All that `profile` takes."""
    parser.add_argument("model", metavar="MODEL", help="an .onnx file")
    parser.add_argument("--by", choices=("node", "op", "shape"),
                        help="one table: each node, nodes of one operator together, or those that also read the same shapes")
    parser.add_argument("--trace", metavar="F.json", type=target, help="write the runs as trace events")
    feeding(parser)
    executing(parser)
    telling(parser)
