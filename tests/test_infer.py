"""Inference: types from schemas, shapes by each operator's rule, values carried, sizes that follow or do not."""
import numpy as np
import pytest

import interp
from interp.dims import Dim, Fact, named, number
from interp.infer import Scope, declared, localised
from interp.kernels.program import Cancel
from interp.loading import load
from interp.parts import Model
from interp.places import needs_data
from interp.plan import Settings
from interp.weights import Packing

from .toys import IF, LOOP, NESTED, floats, model, registry, session


def facts(text, *ops):
    graph = load(model(text), registry(*ops))
    scope = Scope(graph)
    scope.infer([declared(v) for v in graph.inputs])
    return scope.facts


def shape(fact):
    return tuple(map(str, fact.shape)) if fact.shape is not None else None


@pytest.mark.parametrize("declaration, due", [
    ("float[N,3]", ("N", "3")), ("float[]", ()), ("float[N,N]", ("N", "N"))])
def test_declared_inputs(declaration, due):
    found = facts(f"m ({declaration} x) => (float y) {{ y = Relu(x) }}")["x"]
    assert found.type == "tensor(float)"
    assert found.shape is None if declaration == "float[]" else shape(found) == due


def test_unknown_sizes_have_names_of_their_own():
    found = facts("m (float[?,?] x, float[?,?] y) => (float[?,?] z) { z = Add(x, y) }")
    assert len({*found["x"].shape, *found["y"].shape}) == 4


def test_types_follow_from_the_schema():
    found = facts("""m (float16[N] x, int64[N] k, bool[N] b) => (float16[N] y) {
        y = Neg(x) c = Less(x, y) n = Add(k, k) s = Shape(x) f = Cast<to=11>(k) w = Where(b, x, y) i = NonZero(x) }""")
    assert {k: f.type for k, f in found.items()} | {} == {
        "x": "tensor(float16)", "k": "tensor(int64)", "b": "tensor(bool)", "y": "tensor(float16)", "c": "tensor(bool)",
        "n": "tensor(int64)", "s": "tensor(int64)", "f": "tensor(double)", "w": "tensor(float16)", "i": "tensor(int64)"}


def test_named_sizes_go_through():
    found = facts("""m (float[N,1,M] x, float[K,M] y) => (float[A,B,C] z) <int64[2] s = {0, -1}> {
        z = Add(x, y) f = Flatten<axis=1>(z) r = Reshape(z, s) c = Concat<axis=0>(y, y, y) }""")
    assert shape(found["z"]) == ("N", "K", "M") and shape(found["f"]) == ("N", "(K*M)")
    assert shape(found["c"]) == ("(3*K)", "M") and found["r"].shape == found["f"].shape


def test_values_are_carried_from_shapes_into_shapes():
    found = facts("""m (float[N,4,M] x) => (float[A,B] y)
        <int64 zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] rest = {-1}> {
        s = Shape(x) n = Gather(s, one) m = Gather(s, two) p = Mul(n, m) q = Add(p, one) t = Concat<axis=0>(p, rest)
        y = Reshape(x, t) }""")
    assert list(map(str, found["s"].sizes)) == ["N", "4", "M"]
    assert found["p"].sizes == [named("M") * 4] and str(found["q"].sizes[0]) == "(1 + 4*M)"
    assert shape(found["y"]) == ("(4*M)", "N")


def test_a_view_of_a_known_value_is_known():
    found = facts("m (float[N,4] x) => (int64[A,B] y) <int64[2] s = {1, -1}> { n = Shape(x) y = Reshape(n, s) }")
    assert shape(found["y"]) == ("1", "2") and found["y"].value.shape == (1, 2) and list(map(str, found["y"].sizes)) == ["N", "4"]


def test_bodies_know_what_is_outside():
    found = facts(IF)
    assert shape(found["b"]) == ("N", "3") and shape(found["y"]) == ("N", "3")
    found = facts(LOOP)
    assert shape(found["z"]) == ("N", "2") and shape(found["s"])[1:] == ("N", "2")
    assert shape(facts(NESTED)["s"]) == ("3", "N")


