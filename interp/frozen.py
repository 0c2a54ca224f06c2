"""What `freeze` wrote down while the package was built: onnx's schemas and messages, and which family has which operator.

To import onnx takes longer than to load most models. What was written down stands for it as long as the same version is
installed.
"""
from __future__ import annotations

import marshal
import os
import sys
from functools import cache
from typing import Any

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"frozen.{sys.implementation.cache_tag}.marshal")


@cache
def written() -> dict[str, Any]:
    """All that was written down, empty where the package was not built."""
    try:
        with open(FILE, "rb") as file:
            return marshal.loads(file.read())
    except (OSError, ValueError, EOFError, TypeError):
        return {}


@cache
def of_onnx() -> dict[str, Any] | None:
    """What was read in onnx: "schemas", "newest" and "messages"; None where another version is installed by now."""
    found = written()
    return found if found and _installed(found["onnx"]) else None


def _installed(version: str) -> bool:
    if "onnx" in sys.modules:
        return getattr(sys.modules["onnx"], "__version__", None) == version
    if any(os.path.isdir(os.path.join(folder, f"onnx-{version}.dist-info")) for folder in sys.path):
        return True
    from importlib import metadata

    try:
        return metadata.version("onnx") == version
    except metadata.PackageNotFoundError:
        return False
