"""Control flow: If and Loop. A body is a program of its own; without Python steps it runs inside its parent's loop."""
import numpy as np

from ..dims import Fact, fresh, larger
from ..kernels import control
from ..kernels.step import Later
from ..registry import op

ROUNDS = 4  # in which a loop's carried shapes settle, or are given up


def alike(a, b):
    """Refuse two tensors of different types where one value is due."""
    if a.type != b.type and a.type.startswith("tensor") and b.type.startswith("tensor"):
        raise ValueError(f"a value is {a.type} in one case and {b.type} in another")


def common(a, b):
    """What is known of a value that may be either of two."""
    alike(a, b)
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape) or a.shape != b.shape and a.type.startswith("seq"):
        return Fact(b.type if a.type == "?" else a.type)
    return Fact(a.type, tuple(m if m == n else fresh() for m, n in zip(a.shape, b.shape, strict=True)))


def either(cond, *captured, then_branch, else_branch):
    """The shapes on which both branches agree; where they differ, only a run tells."""
    one, other = then_branch.infer(captured), else_branch.infer(captured)
    if len(one) != len(other):
        raise ValueError(f"one branch gives {len(one)} results, the other {len(other)}")
    return [common(a, b) for a, b in zip(one, other, strict=True)]


@op("If", 1, 25, shape=either)
def if_(cond, *captured, then_branch, else_branch, out):
    """One of two bodies; compiled ones write their results straight into ``out``."""
    captured = list(captured)
    if out is not None and all(o is not None for o in out):
        bodies = [b.program(captured) for b in (then_branch, else_branch)]
        if all(bodies):
            return control.choose(cond, *bodies, captured + out)
    return Later(branch, cond, then_branch, else_branch, out and len(out), *captured, *(out or ()))


def branch(cond, then_branch, else_branch, wanted, *arrays):
    """Run one of two bodies from Python."""
    if cond.size != 1:
        raise ValueError(f"the condition has {cond.size} elements, not one")
    n = len(arrays) - (wanted or 0)
    body = then_branch if cond.item() else else_branch
    return delivered(body.run(list(arrays[:n]), list(arrays[n:]) if wanted else None), arrays[n:])


def delivered(found, outs):
    """Results, which stand in the buffers that are given for them."""
    for out, value in zip(outs, found, strict=False):
        if out is not None and out is not value:
            if out.shape != value.shape:
                raise ValueError(f"a result is {list(value.shape)} where {list(out.shape)} was inferred")
            out[...] = value
    return tuple(found)


def carried_on(a, b, free):
    """What is known of a carried value after another round: a size that changes is unknown, ``free``, and stays so."""
    alike(a, b)
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape) or a.shape != b.shape and a.type.startswith("seq"):
        return Fact(a.type)
    sizes = [m if m == n or m in free else fresh() for m, n in zip(a.shape, b.shape, strict=True)]
    free.update(m for m, old in zip(sizes, a.shape, strict=True) if m != old)
    return Fact(a.type, tuple(sizes))


def steady(values, gives):
    """What is known of carried values in every iteration, and of what an iteration ``gives``, which begins with them."""
    carried, free = [Fact(v.type, v.shape) for v in values], set()
    for _ in range(ROUNDS):
        made = gives(carried)
        settled = [carried_on(a, b, free) for a, b in zip(carried, made, strict=False)]
        if [f.shape for f in settled] == [f.shape for f in carried]:
            return carried, made
        carried = settled
    carried = [Fact(v.type) for v in values]
    return carried, gives(carried)


def repeated(M, cond, *values, body):
    """What is carried keeps the sizes that no iteration changes; a scan output has a row an iteration, where those are known."""
    n = len(values) - body.captured
    takes, gives = len(body.graph.inputs) - body.captured, len(body.graph.outputs)
    if takes != 2 + n or gives < 1 + n:
        raise ValueError(f"{n} values are carried: the body has {takes} inputs, not {2 + n}, "
                         f"or {gives} outputs, not {1 + n} or more")
    always = cond is None or cond.value is not None and bool(cond.value)
    go = Fact("tensor(bool)", (), np.array(True))  # or else the body would not run
    goes_on = []

    def iteration(carried):
        on, *made = body.infer([Fact("tensor(int64)", ()), go, *carried, *values[n:]])
        goes_on[:] = [always and on.value is not None and bool(on.value)]
        return made

    carried, made = steady(values[:n], iteration)
    count = larger(M.sizes[0], 0) if M is not None and M.sizes and goes_on[0] else fresh()
    scans = [Fact(f.type, None if f.shape is None else (count, *f.shape)) for f in made[n:]]
    return [*carried, *scans]


@op("Loop", 1, 25, shape=repeated)
def loop(M, cond, *values, body, out):
    """A body over and over; what is carried alternates between two buffers, a scan output gets a row an iteration."""
    n = len(values) - body.captured
    carried, captured = list(values[:n]), list(values[n:])
    if out is not None:
        made = compiled(M, cond, carried, captured, body, out)
        if made is not None:
            return made
    return Later(iterated, M, cond, n, body, out and len(out), *values, *(out or ()))


def compiled(M, cond, carried, captured, body, out):
    """The loop as a step, where the body needs no interpreter and every value keeps its size."""
    n = len(carried)
    if any(o is None for o in out) or any(a.shape != o.shape for a, o in zip(carried, out, strict=False)):
        return None
    feeds = [np.zeros((), np.int64), np.zeros((), np.bool_), *carried, *captured]
    program = body.program(feeds)
    if program is None:
        return None
    return control.repeat(M, cond, carried, captured, out[:n], out[n:], program, body.most_iterations)


def iterated(M, cond, n, body, wanted, *arrays):
    """Run the loop from Python: sizes may change from one iteration to the next."""
    values, outs = list(arrays[:len(arrays) - (wanted or 0)]), arrays[len(arrays) - (wanted or 0):]
    carried, captured, rows = values[:n], values[n:], []
    go, done, size = cond is None or bool(np.asarray(cond).item()), 0, 0
    limit = None if M is None else int(np.asarray(M).item())
    while go and (limit is None or done < limit):
        if done == body.most_iterations:
            raise ValueError(control.ENDLESS)
        made = body.run([np.array(done, np.int64), np.array(go), *carried, *captured])
        go, carried, done = bool(np.asarray(made[0]).item()), made[1:1 + n], done + 1
        rows.append(made[1 + n:])
        size += sum([row.nbytes for row in rows[-1]])
        if size > body.most_bytes:
            raise ValueError(f"{done} iterations give {size} bytes; a run may take {body.most_bytes} (most_bytes)")
    if not rows:
        scans = unstacked(body.announced([np.array(0), np.array(True), *carried, *captured])[1 + n:])
    else:
        scans = [np.stack(column) for column in zip(*rows, strict=True)]
    return delivered([*(duplicate(c) if not done else c for c in carried), *scans], outs)


def unstacked(rows):
    """What is collected of no iteration: an empty array with the sizes that a row would have, as far as they are known."""
    return [np.empty((0, *(d if isinstance(d, int) else 0 for d in f.shape or ())), f.dtype) for f in rows]


def duplicate(value):
    """A value that no longer shares storage with the caller's."""
    return value.copy() if isinstance(value, np.ndarray) else value
