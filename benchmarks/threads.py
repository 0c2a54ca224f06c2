"""What it costs to share a loop: until all threads have met and parted, with workers awake and with workers asleep.

Run as ``python benchmarks/threads.py [THREADS]`` where the package is built in place. Microseconds; the loop has nothing
in it but the meeting, so this is the least by which a loop must be longer than its share of the work.
"""
import ctypes
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from test_threads import COMPILER, address  # noqa: E402

from interp.kernels import threads  # noqa: E402

QUIET = {"awake": 0, "awake, 20 us later": 20_000, "asleep, 0.2 ms later": 200_000, "asleep, 2 ms later": 2_000_000}


def loops(folder: str) -> ctypes.CDLL:
    """The C side, built beside nothing that is kept."""
    library = Path(folder) / "stress.so"
    subprocess.run([COMPILER, "-std=gnu11", "-O2", "-fPIC", "-shared", f"-I{ROOT / 'kernels'}",
                    str(ROOT / "tests/threads_stress.c"), "-o", str(library), "-lpthread"], check=True)
    built = ctypes.CDLL(str(library))
    built.latency.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_int, ctypes.POINTER(ctypes.c_int64)]
    return built


def latencies(built: ctypes.CDLL, workers: int, quiet: int, times: int) -> list[float]:
    """Microseconds of each of some loops, in order of size."""
    spent = (ctypes.c_int64 * times)()
    if built.latency(address(), workers, quiet, times, spent):
        raise SystemExit(f"{workers} threads never met")
    return sorted(nanoseconds / 1000 for nanoseconds in spent)


def main() -> None:
    workers = int(sys.argv[1]) if len(sys.argv) > 1 else max(2, threads.default())
    with tempfile.TemporaryDirectory() as folder:
        built = loops(folder)
        print(f"{'workers':24}{'min':>10}{'median':>10}{'p90':>10}   of {workers} threads, us")
        latencies(built, workers, 0, 100)
        for name, quiet in QUIET.items():
            spent = latencies(built, workers, quiet, 500 if quiet else 20_000)
            print(f"{name:24}{spent[0]:10.2f}{statistics.median(spent):10.2f}{spent[len(spent) * 9 // 10]:10.2f}")


if __name__ == "__main__":
    main()
