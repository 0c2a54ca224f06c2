"""What can go wrong, each kind with the exit code that the command line gives it, and what to say of names."""
from __future__ import annotations

TYPE_CHECKING = False  # for type checkers it is true
if TYPE_CHECKING:
    from collections.abc import Iterable

MANY = 10  # names that are listed where none is near


class InterpError(Exception):
    """Anything this package refuses or fails at; the message says what to do next."""

    exit_code = 1


class UsageError(InterpError):
    """The caller asked for something that makes no sense."""

    exit_code = 2


class ModelError(InterpError):
    """The model cannot be read, or is not valid."""

    exit_code = 3


class Unsupported(InterpError, NotImplementedError):
    """An operator, version, type or feature that this package does not have."""

    exit_code = 4


class UnsupportedOperator(Unsupported):
    """No function is registered under this name."""


class UnsupportedVersion(Unsupported):
    """The operator is known, this version of it is not."""


class UnsupportedType(Unsupported):
    """The operator is known, not for this element type."""


class InputError(InterpError, ValueError):
    """A feed is missing, unknown, or of the wrong type, rank or size."""

    exit_code = 5


class RunError(InterpError, RuntimeError):
    """A kernel failed while the model ran; the message names the node."""

    exit_code = 6


def lacking(problem: ModuleNotFoundError) -> str:
    """What to do about a package that is not there."""
    package = (problem.name or "").partition(".")[0]
    return f"the package {package} is needed for this and is not installed: pip install {package}"


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a sentence on a name that is not known: which one may have been meant, or nothing."""
    from difflib import get_close_matches

    alike = {k.casefold(): k for k in known}
    near = get_close_matches(str(name).casefold(), alike, 1)
    return f"; did you mean {alike[near[0]]}?" if near else ""


def nearest_or_all(name: str, known: Iterable[str]) -> str:
    """The same, or which names there are where none is near."""
    names = list(dict.fromkeys(known))
    return nearest(name, names) or f"; known: {', '.join(names[:MANY]) or 'none'}{' …' if len(names) > MANY else ''}"
