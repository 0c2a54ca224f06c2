"""The pool of threads: every item once, whoever calls, and no processor time for nothing."""
import ctypes
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from interp.kernels import threads

HERE = Path(__file__).parent
COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
MILLISECOND = 1_000_000
TASK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_void_p)


class Team(ctypes.Structure):
    _fields_ = [("threads", ctypes.c_int), ("scratch", ctypes.c_void_p), ("each", ctypes.c_size_t)]


def address():
    """Where the C function ``share`` is, as other kernels get it."""
    capsule = threads.__pyx_capi__["share"]
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, name(capsule))


SHARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Team), TASK, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_ssize_t)


def share(task, count, cost, workers=4):
    """A loop whose task is a Python function of begin, end and the number of the participant."""
    each = 64
    room = ctypes.create_string_buffer(each * workers)
    base = ctypes.addressof(room)
    team = Team(workers, base, each)
    call = TASK(lambda args, begin, end, scratch: task(begin, end, (scratch - base) // each))
    return SHARE(address())(ctypes.byref(team), call, None, count, cost)


def ranges(count, cost, workers):
    """The ranges of a loop, in order, and who ran them."""
    seen = []
    assert share(lambda *one: seen.append(one) or 0, count, cost, workers) == 0
    return sorted(seen)


@pytest.fixture(scope="session")
def stress(tmp_path_factory):
    """The loops of threads_stress.c, on the pool of this process."""
    if not COMPILER:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("threads") / "stress.so"
    command = [COMPILER, "-std=gnu11", "-O2", "-fPIC", "-shared", f"-I{HERE.parent / 'kernels'}"]
    subprocess.run([*command, str(HERE / "threads_stress.c"), "-o", str(library), "-lpthread"], check=True)
    loops = ctypes.CDLL(str(library))
    pointer, size, number = ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int
    loops.stress.argtypes = [pointer, number, number, size, size, size, number]
    loops.nested.argtypes = [pointer, number, size, number]
    loops.modes.argtypes = [pointer, number]
    return loops


@pytest.mark.parametrize("workers", [1, 2, 3, 8, 300])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 97, 1000, 2**40 + 1])
def test_ranges_cover_every_item_once_in_contiguous_pieces(count, workers):
    found = ranges(count, MILLISECOND, workers)
    assert [0, *(end for _, end, _ in found)] == [*(begin for begin, _, _ in found), count]
    assert all(0 <= participant < workers for _, _, participant in found)


def test_a_negative_count_does_nothing():
    assert ranges(-1, MILLISECOND, 4) == []


def test_ranges_depend_on_count_cost_and_threads_only():
    def pieces():
        return [(begin, end) for begin, end, _ in ranges(1001, 50, 3)]

    assert len(pieces()) > 3
    assert all(pieces() == pieces() for _ in range(20))


@pytest.mark.parametrize("count, cost, expected", [(7, 1000, 1), (8, 1000, 2), (1, MILLISECOND, 1), (10**6, 0, 32)])
def test_a_loop_is_cut_by_what_it_costs(count, cost, expected):
    assert len(ranges(count, cost, 4)) == expected


def test_a_loop_that_is_not_worth_it_stays_with_its_caller():
    me, seen = threading.get_ident(), []
    share(lambda *_: seen.append(threading.get_ident()) or 0, 7, 1000)
    assert seen == [me]


def test_a_long_loop_is_run_by_several_threads():
    seen = set()

    def linger(begin, end, participant):
        seen.add((threading.get_ident(), participant))
        time.sleep(0.002)
        return 0

    share(linger, 64, MILLISECOND, 3)
    assert len(seen) == 3
    assert {participant for _, participant in seen} == {0, 1, 2}
    assert threads.workers() >= 2


@pytest.mark.parametrize("workers", [1, 4])
def test_the_status_is_that_of_the_lowest_range_that_failed(workers):
    def task(begin, end, participant):
        time.sleep(0.001 if begin % 2 else 0)
        return next((item for item in range(begin, end) if item >= 11), 0)

    assert {share(task, 97, MILLISECOND, workers) for _ in range(20)} == {11}


def test_a_negative_status_arrives_as_it_is():
    assert share(lambda *_: -7, 8, MILLISECOND) == -7


def test_no_range_is_begun_after_one_failed():
    begun = []
    assert share(lambda begin, *_: begun.append(begin) or 5, 1000, MILLISECOND, 2) == 5
    assert len(begun) <= 2


@pytest.mark.parametrize("callers, workers, count", [(1, 2, 1000), (8, 4, 97), (8, 2, 1), (20, 3, 61)])
def test_many_callers_at_once_have_their_loops_to_themselves(stress, callers, workers, count):
    assert stress.stress(address(), callers, workers, count, 10_000, count, 300) == 0


def test_many_callers_at_once_have_their_own_failures(stress):
    assert stress.stress(address(), 8, 4, 97, 10_000, 41, 300) == 0


def test_a_loop_inside_a_loop_runs_in_its_participants_scratch(stress):
    assert stress.nested(address(), 4, 31, 50) == 0


