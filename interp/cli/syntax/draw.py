"""interp draw."""
from interp.cli.arguments import Parser
from interp.cli.options import looking, target, telling

EXAMPLES = """\
examples:
  interp draw model.onnx                    a tree of text, a line a node
  interp draw model.onnx -o model.html      one file that pans, zooms and searches, offline
  interp draw model.onnx -o model.svg -d batch=1 -d sequence=128
  interp draw model.onnx --format dot | dot -Tpdf -o model.pdf
  interp draw model.onnx --optimized        the graph that runs: constants folded, operators fused
  interp profile model.onnx --json=p.json && interp draw model.onnx --profile p.json -o hot.html

"""


def arguments(parser: Parser) -> None:
    """All that `draw` takes."""
    parser.add_argument("model", metavar="MODEL", help="an .onnx file")
    parser.add_argument("-o", "--output", metavar="FILE", type=target,
                        help="write .html, .svg, .dot or .txt; the end of the name tells which")
    parser.add_argument("--format", choices=("text", "dot", "svg", "html"), help="what to write (text, or as -o says)")
    parser.add_argument("--profile", metavar="FILE.json", help="colour nodes by the times that interp profile --json wrote")
    level = parser.add_mutually_exclusive_group()
    level.add_argument("-O", "--optimize", type=int, choices=(0, 1, 2), default=0, help="draw the graph after rewriting (0)")
    level.add_argument("--optimized", dest="optimize", action="store_const", const=2, help="the graph that runs: -O 2")
    looking(parser)
    telling(parser, json=False)
