"""An ONNX runtime that people can read: `interp.load("model.onnx").run(None, feeds)`."""
from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # for type checkers it is true; to import it from typing takes as long as argparse
if TYPE_CHECKING:
    from typing import Any

    from . import drawing as drawing
    from . import errors as errors
    from .checking import check_model as check_model
    from .comparing import compare as compare
    from .errors import InputError as InputError
    from .errors import InterpError as InterpError
    from .errors import ModelError as ModelError
    from .errors import RunError as RunError
    from .errors import Unsupported as Unsupported
    from .errors import UsageError as UsageError
    from .observe import Event as Event
    from .ops import standard as standard
    from .profiling import Memory as Memory
    from .profiling import Profile as Profile
    from .profiling import Trace as Trace
    from .profiling import profile as profile
    from .reference import ReferenceEvaluator as ReferenceEvaluator
    from .registry import Op as Op
    from .registry import Registry as Registry
    from .registry import op as op
    from .rewriting import extract_model as extract_model
    from .rewriting import optimize_model as optimize_model
    from .session import Session as Session
    from .session import load as load
    from .stream import Stream as Stream

# Where each public name stands; imported on first use, so that `import interp` stays light.
_HOMES = {
    "load": "session", "Session": "session", "op": "registry", "Op": "registry", "Registry": "registry", "standard": "ops",
    "ReferenceEvaluator": "reference",
    "InterpError": "errors", "UsageError": "errors", "ModelError": "errors", "Unsupported": "errors", "InputError": "errors",
    "RunError": "errors", "Stream": "stream", "optimize_model": "rewriting", "extract_model": "rewriting", "Event": "observe",
    "check_model": "checking", "profile": "profiling", "Profile": "profiling", "Trace": "profiling", "Memory": "profiling",
    "compare": "comparing",
}
__all__ = [*_HOMES, "errors", "directml", "drawing"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in ("errors", "directml", "drawing", "types"):
        return import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from .collecting import Uncollected

    with Uncollected():
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