def test_what_a_loop_changes_is_no_longer_known():
    found = facts("""m (float[N,2] x, int64 M) => (float[K,2] z) { go = Constant<value = bool {1}>()
        z = Loop (M, go, x) <body = b (int64 i, bool c, float[P,2] v) => (bool d, float[Q,2] w) {
            w = Concat<axis=0>(v, x) d = Identity(c) }> }""")
    size, two = found["z"].shape
    assert two == 2 and isinstance(size, Dim) and size != named("N")


@pytest.mark.parametrize("text, told", [
    ("m (float[2] x, float[3] y) => (float[2] z) { [mine] z = Add(x, y) }", "mine.*do not broadcast"),
    ("m (float[2] x, int64[2] y) => (float[2] z) { [mine] z = Add(x, y) }",
     "mine.*input B is tensor.int64., another of the same type tensor.float."),
    ("m (bool[2] x) => (bool[2] z) { [mine] z = Neg(x) }", "mine.*Neg-13 does not allow tensor.bool."),
    ("m (float[2] x, int64[2] y) => (float[2] z) { [mine] z = Where(y, x, x) }", "mine.*Where-16 does not allow tensor.int64."),
    ("m (float[2,3] x, float[2] y) => (float[2] z) { a = Relu(x) [mine] z = Add(a, y) }", "mine.*do not broadcast"),
], ids=["sizes", "two types", "type", "constraint", "later"])
def test_contradictions_are_model_errors_that_name_the_node(text, told):
    with pytest.raises(interp.InterpError, match=told) as caught:
        session(text)
    assert isinstance(caught.value, interp.ModelError | interp.Unsupported)


GO = "go = Constant<value = bool {1}>()"


@pytest.mark.parametrize("nodes, told", [
    ("y = If (c) <then_branch = t () => (float[N] p) { p = Neg(x) }, else_branch = e () => (int64[N] q) { q = Cast<to=7>(x) }>",
     "float. in one case and tensor.int64. in another"),
    ("y = If (c) <then_branch = t () => (float[N] p, float[N] r) { p = Neg(x) r = Abs(x) }, else_branch = e () => (float[N] q) "
     "{ q = Neg(x) }>", "one branch gives 2 results, the other 1"),
    (f"{GO} y = Loop (M, go, x) <body = b (int64 i, bool d, float[N] v) => (bool f) {{ f = Identity(d) }}>", "1 outputs, not 2"),
    (f"{GO} y = Loop (M, go, x) <body = b (int64 i, bool d) => (bool f, float[N] w) {{ f = Identity(d) w = Neg(x) }}>",
     "2 inputs, not 3"),
    (f"{GO} y = Loop (M, go, x) <body = b (int64 i, bool d, float[N] v) => (bool f, int64[N] w) "
     "{ f = Identity(d) w = Cast<to=7>(v) }>", "float. in one case and tensor.int64. in another"),
], ids=["types of branches", "results of branches", "outputs of a loop", "inputs of a loop", "carried types"])
def test_bodies_that_do_not_fit_are_told(nodes, told):
    with pytest.raises(interp.ModelError, match=told):
        session(f"m (float[N] x, bool c, int64 M) => (float[N] y) {{ {nodes} }}")


def test_a_branch_that_is_not_taken_may_be_impossible():
    one = session("""m (float[2] x, bool c) => (float[2] z) <float[3] w = {1, 2, 3}> {
        [outer] z = If (c) <then_branch = t () => (float[2] p) { [mine] p = Add(x, w) },
                            else_branch = e () => (float[2] q) { q = Neg(x) }> }""")
    x = np.ones(2, "f4")
    assert np.array_equal(one.run(None, {"x": x, "c": np.array(False)})[0], -x)
    with pytest.raises(interp.InterpError, match="mine.*do not broadcast"):
        one.run(None, {"x": x, "c": np.array(True)})


def test_a_shape_rule_that_fails_names_the_node():
    @interp.op("Broken", domain="toys", shape=lambda x: [x.shape[5]])
    def broken(x):
        return x
    with pytest.raises(interp.ModelError, match="mine.*tuple index out of range"):
        session("m (float[N] x) => (float[N] y) { [mine] y = toys.Broken(x) }", broken)


