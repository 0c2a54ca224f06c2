"""Operators: which versions and types they serve, in which layer, and whether they fit the schemas they claim."""
import numpy as np
import onnx.defs
import onnx.parser
import pytest

import interp
from interp.errors import UnsupportedOperator, UnsupportedType, UnsupportedVersion
from interp.ops import standard
from interp.registry import EXTRAS, check_types, misfits
from interp.schema import parameters_of, plain, schema, versions
from interp.types import EVERY, FLOATS, tensors

OPS = list(standard)


def declared(name, since=1, through=None, **kwargs):
    @interp.op(name, since, through, **{"shape": lambda *f, **_: [f[0].shape], **kwargs})
    def run(x, *, alpha=None, consumed_inputs=None):
        return x
    return run


def layer(*ops, below=()):
    return interp.Registry(*below).add(*ops)


# Schemas


def test_the_schema_in_force_is_the_newest_not_above_the_opset():
    in_force = [schema("MaxPool", opset).since for opset in (1, 7, 8, 9, 10, 11, 12, 21, 22, 23)]
    assert in_force == [1, 1, 8, 8, 10, 11, 12, 12, 22, 22]


def test_versions_are_those_of_onnx_oldest_first():
    every = [s.since_version for s in onnx.defs.get_all_schemas_with_history() if (s.name, s.domain) == ("Relu", "")]
    assert [v.since for v in versions("Relu")] == sorted(every)
    assert versions("Relu", "elsewhere") == ()


def test_defaults_are_bound_as_functions_get_them():
    assert schema("AveragePool", 22).defaults["auto_pad"] == "NOTSET"
    assert schema("GlobalLpPool", 1).defaults["p"] == 2.0 and schema("GlobalLpPool", 2).defaults["p"] == 2
    assert schema("MaxPool", 22).defaults["strides"] is None
    assert plain([b"a", [1, 2]]) == ("a", (1, 2))


@pytest.mark.parametrize("name, older, newer, widens", [
    ("Relu", 13, 14, True), ("GlobalLpPool", 2, 22, True),
    ("GlobalLpPool", 1, 2, False),  # p becomes a whole number
    ("Softmax", 11, 13, False), ("Clip", 6, 11, False), ("Dropout", 10, 12, False), ("MaxPool", 8, 10, False)])
def test_what_only_widens(name, older, newer, widens):
    assert schema(name, newer).only_widens(schema(name, older)) == widens


# Layers and ranges


def test_ranges_are_closed():
    o = declared("Relu", 6, 13)
    assert [o.serves(v) for v in (1, 5, 6, 7, 13, 14)] == [False, False, True, True, True, False]
    assert declared("Relu", 6).serves(999)
    assert (o.range, declared("Relu", 6, 6).range, declared("Relu", 6).range) == ("6-13", "6", "6-")


@pytest.mark.parametrize("first, second", [
    ((1, 6), (6, 13)), ((6, 6), (1, 13)), ((1, 13), (6, 6)), ((1, None), (13, 14)), ((13, 14), (1, None))])
def test_overlapping_ranges_are_refused(first, second):
    with pytest.raises(ValueError, match="overlaps"):
        layer(declared("Relu", *first), declared("Relu", *second))


def test_each_version_has_its_function():
    old, new = declared("Relu", 1, 6), declared("Relu", 13, 14)
    r = layer(old, new)
    assert r.find(schema("Relu", 1)) is not r.find(schema("Relu", 14))
    assert r.find(schema("Relu", 6)).run is old.run and r.find(schema("Relu", 13)).run is new.run


def test_declarations_stack():
    @interp.op("Relu", 13, 14, shape=None)
    @interp.op("Relu", 1, 6, shape=None)
    @interp.op("Neg", 1, 13, shape=None)
    def same(x):
        return x
    r = layer(same)
    assert [(o.name, o.since) for o in r] == [("Neg", 1), ("Relu", 13), ("Relu", 1)] and all(o.others == () for o in r)


def test_past_the_newest_range_only_steps_that_widen_types_are_served():
    assert layer(declared("GlobalLpPool", 2, 2)).find(schema("GlobalLpPool", 22)).through == 2
    with pytest.raises(UnsupportedVersion, match="GlobalLpPool-2.*has 1"):
        layer(declared("GlobalLpPool", 1, 1)).find(schema("GlobalLpPool", 22))
    with pytest.raises(UnsupportedVersion, match="GlobalLpPool-1.*has 2-22"):
        layer(declared("GlobalLpPool", 2, 22)).find(schema("GlobalLpPool", 1))


def test_a_gap_between_ranges_is_not_served():
    with pytest.raises(UnsupportedVersion, match="Clip-6.*has 1, 13"):
        layer(declared("Clip", 1, 1), declared("Clip", 13, 13)).find(schema("Clip", 6))


