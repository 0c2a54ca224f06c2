"""interp info."""
from interp.cli.arguments import Parser
from interp.cli.options import looking, telling

EXAMPLES = """\
examples:
  interp info model.onnx                        inputs, outputs, operators, parameters, MACs, memory
  interp info model.onnx -d batch=8             for a size that has a name
  interp info model.onnx --layers               a row a node: what it gives, its parameters, its MACs
  interp info model.onnx --shapes               the type and shape of every tensor, as inferred
  interp info model.onnx --json                 all of that, for a program to read

MACs are multiply-accumulates of products of matrices, convolutions, recurrent cells and attention. Memory is what the weights,
the inputs, the outputs and the values between the operators take in one run; packed copies of weights are not counted. Nothing
is run for it. Sizes that are not given are taken as 1 for both, or as what fits.

"""


def arguments(parser: Parser) -> None:
    """All that `info` takes."""
    parser.add_argument("model", metavar="MODEL", help="an .onnx file")
    parser.add_argument("--layers", action="store_true", help="a row a node")
    parser.add_argument("--shapes", action="store_true", help="a row a tensor")
    looking(parser)
    telling(parser)
