"""interp extract."""
from interp.cli.arguments import Parser
from interp.cli.options import opening, target, telling

EXAMPLES = """\
examples:
  interp extract model.onnx --inputs a --outputs b -o part.onnx    what lies between two tensors
  interp extract model.onnx --outputs features -o backbone.onnx    from the model's inputs on
  interp extract model.onnx --inputs features -o head.onnx         to the model's outputs

Tensors are named as in the model; `interp info MODEL --layers` lists them.

"""


def arguments(parser: Parser) -> None:
    """All that `extract` takes."""
    parser.add_argument("model", metavar="MODEL", help="an .onnx file")
    parser.add_argument("--inputs", metavar="NAME", nargs="+", action="extend", default=[],
                        help="tensors where the part begins (the model's inputs)")
    parser.add_argument("--outputs", metavar="NAME", nargs="+", action="extend", default=[],
                        help="tensors that it gives (the model's outputs)")
    parser.add_argument("-o", "--output", metavar="OUT", type=target, required=True, help="where to write it")
    parser.add_argument("-f", "--force", action="store_true", help="write over the model itself, too")
    parser.add_argument("--external", action="store_true", help="write weights to OUT.data, as is done from 2 GiB on")
    opening(parser)
    telling(parser, quiet=False)
