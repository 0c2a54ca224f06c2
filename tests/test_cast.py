"""Cast: every pair of types in every version against the operator's text, and what the text leaves open."""
import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, defs

from interp.errors import UnsupportedType
from interp.ops import standard
from interp.schema import schema

from .every import plain, run_node
from .standard.cast import pair

VERSIONS = [(name, s.since_version) for name in ("Cast", "CastLike") for s in defs.get_all_schemas_with_history()
            if (s.name, s.domain) == (name, "")]


def cast(x, kind, name="Cast", version=28, **attributes):
    """Run Cast or CastLike at once."""
    s = schema(name, version)
    dtype = np.dtype(object) if kind == "string" else type_of(kind)
    out = None if kind == "string" else np.empty(x.shape, dtype)
    to = {"to": kind.upper() if version == 1 else TensorProto.DataType.Value(kind.upper())} if name == "Cast" else {}
    inputs = [x] if name == "Cast" else [x, np.empty(0, dtype)]
    made = standard.find(s).run(*inputs, **{**s.defaults, **to, **attributes}, out=out)()
    return made if out is None else out


def type_of(kind):
    from onnx.helper import tensor_dtype_to_np_dtype
    return np.dtype(tensor_dtype_to_np_dtype(TensorProto.DataType.Value(kind.upper())))


def same(found, due):
    """Bit for bit, but for the many NaN."""
    assert found.dtype == due.dtype
    nan = np.array([v != v for v in due.astype("f8")], bool) if due.dtype.kind not in "iub" else np.zeros(due.shape, bool)
    assert found[~nan].tobytes() == due[~nan].tobytes(), f"{found[~nan]}, expected {due[~nan]}"
    assert np.isnan(found[nan].astype("f8")).all()


def settings(s):
    yield {}
    if "saturate" in s.attributes:
        yield {"saturate": 0}
    if "round_mode" in s.attributes:
        yield from ({"saturate": k, "round_mode": m} for k in (0, 1) for m in ("down", "nearest"))


@pytest.mark.parametrize("name, version", sorted(VERSIONS), ids=str)
def test_every_pair_of_types(name, version):
    s = defs.get_schema(name, version)
    kinds = sorted(plain(t) for t in s.type_constraints[0].allowed_type_strs if t != "tensor(string)")
    for how in settings(s):
        for source in kinds:
            for target in kinds:
                if "round_mode" in how and target != "float8e8m0":
                    continue
                x, due = pair(source, target, version=version, **how)
                try:
                    same(cast(x, target, name, version, **how), due)
                except AssertionError as e:
                    raise AssertionError(f"{source} to {target} {how}: {e}") from None


@pytest.mark.parametrize("kind", ["float", "double", "float16", "bfloat16", "float8e5m2", "float8e4m3fn", "int8", "int4"])
def test_text_reads_back_as_the_same_numbers(kind):
    x, _ = pair(kind, kind)
    same(cast(cast(x, "string"), kind, saturate=0), x)


def test_numbers_become_plain_text():
    assert cast(np.array([314.15926, 1e20, 1e-7, 2, -0.0]), "string").tolist() == [
        "314.15926", "100000000000000000000.0", "0.0000001", "2.0", "-0.0"]
    assert cast(np.array([np.inf, -np.inf, np.nan], "f4"), "string").tolist() == ["INF", "-INF", "NaN"]
    assert cast(np.array([0.1, 3e38], ml_dtypes.bfloat16), "string").tolist() == ["0.1", "3" + "0" * 38 + ".0"]
    assert cast(np.array([-7, 7], ml_dtypes.int4), "string").tolist() == ["-7", "7"]
    assert cast(np.array([True, False]), "string").tolist() == ["1", "0"]


def test_text_becomes_numbers():
    x = np.array(["3.14", "1000", "1e-5", "1E8", "+INF", "iNf", "-INF", "nan"], object)
    np.testing.assert_array_equal(cast(x, "float"), np.array([3.14, 1000, 1e-5, 1e8, np.inf, np.inf, -np.inf, np.nan], "f4"))
    assert cast(np.array(["9007199254740993", "-1"], object), "int64").tolist() == [9007199254740993, -1]
    assert cast(np.array(["18446744073709551615"], object), "uint64").tolist() == [2**64 - 1]
    assert cast(np.array(["100.5", "7"], object), "int32").tolist() == [100, 7]
    assert cast(np.array(["0", "2"], object), "bool").tolist() == [False, True]
    assert cast(np.array(["1000"], object), "float8e4m3fn").tolist() == [448]
    with pytest.raises(ValueError, match="Hello"):
        cast(np.array(["Hello World!"], object), "float")


