"""Runs awaited in an event loop."""
from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from contextlib import suppress
from typing import Any

AGAIN = 0.02  # seconds between two attempts to stop a run that had not begun at the first


async def in_thread(run: Callable[[], Any], stop: Callable[[], None]) -> Any:
    """What ``run`` returns, from a thread; where the task is cancelled, ``stop`` is called until the run is over.

    A run that is cancelled while it waits for a thread never begins.
    """
    first: list[str] = []  # who comes first decides: append is one step

    def work() -> Any:
        first.append("run")
        try:
            return run() if first[0] == "run" else None
        except StopIteration as e:  # no future holds one, so that the task would wait for ever
            raise RuntimeError("a run raised StopIteration") from e

    context = contextvars.copy_context()
    future = asyncio.get_running_loop().run_in_executor(None, context.run, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        first.append("cancelled")
        if first[0] == "cancelled":
            future.cancel()
        while not future.done():
            stop()
            with suppress(asyncio.CancelledError):  # asked again while it comes about: the run has to be over all the same
                await asyncio.wait([future], timeout=AGAIN)
        if not future.cancelled():
            future.exception()  # looked at, so that nobody complains that it was not
        raise
