"""interp optimize."""
from interp.cli.arguments import Parser
from interp.cli.options import amount, feeding, opening, size, target, telling, threads

EXAMPLES = """\
examples:
  interp optimize model.onnx -o smaller.onnx              what the passes did: operators before and after
  interp optimize model.onnx -o smaller.onnx --verify 3   runs both on three sets of random inputs
  interp optimize model.onnx                              only tells what would become of it
  interp optimize model.onnx -o m.onnx --skip gemm --limit 1M
  interp optimize --list                                  the passes

What is written is standard ONNX, for any engine: the operators that this package fuses for itself are not in it.

"""


def arguments(parser: Parser) -> None:
    """All that `optimize` takes."""
    parser.add_argument("model", metavar="MODEL", nargs="?", help="an .onnx file")
    parser.add_argument("-o", "--output", metavar="OUT", type=target,
                        help="where to write the model; without it nothing is written")
    parser.add_argument("-f", "--force", action="store_true", help="write over the model itself, too")
    parser.add_argument("--list", action="store_true", help="the passes, and what each does")
    parser.add_argument("--skip", metavar="PASS", nargs="+", action="extend", default=[], help="passes to leave out")
    parser.add_argument("--limit", metavar="SIZE", type=amount,
                        help="bytes that the results of a constant node may take where that is more than it reads (16K)")
    parser.add_argument("--external", action="store_true", help="write weights to OUT.data, as is done from 2 GiB on")
    parser.add_argument("--verify", metavar="N", type=size, default=0,
                        help="run both models on N sets of inputs; where they differ nothing is written and the exit code is 1")
    parser.add_argument("--rtol", type=float, default=1e-3, metavar="R", help="difference that --verify allows, relative (0.001)")
    parser.add_argument("--atol", type=float, default=1e-5, metavar="A", help="and on top of that (1e-5)")
    threads(parser)
    opening(parser)
    feeding(parser)
    telling(parser)
