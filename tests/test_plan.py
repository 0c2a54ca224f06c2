"""Plans: who shares storage with whom, who may write over whom, and how the arena is laid."""
import random
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interp
from interp.arena import LINE, arranged
from interp.dims import number
from interp.infer import Scope, declared
from interp.kernels.program import Cancel
from interp.kernels.step import Step
from interp.loading import load
from interp.parts import bodies_of
from interp.plan import Plan, Settings
from interp.weights import Packing

from .toys import floats, model, registry, session


def plan(text, *ops):
    graph = load(model(text), registry(*ops))
    scope = Scope(graph)
    scope.infer([declared(v) for v in graph.inputs])
    settings = Settings(Packing(), 1, Cancel())
    settings.constant.own(graph.constants.values())
    return Plan(scope, bodies_of(scope, settings), settings)


def roots(text, *values):
    p = plan(text)
    return [p.root[v] for v in values]


# Aliases


def test_a_view_shares_the_storage_of_its_input():
    p = plan("m (float[N,2] x) => (float[K] y) <int64[1] s = {-1}> { a = Exp(x) b = Reshape(a, s) c = Identity(b) y = Exp(c) }")
    assert p.root["a"] == p.root["b"] == p.root["c"]
    assert [n.schema.name for _, n in p.calls] == ["Exp", "Exp"]


def test_an_output_that_is_a_view_is_made_in_place_of_the_output():
    p = plan("m (float[N,2] x) => (float[K] y) <int64[1] s = {-1}> { a = Exp(x) y = Reshape(a, s) }")
    assert not p.copies and p.home == {p.root["a"]: "y"} and not p.conflicts


@pytest.mark.parametrize("text, copies", [
    ("m (float[N] x) => (float[N] y) { y = Identity(x) }", [0]),
    ("m (float[N] x) => (float[N] y, float[N] z) { y = Exp(x) z = Identity(y) }", [1]),
    ("m (float[N] x) => (float[N] y, float[N] z) { a = Exp(x) y = Identity(a) z = Identity(a) }", [1]),
    ("m (float[N] x) => (float[2] y) <float[2] w = {1, 2}> { y = Identity(w) }", [0]),
    ("m (float[N] x) => (int64[1] y) { y = Shape(x) }", [0]),
    ("m (float[N] x) => (float[N] y, float[N] z) { y = Exp(x) z = Exp(y) }", []),
])
def test_outputs_that_have_to_be_copied(text, copies):
    assert plan(text).copies == copies


def test_values_made_of_sizes_need_no_step():
    p = plan("""m (float[N,M] x) => (float[A,B] y) <int64[1] i = {0}, int64[1] r = {-1}> {
        s = Shape(x) n = Gather(s, i) t = Concat<axis=0>(r, n) y = Reshape(x, t) }""")
    assert p.calls == [] and {"s", "n", "t"} <= p.sized


# Writing over


def test_a_chain_writes_over_itself():
    p = plan("m (float[N] x) => (float[N] y) { a = Exp(x) b = Neg(a) c = Abs(b) y = Relu(c) }")
    assert len({p.root[v] for v in "abcy"}) == 1 and not p.conflicts


@pytest.mark.parametrize("text, mine, other", [
    ("m (float[N] x) => (float[N] y) { a = Exp(x) b = Neg(a) c = Add(a, b) y = Exp(c) }", "b", "a"),  # read again later
    ("m (float[N] x) => (float[N] y) { y = Neg(x) }", "y", "x"),  # the caller's
    ("m (float[N] x) => (float[N] y) <float[2] w = {1, 2}> { y = Neg(w) }", "y", "w"),  # the model's
    ("m (float[N] x, float[M] z) => (float[N] y) { a = Exp(x) b = Add(a, z) y = Exp(b) }", "b", "a"),  # another size, perhaps
    ("m (float[N] x) => (float[N] y, float[N] a) { a = Exp(x) y = Neg(a) }", "y", "a"),  # wanted itself
    ("m (float[N] x) => (float[N] y, float[N] b) { a = Exp(x) b = Identity(a) y = Neg(a) }", "y", "a"),  # wanted as a view
    ("m (float[N] x) => (bool[N] y) { a = Exp(x) y = Less(a, a) }", "y", "a"),  # of another type
    ("m (float[N] x) => (float[N] y) { a = Exp(x) v = Identity(a) b = Neg(a) c = Add(v, b) y = Exp(c) }", "b", "a"),  # seen later
])
def test_what_is_not_written_over(text, mine, other):
    one, two = roots(text, mine, other)
    assert one != two


def test_an_operand_that_comes_twice_is_written_over_as_one():
    p = plan("m (float[N] x) => (float[N] y) { a = Exp(x) b = Add(a, a) y = Exp(b) }")
    assert p.root["b"] == p.root["a"]


