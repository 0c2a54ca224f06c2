"""Memory that onnxruntime's sessions share, and how it picks devices: descriptions that are kept and have no effect here."""
from __future__ import annotations

from .options import Listed, ignored


class OrtAllocatorType(Listed):
    """Whether memory is taken piece by piece or from an arena."""

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(Listed):
    """What memory is for."""

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


class OrtMemoryInfo:
    """Which memory is meant."""

    def __init__(self, name: str, allocator_type: OrtAllocatorType, device_id: int, mem_type: OrtMemType):
        self.name, self.allocator_type, self.device_id, self.mem_type = name, allocator_type, device_id, mem_type


class OrtArenaCfg:
    """How an arena grows."""

    def __init__(self, max_mem: int | dict[str, int], arena_extend_strategy: int = -1, initial_chunk_size_bytes: int = -1,
                 max_dead_bytes_per_chunk: int = -1):
        given = max_mem if isinstance(max_mem, dict) else {
            "max_mem": max_mem, "arena_extend_strategy": arena_extend_strategy,
            "initial_chunk_size_bytes": initial_chunk_size_bytes, "max_dead_bytes_per_chunk": max_dead_bytes_per_chunk}
        self.max_mem = given.get("max_mem", 0)
        self.arena_extend_strategy = given.get("arena_extend_strategy", -1)
        self.initial_chunk_size_bytes = given.get("initial_chunk_size_bytes", -1)
        self.max_dead_bytes_per_chunk = given.get("max_dead_bytes_per_chunk", -1)


def create_and_register_allocator(memory: OrtMemoryInfo, arena: OrtArenaCfg | None) -> None:
    """Not done: each session has an arena of its own. It warns once."""
    ignored(["create_and_register_allocator"])