def total(count):
    """The items of a loop in four threads, and whether workers were started for it."""
    found = ranges(count, MILLISECOND, 4)
    return sum(end - begin for begin, end, _ in found), threads.workers() > 0


def in_child(act):
    """What a forked child's ``act`` says: True, or anything else; a child that hangs is killed."""
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if act() else 1
        finally:
            os._exit(code)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.005)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_starts_workers_of_its_own():
    assert total(100) == (100, True)
    assert in_child(lambda: threads.workers() == 0 and total(100) == (100, True))
    assert total(100) == (100, True)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_other_threads_share_loops_hangs_nobody(stress):
    wrong = []
    busy = [threading.Thread(target=lambda: wrong.append(stress.stress(address(), 4, 3, 97, 10_000, 97, 3000)))
            for _ in range(2)]
    for thread in busy:
        thread.start()
    for _ in range(10):
        assert in_child(lambda: stress.stress(address(), 2, 4, 97, 10_000, 97, 20) == 0)
    for thread in busy:
        thread.join()
    assert wrong == [0, 0]


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_multiprocessing_by_fork_works():
    total(100)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(total, [10, 20, 30]).get(timeout=30) == [(10, True), (20, True), (30, True)]


def test_workers_round_as_their_caller_does(stress):
    assert stress.modes(address(), 2) == 0


def run_apart(program):
    """Runs a program in a process of its own, with what this file has at hand; fails where the program does."""
    paths = os.pathsep.join([str(HERE), *sys.path])
    program = "from test_threads import *\n" + program
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": paths}, timeout=60, check=True)


def test_a_process_ends_while_workers_look_for_work():
    run_apart("assert total(100) == (100, True)")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc to limit the memory")
def test_where_the_system_refuses_threads_fewer_do_the_work():
    run_apart("""
import resource
room = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + 2**26
resource.setrlimit(resource.RLIMIT_AS, (room, room))
assert sum(end - begin for begin, end, _ in ranges(997, MILLISECOND, 200)) == 997
assert 0 < threads.workers() < 199
""")


def test_idle_workers_take_no_processor_time(stress):
    stress.stress(address(), 1, 4, 97, 10_000, 97, 10)
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - before < 0.01


@pytest.mark.skipif(not COMPILER, reason="no C compiler")
def test_the_thread_sanitizer_finds_nothing(tmp_path):
    program, kernels = tmp_path / "stress", HERE.parent / "kernels"
    sources = [str(kernels / "thread_pool.c"), str(HERE / "threads_stress.c")]
    command = [COMPILER, "-std=gnu11", "-O1", "-DMAIN", "-fsanitize=thread", f"-I{kernels}", *sources, "-lpthread"]
    if subprocess.run([*command, "-o", str(program)], capture_output=True).returncode:
        pytest.skip("the compiler has no thread sanitizer")
    ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=120)
    if "unexpected memory mapping" in ran.stderr:
        pytest.skip("the thread sanitizer does not run on this kernel")
    assert ran.returncode == 0, ran.stderr


def groups(tmp_path, membership, files):
    """A tree of control groups and the process's own list of them."""
    for name, text in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "self").write_text(membership)
    return str(tmp_path / "cgroup"), str(tmp_path / "self")


@pytest.mark.parametrize("membership, files, expected", [
    ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
    ("0::/\n", {"cpu.max": "max 100000\n"}, float("inf")),
    ("0::/a/b\n", {"a/cpu.max": "50000 100000", "a/b/cpu.max": "300000 100000"}, 0.5),
    ("0::/host/path\n", {"cpu.max": "200000 100000"}, 2),
    ("1:cpu,cpuacct:/x\n", {"cpu,cpuacct/x/cpu.cfs_quota_us": "250000\n",
                            "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"}, 2.5),
    ("4:memory:/m\n3:cpu:/docker/1\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"},
     float("inf")),
    ("3:cpu:/docker/1\n", {"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
    ("3:cpuset:/\n0::/\n", {"unified/cpu.max": "40000 20000\n"}, 2),
    ("0::/\n", {}, float("inf")),
    ("", {}, float("inf")),
], ids=["v2", "v2 max", "v2 outer", "v2 host path", "v1", "v1 none", "v1 container", "hybrid", "no files", "no groups"])
def test_the_quota_is_the_least_of_all_groups_around(tmp_path, membership, files, expected):
    assert threads.quota(*groups(tmp_path, membership, files)) == expected


@pytest.mark.parametrize("quota, expected", [("1000", 1), ("150000", 2), ("100000000", 3)])
def test_the_default_is_limited_by_affinity_and_quota(tmp_path, monkeypatch, quota, expected):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2}, raising=False)
    assert threads.default(*groups(tmp_path, "0::/\n", {"cpu.max": f"{quota} 100000"})) == expected


def test_the_default_without_limits_is_every_processor_that_may_be_used(tmp_path):
    assert 1 <= threads.default(str(tmp_path), str(tmp_path / "none")) <= os.cpu_count()
    assert threads.default() >= 1
