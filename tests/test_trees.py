"""Tree ensembles: missing values, modes, folds and post-transforms against walks by the text; and attributes that lie."""

import threading

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import interp

from .forests import FOLDS, MODES, folded, forest, votes
from .scores import TRANSFORMS

ML = "ai.onnx.ml"


def model(op, version, x, attributes):
    """One node of ai.onnx.ml as a model; arrays among the attributes are tensors."""
    outputs = [o.name for o in onnx.defs.get_schema(op, version, ML).outputs]
    node = helper.make_node(op, ["X"], outputs, domain=ML)
    for name, value in attributes.items():
        node.attribute.append(
            helper.make_attribute(name, numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value)
        )
    graph = helper.make_graph(
        [node],
        op,
        [helper.make_tensor_value_info("X", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
        [helper.make_empty_tensor_value_info(o) for o in outputs],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(ML, version)], ir_version=10)


def run(op, version, x, attributes, **options):
    found = interp.load(model(op, version, x, attributes), **{"threads": 1, **options}).run(None, {"X": x})
    return found[0] if len(found) == 1 else found


def rows(rng, n, features, dtype=np.float32):
    """Numbers that often equal a limit, and missing ones."""
    x = (rng.integers(-5, 6, (n, features)) / 2).astype(dtype)
    if x.dtype.kind == "f":
        x[rng.random(x.shape) < 0.15] = np.nan
    return x


def branch(mode, **limits):
    """A regressor of one node, which votes 1 where it holds, else 0."""
    return dict(
        nodes_treeids=[0] * 3,
        nodes_nodeids=[0, 1, 2],
        nodes_featureids=[0, 0, 0],
        nodes_modes=[mode, "LEAF", "LEAF"],
        nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0],
        target_treeids=[0, 0],
        target_nodeids=[1, 2],
        target_ids=[0, 0],
        target_weights=[1.0, 0.0],
        n_targets=1,
        **limits,
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tracks", [0, 1])
def test_every_mode_sends_missing_values_where_the_node_says(mode, tracks):
    attributes = branch(mode, nodes_values=[1.5, 0.0, 0.0], nodes_missing_value_tracks_true=[tracks, 0, 0])
    x = np.array([1, 1.5, 2, np.nan, np.inf, -np.inf], np.float32)[:, None]
    due = MODES[mode](x[:, 0], 1.5)
    due[3] = tracks
    np.testing.assert_array_equal(run("TreeEnsembleRegressor", 3, x, attributes)[:, 0], due.astype(np.float32))


@pytest.mark.parametrize("limit", [np.inf, -np.inf, np.nan, 0.0, 1e-45, 3.4e38])
@pytest.mark.parametrize("mode", MODES)
def test_limits_at_the_ends_of_floats(mode, limit):
    attributes = branch(mode, nodes_values=[limit, 0.0, 0.0])
    x = np.array([-np.inf, -1, -1e-45, -0.0, 0, 1e-45, 1, 3.4e38, np.inf], np.float32)[:, None]
    due = MODES[mode](x[:, 0], np.float32(limit))
    np.testing.assert_array_equal(run("TreeEnsembleRegressor", 3, x, attributes)[:, 0], due.astype(np.float32))


@pytest.mark.parametrize("mode", MODES)
def test_limits_between_two_floats_compare_as_the_doubles_that_they_are(mode):
    limit = 0.1  # no float
    attributes = branch(mode, nodes_values_as_tensor=np.array([limit, 0, 0]))
    x = np.array([np.nextafter(np.float32(0.1), np.float32(-1)), 0.1, 0.2], np.float32)[:, None]
    due = MODES[mode](x[:, 0].astype(np.float64), limit)
    np.testing.assert_array_equal(run("TreeEnsembleRegressor", 3, x, attributes)[:, 0], due.astype(np.float32))


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("n, trees, depth, scores", [(0, 3, 2, 1), (1, 1, 0, 1), (1, 11, 5, 1), (7, 300, 3, 2), (67, 13, 11, 3)])
def test_forests_of_all_sizes(fold, dtype, n, trees, depth, scores):
    rng = np.random.default_rng(n + depth)
    x, attributes = rows(rng, n, 5, dtype), forest(rng, trees, depth, 5, scores)
    due = folded(votes(attributes, x.astype(float)), scores, fold, [0.5] * scores) if n else np.zeros((0, scores))
    y = run("TreeEnsembleRegressor", 3, x, attributes | dict(n_targets=scores, aggregate_function=fold, base_values=[0.5]))
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, due, 1e-5, 1e-5)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_regressors_transform_the_vector_of_targets(transform):
    rng = np.random.default_rng(5)
    x, attributes = rows(rng, 9, 4), forest(rng, 1, 3, 4, 1, votes=1)
    attributes |= {"target_weights": [abs(w) % 1 for w in attributes["target_weights"]]}
    due = TRANSFORMS[transform](folded(votes(attributes, x), 1))
    y = run("TreeEnsembleRegressor", 1, x, attributes | dict(n_targets=1, post_transform=transform))
    np.testing.assert_allclose(y, due, 1e-5)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_the_top_class_of_three(transform):
    rng = np.random.default_rng(6)
    x, attributes = rows(rng, 20, 4), forest(rng, 6, 3, 4, 3, kind="class", votes=2)
    attributes |= {"class_weights": [abs(w) % 0.1 + 0.05 for w in attributes["class_weights"]]}
    scores = folded(votes(attributes, x, "class"), 3, base=[0.1, 0.2, 0.05])
    y, z = run(
        "TreeEnsembleClassifier",
        3,
        x,
        attributes | dict(classlabels_strings=["a", "b", "c"], post_transform=transform, base_values=[0.1, 0.2, 0.05]),
    )
    assert y.tolist() == np.array(["a", "b", "c"])[scores.argmax(1)].tolist()
    np.testing.assert_allclose(z, TRANSFORMS[transform](scores), 1e-4, 1e-5)