def test_an_unknown_operator_says_how_to_add_one():
    with pytest.raises(UnsupportedOperator, match=r"Relu-14.*--kernels FILE.py or registry.add"):
        layer().find(schema("Relu", 14))
    with pytest.raises(UnsupportedOperator, match="no operator Nonesuch in ONNX; add one with --kernels"):
        schema("Nonesuch", 20)
    with pytest.raises(UnsupportedOperator, match="no operator Rleu in ONNX; did you mean Relu?"):
        schema("Rleu", 20)


def test_an_operator_of_a_later_opset_says_when_it_came():
    with pytest.raises(UnsupportedOperator, match="Mish came with version 18 of its domain, the model imports 17"):
        schema("Mish", 17)


def test_a_layer_replaces_and_falls_back():
    mine = declared("Relu", 13, 14)
    upper = layer(mine, below=[standard])
    assert upper.find(schema("Relu", 14)).run is mine.run
    assert upper.find(schema("Relu", 6)) is standard.find(schema("Relu", 6))
    assert upper.find(schema("Add", 14)) is standard.find(schema("Add", 14))
    assert standard.find(schema("Relu", 14)).run is not mine.run


def test_what_is_added_below_later_is_seen_above():
    lower = layer()
    upper = layer(below=[lower])
    lower.add(declared("Relu", 1, 14))
    assert upper.find(schema("Relu", 14)).name == "Relu"


def test_declaring_registers_nothing():
    declared("Nowhere", domain="mine")
    assert standard.declared("mine", "Nowhere") is None


# Types


def test_types_in_force_are_what_the_schema_allows_and_the_function_can():
    o = declared("GlobalLpPool", 2, 22, types=FLOATS)
    assert o.takes(schema("GlobalLpPool", 2))["T"] == tensors("float", "double", "float16")
    assert o.takes(schema("GlobalLpPool", 22))["T"] == tensors("float", "double", "float16", "bfloat16")
    assert declared("Relu", 14, 14).takes(schema("Relu", 14)) == schema("Relu", 14).types


def test_types_of_several_constraints():
    o = declared("MaxRoiPool", types={"T": tensors("float")})
    assert o.takes(schema("MaxRoiPool", 1))["T"] == tensors("float")
    several = declared("Where", types={"T": tensors("int8")}).takes(schema("Where", 16))
    assert several["T"] == tensors("int8") and several["B"] == tensors("bool")


def test_types_are_refused_by_name():
    o = declared("GlobalLpPool", 2, 22, types=tensors("float", "bfloat16"))
    check_types("n", schema("GlobalLpPool", 22), o, {"T": "tensor(bfloat16)"})
    with pytest.raises(UnsupportedType, match=r"n: GlobalLpPool-2 does not allow tensor\(bfloat16\); it allows tensor\(double\)"):
        check_types("n", schema("GlobalLpPool", 2), o, {"T": "tensor(bfloat16)"})
    with pytest.raises(UnsupportedType, match=r"-2 is not supported for tensor\(double\); supported: tensor\(float\)"):
        check_types("n", schema("GlobalLpPool", 2), o, {"T": "tensor(double)"})


# Operators of one's own


def test_an_operator_of_ones_own_has_the_schema_of_its_function():
    @interp.op("Mine", 3, domain="me", shape=None)
    def mine(x, y=None, *rest, scale, mode="a", out, outputs, constant):
        return x
    s = layer(mine).declared("me", "Mine")
    assert str(s) == "me:Mine-3"
    assert [(p.name, p.optional, p.variadic) for p in s.inputs] == [
        ("x", False, False), ("y", True, False), ("rest", False, True)]
    assert s.defaults == {"scale": None, "mode": "a"} and s.required == {"scale"} and s.least == 1
    assert s.types["T0"] == EVERY


def test_an_operator_of_ones_own_in_a_model():
    @interp.op("Scaled", domain="me", shape=lambda x, **_: [x.shape])
    def scaled(x, *, by=2.0):
        return x * np.float32(by)
    text = """<ir_version: 10, opset_import: ["" : 21, "me" : 1]>
        m (float[N] x) => (float[N] y) { a = me.Scaled(x) y = me.Scaled<by=3.0>(a) }"""
    s = interp.load(onnx.parser.parse_model(text), registry=interp.Registry(standard).add(scaled))
    np.testing.assert_array_equal(s.run(None, {"x": np.array([1, 2], "f4")})[0], [6, 12])


# Fits


