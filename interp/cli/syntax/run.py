"""interp run."""
from interp.cli.arguments import Parser
from interp.cli.options import checking, executing, feeding, keeping, reporting

EXAMPLES = """\
examples:
  interp run model.onnx                              random inputs, seed 0
  interp run model.onnx -i x=x.npy -i n=[1,2,3]      inputs from a file and as a literal
  interp run model.onnx -i x=data.npz:x -o out.npz   one array of an archive; the outputs into another
  interp run model.onnx -i image=cat.jpg --resize --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 --topk 3
  interp run model.onnx -i cat.png --save-image y.png  look at an image that comes out
  interp run model.onnx --all-tensors -o all.npz     every tensor inside the model
  interp run model.onnx -d batch=8 --range x=-1:1    eight at a time, random numbers between -1 and 1
  interp run model.onnx --data set_0 --expect set_0  the exit code is 1 where outputs differ
  interp run model.onnx -n 100 --warmup 10 -t 2      times on two threads
  interp run model.onnx -p --trace t.json            where the time goes; a trace for chrome://tracing, ui.perfetto.dev
  interp run model.onnx --kernels my_operators.py    operators of your own
  interp run model.onnx --json                       everything, for a program to read

"""


def arguments(parser: Parser) -> None:
    """All that `run` takes."""
    parser.add_argument("model", metavar="MODEL", help="an .onnx file")
    feeding(parser)
    executing(parser)
    keeping(parser)
    checking(parser)
    reporting(parser)