def test_the_second_operand_may_be_written_over():
    p = plan("m (float[N] x) => (float[N] y) { a = Exp(x) b = Sub(x, a) y = Exp(b) }")
    assert p.root["b"] == p.root["a"]


def test_an_operand_that_is_also_seen_through_a_view_is_kept():
    text = """m (float[N,2] x) => (float[A,B] y) <int64[2] s = {2, -1}> {
        a = Exp(x) v = Reshape(a, s) w = Reshape(v, s) b = Add(v, w) y = Exp(b) }"""
    x = floats(0, 2, 2)
    np.testing.assert_allclose(session(text).run(None, {"x": x})[0], np.exp(2 * np.exp(x)), 1e-5)


# The arena


sizes = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30), st.integers(0, 8)), max_size=25)


@given(sizes)
def test_what_lives_at_the_same_time_does_not_overlap(spans):
    storages = {f"v{i}": (size * LINE, born, born + lived) for i, (size, born, lived) in enumerate(spans)}
    conflicts = {a: {b for b, (_, start, end) in storages.items() if b != a and start <= storages[a][2] and storages[a][1] <= end}
                 for a in storages}
    offsets, total = arranged({a: s[0] for a, s in storages.items()}, conflicts)
    for a, others in conflicts.items():
        start, end = offsets[a], offsets[a] + storages[a][0]
        assert 0 <= start <= end <= total and start % LINE == 0
        assert all(end <= offsets[b] or offsets[b] + storages[b][0] <= start for b in others if storages[a][0] and storages[b][0])
    assert total <= sum(s[0] for s in storages.values())
    busiest = max((sum(s for s, born, last in storages.values() if born <= t <= last) for t in range(40)), default=0)
    assert busiest <= total


def test_storages_that_follow_each_other_share():
    text = " ".join(f"v{i + 1} = Softplus(v{i})" for i in range(20)).replace("Softplus", "toys.Doubled").replace("(v0)", "(x)")
    p = plan(f"m (float[N] x) => (float[N] y) {{ {text} y = Neg(v20) }}")
    program = p.bind([floats(0, 1000)])
    assert program.memory < 3.2 * 4000


def graph_text(rng):
    values, lines = ["x", "z"], []
    for k in range(rng.randint(1, 30)):
        a, b = rng.choice(values[-5:]), rng.choice(values)
        lines.append(f"v{k} = " + rng.choice([
            f"Add({a}, {b})", f"Relu({a})", f"Identity({a})", f"Mul({a}, w)", f"Reshape({a}, s)", f"Flatten<axis=1>({a})",
            f"toys.Doubled({a})", f"Sum({a}, {b}, {a})"]))
        values.append(f"v{k}")
    outs = rng.sample(values[2:], rng.randint(1, min(3, len(values) - 2)))
    return f"""m (float[N,4] x, float[N,4] z) => ({", ".join("float[N,4] " + o for o in outs)})
        <float[4] w = {{0.5, -1, 0.7, 0.9}}, int64[2] s = {{-1, 4}}> {{ {" ".join(lines)} }}"""


@pytest.mark.parametrize("seed", range(60))
def test_no_step_writes_where_another_value_is_still_read(seed):
    """Walk the plan, and follow what lies at every address: each node finds its own inputs there."""
    p = plan(graph_text(random.Random(seed)))
    feeds = [floats(i, 3, 4) for i in range(2)]
    shapes = {v: tuple(number(d, {"N": 3}) for d in p.facts[v].shape) for v in p.dtypes}
    memory = {}
    p._arena(shapes, memory, None, None)
    place = {v: (memory[r].ctypes.data if r in memory else r, shapes[r]) for v, r in p.root.items()}
    holds = {}
    for node in p.nodes:
        for i in filter(None, node.inputs):
            origin = seen_through(p, i)
            if origin not in p.lent:
                assert holds[place[i][0]] == origin, f"{node.name} reads {i}"
        if not p._is_view(node):
            for o in node.outputs:
                size = int(np.prod(place[o][1])) * 4
                if isinstance(place[o][0], int):  # whatever it overlaps is gone
                    for other in [h for h in holds if isinstance(h, int) and place[o][0] <= h < place[o][0] + size]:
                        del holds[other]
                holds[place[o][0]] = o
    for o in p.outputs:
        if seen_through(p, o) not in p.lent:
            assert holds[place[o][0]] == seen_through(p, o)
    assert len(feeds) == len(p.inputs)


def seen_through(p, value):
    """The value whose bytes a view shows."""
    made = {o: n for n in p.nodes for o in n.outputs}
    while value in made and p._is_view(made[value]):
        value = made[value].inputs[made[value].op.view]
    return value


