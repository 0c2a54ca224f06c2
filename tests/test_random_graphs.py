"""Random graphs: whatever shares, dies, is viewed, written over or wanted twice, the answers are onnxruntime's."""
import random

import numpy as np
import pytest

from .toys import floats, independent, model, session
from .unbound import unbound

PLAIN = ["Add({a}, {b})", "Sub({b}, {a})", "Mul({a}, w)", "Relu({a})", "Neg({a})", "Identity({a})", "Flatten<axis=1>({a})",
         "Reshape({a}, s)", "Sum({a}, {b}, {a})", "Max({a}, {b})", "Sigmoid({a})", "Add(w, {a})", "Tanh({a})",
         "MatMul({a}, m)", "Gemm({a}, m, w)", "Clip({a}, low, high)", "Where(mask, {a}, {b})"]
BRANCHES = """If (c) <then_branch = t () => (float[N,4] p{k}) {{ q{k} = {first} p{k} = {second} }},
                        else_branch = e () => (float[N,4] r{k}) {{ r{k} = {third} }}>"""
ROUNDS = """Loop (rounds, go, {a}) <body = b (int64 i{k}, bool c{k}, float[N,4] s{k}) => (bool d{k}, float[N,4] t{k}) {{
            d{k} = Identity(c{k}) u{k} = Mul(s{k}, w) t{k} = {first} }}>"""
SCANNED = """Loop (rounds, go, {a}) <
            body = b (int64 i{k}, bool c{k}, float[N,4] s{k}) => (bool d{k}, float[N,4] t{k}, float[N,4] y{k}) {{
            d{k} = Identity(c{k}) u{k} = Mul(s{k}, w) y{k} = Neg(u{k}) t{k} = {first} }}>"""


def graph(rng, deepest=2):
    """The text of a model: two feeds, and nodes that read what came before."""
    values, lines, cut = ["x", "z"], [], rng.random() < 0.3

    def call(extra=(), depth=0, k=""):
        near = [*values[-6:], *extra]
        a, b = rng.choice(near), rng.choice([*values, *extra])
        return rng.choice(PLAIN).format(a=a, b=b)

    for k in range(rng.randint(1, 22)):
        a, kind = rng.choice(values[-6:]), rng.random()
        if kind < 0.12:
            made = BRANCHES.format(k=k, first=call(), second=call([f"q{k}"]), third=call())
        elif kind < 0.2:
            made = ROUNDS.format(k=k, a=a, first=call([f"s{k}", f"u{k}"]))
        elif kind < 0.26:
            lines.append(f"v{k}, w{k} = {SCANNED.format(k=k, a=a, first=call([f's{k}', f'u{k}']))}")
            lines.append(f"g{k} = Gather<axis=0>(w{k}, last)")
            values += [f"v{k}", f"g{k}"]
            continue
        elif kind < 0.3 and cut:
            # above a number that nothing ends at: whether the tail of a Sigmoid is zero is a matter of rounding
            lines.append(f"h{k} = Greater({a}, tip) n{k} = NonZero(h{k}) m{k} = Cast<to=1>(n{k}) o{k} = Neg(m{k})")
            lines.append(f"e{k} = Shape<start=1>({a}) f{k} = Concat<axis=0>(rest, e{k})")
            made = f"Reshape({a}, f{k})"
        else:
            made = call()
        lines.append(f"v{k} = {made}")
        values.append(f"v{k}")
    outs = rng.sample(values[2:], rng.randint(1, min(4, len(values) - 2)))
    found = [line.split()[10] for line in lines if line.startswith("h")]
    wanted = [f"float[N,4] {o}" for o in outs] + [f"float[2,?] {o}" for o in found]
    numbers = ", ".join(str(round(rng.uniform(-.5, .5), 3)) for _ in range(16))
    return f"""g (float[N,4] x, float[N,4] z, bool c, bool[N,1] mask) => ({", ".join(wanted)})
        <float[4] w = {{0.5, -1, 0.7, 0.9}}, int64[2] s = {{-1, 4}}, float[4,4] m = {{{numbers}}}, float low = {{-0.8}},
        float tip = {{0.123}},
        float high = {{0.9}}, bool go = {{1}}, int64 rounds = {{{rng.randint(1, 3)}}}, int64 last = {{0}}, int64[1] rest = {{-1}}>
        {{ {" ".join(lines)} }}"""


def feeds(rng, n):
    return {"x": floats(n, n, 4), "z": floats(n + 50, n, 4), "c": np.array(rng.random() < .5),
            "mask": np.random.default_rng(n).random((n, 1)) < .5}


def agrees(seed):
    rng = random.Random(seed)
    text = graph(rng)
    proto = model(text)
    s, plain, kept = session(text, threads=1 + seed % 2), session(text, optimize=0), []
    for n in (1, 3, 1, 7):
        given = feeds(rng, n)
        before = {k: v.copy() for k, v in given.items()}
        made, due, called = s.run(None, given), independent(proto, given), unbound(plain, given)
        for got, want, slow in zip(made, due, called, strict=True):
            assert got.shape == want.shape and got.dtype == want.dtype
            np.testing.assert_allclose(got, want, 1e-4, 1e-4)
            np.testing.assert_array_equal(got, slow)
        assert all(np.array_equal(given[k], before[k]) for k in given)
        kept.append((made, [y.copy() for y in made]))
    for made, copies in kept:  # a later run wrote over no earlier run's outputs
        for y, copy in zip(made, copies, strict=True):
            np.testing.assert_array_equal(y, copy)
    assert s.run(None, feeds(rng, 0))[0].shape == (0, 4)


@pytest.mark.parametrize("seed", range(200))
def test_a_random_graph(seed):
    agrees(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 5000))
def test_many_random_graphs(seed):
    agrees(seed)
