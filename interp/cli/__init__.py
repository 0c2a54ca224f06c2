"""The command line: reads the arguments, calls a command, turns what goes wrong into a line and an exit code."""
from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from io import TextIOWrapper

from interp.cli.arguments import parse, visible
from interp.errors import InterpError, ModelError, RunError, UsageError, lacking

INTERRUPTED, PIPE_CLOSED = 130, 141  # 128 and the number of the signal, as shells count
UNHEARD = 0.5  # seconds after which an interrupt counts as lost


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit codes are 0 ok, 1 a check failed, else those of `interp.errors`."""
    words = list(sys.argv[1:] if argv is None else argv)
    args = None
    open_streams()
    try:
        with interrupts_heard():
            args = parse(words)
            code = import_module(f"interp.cli.{args.command}").main(args)
            sys.stdout.flush()
            return code
    except SystemExit as end:  # argparse, after --help and --version
        return int(end.code or 0)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the flush at exit is quiet too
        return PIPE_CLOSED
    except Exception as problem:
        if "--traceback" in words:
            raise
        return failed(problem, args.advice if args is not None and isinstance(problem, ModelError | RunError) else "")


@contextmanager
def interrupts_heard() -> Iterator[None]:
    """Raise an interrupt again until it ends what runs: the import of a Cython module, NumPy's or ours, may swallow one."""
    timers = []

    def interrupt(number, frame):
        from threading import Timer  # here, for it takes part of a start
        timers.append(Timer(UNHEARD, signal.raise_signal, [number]))
        timers[-1].daemon = True
        timers[-1].start()
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # neither a host's own nor ignored
        with suppress(ValueError):  # a thread but the first is never interrupted
            signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for timer in timers:
            timer.cancel()


def open_streams() -> None:
    """Write to nowhere where the caller closed a stream, and escape what its encoding lacks."""
    sys.stdout = sys.stdout or open(os.devnull, "w")
    sys.stderr = sys.stderr or open(os.devnull, "w")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def failed(problem: Exception, sizes: str) -> int:
    """One line on stderr, and the exit code; ``sizes`` are options for those that nobody gave."""
    if isinstance(problem, InterpError):
        text, code = str(problem), problem.exit_code
    elif isinstance(problem, ModuleNotFoundError) and not str(problem.name).startswith("interp"):
        text, code = lacking(problem), UsageError.exit_code
    elif isinstance(problem, OSError):
        text, code = f"{problem.filename or 'file'}: {problem.strerror or problem}", UsageError.exit_code
    else:
        text, code = f"{type(problem).__name__}: {problem}; --traceback shows where", RunError.exit_code
    advice = f"sizes that nobody gave may not fit, give {sizes}" if sizes else ""
    parts = [part.strip() for part in (*text.splitlines(), advice)]
    print("interp: error:", visible("; ".join(filter(None, parts))), file=sys.stderr)
    return code