@pytest.mark.parametrize("seed", range(20))
def test_memory_is_less_than_the_sum(seed):
    p = plan(graph_text(random.Random(seed)))
    program = p.bind([floats(i, 100, 4) for i in range(2)])
    each, scratch = -(-100 * 4 * 4 // LINE) * LINE, max((s.scratch for s in program.steps if isinstance(s, Step)), default=0)
    assert program.memory <= each * len(p.conflicts) + scratch + 2 * LINE


def test_a_signature_only_fills_in_sizes():
    p = plan("m (float[N] x) => (float[N] y) { a = Exp(x) b = Add(a, x) y = Exp(b) }")
    for n in (3, 0, 5, 3):
        x = floats(n, n)
        np.testing.assert_allclose(p.bind([x]).run([x])[0], np.exp(np.exp(x) + x), 1e-5)


def test_feeds_that_contradict_the_facts_are_refused():
    p = plan("m (float[N,3] x, float[N] y) => (float[N,3] z) { z = Neg(x) }")
    for shapes in [((2, 4), (2,)), ((2, 3), (3,)), ((2, 3, 1), (2,))]:
        with pytest.raises(interp.RunError, match="given where"):
            p.bind([floats(0, *s) for s in shapes])


def test_a_program_refuses_arrays_of_other_shapes_types_and_numbers():
    p = plan("m (float[N] x) => (float[N] y) { y = Neg(x) }")
    x = floats(0, 3)
    program = p.bind([x])
    for feeds, outs in [([x, x], None), ([], None), ([x], []), ([x], [x.copy()] * 2), ([x[:2]], None), ([x.astype("f8")], None),
                        ([x[None]], None), ([None], None), (["x"], None), ([x], [floats(0, 4)])]:
        with pytest.raises((ValueError, TypeError)):
            program.run(feeds, outs)
    for bad in (np.empty((3, 2), "f4")[:, 0], np.frombuffer(bytes(12), "f4")):
        with pytest.raises(ValueError, match="contiguous, aligned, writeable"):
            program.run([x], [bad])
    out = np.empty(3, "f4")
    assert program.run([x], [out])[0] is out and (out == -x).all()


def seconds(text):
    """Of the processor, to load and to run once."""
    proto, begun = model(text), time.process_time()
    interp.load(proto, registry=registry(), threads=1).run(None, {"v0": floats(0, 4)})
    return time.process_time() - begun


def nested(depth):
    if not depth:
        return "y0 = Neg(v0)"
    return f"""y{depth} = If (c) <then_branch = t () => (float[N] p{depth}) {{
            {nested(depth - 1)} p{depth} = Relu(y{depth - 1}) }},
        else_branch = e () => (float[N] q{depth}) {{ q{depth} = Neg(v0) }}>"""


def test_bodies_in_bodies_are_planned_once_each():
    begun = time.process_time()
    s = session(f"m (float[N] v0, bool c) => (float[N] y14) {{ {nested(14)} }}")
    x = floats(0, 3)
    np.testing.assert_array_equal(s.run(None, {"v0": x, "c": np.array(True)})[0], np.maximum(-x, 0))
    assert time.process_time() - begun < 3


LINES = {"plain": "v{k} = Neg(v{i})", "constants": "v{k} = Add(v{i}, w{k})", "outputs": "v{k} = Neg(v{i})",
         "cuts": "v{k} = Neg(v{i}) n{k} = NonZero(v{i})"}


def chain(n, kind):
    """A model of ``n`` nodes one after the other; that of cuts has one in twenty that parts it."""
    cut = [kind == "cuts" and k % 20 == 0 for k in range(n)]
    lines = " ".join(LINES[kind if cut[k] or kind != "cuts" else "plain"].format(k=k, i=k - 1) for k in range(1, n))
    outs = [f"float[N] v{k}" for k in range(1 if kind == "outputs" else n - 1, n)]
    outs += [f"int64[1,?] n{k}" for k in range(1, n) if cut[k]]
    held = ["float one = {1}"] + [f"float[4] w{k} = {{1, 2, 3, {k}}}" for k in range(1, n) if kind == "constants"]
    return f"m (float[N] v0) => ({', '.join(outs)}) <{', '.join(held)}> {{ {lines} }}"


@pytest.mark.parametrize("kind", ["plain", "constants", "outputs", "cuts"])
def test_time_grows_with_the_number_of_nodes(kind):
    """Four times the nodes take about four times as long, not sixteen."""
    seconds(chain(50, kind))
    short, long = (min(seconds(chain(n, kind)) for _ in range(2)) for n in (400, 1600))
    assert long < 8 * short
