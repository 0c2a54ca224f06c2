"""Global pools beside a plain read of the same memory, in the same run: what part of the bandwidth they reach.

Run as ``python benchmarks/bandwidth.py [--threads 1,2] [--rounds N]``. The plain read is the faster of libc's memcmp of the array
with itself and NumPy's largest integer of it, each on as many threads; a row a pool, the least time of all rounds.
"""
import argparse
import ctypes
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from interp.kernels import pool  # noqa: E402
from interp.ops.window import Window  # noqa: E402

SHAPE = (8, 256, 56, 56)
PART = 0.7  # of the bandwidth, that the norms are to reach
compared = ctypes.CDLL(None).memcmp
compared.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


def reads(x: np.ndarray, threads: int, crew: ThreadPoolExecutor) -> dict[str, Callable[[], object]]:
    """Plain reads of an array, a piece of it on each thread."""
    pieces = np.array_split(x.reshape(-1), threads)
    return {
        "read: memcmp": lambda: list(crew.map(lambda p: compared(p.ctypes.data, p.ctypes.data, p.nbytes), pieces)),
        "read: largest integer": lambda: list(crew.map(lambda p: p.view(np.int32).max(), pieces)),
    }


def pools(x: np.ndarray, threads: int) -> dict[str, Callable[[], object]]:
    """The global pools, bound."""
    y, window = np.empty((*x.shape[:2], 1, 1), x.dtype), Window.whole(x.shape)
    steps = {f"GlobalLpPool p={p}": pool.norm(x, y, window, p) for p in (1, 2, 3)}
    steps |= {"GlobalAveragePool": pool.mean(x, y, window), "GlobalMaxPool": pool.max(x, y, window)}
    return {name: partial(step, threads) for name, step in steps.items()}


def least(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least seconds of each, called in turn."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            found[name] = min(found[name], time.perf_counter() - start)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=40)
    given = parser.parse_args()
    x = np.random.default_rng(0).standard_normal(SHAPE, np.float32)
    print(f"{'float32 ' + str(list(SHAPE)):28s} threads        ms    GB/s   of a read")
    for threads in map(int, given.threads.split(",")):
        with ThreadPoolExecutor(threads) as crew:
            found = least(reads(x, threads, crew) | pools(x, threads), given.rounds)
        read = min(v for k, v in found.items() if k.startswith("read"))
        for name, spent in found.items():
            short = "  too slow" if "Lp" in name and read / spent < PART else ""
            print(f"{name:28s} {threads:7d} {1e3 * spent:9.3f} {x.nbytes / spent / 1e9:7.1f} {read / spent:11.2f}{short}")


if __name__ == "__main__":
    main()
