"""One pool of threads for the process, and how many threads it had better use."""
import math
import os

cdef extern from "threads.h" nogil:
    int share_loop "share"(const Team* team, Task task, const void* args, Py_ssize_t count, Py_ssize_t cost)
    int started "workers"()


cdef int share(const Team* team, Task task, const void* args, Py_ssize_t count, Py_ssize_t cost) noexcept nogil:
    return share_loop(team, task, args, count, cost)


def workers() -> int:
    """How many threads the pool has started: none before the first loop that is worth one."""
    return started()


def default(root: str = "/sys/fs/cgroup", membership: str = "/proc/self/cgroup") -> int:
    """How many threads this process should use: the processors that it may run on, and those whose time it is given."""
    processors = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        processors = min(processors, len(os.sched_getaffinity(0)))
    return max(1, math.ceil(min(processors, quota(root, membership))))


def quota(root: str = "/sys/fs/cgroup", membership: str = "/proc/self/cgroup") -> float:
    """How many processors' time Linux control groups leave to this process; infinite where they set no limit.

    ``root`` is where the groups are mounted, in version 1, 2 or both; ``membership`` lists the groups of the process.
    """
    return min(map(limit, folders(root, membership)), default=math.inf)


def folders(root, membership):
    """The groups that the process is in, and those around them, whose limits hold too."""
    for line in read(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        names = path.strip("/").split("/")
        if not controllers:
            mounts = ["", "unified"]
        elif "cpu" in controllers.split(","):
            mounts = [controllers, "cpu"]
        else:
            continue
        # Inside a container the path may be the host's, and the mount's top the container's own group.
        for depth in range(len(names) + 1):
            yield from [os.path.join(root, mount, *names[:depth]) for mount in mounts]


def limit(folder):
    """The quota of one group, in processors: version 2 has a file of two fields, version 1 has two files."""
    fields = read(os.path.join(folder, "cpu.max")).split()
    if not fields:
        fields = (read(os.path.join(folder, "cpu.cfs_quota_us")) + read(os.path.join(folder, "cpu.cfs_period_us"))).split()
    if len(fields) != 2 or fields[0] in ("max", "-1"):
        return math.inf
    return int(fields[0]) / int(fields[1])


def read(path):
    """A small file; nothing where there is none."""
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""
