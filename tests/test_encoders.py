"""Look-ups, scalers and maps of ai.onnx.ml: defaults, NaN keys, versions, and what does not fit."""

import json
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import interp
from interp.dims import Fact, named
from interp.ops.ml import scaling

from .test_trees import ML, run

NAN = float("nan")
OTHER_NAN = np.array([0x7FC00001], np.uint32).view(np.float32)[0]


def strings(*given):
    return np.array(given, object)


# LabelEncoder


@pytest.mark.parametrize("version", [2, 4])
@pytest.mark.parametrize(
    "values, given, default, due",
    [
        ("values_strings", ["x", "y"], {}, ["y", "_Unused", "x"]),
        ("values_strings", ["x", "y"], {"default_string": "?"}, ["y", "?", "x"]),
        ("values_int64s", [7, 8], {}, [8, -1, 7]),
        ("values_int64s", [7, 8], {"default_int64": 5}, [8, 5, 7]),
        ("values_floats", [0.5, 1.5], {}, [1.5, -0.0, 0.5]),
        ("values_floats", [0.5, 1.5], {"default_float": 2.5}, [1.5, 2.5, 0.5]),
    ],
)
def test_what_is_no_key_has_the_default(version, values, given, default, due):
    y = run("LabelEncoder", version, strings("b", "c", "a"), {"keys_strings": ["a", "b"], values: given, **default})
    assert y.tolist() == due
    if values == "values_floats" and not default:
        assert np.signbit(y[1])


def test_every_nan_is_the_same_key():
    x = np.array([NAN, OTHER_NAN, -0.0, 1.0], np.float32)
    y = run("LabelEncoder", 4, x, dict(keys_floats=[0.0, NAN], values_strings=["zero", "nan"]))
    assert y.tolist() == ["nan", "nan", "zero", "_Unused"]


@pytest.mark.parametrize("key", [np.float32, np.float64])
@pytest.mark.parametrize("value", [np.float32, np.float64, np.int64, object])
def test_nan_keys_in_tensors(key, value):
    """Quiet NaN of any sign and payload; a value may be NaN too, and so may the default."""
    bits = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0x7FF8000000000000], np.uint64).view(np.float64)
    x = np.array([*bits, -0.0, 0.5, np.inf]).astype(key)
    given = {object: ["n", "z", "?"], np.int64: [1, 2, 3]}.get(value, [NAN, 2.5, -7.5])
    attributes = dict(keys_tensor=np.array([NAN, 0], key), values_tensor=np.array(given[:2], value),
                      default_tensor=np.array(given[2:], value))
    y = run("LabelEncoder", 4, x, attributes)
    due = np.array([given[0]] * 3 + [given[1], given[2], given[2]], value)
    assert y.dtype == due.dtype
    np.testing.assert_array_equal(y, due)
    attributes["default_tensor"] = np.array(["NaN"] if value is object else [NAN] if value is not np.int64 else [-1], value)
    assert str(run("LabelEncoder", 4, x[-1:], attributes)[0]).lower() == ("-1" if value is np.int64 else "nan")


def test_version_2_compares_bits():
    x = np.array([NAN, -0.0, 0.0, 1.0], np.float32)
    y = run("LabelEncoder", 2, x, dict(keys_floats=[0.0, NAN], values_int64s=[10, 20]))
    assert y.tolist() == [20, -1, 10, -1]


def test_the_last_of_equal_keys_counts():
    y = run("LabelEncoder", 4, np.array([3, 4, 5]), dict(keys_int64s=[3, 4, 3], values_int64s=[1, 2, 9]))
    assert y.tolist() == [9, 2, -1]
    y = run("LabelEncoder", 4, strings("a"), dict(keys_strings=["a", "a"], values_int64s=[1, 2]))
    assert y.tolist() == [2]