@pytest.mark.parametrize("source", ["f4", "f8"])
def test_what_whole_numbers_cannot_be_is_what_processors_answer(source):
    """The text leaves it open; onnxruntime gives the same."""
    x = np.array([300, -1, 3e9, -3e9, np.nan, np.inf, -np.inf, 1e20], source)
    assert cast(x, "uint8").tolist() == [44, 255, 0, 0, 0, 0, 0, 0]
    assert cast(x, "int8").tolist() == [44, -1, 0, 0, 0, 0, 0, 0]
    assert cast(x, "int32").tolist() == [300, -1] + [-2**31] * 6
    assert cast(x, "int64").tolist() == [300, -1, 3 * 10**9, -3 * 10**9] + [-2**63] * 4
    assert cast(x, "uint32").tolist()[:4] == [300, 2**32 - 1, 3 * 10**9, 2**32 - 3 * 10**9]
    assert cast(np.array([1.8e19], source), "uint64").tolist() == [int(np.array(1.8e19, source))]
    assert cast(np.array([9, -1, 16.5], source), "uint4").astype(int).tolist() == [9, 15, 0]


EIGHT = {  # The tables of the text: the largest number, and what infinity and more become, saturated (before 24) and not.
    "float8_e4m3fn": (448, 448, 448, np.nan, np.nan), "float8_e4m3fnuz": (240, np.nan, 240, np.nan, np.nan),
    "float8_e5m2": (57344, 57344, 57344, np.inf, np.inf), "float8_e5m2fnuz": (57344, np.nan, 57344, np.nan, np.nan)}


@pytest.mark.parametrize("opset", [19, 21, 25])
@pytest.mark.parametrize("source", ["f4", "f2", ml_dtypes.bfloat16])
@pytest.mark.parametrize("saturate", [1, 0])
@pytest.mark.parametrize("name", EIGHT)
def test_models_cast_to_eight_bits_as_the_tables_say(name, saturate, source, opset):
    to, (most, *results) = np.dtype(getattr(ml_dtypes, name)), EIGHT[name]
    infinite, more = results[:2] if saturate else results[2:]
    if saturate and opset >= 24:
        infinite = most
    x = np.array([0, -0.0, np.nan, np.inf, -np.inf, 65000, -65000, most, -most, 1, -1.0625], source)
    due = np.array([0, -0.0, np.nan, infinite, -infinite, more, -more, most, -most, 1, -1])
    for op, feeds, given in (("Cast", {"x": x}, {"to": np_type(to)}), ("CastLike", {"x": x, "like": np.zeros(1, to)}, {})):
        [y] = run_node(op, opset, feeds, {"saturate": saturate, **given}, {"y": to})
        assert y.dtype == to
        np.testing.assert_array_equal(y.astype("f4"), due)
        assert np.signbit(y[:2].astype("f4")).tolist() == [False, "uz" not in name]


def np_type(dtype):
    from onnx.helper import np_dtype_to_tensor_dtype
    return np_dtype_to_tensor_dtype(dtype)


@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize("target", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_models_discard_the_higher_bits_of_whole_numbers(target, opset):
    bits = 8 * np.dtype(target).itemsize
    x = [200, -1, 2**31, -2**31, 2**62 + 5, 2**63 - 1, -2**63, 255, 65536]
    [y] = run_node("Cast", opset, {"x": np.array(x)}, {"to": np_type(np.dtype(target))}, {"y": target})
    assert y.tolist() == [(v + 2**(bits - 1)) % 2**bits - 2**(bits - 1) if target[0] == "i" else v % 2**bits for v in x]


@pytest.mark.parametrize("target", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("source", ["f2", "f4", "f8", ml_dtypes.bfloat16])
def test_models_cast_what_whole_numbers_cannot_be(source, target):
    """Undefined by the text: anything but a crash, the same each time; and truth of NaN is true."""
    x = np.array([np.nan, np.inf, -np.inf, 65000, -65000, 1.5, -1.5 if target[0] == "i" else 1.5], source)
    for given in (x, np.tile(x, 999)):
        found = [run_node("Cast", 21, {"x": given}, {"to": np_type(np.dtype(target))}, {"y": target})[0] for _ in range(2)]
        assert found[0].tolist() == found[1].tolist() and found[0][-2:].tolist() == [1, -1 if target[0] == "i" else 1]
    [truth] = run_node("Cast", 21, {"x": x}, {"to": TensorProto.BOOL}, {"y": bool})
    assert truth.all()


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 8191, 20001])
@pytest.mark.parametrize("source, target", [("float", "float16"), ("bfloat16", "int32"), ("int64", "float"), ("float", "uint8"),
                                            ("bool", "float"), ("double", "bfloat16")])
def test_of_any_size(size, source, target):
    values = np.random.default_rng(0).integers(0, 2 if source == "bool" else 100, size)
    x = values.astype(type_of(source))
    assert cast(x, target).astype(int).tolist() == values.tolist()


def test_doubles_are_rounded_once():
    x = np.array([1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8 + 2.0**-40, -(1 + 2.0**-8 + 2.0**-40)])
    assert cast(x[:1], "float16").tolist() == [1 + 2.0**-10]
    assert cast(x[1:], "bfloat16").astype("f8").tolist() == [1 + 2.0**-7, -(1 + 2.0**-7)]


def test_what_is_no_type_or_mode_is_refused():
    with pytest.raises(UnsupportedType, match="999"):
        standard.find(schema("Cast", 28)).run(np.zeros(1, "f4"), to=999, saturate=1, round_mode="up", out=np.empty(1, "f4"))
    with pytest.raises(ValueError, match="round_mode"):
        cast(np.ones(1, "f4"), "float8e8m0", round_mode="sideways")
