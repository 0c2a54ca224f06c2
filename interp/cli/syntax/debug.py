"""interp debug."""
from interp.cli.arguments import Parser
from interp.cli.options import executing, feeding, target, telling

EXAMPLES = """\
examples:
  interp debug nan model.onnx -i x=x.npy            the first node that makes NaN or infinity, and what it reads
  interp debug nan model.onnx --data set_0 -o cut.onnx    also a model of that node alone, and inputs.npz beside it
  interp debug nan model.onnx --only nan            infinity is nothing to stop at

The exit code is 1 where there is such a node.

"""


def arguments(parser: Parser) -> None:
    """All that `debug` takes."""
    parser.add_argument("what", choices=("nan",), help="what to look for")
    parser.add_argument("model", metavar="MODEL", help="an .onnx file")
    parser.add_argument("--only", choices=("nan",), help="do not stop at infinity")
    parser.add_argument("-o", "--output", metavar="CUT.onnx", type=target,
                        help="write a model of the node alone, and what it reads to inputs.npz beside it")
    feeding(parser)
    executing(parser)
    telling(parser)