@pytest.mark.parametrize("key", [np.int16, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize(
    "value, default", [(np.int16, -1), (np.int32, -1), (np.int64, -1), (np.float32, -0.0), (np.float64, -0.0)]
)
def test_tensors_of_keys_and_values(key, value, default):
    attributes = dict(keys_tensor=np.array([3, 1], key), values_tensor=np.array([30, 10], value))
    y = run("LabelEncoder", 4, np.array([[1, 2], [3, 3]], key), attributes)
    assert y.dtype == value and y.tolist() == [[10, default], [30, 30]]
    y = run("LabelEncoder", 4, np.array(2, key), attributes | dict(default_tensor=np.array([7], value)))
    assert y.shape == () and y == 7


def test_no_keys_at_all_in_an_empty_input():
    assert run("LabelEncoder", 4, np.empty((0, 3), np.int64), dict(keys_int64s=[1], values_strings=["a"])).shape == (0, 3)


@pytest.mark.parametrize(
    "version, x, attributes, said",
    [
        (4, np.array([1]), dict(keys_int64s=[1, 2], values_int64s=[1]), "2 keys for 1 values"),
        (2, np.array([1]), dict(keys_strings=["a"], values_int64s=[1]), "the keys are object"),
        (4, np.array([1], np.int32), dict(keys_int64s=[1], values_int64s=[1]), "the keys are int64"),
        (2, np.array([1]), dict(keys_int64s=[1], keys_strings=["a"], values_int64s=[1]), "2 of the attributes"),
        (2, np.array([1]), dict(values_int64s=[1]), "0 of the attributes"),
        (4, np.array([1]), dict(keys_int64s=[1], values_int64s=[1], default_tensor=np.array([1], np.int32)), "default_tensor"),
    ],
)
def test_tables_that_do_not_fit_are_refused(version, x, attributes, said):
    with pytest.raises(interp.InterpError, match=said):
        run("LabelEncoder", version, x, attributes)


def test_version_1_looks_up_positions():
    attributes = dict(classes_strings=["a", "b"], default_int64=-7, default_string="?")
    assert run("LabelEncoder", 1, strings("b", "z"), attributes).tolist() == [1, -7]
    assert run("LabelEncoder", 1, np.array([0, 1, 2, -1]), attributes).tolist() == ["a", "b", "?", "?"]


# OneHotEncoder, CategoryMapper


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_numbers_are_truncated_to_categories(dtype):
    x = np.array([1.9, -2.9, 5, 0]).astype(dtype)
    y = run("OneHotEncoder", 1, x, dict(cats_int64s=[1, -2, 0]))
    assert y.dtype == np.float32 and y.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]]


def test_nan_and_infinity_are_no_categories():
    x = np.array([NAN, np.inf, -np.inf, 1e30, 0], np.float32)
    assert run("OneHotEncoder", 1, x, dict(cats_int64s=[0, -(2**63)])).tolist() == [[0, 0]] * 4 + [[1, 0]]


def test_an_unknown_category_is_an_error_where_zeros_is_0():
    with pytest.raises(interp.RunError, match="none of the categories"):
        run("OneHotEncoder", 1, strings("a", "z"), dict(cats_strings=["a"], zeros=0))


def test_categories_of_the_wrong_type_are_refused():
    with pytest.raises(interp.InterpError, match="cats_int64s for numbers"):
        run("OneHotEncoder", 1, np.array([1]), dict(cats_strings=["a"]))


def test_categories_both_ways():
    attributes = dict(cats_int64s=[5, 6], cats_strings=["a", "b"])
    assert run("CategoryMapper", 1, strings("b", "?"), attributes).tolist() == [6, -1]
    assert run("CategoryMapper", 1, np.array([5, 0]), attributes).tolist() == ["a", "_Unused"]


# Numbers


@pytest.mark.parametrize(
    "norm, size",
    [
        ("MAX", lambda x: x.max(-1, keepdims=True)),
        ("L1", lambda x: np.abs(x).sum(-1, keepdims=True)),
        ("L2", lambda x: np.sqrt((x * x).sum(-1, keepdims=True))),
    ],
)
@pytest.mark.parametrize("shape", [(4, 3), (3,), (0, 3)])
def test_norms(norm, size, shape):
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    np.testing.assert_allclose(run("Normalizer", 1, x, dict(norm=norm)), x / size(x.astype(float)) if x.size else x, 1e-6)


def test_rows_of_zero_stay():
    for norm in ("MAX", "L1", "L2"):
        assert run("Normalizer", 1, np.zeros((2, 3), np.int32), dict(norm=norm)).tolist() == [[0, 0, 0]] * 2


def test_large_integers_do_not_overflow_in_a_norm():
    x = np.array([[2**40, 2**40]], np.int64)
    np.testing.assert_allclose(run("Normalizer", 1, x, dict(norm="L2")), [[0.5**0.5] * 2], 1e-6)