def binary(positive, ids):
    rng = np.random.default_rng(7)
    x, attributes = rows(rng, 20, 4), forest(rng, 5, 3, 4, 1, kind="class")
    if positive:
        attributes["class_weights"] = [abs(w) / 5 for w in attributes["class_weights"]]
    s = folded(votes(attributes, x, "class"), 1)[:, 0]
    attributes["class_ids"] = [ids] * len(attributes["class_ids"])
    return x, attributes | {"classlabels_int64s": [7, 9]}, s


@pytest.mark.parametrize("transform, first", [("NONE", lambda s: 1 - s), ("LOGISTIC", None), ("SOFTMAX", lambda s: 1 - s)])
@pytest.mark.parametrize("positive", [True, False])
def test_votes_for_one_of_two_classes_tell_of_the_other(positive, transform, first):
    """As onnxruntime has it: probabilities above 1/2, or margins above 0, are for the second class."""
    x, attributes, s = binary(positive, 0)
    y, z = run("TreeEnsembleClassifier", 3, x, attributes | {"post_transform": transform})
    assert y.tolist() == np.where(s > (0.5 if positive else 0), 9, 7).tolist()
    other = first(s) if first and positive else -s
    due = np.stack([other, s], 1) if first else 1 / (1 + np.exp([s, -s])).T
    np.testing.assert_allclose(z, due, 1e-5, 1e-5)


def test_votes_for_the_second_class_alone_leave_the_first_at_its_base():
    x, attributes, s = binary(True, 1)
    y, z = run("TreeEnsembleClassifier", 1, x, attributes)
    assert y.tolist() == np.where(s > 0.5, 9, 7).tolist()
    np.testing.assert_allclose(z, np.stack([0 * s, s], 1), 1e-5, 1e-5)


def test_two_classes_with_votes_of_their_own_go_to_the_larger():
    rng = np.random.default_rng(8)
    x, attributes = rows(rng, 20, 4), forest(rng, 5, 3, 4, 2, kind="class", votes=2)
    scores = folded(votes(attributes, x, "class"), 2)
    y, z = run("TreeEnsembleClassifier", 3, x, attributes | {"classlabels_int64s": [7, 9]})
    assert y.tolist() == np.array([7, 9])[scores.argmax(1)].tolist()
    np.testing.assert_allclose(z, scores, 1e-5, 1e-5)


def test_a_row_alone_is_a_batch_of_one():
    rng = np.random.default_rng(9)
    x, attributes = rows(rng, 1, 4)[0], forest(rng, 3, 3, 4, 1)
    y = run("TreeEnsembleRegressor", 3, x, attributes | {"n_targets": 1})
    np.testing.assert_allclose(y, folded(votes(attributes, x[None]), 1), 1e-5)


def test_numbers_of_trees_and_nodes_are_names():
    rng = np.random.default_rng(10)
    x, attributes = rows(rng, 9, 4), forest(rng, 4, 3, 4, 1)
    due = folded(votes(attributes, x), 1)
    renamed = {
        k: [n * 10**15 - 5 if "nodeids" in k else 3 - n for n in v] if k.endswith(("nodeids", "treeids")) else v
        for k, v in attributes.items()
    }
    np.testing.assert_allclose(run("TreeEnsembleRegressor", 3, x, renamed | {"n_targets": 1}), due, 1e-5)