def test_misfits_are_told():
    @interp.op("Clip", 6, 13, shape=None)
    def clip(input, *, min, typo, **rest):
        return input
    told = "\n".join(misfits(clip))
    assert "would swallow" in told and "Clip-6: no parameter for ['max']" in told
    assert "Clip-11: ['min', 'typo'] needs a default" in told and "Clip-11: 3 inputs, the function takes 1" in told
    assert "not both schema versions" in "\n".join(misfits(declared("Relu", 2, 14)))


@pytest.mark.parametrize("o", OPS, ids=lambda o: f"{o.name}-{o.range}")
def test_every_operator_fits_the_schemas_that_it_claims(o):
    assert list(misfits(o)) == []
    assert o.shape is not None, "every standard operator has a shape rule"
    assert o.through is not None or o.signature, "ranges are closed where the standard has versions"


@pytest.mark.parametrize("o", OPS, ids=lambda o: f"{o.name}-{o.range}")
def test_what_an_operator_declares_is_there(o):
    for s in (v for v in versions(o.name, o.domain) if o.serves(v.since)):
        names = [p.name for p in s.inputs]
        variadic = bool(s.inputs) and s.inputs[-1].variadic
        assert all(i < len(names) or variadic for i in o.inplace)
        assert o.view is None or o.view < len(names)
        if isinstance(o.types, dict):
            assert o.types.keys() <= s.types.keys() | {k for v in versions(o.name, o.domain) for k in v.types}
        assert all(o.takes(s).values()), "a type constraint of which nothing is left"
    every = {p.name for v in versions(o.name, o.domain) if o.serves(v.since) for p in v.inputs}
    every |= {p.name for p in parameters_of(o.signature)[0]} if o.signature else set()
    assert set(o.known) <= every and o.wants <= EXTRAS


def test_ranges_reach_the_newest_version_that_onnx_has():
    """What an upgrade of onnx asks for: operators whose newest version is beyond their newest range."""
    newest = {}
    for o in (o for o in OPS if not o.signature):
        newest[o.domain, o.name] = max(newest.get((o.domain, o.name), 0), o.through)
    behind = {f"{name}-{versions(name, domain)[-1].since}": through for (domain, name), through in newest.items()
              if versions(name, domain) and versions(name, domain)[-1].since > through}
    assert behind == {}


# Operators that the standard does not have


def scaled(signature, **kwargs):
    @interp.op("Scaled", domain="com.microsoft", signature=signature, shape=lambda x, *_, **__: [x.shape, x.shape], **kwargs)
    def run(x, scale=None, *rest, alpha=2.0, beta):
        return x * alpha if scale is None else x * scale, x
    return run


def test_a_signature_declares_optional_and_variadic_parameters_and_types():
    o = scaled("x: T, scale?: tensor(float), **rest: R -> y: T, mean?: U", types={"T": FLOATS, "U": tensors("float")})
    s = layer(o).declared("com.microsoft", "Scaled")
    assert [(p.name, p.type, p.optional, p.variadic, p.homogeneous) for p in s.inputs] == [
        ("x", "T", False, False, True), ("scale", "tensor(float)", True, False, True), ("rest", "R", False, True, False)]
    assert [(p.name, p.type, p.optional) for p in s.outputs] == [("y", "T", False), ("mean", "U", True)]
    assert s.types == {"T": FLOATS, "U": tensors("float"), "R": EVERY} and s.least == 1
    assert s.defaults == {"alpha": 2.0, "beta": None} and s.required == {"beta"}
    assert not list(misfits(o))


def test_misfits_compare_a_signature_with_its_function():
    o = interp.op("Few", domain="mine", signature="a: T, b: T -> y: T", shape=None)(lambda a: a)
    assert any("2 inputs" in m for m in misfits(o))


@pytest.mark.parametrize("text", ["x: T", "x -> y: T", "x: -> y: T", "x!: T -> y: T", "x: T -> y: T -> z: T"])
def test_a_signature_that_cannot_be_read_is_refused(text):
    with pytest.raises(ValueError, match="signature"):
        layer(scaled(text)).declared("com.microsoft", "Scaled")


def test_a_declared_operator_runs_with_its_outputs_types():
    o = interp.op("Pair", domain="com.microsoft", signature="x: T, scale?: tensor(float) -> y: T, count: tensor(int64)",
                  types={"T": FLOATS}, shape=lambda x, scale=None: [x.shape, ()])(lambda x, scale=None: (x * 2, np.array(x.size)))
    text = ('<ir_version: 10, opset_import: ["": 22, "com.microsoft": 1]> g (float[n] x) => (float[n] y, int64 c) '
            '{ y, c = com.microsoft.Pair(x) }')
    s = interp.load(onnx.parser.parse_model(text).SerializeToString(), registry=layer(o, below=[standard]))
    y, c = s.run(None, {"x": np.ones(3, np.float32)})
    assert y.tolist() == [2, 2, 2] and y.dtype == np.float32 and c == 3
