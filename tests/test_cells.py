"""Steps over strings and maps: pipelines as scikit-learn's converters write them, odd texts, and sizes that only a run tells."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import interp
from interp.ops.patterns import characters, compiled, spans

from .forests import folded, forest, votes
from .test_trees import run

ML = "ai.onnx.ml"
OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid(ML, 3), helper.make_opsetid("com.microsoft", 1)]


def model(nodes, inputs, outputs, **initializers):
    """A graph of (operator, inputs, outputs, domain, attributes)."""
    made = [helper.make_node(op, i, o, domain=domain, **attributes) for op, i, o, domain, attributes in nodes]
    graph = helper.make_graph(
        made,
        "g",
        [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
        [helper.make_empty_tensor_value_info(o) for o in outputs],
        [helper.make_tensor(n, TensorProto.INT64, np.shape(v), np.ravel(v).tolist()) for n, v in initializers.items()],
    )
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=8)


WORDS = ["cat", "dog", "cats", "the", "ütf"]


def text_model():
    """Words and pairs of words, counted, weighed and classified."""
    pool = [*WORDS, "the", "cat", "cat", "dog", "the", "cat"]  # a pair that is there twice
    tfidf = dict(mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0, ngram_counts=[0, 5],
                 ngram_indexes=[0, 1, 2, 3, 4, 5, 6, 7], pool_strings=pool)
    linear = dict(coefficients=np.linspace(-1, 1, 16).tolist(), intercepts=[0.5, -0.5], classlabels_strings=["fin", "pets"],
                  post_transform="SOFTMAX")
    nodes = [
        ("Reshape", ["text", "flat"], ["a"], "", {}),
        ("StringNormalizer", ["a"], ["b"], "", dict(case_change_action="LOWER", is_case_sensitive=0)),
        ("Tokenizer", ["b"], ["c"], "com.microsoft", dict(mark=0, mincharnum=2, pad_value="#", tokenexp="[a-zA-Zü]+")),
        ("Flatten", ["c"], ["d"], "", {}),
        ("TfIdfVectorizer", ["d"], ["e"], "", tfidf),
        ("Normalizer", ["e"], ["f"], ML, dict(norm="L2")),
        ("LinearClassifier", ["f"], ["label", "p"], ML, linear),
        ("Identity", ["label"], ["same"], "", {}),
        ("ZipMap", ["p"], ["maps"], ML, dict(classlabels_strings=["fin", "pets"])),
    ]
    made = model(nodes, [("text", TensorProto.STRING, ("N", 1))], ["e", "same"], flat=[-1])
    held = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, ()))
    made.graph.output.append(helper.make_value_info("maps", helper.make_sequence_type_proto(held)))
    return made


def test_a_pipeline_of_text_is_one_program():
    session = interp.load(text_model())
    text = np.array([["The cat"], ["ÜTF, the DOG"], [""], ["catdog; a the the cat!"]], object)
    counts, labels, maps = session.run(None, {"text": text})
    due = np.zeros((4, 8), np.float32)
    due[0, [0, 3, 7]] = due[1, [1, 3, 4]] = due[3, [0, 7]] = 1  # of a pair that is there twice the last counts
    due[3, 3] = 2
    np.testing.assert_array_equal(counts, due)
    unit = due / np.maximum(np.sqrt((due**2).sum(1, keepdims=True)), 1e-30)
    scores = unit @ np.linspace(-1, 1, 16).reshape(2, 8).T + [0.5, -0.5]
    chance = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    assert labels.tolist() == [["fin", "pets"][k] for k in scores.argmax(1)]
    for found, row in zip(maps, chance, strict=True):
        assert list(found) == ["fin", "pets"] and found == pytest.approx(dict(zip(found, row, strict=True)), rel=1e-5)
    assert session._body.whole is not None
    again = session.run(None, {"text": text[:2]})
    assert again[1].tolist() == labels[:2].tolist() and again[2] == maps[:2]
    assert session.run(None, {"text": text[:0].copy()})[0].shape[1:] == (8,)


def test_results_share_nothing_with_feeds():
    made = model([("Identity", ["x"], ["y"], "", {})], [("x", TensorProto.STRING, ("N",))], ["y"])
    x = np.array(["a", "b"], object)
    [y] = interp.load(made).run(None, {"x": x})
    y[0] = "changed"
    assert x.tolist() == ["a", "b"]


def test_strings_of_numpy_and_strided_ones_are_read():
    attributes = dict(cats_strings=["b", "c"])
    made = model([("OneHotEncoder", ["x"], ["y"], ML, attributes)], [("x", TensorProto.STRING, ("N",))], ["y"])
    session, due = interp.load(made), [[1, 0], [0, 0]]
    assert session.run(None, {"x": np.array(["b", "a"])})[0].tolist() == due
    assert session.run(None, {"x": np.array(["b", "?", "a", "?"], object)[::2]})[0].tolist() == due


def test_sizes_of_strings_that_only_a_run_tells_reach_who_asks_for_them():
    nodes = [
        ("Tokenizer", ["x"], ["t"], "com.microsoft", dict(mark=0, mincharnum=1, pad_value="", separators=[" "])),
        ("Shape", ["t"], ["s"], "", {}),
        ("OneHotEncoder", ["t"], ["hot"], ML, dict(cats_strings=["a"])),
        ("ReduceSum", ["hot"], ["total"], "", dict(keepdims=0)),
    ]
    session = interp.load(model(nodes, [("x", TensorProto.STRING, ("N",))], ["s", "total"]))
    for text, shape, total in ((["a b a", "c"], [2, 3], 2), (["a"], [1, 1], 1), (["", ""], [2, 0], 0)):
        sizes, found = session.run(None, {"x": np.array(text, object)})
        assert sizes.tolist() == shape and found == total


ONE = ["a", "a+", r"\.", "[a-c]+", "[^a-c]", "[^ ,]+", r"\s", r"[\s,;]+", r"\w+", "[éa]+", "[^é]", r"\+"]


@pytest.mark.parametrize("pattern", ONE)
def test_patterns_of_one_character_cut_as_expressions_do(pattern):
    assert characters(pattern) is not None
    attributes = dict(mark=0, mincharnum=1, pad_value="", tokenexp=pattern)
    made = model([("Tokenizer", ["x"], ["y"], "com.microsoft", attributes)], [("x", TensorProto.STRING, ("N",))], ["y"])
    session = interp.load(made)
    for text in ("", "abc", "a b,c;d. aa\té+é", "日本a語 _x9", "x\udc80a\udcffbc", "\n a\x00b"):
        [[found]] = [y.tolist() for y in session.run(None, {"x": np.array([text], object)})]
        assert found == [text[a:b] for a, b in spans(compiled(pattern, True), text)]


OTHERS = ["ab", "a*", ".", "[[:alpha:]]", r"\pL", r"\b", "(a)", "[a-", "a|b", "[z-a]", "[a-é]", "a{2}", "+"]


@pytest.mark.parametrize("pattern", OTHERS)
def test_other_patterns_are_left_to_re2(pattern):
    assert characters(pattern) is None


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_n_grams_of_integers_that_are_there_twice_count_for_the_last(dtype):
    attributes = dict(mode="TFIDF", min_gram_length=1, max_gram_length=2, max_skip_count=1, ngram_counts=[0, 3],
                      ngram_indexes=[0, 1, 2, 3, 3], pool_int64s=[5, 6, 5, 5, 6, 6, 5], weights=[1.0, 2.0, 4.0, 8.0, 16.0])
    made = model([("TfIdfVectorizer", ["x"], ["y"], "", attributes)],
                 [("x", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), ("N", "C"))], ["y"])
    session = interp.load(made)
    x = np.array([[5, 6, 5, 7], [6, 6, 6, 6]], dtype)
    assert session.run(None, {"x": x})[0].tolist() == [[0, 2, 8, 8 + 16], [0, 8, 0, 0]]
    assert session.run(None, {"x": x[:, :0].copy()})[0].tolist() == [[0] * 4] * 2


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("classes", [2, 3, 10, 70])
@pytest.mark.parametrize("n", [1, 16, 37])
def test_rows_of_linear_models_settled_together(n, classes, transform):
    rng = np.random.default_rng(classes)
    weights, shift = rng.normal(size=(classes, 5)).astype(np.float32), rng.normal(size=classes).astype(np.float32)
    weights[-1], shift[-1] = weights[0], shift[0]  # the first of equal ones wins
    attributes = dict(coefficients=weights.ravel().tolist(), intercepts=shift.tolist(), post_transform=transform,
                      classlabels_ints=list(range(classes)))
    x = rng.normal(size=(n, 5)).astype(np.float32)
    x[n // 2, 1] = np.nan if n > 1 else 0
    made = model([("LinearClassifier", ["x"], ["y", "z"], ML, attributes)], [("x", TensorProto.FLOAT, ("N", 5))], ["y", "z"])
    y, z = interp.load(made).run(None, {"x": x})
    raw = x.astype(float) @ weights.T.astype(float) + shift
    due = {"NONE": raw, "LOGISTIC": 1 / (1 + np.exp(-raw)), "SOFTMAX": np.exp(raw) / np.exp(raw).sum(1, keepdims=True)}[transform]
    np.testing.assert_allclose(z, due, rtol=2e-6, atol=1e-6)
    there = ~np.isnan(raw).any(1)
    assert y[there].tolist() == raw[there].argmax(1).tolist() and (y[~there] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("depth", range(1, 9))
def test_levels_of_trees_for_many_rows(depth, dtype):
    rng = np.random.default_rng(depth)
    for modes, missing in ((("BRANCH_LEQ",), 0), (("BRANCH_LEQ",), 1), (("BRANCH_LT", "BRANCH_GTE"), None)):
        attributes = forest(rng, 5, depth, 3, 1, modes, "target")
        if missing is not None:
            attributes["nodes_missing_value_tracks_true"] = [missing] * len(attributes["nodes_modes"])
        for n in (2, 7, 65, 130):
            x = rng.normal(size=(n, 3)).astype(dtype)
            x[rng.random(x.shape) < 0.1] = np.nan
            due = folded(votes(attributes, x), 1, "SUM", [0.0])
            y = run("TreeEnsembleRegressor", 3, x, attributes | {"n_targets": 1})
            np.testing.assert_allclose(y, due, rtol=1e-5, atol=1e-5)


def test_scaled_and_normalised_rows_are_those_of_onnxruntime():
    nodes = [
        ("Imputer", ["x"], ["a"], ML, dict(imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=float("nan"))),
        ("Scaler", ["a"], ["b"], ML, dict(offset=[0.5, -1.0, 2.0], scale=[2.0, 0.25, 3.0])),
        ("Normalizer", ["b"], ["c"], ML, dict(norm="L1")),
        ("Binarizer", ["c"], ["d"], ML, dict(threshold=0.25)),
    ]
    made = model(nodes, [("x", TensorProto.FLOAT, ("N", 3))], ["b", "c", "d"])
    theirs, ours = onnxruntime.InferenceSession(made.SerializeToString()), interp.load(made)
    for n in (0, 1, 3, 300):
        x = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)
        x[::3, 1] = np.nan
        for a, b in zip(ours.run(None, {"x": x}), theirs.run(None, {"x": x}), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
