"""Where a session's model comes from: read again for every variant of it, and what a pickle of the session holds."""
from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from time import localtime, strftime
from typing import Any

from .errors import ModelError, UsageError
from .graph import Graph
from .loading import load
from .ops import standard
from .registry import Registry

Stamp = tuple[int, int]  # bytes, and nanoseconds since 1970 when the file was written last


class Source:
    """A model as a path, bytes or a ModelProto, and the operators and folders that it is read with."""

    def __init__(self, model: Any, registry: Registry, trusted: Sequence[str | os.PathLike[str]] = (), plugins: bool = True):
        self.model, self.registry, self.plugins = model, registry, plugins
        self.trusted = [os.path.abspath(t) for t in trusted]
        self.stamps: dict[str, Stamp] = {}

    def read(self, fed: frozenset[str] = frozenset()) -> Graph:
        """The graph, in which the initializers ``fed`` are inputs. Raises ModelError where a file is not what it was."""
        path = os.path.abspath(self.model) if isinstance(self.model, str | os.PathLike) else None
        now = {p: stamp(p) for p in [*([path] if path else []), *self.stamps]}
        for file, before in self.stamps.items():
            if now[file] != before:
                raise ModelError(f"{file}: changed since this session was loaded ({told(before)} then, {told(now[file])} now); "
                                 "load it again")
        graph = load(self.model, self.registry, trusted=self.trusted, fed=fed, plugins=self.plugins)
        if path and not self.stamps:
            self.model = path  # the working directory may change
            self.stamps = {path: now[path], **{p: stamp(p) for p in graph.files}}
        return graph

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model if isinstance(self.model, str) else serialized(self.model), "stamps": self.stamps,
                "trusted": self.trusted, "plugins": self.plugins,
                "registry": None if self.registry is standard else pickled(self.registry)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.registry = standard if state["registry"] is None else unpickled(state["registry"])


def stamp(path: str) -> Stamp:
    """The size and the date of a file; zeros where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return 0, 0
    return found.st_size, found.st_mtime_ns


def told(found: Stamp) -> str:
    size, written = found
    return f"{size} bytes of {strftime('%Y-%m-%d %H:%M:%S', localtime(written / 1e9))}" if written else "no such file"


def serialized(model: Any) -> bytes:
    """The bytes of a model that is given as such, or as a ModelProto."""
    if isinstance(model, bytes | bytearray | memoryview):
        return bytes(model)
    try:
        return model.SerializeToString()
    except Exception as e:  # protobuf's own kinds, for messages of 2 GiB and more
        raise UsageError(f"the session cannot be pickled: {e}; load the model from a file instead") from e


def pickled(registry: Registry) -> bytes:
    """A registry whose operators can be found by name where it is unpickled."""
    try:
        return pickle.dumps(registry)
    except (pickle.PicklingError, AttributeError, TypeError) as e:
        raise UsageError(f"the session cannot be pickled, because an operator of its registry cannot: {e}; "
                         "declare it at the top of a module") from e


def unpickled(content: bytes) -> Registry:
    try:
        return pickle.loads(content)
    except (ImportError, AttributeError) as e:
        raise UsageError(f"the operators of a pickled session are not to be found here: {e}") from e
