"""interp compare."""
from interp.cli.arguments import Parser
from interp.cli.options import feeding, opening, size, target, telling, threads

EXAMPLES = """\
examples:
  interp compare model.onnx                          the outputs against onnxruntime's
  interp compare model.onnx --layers                 every tensor; a node that is wrong is blamed alone
  interp compare model.onnx --layers --cumulative    the same, with errors that add up
  interp compare model.onnx --against reference      against onnx's own evaluator
  interp compare model.onnx --layers -O0             against the graph as written: what fusing operators changes
  interp compare model.onnx quantized.onnx --layers  against another model, tensors paired by name
  interp compare model.onnx --layers --plot errors.svg

"""


def arguments(parser: Parser) -> None:
    """All that `compare` takes."""
    parser.add_argument("model", metavar="MODEL", help="an .onnx file")
    parser.add_argument("other", metavar="OTHER", nargs="?", help="another one, run by this package unless --against is given")
    group = parser.add_argument_group("comparing", "The exit code is 1 where something differs by more than is allowed.")
    group.add_argument("--against", choices=("onnxruntime", "reference", "O0"),
                       help="what to hold it against: another engine (onnxruntime, where that is installed), "
                       "or O0, the graph as written, which -O0 alone stands for too")
    group.add_argument("--layers", action="store_true", help="every tensor of the graph; each node gets the other side's inputs")
    group.add_argument("--cumulative", action="store_true", help="with --layers: each node gets this side's own inputs")
    group.add_argument("--rtol", type=float, metavar="R",
                       help="allowed difference, relative to what is due (floats 0.001, integers 0)")
    group.add_argument("--atol", type=float, metavar="A",
                       help="allowed difference on top (floats 1e-5 of the largest number in the tensor, integers 0)")
    feeding(parser)
    group = parser.add_argument_group("running")
    threads(group)
    group.add_argument("-O", "--optimize", type=int, choices=(0, 1, 2),
                       help="how far the graph is rewritten (2; with --layers 0, but 2 against O0); see --against")
    opening(group)
    group = telling(parser)
    group.add_argument("--top", type=size, default=20, metavar="N", help="rows to print, the worst first; 0 for all (20)")
    group.add_argument("--plot", metavar="FILE.svg", type=target, help="with --layers: a picture of the error by layer")