def test_the_same_bits_at_any_number_of_threads():
    rng = np.random.default_rng(11)
    attributes = forest(rng, 700, 4, 5, 2) | {"n_targets": 2}
    for n in (1, 5, 500):
        x = rows(rng, n, 5)
        one, two, four = (run("TreeEnsembleRegressor", 3, x, attributes, threads=t) for t in (1, 2, 4))
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, four)


def test_many_threads_run_one_session():
    rng = np.random.default_rng(12)
    x, attributes = rows(rng, 50, 5), forest(rng, 50, 4, 5, 3, kind="class") | {"classlabels_strings": ["a", "b", "c"]}
    session = interp.load(model("TreeEnsembleClassifier", 3, x, attributes), threads=2)
    due, found = session.run(None, {"X": x}), []

    def work():
        for n in (50, 7, 1, 50):
            y, z = session.run(None, {"X": x[:n]}) if n == 50 else due
            found.append((y.tolist(), z.tolist()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(f == (due[0].tolist(), due[1].tolist()) for f in found)


# TreeEnsemble


def ensemble(**changes):
    """Two trees over two features, one of them a leaf alone."""
    return (
        dict(
            tree_roots=[0, 2],
            nodes_featureids=[0, 1, 0],
            nodes_modes=np.array([0, 6, 0], np.uint8),
            nodes_splits=np.array([1, 0, 0], np.float32),
            nodes_truenodeids=[1, 0, 2],
            nodes_trueleafs=[0, 1, 1],
            nodes_falsenodeids=[2, 1, 2],
            nodes_falseleafs=[1, 1, 1],
            leaf_targetids=[0, 0, 1],
            leaf_weights=np.array([1, 2, 4], np.float32),
            membership_values=np.array([3, 5], np.float32),
            n_targets=2,
        )
        | changes
    )


@pytest.mark.parametrize("fold, code", [("AVERAGE", 0), ("SUM", 1), ("MIN", 2), ("MAX", 3)])
def test_an_ensemble_folds_its_leaves(fold, code):
    x = np.array([[0, 3], [0, 4], [2, 3], [0, np.nan]], np.float32)
    leaf = np.array([[1, 0], [2, 0], [0, 4], [2, 0]])
    due = {
        "SUM": leaf + [0, 4],
        "AVERAGE": (leaf + [0, 4]) / 2,
        "MIN": np.where(leaf, leaf, [0, 4]),
        "MAX": np.maximum(leaf, [0, 4]),
    }
    np.testing.assert_array_equal(run("TreeEnsemble", 5, x, ensemble(aggregate_function=code)), due[fold])


def test_sets_of_members_go_to_their_nodes_in_order():
    modes, members = np.array([6, 6, 0], np.uint8), np.array([1, 2, np.nan, 7, np.nan], np.float32)
    x = np.array([[1, 7], [2, 1], [7, 7]], np.float32)
    y = run("TreeEnsemble", 5, x, ensemble(nodes_modes=modes, membership_values=members))
    np.testing.assert_array_equal(y, [[1, 4], [2, 4], [0, 8]])


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_an_ensemble_transforms_its_scores(transform):
    x, weights = np.array([[0, 3], [2, 0]], np.float32), np.array([0.25, 0.5, 0.75], np.float32)
    codes = {"NONE": 0, "SOFTMAX": 1, "LOGISTIC": 2, "SOFTMAX_ZERO": 3, "PROBIT": 4}
    raw = np.array([[0.25, 0.75], [0.0, 0.75 * 1.25]])
    y = run("TreeEnsemble", 5, x[:1], ensemble(leaf_weights=weights, post_transform=codes[transform]))
    np.testing.assert_allclose(y, TRANSFORMS[transform](raw[:1]), 1e-5)


def test_an_ensemble_has_one_target_unless_they_are_counted():
    x, attributes = np.zeros((3, 2), np.float32), ensemble(leaf_targetids=[0, 0, 0])
    del attributes["n_targets"]
    assert run("TreeEnsemble", 5, x, attributes).shape == (3, 1)


# Attributes that lie


@pytest.mark.parametrize(
    "changes, said",
    [
        (dict(nodes_truenodeids=[0, 0, 2]), "leads back"),
        (dict(nodes_falsenodeids=[3, 1, 2]), "child"),
        (dict(nodes_truenodeids=[-1, 0, 2]), "child"),
        (dict(nodes_truenodeids=[1, 9, 2]), "child"),
        (dict(tree_roots=[3]), "tree_roots"),
        (dict(tree_roots=[-1]), "tree_roots"),
        (dict(nodes_featureids=[0, 9, 0]), "feature 9"),
        (dict(nodes_featureids=[0, -1, 0]), "feature"),
        (dict(nodes_featureids=[0, 2**40, 0]), "feature"),
        (dict(leaf_targetids=[0, 0, 2]), "number 2"),
        (dict(leaf_targetids=[0, 0, -1]), "number -1"),
        (dict(leaf_targetids=[0, 0]), "differ in length"),
        (dict(nodes_featureids=[0, 1]), "differ in length"),
        (dict(nodes_modes=np.array([0, 7, 0], np.uint8)), "nodes_modes"),
        (dict(membership_values=np.array([np.nan], np.float32)), None),
        (dict(nodes_missing_value_tracks_true=[1]), "differ in length"),
        (dict(membership_values=np.array([1, np.nan, 2], np.float32)), "2 sets"),
        (dict(post_transform=5), "post_transform"),
        (dict(aggregate_function=-1), "aggregate_function"),
        (dict(n_targets=0), "0 targets"),
        (dict(n_targets=-3), "-3"),
        (dict(leaf_targetids=[2**32, 0, 0]), "4294967296"),
    ],
)
def test_ensembles_that_lie_are_refused(changes, said):
    x = np.zeros((3, 2), np.float32)
    if said is None:
        assert run("TreeEnsemble", 5, x, ensemble(**changes)).shape == (3, 2)
        return
    with pytest.raises(interp.InterpError, match=said):
        run("TreeEnsemble", 5, x, ensemble(**changes))


LIES = [
    (dict(nodes_truenodeids=[0, 0, 0]), "has no root|leads back"),
    (dict(nodes_falsenodeids=[7, 0, 0]), "which there is not"),
    (dict(nodes_nodeids=[0, 1, 1]), "twice"),
    (dict(nodes_values=[0.0, 0.0]), "differ in length"),
    (dict(nodes_featureids=[4, 0, 0]), "feature 4"),
    (dict(nodes_featureids=[-1, 0, 0]), "feature"),
    (dict(nodes_modes=["BRANCH_LEQ", "LEAF", "LEEF"]), "LEEF"),
    (
        dict(nodes_modes=["BRANCH_LEQ", "LEAF", "BRANCH_LT"], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0]),
        "root|leads back",
    ),
    (dict(class_ids=[0, 3]), "class_ids go from 0 to 3"),
    (dict(class_ids=[0, -1]), "class_ids go from -1"),
    (dict(class_nodeids=[1, 5]), "which there is not"),
    (dict(class_treeids=[0, 1]), "which there is not"),
    (dict(class_weights=[1.0]), "differ in length"),
    (dict(base_values=[1.0, 2.0]), "2 base_values"),
    (dict(post_transform="SOFT"), "SOFT"),
    (dict(classlabels_strings=["a", "b", "c"]), "2 of the attributes"),
    (dict(nodes_missing_value_tracks_true=[1]), "differ in length"),
    (dict(nodes_treeids=[0, 0, 1]), "which there is not"),
    (dict(class_weights_as_tensor=np.array([1.0, 2.0])), "both given"),
]


@pytest.mark.parametrize("changes, said", LIES)
def test_classifiers_that_lie_are_refused(changes, said):
    attributes = dict(
        nodes_treeids=[0] * 3,
        nodes_nodeids=[0, 1, 2],
        nodes_featureids=[0, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_values=[0.0, 0.0, 0.0],
        nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0],
        class_treeids=[0, 0],
        class_nodeids=[1, 2],
        class_ids=[0, 1],
        class_weights=[1.0, 2.0],
        classlabels_int64s=[1, 2, 3],
    )
    with pytest.raises(interp.InterpError, match=said):
        run("TreeEnsembleClassifier", 3, np.zeros((3, 2), np.float32), attributes | changes)


def test_a_tree_as_deep_as_it_has_nodes_ends():
    n = 5000
    attributes = dict(
        nodes_treeids=[0] * (n + 1),
        nodes_nodeids=list(range(n + 1)),
        nodes_featureids=[0] * (n + 1),
        nodes_modes=["BRANCH_GT" if i % 2 == 0 and i < n else "LEAF" for i in range(n + 1)],
        nodes_values=[float(i) for i in range(n + 1)],
        nodes_truenodeids=[i + 2 if i % 2 == 0 and i < n else 0 for i in range(n + 1)],
        nodes_falsenodeids=[i + 1 if i % 2 == 0 and i < n else 0 for i in range(n + 1)],
        target_treeids=[0] * (n // 2 + 1),
        target_nodeids=[*range(1, n, 2), n],
        target_ids=[0] * (n // 2 + 1),
        target_weights=[float(i) for i in (*range(1, n, 2), n)],
        n_targets=1,
    )
    x = np.array([[-1], [2.5], [1e9]], np.float32)
    np.testing.assert_array_equal(run("TreeEnsembleRegressor", 3, x, attributes), [[1], [5], [n]])
