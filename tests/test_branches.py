"""Branches whose condition follows from shapes or constants, and graphs planned for sizes that come again."""
import numpy as np
import pytest

import interp
from interp.branches import chosen
from interp.infer import declared
from interp.parts import AGAIN, CHOICES

from .toys import agree, floats, session

SQUEEZED = """m (float[N,M] x) => (float[K] z) {
    one = Constant<value = int64 {1}>()  first = Constant<value = int64 {0}>()  axes = Constant<value = int64[1] {0}>()
    s = Shape(x)  n = Gather<axis = 0>(s, first)  c = Equal(n, one)
    y = If (c) <then_branch = t () => (float[M] p) { p = Squeeze(x, axes) },
                else_branch = e () => (float[N,M] q) { two = Constant<value = float {2}>() q = Mul(x, two) }>
    a = ReduceSum(y, axes)  z = Flatten<axis = 0>(a) }"""


def due(x):
    return [np.sum(x[0]).reshape(1, 1) if len(x) == 1 else (x * 2).sum(0, keepdims=True)]


def test_a_size_that_comes_again_is_planned_for_and_settles_its_branches():
    """The operator at hand is what an exporter writes for "squeeze this axis if it is 1"."""
    s = session(SQUEEZED)
    for n in (1, 3, 1, 3, 1, 3, 2):
        x = floats(n, n, 4)
        agree(s.run(None, {"x": x}), due(x))
    settled = {signature[0][1]: made.whole is not None for signature, made in s._body.special.items() if made}
    assert settled == {(1, 4): True, (3, 4): True}
    [bound] = [made for signature, made in s._body.special.items() if signature[0][1] == (3, 4)]
    assert {n.schema.name for n in bound.graph.nodes}.isdisjoint({"If", "Squeeze"})
    assert bound.whole.bind([floats(0, 3, 4)]).compiled


def test_sizes_that_change_for_good_are_not_planned_for():
    s = session(SQUEEZED)
    for n in range(2, 2 * AGAIN):
        for _ in range(2):
            s.run(None, {"x": floats(n, n, 4)})
    assert s._body.again == AGAIN and s._body.special[(("tensor(float)", (2 * AGAIN - 1, 4)),)] is None
    x = floats(0, 7, 4)
    for _ in range(3):
        agree(s.run(None, {"x": x}), due(x), 1e-5)


def test_a_branch_that_cannot_run_for_these_sizes_is_no_matter_where_it_is_not_taken():
    wide = "wide = Constant<value = float[2,2] {1, 2, 3, 4}>() h = MatMul(wide, x) q = Mul(h, two)"
    text = SQUEEZED.replace("q = Mul(x, two)", wide)
    s, x = session(text), floats(0, 1, 4)
    for _ in range(3):
        agree(s.run(None, {"x": x}), [x.sum().reshape(1, 1)])
    for _ in range(3):
        with pytest.raises(interp.RunError, match="MatMul"):
            s.run(None, {"x": floats(0, 3, 4)})


def test_a_branch_is_planned_when_it_is_first_taken():
    s = session(SQUEEZED)
    [branches] = [p.attributes for p in s._body.general.parts if getattr(p, "node", None) and p.node.schema.name == "If"]
    assert [k for k in ("then_branch", "else_branch") if "general" in vars(branches[k])] == []
    x = floats(0, 3, 4)
    agree(s.run(None, {"x": x}), due(x))
    assert [k for k in ("then_branch", "else_branch") if "general" in vars(branches[k])] == ["else_branch"]


CONSTANT = """m (float[N] x) => (float[N] z, float[N] h) {
    c = Constant<value = bool {1}>()
    z, h = If (c) <then_branch = t () => (float[N] p, float[N] q) {
        k = Constant<value = float {3}>()  p = Mul(x, k)
        q = If (c) <then_branch = u () => (float[N] r) { d = Neg(p) r = Add(d, k) },
                    else_branch = v () => (float[N] w) { w = Abs(p) }> },
                   else_branch = e () => (float[N] f, float[N] g) { f = Identity(x) g = Abs(x) }> }"""


