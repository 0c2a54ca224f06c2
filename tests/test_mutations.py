"""The cases of every operator with something wrong in them: an error that names the node, or a result, and never a crash.

`python -m pytest -m slow tests/test_mutations.py` runs each operator's in a process of its own, with little memory and time.
"""
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from .standard.case import MAKERS, made, one_node, triples

ROOT = Path(__file__).parent.parent
MANY = 40  # mutations of one case
EXTREMES = (0, 1, -1, 2, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63))
MOST_BYTES = 1 << 28
SECONDS = 120


def mutations(rng, inputs, attributes):
    """Inputs and attributes with one thing changed: a shape, a whole number, an absent input, a list's length."""
    for _ in range(MANY):
        xs, given = list(inputs), dict(attributes)
        at = int(rng.integers(0, len(xs) + len(given))) if xs or given else None
        if at is None:
            return
        if at < len(xs):
            xs[at] = other_input(rng, xs[at])
        else:
            name = list(given)[at - len(xs)]
            given[name] = other_attribute(rng, given[name])
        yield xs, given


def other_input(rng, x):
    if not isinstance(x, np.ndarray):
        return x[: int(rng.integers(0, len(x)))] if isinstance(x, list) and x else x
    x = x.copy()
    kind = int(rng.integers(0, 5))
    if kind == 0 and x.size and x.dtype.kind in "iu":
        least = np.iinfo(x.dtype)
        x[tuple(int(rng.integers(0, n)) for n in x.shape)] = min(max(int(rng.choice(EXTREMES)), least.min), least.max)
    elif kind == 1 and x.size and x.dtype.kind == "f":
        x[tuple(int(rng.integers(0, n)) for n in x.shape)] = rng.choice([np.nan, np.inf, -np.inf, 1e38, -1e38, 0])
    elif kind == 2 and x.ndim:
        axis = int(rng.integers(0, x.ndim))
        return np.take(x, range(int(rng.integers(0, x.shape[axis] + 1))), axis)
    elif kind == 3:
        return x[None] if rng.integers(0, 2) else x.reshape(-1)
    elif x.ndim:
        axis = int(rng.integers(0, x.ndim))
        return np.concatenate([x, x], axis)
    return x


def other_attribute(rng, value):
    if isinstance(value, bool | str | bytes) or value is None:
        return "WRONG" if isinstance(value, str) else value
    if isinstance(value, int):
        return int(rng.choice(EXTREMES))
    if isinstance(value, float):
        return float(rng.choice([0, -1, np.nan, np.inf, 1e30]))
    if isinstance(value, list | tuple) and len(value) and isinstance(value[0], int | float):
        changed = list(value)
        if rng.integers(0, 2):
            return changed[:-1] if rng.integers(0, 2) else [*changed, changed[-1]]
        changed[int(rng.integers(0, len(changed)))] = type(value[0])(rng.choice(EXTREMES))
        return changed
    return value


def attempt(name, domain):
    """Run the mutations of one operator; what raises anything but an error of this package is reported."""
    import interp

    wrong = []
    for triple in [t for t in triples() if (t.domain, t.op) == (domain, name)][::3]:
        spec, case = made(triple)
        for k, (inputs, attributes) in enumerate(mutations(spec.rng, case.inputs, case.attributes)):
            try:
                node = one_node(spec, inputs, case.expected, attributes, case.outer, case.before)
            except Exception:  # such a model cannot even be written down
                continue
            print(f"{triple} {k}", file=sys.stderr, flush=True)
            try:
                interp.load(node.model, threads=2, most_bytes=MOST_BYTES, most_iterations=1000).run(None, node.feeds)
            except interp.InterpError:
                pass
            except Exception as e:
                wrong.append(f"{triple} {k}: {type(e).__name__}: {e}")
    print(json.dumps(wrong))


@pytest.mark.slow
@pytest.mark.parametrize("domain, name", sorted(MAKERS), ids=lambda x: x)
def test_a_wrong_case_is_an_error_or_a_result(domain, name):
    code = f"from tests.test_mutations import attempt; attempt({name!r}, {domain!r})"

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    done = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, preexec_fn=limited, start_new_session=True)
    try:
        out, err = done.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(done.pid, signal.SIGKILL)
        out, err = done.communicate()
        pytest.fail(f"not done after {SECONDS} s, at {err.splitlines()[-1:]}")
    assert done.returncode == 0, f"ended with {done.returncode} at {err.splitlines()[-1:]}"
    assert json.loads(out.splitlines()[-1]) == []