def test_imputers_replace_one_value():
    y = run("Imputer", 1, np.array([[NAN, 1], [2, NAN]]), dict(imputed_value_floats=[7.0, 8.0], replaced_value_float=NAN))
    assert y.dtype == np.float64 and y.tolist() == [[7, 1], [2, 8]]
    assert run("Imputer", 1, np.array(0.0, np.float32), dict(imputed_value_floats=[7.0])) == 7
    y = run("Imputer", 1, np.array([[0, 1]], np.int32), dict(imputed_value_int64s=[9]))
    assert y.dtype == np.int32 and y.tolist() == [[9, 1]]


@pytest.mark.parametrize(
    "x, attributes, said",
    [
        (np.array([[1]], np.int32), dict(imputed_value_floats=[1.0]), "int64s is due"),
        (np.ones((1, 3)), dict(imputed_value_floats=[1.0, 2.0]), "2 imputed"),
        (np.array([[1]], np.int32), dict(imputed_value_int64s=[2**40]), "do not fit"),
        (np.ones((1, 1)), dict(imputed_value_floats=[1.0], imputed_value_int64s=[1]), "2 of the attributes"),
    ],
)
def test_imputers_that_do_not_fit_are_refused(x, attributes, said):
    with pytest.raises(interp.InterpError, match=said):
        run("Imputer", 1, x, attributes)


def test_features_are_cut_and_filled():
    def joined(a, b, sizes):
        node = helper.make_node("FeatureVectorizer", ["a", "b"], ["y"], domain=ML, inputdimensions=sizes)
        graph = helper.make_graph(
            [node],
            "g",
            [helper.make_tensor_value_info(n, TensorProto.INT64, x.shape) for n, x in (("a", a), ("b", b))],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid(ML, 1)], ir_version=10)
        return interp.load(made).run(None, {"a": a, "b": b})[0].tolist()

    a, b = np.array([[1, 2], [3, 4]]), np.array([[5], [6]])
    assert joined(a, b, [2, 1]) == [[1, 2, 5], [3, 4, 6]]
    assert joined(a, b, [1, 3]) == [[1, 5, 0, 0], [3, 6, 0, 0]]
    assert joined(np.array([1, 2]), np.array([3]), [2, 1]) == [[1, 2, 3]]


@pytest.mark.parametrize("index", [3, -1, 2**62])
def test_features_that_there_are_not(index):
    node = helper.make_node("ArrayFeatureExtractor", ["x", "i"], ["y"], domain=ML)
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3)),
            helper.make_tensor_value_info("i", TensorProto.INT64, (1,)),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    session = interp.load(helper.make_model(graph, opset_imports=[helper.make_opsetid(ML, 1)], ir_version=10))
    with pytest.raises(interp.RunError, match=f"out of range: {index}, where the size is 3"):
        session.run(None, {"x": np.zeros((2, 3), np.float32), "i": np.array([index])})


def test_sizes_with_names_go_through_the_rules():
    n = named("N")
    x = Fact("tensor(float)", (n, 4))
    assert scaling.array_feature_extractor.shape(x, Fact("tensor(int64)", (1, 2))) == [(n, 2)]
    assert scaling.feature_vectorizer.shape(x, x, inputdimensions=None) == [(n, 8)]


# Maps


def map_model(op, kind, output, **attributes):
    """A node with a map as its input: of (key, value) types."""
    x = helper.make_value_info("x", helper.make_map_type_proto(kind[0], helper.make_tensor_type_proto(kind[1], ())))
    node = helper.make_node(op, ["x"], ["y"], domain=ML, **attributes)
    graph = helper.make_graph([node], op, [x], [helper.make_tensor_value_info("y", output, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(ML, 1)], ir_version=10)


def zipped(**labels):
    keys = labels.get("classlabels_strings")
    held = helper.make_map_type_proto(
        TensorProto.STRING if keys else TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, ())
    )
    graph = helper.make_graph(
        [helper.make_node("ZipMap", ["x"], ["z"], domain=ML, **labels)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("N", 2))],
        [helper.make_value_info("z", helper.make_sequence_type_proto(held))],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(ML, 1)], ir_version=10)


def test_zip_map_gives_a_dictionary_for_each_row():
    session = interp.load(zipped(classlabels_strings=["a", "b"]))
    assert session.outputs[0].type == "seq(map(string, float))"
    x = np.array([[0.5, 1], [2, NAN]], np.float32)
    [z] = session.run(None, {"x": x})
    assert z[0] == {"a": 0.5, "b": 1.0} and np.isnan(z[1]["b"]) and type(z[0]["a"]) is float
    assert session.run(None, {"x": x[:0]}) == [[]]
    assert interp.load(zipped(classlabels_int64s=[3, 1])).run(None, {"x": x[:1]}) == [[{3: 0.5, 1: 1.0}]]


