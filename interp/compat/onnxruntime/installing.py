"""Putting this package in place of onnxruntime, for programs that import that: modules, their specs, and the distribution."""
from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ...errors import UsageError
from .version import __version__

NAME, HERE = "onnxruntime", __package__
MODULES = ("", ".capi", ".capi._pybind_state", ".capi.onnxruntime_pybind11_state", ".capi.onnxruntime_inference_collection",
           ".capi.onnxruntime_validation", ".backend")
SLOW = ".backend"  # it imports onnx, so it waits until it is asked for


class Loader:
    """Gives a module that is there already."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return importlib.import_module(HERE + spec.name.removeprefix(NAME))

    def exec_module(self, module: ModuleType) -> None:
        """It has been run."""


class Distribution(importlib.metadata.Distribution):
    """What importlib.metadata tells of onnxruntime while this package stands in for it."""

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {__version__}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(f"{path}: interp stands in for onnxruntime, whose files are not there")


class Finder(importlib.metadata.DistributionFinder):
    """Finds onnxruntime's names here, and no others of its."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != NAME and not name.startswith(f"{NAME}."):
            return None
        if name.removeprefix(NAME) not in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}: interp stands in for onnxruntime, without what makes, "
                                      "quantizes or trains models", name=name)
        return ModuleSpec(name, Loader(), is_package=name in (NAME, f"{NAME}.capi"))  # type: ignore[arg-type]

    def find_distributions(self, context: Any = None) -> Iterator[Distribution]:
        if context is None or context.name is None or context.name.lower() == NAME:
            yield Distribution()


FINDER = Finder()


def install() -> None:
    """Let `import onnxruntime` give this package, here and in whatever is imported from now on.

    Raises UsageError where onnxruntime itself has been imported: who did so holds on to it.
    """
    there = sys.modules.get(NAME)
    if there is not None and there is not sys.modules[HERE]:
        raise UsageError("onnxruntime has been imported already; call interp.compat.onnxruntime.install() before that")
    for module in MODULES:
        if module != SLOW:
            sys.modules[NAME + module] = importlib.import_module(HERE + module)
    if FINDER not in sys.meta_path:
        sys.meta_path.insert(0, FINDER)


def uninstall() -> None:
    """Let `import onnxruntime` give the installed one again; programs that hold on to this one keep it."""
    if FINDER in sys.meta_path:
        sys.meta_path.remove(FINDER)
    for module in MODULES:
        if sys.modules.get(NAME + module) is sys.modules.get(HERE + module):
            sys.modules.pop(NAME + module, None)
