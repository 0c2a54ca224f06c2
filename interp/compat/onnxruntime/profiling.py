"""A session's profile as onnxruntime writes it: a list of events that Chrome's tracing and Perfetto open."""
from __future__ import annotations

import json
import os
import threading
import time
from typing import Any

from ...observe import Event
from ...types import type_of


class Profile:
    """An observer that notes when each node ran, and for how long."""

    reads_inputs = False

    def __init__(self, prefix: str, begun: float):
        self.prefix, self.begun, self.ended = prefix, begun, False
        self.started_ns = round(begun * 1e9)
        self.events = [self._event("Session", "session_initialization", begun, time.perf_counter() - begun, {})]

    def __call__(self, event: Event) -> None:
        given = {"op_name": event.op_type, "provider": "CPUExecutionProvider", "node_index": str(event.index),
                 "output_type_shape": [{type_of(a)[7:-1]: list(a.shape)} for a in event.outputs.values() if hasattr(a, "shape")]}
        self.events.append(self._event("Node", f"{event.node}_kernel_time", event.started, event.seconds, given))

    def ran(self, begun: float) -> None:
        """Note a whole run, which began then and ends now."""
        if not self.ended:
            self.events.append(self._event("Session", "model_run", begun, time.perf_counter() - begun, {}))

    def _event(self, kind: str, name: str, begun: float, seconds: float, given: dict[str, Any]) -> dict[str, Any]:
        return {"cat": kind, "pid": os.getpid(), "tid": threading.get_native_id(), "dur": round(seconds * 1e6),
                "ts": round((begun - self.begun) * 1e6), "ph": "X", "name": name, "args": given}

    def end(self) -> str:
        """Write the file; its name has the date in it."""
        self.ended = True
        path = f"{self.prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}_{time.time_ns() // 1_000_000 % 1000:03}.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.events, file)
        return path