def test_zip_map_refuses_other_numbers_of_columns():
    with pytest.raises(interp.InterpError, match="3 labels"):
        interp.load(zipped(classlabels_int64s=[3, 1, 2])).run(None, {"x": np.zeros((1, 2), np.float32)})


@pytest.mark.parametrize(
    "kind, value, dtype",
    [(TensorProto.FLOAT, 1.5, np.float32), (TensorProto.DOUBLE, 0.1, np.float64), (TensorProto.INT64, 2**60 + 1, np.int64)],
)
def test_a_dictionary_has_the_type_that_the_model_declares(kind, value, dtype):
    session = interp.load(map_model("DictVectorizer", (TensorProto.STRING, kind), kind, string_vocabulary=["c", "b", "a"]))
    for feed in ({"a": value}, {"a": np.array(value, dtype)[()], "c": value}, {}, {"b": value}):
        [y] = session.run(None, {"x": feed})
        assert y.dtype == dtype and y.tolist() == [[feed.get(k, 0) for k in "cba"]]


def test_a_key_outside_of_the_vocabulary_is_an_error():
    session = interp.load(
        map_model("DictVectorizer", (TensorProto.INT64, TensorProto.FLOAT), TensorProto.FLOAT, int64_vocabulary=[1])
    )
    with pytest.raises(interp.RunError, match="2 is not in the vocabulary"):
        session.run(None, {"x": {1: 0.5, 2: 1.5}})


@pytest.mark.parametrize(
    "feed, said",
    [
        ({"a": 1.0}, "no item of a map"),
        ({1: "b"}, "no item of a map"),
        ([1.0], "give a dictionary"),
        (np.zeros(3), "give a dictionary"),
        ({1: None}, "is due"),
    ],
)
def test_feeds_that_are_no_such_map_are_refused(feed, said):
    session = interp.load(map_model("CastMap", (TensorProto.INT64, TensorProto.FLOAT), TensorProto.FLOAT))
    session.run(None, {"x": {1: 0.5}})
    with pytest.raises(interp.InputError, match=said):
        session.run(None, {"x": feed})


@pytest.mark.parametrize(
    "to, output, due",
    [
        ("TO_FLOAT", TensorProto.FLOAT, [2.75, -1.5]),
        ("TO_INT64", TensorProto.INT64, [2, -1]),
        ("TO_STRING", TensorProto.STRING, ["2.750000", "-1.500000"]),
    ],
)
def test_dense_maps_are_cast_in_the_order_of_their_keys(to, output, due):
    session = interp.load(map_model("CastMap", (TensorProto.INT64, TensorProto.FLOAT), output, cast_to=to))
    assert session.run(None, {"x": {9: -1.5, -3: 2.75}})[0].tolist() == due


def test_sparse_maps_have_a_length():
    session = interp.load(
        map_model(
            "CastMap",
            (TensorProto.INT64, TensorProto.STRING),
            TensorProto.INT64,
            cast_to="TO_INT64",
            map_form="SPARSE",
            max_map=4,
        )
    )
    assert session.run(None, {"x": {3: "7", 0: "9"}})[0].tolist() == [9, 0, 0, 7]
    for key in (4, -1):
        with pytest.raises(interp.RunError, match="max_map is 4"):
            session.run(None, {"x": {key: "1"}})


def test_maps_on_the_command_line(tmp_path):
    def told(model, *words):
        onnx.save(model, tmp_path / "m.onnx")
        done = subprocess.run(
            [sys.executable, "-m", "interp", tmp_path / "m.onnx", *words, "--print", "full", "--json=-"],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["outputs"][0]

    assert told(zipped(classlabels_strings=["a", "b"]), "-i", "x=[[0.5,1]]")["values"] == [{"a": 0.5, "b": 1.0}]
    vectors = map_model("DictVectorizer", (TensorProto.INT64, TensorProto.FLOAT), TensorProto.FLOAT, int64_vocabulary=[4, 5])
    assert told(vectors, "-i", 'x={"5": 1.5}')["values"] == [[0.0, 1.5]]
    vectors = map_model(
        "DictVectorizer", (TensorProto.STRING, TensorProto.DOUBLE), TensorProto.DOUBLE, string_vocabulary=["a", "b"]
    )
    (tmp_path / "x.json").write_text('{"a": 0.1}')
    assert told(vectors, "-i", f"x={tmp_path / 'x.json'}")["values"] == [[0.1, 0.0]]