@pytest.mark.parametrize("rule, told", [(lambda x: [(x.shape[0] // 0,)], "zero"), (lambda x: [(2.5,)], "no tuple of sizes"),
                                        (lambda x: "ab", "no tuple of sizes"), (lambda x: None, "not iterable")])
def test_a_rule_that_gives_no_shape_is_named(rule, told):
    odd = interp.op("Odd", domain="toys", shape=rule)(lambda x: x)
    with pytest.raises(interp.ModelError, match=f"mine.*{told}"):
        session("m (float[4] x) => (float[N] y) { [mine] y = toys.Odd(x) }", odd)


def test_an_operator_without_a_rule_leaves_the_size_to_the_run():
    @interp.op("Odd", domain="toys", shape=lambda x: [None])
    def odd(x):
        return x[::2]
    s = session("m (float[N] x) => (float[K] y) { a = Neg(x) b = toys.Odd(a) c = Neg(b) y = Add(c, c) }", odd)
    for n in (5, 2, 0, 5):
        x = floats(n, n)
        np.testing.assert_array_equal(s.run(None, {"x": x})[0], 2 * x[::2])


# Sizes of a part


def test_localised_facts_keep_what_is_equal_equal():
    n = named("N")
    found, meaning = localised([Fact("tensor(float)", (n, n * 2, 3)), Fact("tensor(float)", (n * 2,)), Fact("tensor(float)")])
    assert found[0].shape[1] == found[1].shape[0] != found[0].shape[0] and found[2].shape is None
    assert {k: str(v) for k, v in meaning.items()} == {"d0": "N", "d1": "(2*N)"}


@pytest.mark.parametrize("text, cuts", [
    ("m (float[N] x) => (float[N] y) { y = Neg(x) }", []),
    ("m (float[N] x) => (int64[1,K] y) { y = NonZero(x) }", ["NonZero"]),
    ("m (float[N] x, int64[2] s) => (float[A,B] y) { y = Reshape(x, s) }", ["Reshape"]),
    ("m (float[N] x) => (float[A,B] y) <int64[2] s = {1, -1}> { y = Reshape(x, s) }", []),
    ("m (float[N,2] x) => (float[A,B] y) { s = Shape(x) y = Reshape(x, s) }", []),
    ("m (float[N] x) => (float[A] y, int64[1,K] i) { i = NonZero(x) s = Shape(i) y = Neg(x) }", ["NonZero"]),
])
def test_what_needs_data(text, cuts):
    graph = load(model(text), registry())
    scope = Scope(graph)
    scope.infer([declared(v) for v in graph.inputs])
    assert [n.schema.name for n in graph.nodes if needs_data(n, scope.facts)] == cuts


SIZES = ["Neg(x)", "Add(x, y)", "Concat<axis=0>(x, y)", "Concat<axis=0>(x, x)", "Reshape(x, all)", "Sum(x, x, y)",
         "Where(b, x, y)", "Flatten<axis=0>(x)", "Max(x, y)"]


@pytest.mark.parametrize("call", SIZES)
@pytest.mark.parametrize("n, m", [(3, 3), (3, 1), (1, 4), (0, 1), (0, 0), (1, 1)])
def test_names_come_to_the_sizes_that_a_run_has(call, n, m):
    """One formula for numbers and names: what is inferred is what is made."""
    text = f"m (float[N] x, float[M] y, bool[N] b) => (float[] z) <int64[1] all = {{-1}}> {{ z = {call} }}"
    feeds = {"x": floats(0, n), "y": floats(1, m), "b": np.ones(n, bool)}
    found = facts(text)["z"]
    made = session(text).run(None, feeds)[0]
    assert tuple(number(d, {"N": n, "M": m}) for d in found.shape) == made.shape


def test_a_model_that_nothing_cuts_is_one_program():
    graph = load(model(IF), registry())
    made = Model(graph, [declared(v) for v in graph.inputs], Settings(Packing(), 1, Cancel()))
    assert made.whole is not None and not made.parts
    assert made.accepts([floats(0, 2, 3), np.array(True)]) and not made.accepts([floats(0, 2, 4), np.array(True)])
