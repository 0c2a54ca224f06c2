"""Programs for new sizes that take over what stays of an old one."""
import random
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from interp import parts
from interp.arena import LINE, roomy
from interp.errors import RunError
from interp.kernels.program import Shelf
from interp.parts import KEPT
from interp.plan import Plan

from .test_plan import graph_text, plan
from .toys import agree, floats, session

CACHED = """m (float[1,4] x, float[N,4] past) => (float[M,4] present, float[1,4] y)
    <float[4,4] w = {1, 0, 2, 0, 0, 1, 0, 1, 1, 1, 0, 0, 3, 0, 1, 1}, int64[1] first = {0}> {
    a = MatMul(x, w)  b = Relu(a)  c = MatMul(b, w)
    present = Concat<axis = 0>(past, c)
    d = Sigmoid(present)  e = ReduceSum<keepdims = 1>(d, first)
    f = Tanh(e)  y = MatMul(f, w) }"""


def fed(n):
    return [floats(n, 1, 4), floats(n + 1, n, 4)]


def test_steps_whose_values_stay_in_place_are_taken_over():
    p = plan(CACHED)
    old = p.bind(fed(9))
    old = p.bind(fed(10), old)  # from here on sizes have room to grow
    new = p.bind(fed(11), old)
    same = [a is b for a, b in zip(new.steps, old.steps, strict=True)]
    names = [n.schema.name for _, n in p.calls]
    calls = [s for n, s in zip(names, same, strict=False) if n in ("MatMul", "Relu", "Tanh")]
    assert calls == [True, True, False, True, True]  # the second product is written to its place in what is concatenated
    assert not any(s for n, s in zip(names, same, strict=False) if n in ("Sigmoid", "ReduceSum", "Concat"))


def test_every_length_gives_what_a_program_of_its_own_gives():
    s = session(CACHED)
    for n in [*range(3 * KEPT), 200, 3, 50, 0, 51, 7]:
        x, past = fed(n)
        due = session(CACHED).run(None, {"x": x, "past": past})
        agree(s.run(None, {"x": x, "past": past}), due)
        agree(s.run(None, {"x": 2 * x, "past": past}), session(CACHED).run(None, {"x": 2 * x, "past": past}))


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_give_the_same_whatever_is_taken_over(seed):
    text = graph_text(random.Random(seed))
    p, old = plan(text), None
    for n in (3, 5, 4, 6, 1, 40, 41, 3, 1, 2):
        feeds = [floats(i + n, n, 4) for i in range(2)]
        due = plan(text).bind(feeds).run(list(feeds))
        old = p.bind(feeds, old)
        for _ in range(2):
            agree(old.run(list(feeds)), due)


@pytest.mark.parametrize("seed", range(6))
def test_programs_that_have_a_room_together_give_the_same_in_any_order(seed):
    rng = random.Random(seed)
    text = graph_text(rng)
    p, shelf = plan(text), Shelf(KEPT, 1 << 20)
    sizes = [3, 5, 40, 4, 6, 1, 41]
    feeds = {n: [floats(i + n, n, 4) for i in range(2)] for n in sizes}
    due = {n: plan(text).bind(feeds[n]).run(list(feeds[n])) for n in sizes}
    made = []
    for n in sizes:
        made.append(shelf.bind(feeds[n], p.bind))
        agree(made[-1].run(list(feeds[n])), due[n])
        shelf.put(made[-1])
    assert len({id(program.room) for program in made}) < len(made)
    for n in rng.choices(sizes, k=40):
        program = shelf.take(feeds[n])
        assert program in made
        agree(program.run(list(feeds[n])), due[n])
        shelf.put(program)


def test_a_room_is_for_one_run_at_a_time():
    p, shelf = plan(CACHED), Shelf(KEPT, 1 << 20)
    large = shelf.bind(fed(9), p.bind)
    shelf.put(large)
    small = shelf.bind(fed(5), p.bind)
    assert small.room is large.room and shelf.take(fed(9)) is None  # as long as the small one may run
    other = shelf.bind(fed(9), p.bind)
    assert other.room is not large.room
    shelf.put(small)
    assert shelf.take(fed(9)) is large and shelf.take(fed(5)) is None


def test_a_room_is_free_again_where_binding_failed():
    p, shelf = plan(CACHED), Shelf(KEPT, 1 << 20)
    made = shelf.bind(fed(9), p.bind)
    shelf.put(made)
    with pytest.raises(RunError, match="x: "):
        shelf.bind([floats(0, 2, 4), floats(1, 3, 4)], p.bind)
    assert shelf.take(fed(9)) is made


def test_threads_over_all_lengths_give_what_one_gives():
    s, lengths = session(CACHED), range(1, 60)
    feeds = {n: dict(zip(("x", "past"), fed(n), strict=True)) for n in lengths}
    due = {n: session(CACHED).run(None, feeds[n]) for n in lengths}
    order = [random.Random(k).choices(lengths, k=300) for k in range(4)]
    with ThreadPoolExecutor(4) as threads:
        for asked, found in zip(order, threads.map(lambda some: [s.run(None, feeds[n]) for n in some], order), strict=True):
            for n, got in zip(asked, found, strict=True):
                agree(got, due[n])


def test_room_to_grow_is_a_quarter_at_the_most():
    for size in (0, 1, 64, 65, 1000, 4097, 123_456_789):
        found = roomy(size)
        assert found % LINE == 0 and size <= found <= max(size * 5 / 4, size + LINE)
    assert len({roomy(n) for n in np.arange(100_000, 200_000, 64).tolist()}) < 10


@pytest.fixture
def bound(monkeypatch):
    """The programs that plans have bound and that are still there, and how often they were asked to."""
    there, bind = weakref.WeakSet(), Plan.bind

    def watched(self, *args):
        watched.times += 1
        made = bind(self, *args)
        there.add(made)
        return made

    watched.times, watched.there = 0, there
    monkeypatch.setattr(Plan, "bind", watched)
    return watched


def over(lengths, s):
    for n in lengths:
        x, past = fed(n)
        s.run(None, {"x": x, "past": past})


def test_lengths_that_come_again_and_again_are_bound_no_more(bound):
    s = session(CACHED)
    for _ in range(5):
        over(range(1, 6 * KEPT), s)
    bound.times = 0
    over(range(1, 6 * KEPT), s)
    assert bound.times == 0


def test_a_thousand_lengths_take_no_more_memory_than_a_few(bound):
    over(range(1, 1001), session(CACHED))
    assert bound.times == 1000 and len(bound.there) <= KEPT


def test_what_comes_again_is_let_go_where_there_is_no_room_for_it(bound, monkeypatch):
    monkeypatch.setattr(parts, "KEPT_BYTES", 40_000)
    s = session(CACHED)
    for _ in range(5):
        over(range(1, 6 * KEPT), s)
    assert 1 <= len(bound.there) < 2 * KEPT
