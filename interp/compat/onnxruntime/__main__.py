"""`python -m interp.compat.onnxruntime SCRIPT.py …` or `… -m MODULE …`: runs a program with this package as its onnxruntime."""
import os
import runpy
import sys

from . import install


def main() -> None:
    """Run the script or module that the arguments name, with the arguments that follow it."""
    given = sys.argv[1:]
    if not given or given[0] in ("-h", "--help") or given[0] == "-m" and len(given) < 2:
        print("usage: python -m interp.compat.onnxruntime SCRIPT.py …\n       python -m interp.compat.onnxruntime -m MODULE …",
              file=sys.stdout if given[:1] in (["-h"], ["--help"]) else sys.stderr)
        sys.exit(0 if given[:1] in (["-h"], ["--help"]) else 2)
    install()
    if given[0] == "-m":
        sys.argv = given[1:]
        runpy.run_module(given[1], run_name="__main__", alter_sys=True)
        return
    if not os.path.exists(given[0]):
        print(f"{given[0]}: there is no such file", file=sys.stderr)
        sys.exit(2)
    sys.argv = given
    sys.path[0] = os.path.dirname(os.path.abspath(given[0]))
    runpy.run_path(given[0], run_name="__main__")


main()
