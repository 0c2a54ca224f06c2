"""What this package runs on: versions, processor, threads, memory and settings, and nothing that names a user."""
from __future__ import annotations

import math
import os
import platform
import re
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from . import __version__, plugins
from .frozen import of_onnx
from .kernels import threads
from .kernels.step import isa

NEEDED = ("numpy", "onnx", "ml_dtypes", "rich")
OPTIONAL = ("onnxruntime", "pillow", "google-re2", "protobuf", "cython")
READ = ("INTERP_ISA", "INTERP_PLUGINS", "NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS")  # by this package
FELT = ("LANG", "LC_ALL", "PYTHONPATH", "PYTHONOPTIMIZE", "PYTHONMALLOC", "PYTHONUTF8", "PYTHONIOENCODING", "LD_PRELOAD",
        "MALLOC_ARENA_MAX", "OMP_NUM_THREADS")  # by Python, the C library and what else may run beside it
SETS = ("sse4_2", "avx", "avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "avx512_fp16",
        "amx_tile", "asimd", "fphp", "asimddp", "bf16", "i8mm", "sve")
UNLIMITED = 1 << 60  # bytes: what control groups of version 1 say where there is no limit


def environment() -> dict[str, Any]:
    """All of it, as plain values. Paths below the user's home and the user's name are left out of the variables' values."""
    return {
        "versions": {"python": f"{platform.python_version()} ({platform.python_implementation()})",
                     "onnx-interp": version_of("onnx-interp") or f"{__version__} (not installed)",
                     **{name: version_of(name) for name in NEEDED}},
        "optional": {name: version_of(name) for name in OPTIONAL},
        "system": {"name": platform.system(), "release": platform.release(), "machine": platform.machine(),
                   "libc": " ".join(platform.libc_ver()).strip()},
        "processor": processor(),
        "threads": processors(),
        "memory": memory(),
        "models": {"read by": "this package" if of_onnx() is not None else "onnx, which is another than at the build"},
        "plugins": dict(Counter(p.state for p in plugins.installed().found())),
        "variables": {name: scrubbed(os.environ[name]) for name in (*READ, *FELT) if name in os.environ},
    }


def version_of(name: str) -> str | None:
    """The version of a distribution; None where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def processor() -> dict[str, Any]:
    """The name of the processor, instruction sets that it has of those that matter, and the one whose loops run."""
    said = read("/proc/cpuinfo")
    name = re.search(r"^(?:model name|Processor|cpu model)\s*:\s*(.+)$", said, re.M)
    flags = set(" ".join(re.findall(r"^(?:flags|Features)\s*:\s*(.+)$", said, re.M)[:1]).split())
    return {"name": name.group(1).strip() if name else platform.processor() or platform.machine(),
            "instruction sets": [s for s in SETS if s in flags], "picked": isa()}


def processors() -> dict[str, Any]:
    """How many processors there are, how many this process may use and is given the time of, and how many threads it takes."""
    quota = threads.quota()
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"processors": os.cpu_count(), "affinity": allowed, "quota": None if math.isinf(quota) else quota,
            "default": threads.default()}


def memory() -> dict[str, int | None]:
    """Bytes: of the machine, of those that are free, and what the control group leaves to this process (None: no limit)."""
    said = dict(re.findall(r"^(\w+):\s+(\d+) kB", read("/proc/meminfo"), re.M))
    limit = next((text.strip() for text in map(read, ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"))
                  if text), "")
    most = int(limit) if limit.isdecimal() and int(limit) < UNLIMITED else None
    return {"total": int(said["MemTotal"]) * 1024 if "MemTotal" in said else None,
            "available": int(said["MemAvailable"]) * 1024 if "MemAvailable" in said else None, "limit": most}


def read(path: str) -> str:
    """A small file of the system; nothing where there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def scrubbed(text: str) -> str:
    """A text without the user's home and name."""
    home, names = os.path.expanduser("~"), {os.environ.get(k, "") for k in ("USER", "LOGNAME", "USERNAME")}
    if len(home) > 1:
        text = text.replace(home, "~")
        names.add(os.path.basename(home))
    text = re.sub(r"(/home|/Users|[A-Za-z]:\\Users)[/\\][^/\\:;]+", r"\1/…", text)
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", "…", text)
    return text
