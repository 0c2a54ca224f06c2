"""What onnxruntime tells and sets of the process as a whole."""
from __future__ import annotations

import operator
import platform
from collections.abc import Callable
from typing import Any

from ... import __version__ as own
from ...ops import random
from .options import ignored
from .version import __version__


def get_version_string() -> str:
    """The onnxruntime that is followed."""
    return __version__


def get_build_info() -> str:
    """What really runs."""
    return f"interp {own}, which stands in for onnxruntime {__version__}"


def set_seed(seed: int) -> None:
    """Let random operators without a seed of their own draw from this one from now on: other numbers than onnxruntime's."""
    random.reseed(operator.index(seed))


def disable_telemetry_events() -> None:
    """Nothing is ever sent."""


def enable_telemetry_events() -> None:
    """Not done: nothing is ever sent. It warns once."""
    ignored(["enable_telemetry_events"])


def set_default_logger_callback(callback: Callable[..., Any]) -> None:
    """Not done; it warns once."""
    ignored(["set_default_logger_callback"])


def set_global_thread_pool_sizes(*sizes: int) -> None:
    """Not done: each session has the threads of its options. It warns once."""
    ignored(["set_global_thread_pool_sizes"])


def has_collective_ops() -> bool:
    """Whether several machines could share a model."""
    return False


def get_ep_devices() -> list[Any]:
    """Devices of plug-in providers, of which there are none."""
    return []


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """There are no libraries to load."""


def print_debug_info() -> None:
    """Say what runs, and on what."""
    print(get_build_info())
    print(f"Python {platform.python_version()} on {platform.platform()}")