@pytest.mark.parametrize("long", [True, False])
def test_a_branch_that_cannot_be_bound_is_no_matter_where_the_data_take_the_other(long):
    s = session("""m (float[1,N] x, bool[1] long) => (float[a,b] y)
        <float[3,1] w = {1,2,3}, float[2,1] v = {4,5}> {
        y = If (long) <then_branch = t () => (float[a,b] p) { p = MatMul(x, w) },
                       else_branch = e () => (float[a,b] q) { q = MatMul(x, v) }> }""")
    x = floats(0, 1, 3 if long else 2)
    weights = [[1], [2], [3]] if long else [[4], [5]]
    agree(s.run(None, {"x": x, "long": np.array([long])}), [x @ np.float32(weights)])


@pytest.mark.parametrize("level", [0, 1, 2])
def test_nested_branches_of_a_constant_condition_stand_in_the_place_of_the_nodes(level):
    s, x = session(CONSTANT, optimize=level), floats(0, 5)
    agree(s.run(None, {"x": x}), [x * 3, 3 - x * 3])
    nodes = s._body.general.graph.nodes
    left = ["Chain", "Mul"] if level == 2 else ["Add", "Mul", "Neg"]
    assert sorted(n.schema.name for n in nodes if n.schema.name != "Constant") == left
    assert [n.outputs for n in nodes if n.schema.name == "Mul"] == [["z"]]


def test_a_graph_without_a_known_condition_stays_as_it_is():
    graph = session(CONSTANT.replace("(float[N] x)", "(float[N] x, bool c)", 1).replace("c = Constant<value = bool {1}>()", "")
                    )._body.graph
    assert [n.schema.name for n in chosen(graph, [declared(v) for v in graph.inputs]).nodes] == ["If"]


RATED = """m (float[N] x, int64 rate) => (float[N] z) {
    wide = Constant<value = int64 {16}>()  c = Equal(rate, wide)
    z = If (c) <then_branch = t () => (float[N] p) { p = Neg(x) },
                else_branch = e () => (float[M] q) { on = Greater(x, zero) q = Compress<axis = 0>(x, on) }> }"""


def test_a_value_that_comes_again_settles_what_it_decides():
    """Only one of the branches has a size that is known before it has run."""
    s = session(RATED.replace("on = ", "zero = Constant<value = float {0}>() on = "))
    x = np.array([1, -2, 3], np.float32)
    for rate in (16, 8, 16, 8, 16, 16, 8):
        agree(s.run(None, {"x": x, "rate": np.array(rate)}), [-x if rate == 16 else x[x > 0]])
    settled = {key[1]: made.whole is not None for key, made in s._body.chosen.items() if made}
    assert settled[(np.array(16).tobytes(),)] and s._body.recent.fixed == [(1, np.array(16).tobytes())]
    agree(s.run(None, {"x": x * 2, "rate": np.array(16)}), [-2 * x])


def test_values_that_change_for_good_are_not_planned_for():
    s = session(RATED.replace("on = ", "zero = Constant<value = float {0}>() on = "))
    x = floats(0, 4)
    for rate in range(20, 20 + 2 * CHOICES):
        for _ in range(2):
            agree(s.run(None, {"x": x, "rate": np.array(rate)}), [x[x > 0]])
    assert s._body.choices == CHOICES


def test_the_truth_of_a_size_settles_a_branch():
    s = session("""m (float[2,N] x) => (float[2,N] z) {
        first = Constant<value = int64 {0}>()  s = Shape(x)  n = Gather<axis = 0>(s, first)  c = Cast<to = 9>(n)
        z = If (c) <then_branch = t () => (float[2,N] p) { p = Neg(x) },
                    else_branch = e () => (float[K] q) { q = Flatten(x) }> }""")
    assert s._body.whole is not None
    agree(s.run(None, {"x": floats(0, 2, 3)}), [-floats(0, 2, 3)])
