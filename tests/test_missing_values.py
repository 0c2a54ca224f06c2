"""Missing values in tree ensembles: every mode with every way to fold leaves and to transform scores, walked by the text."""
import numpy as np
import pytest

from .forests import FOLDS, MODES, as_ensemble, folded, forest, votes
from .scores import TRANSFORMS
from .test_trees import rows, run

CODES = {"AVERAGE": 0, "SUM": 1, "MIN": 2, "MAX": 3}
EACH_AND_ALL = [*((m,) for m in MODES), tuple(MODES)]


def drawn(modes, transform, scores, kind="target"):
    """Rows of which many a feature is missing, and trees. A probit is of numbers between 0 and 1 only."""
    rng = np.random.default_rng([len(modes), *map(ord, modes[0])])
    x, attributes = rows(rng, 12, 4), forest(rng, 3, 3, 4, scores, modes, kind)
    assert np.isnan(x).any() and {0, 1} == set(attributes["nodes_missing_value_tracks_true"])
    weights = np.array(attributes[f"{kind}_weights"])
    if transform == "PROBIT":
        weights = 0.05 + np.abs(weights) % 0.2
    return x, attributes | {f"{kind}_weights": [float(np.float32(w)) for w in weights]}


@pytest.mark.parametrize("modes", EACH_AND_ALL, ids=lambda m: m[0] if len(m) == 1 else "all")
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("fold", FOLDS)
def test_regressors(fold, transform, modes):
    x, attributes = drawn(modes, transform, 3)
    base = [0.125, 0.25, 0.0625]
    due = TRANSFORMS[transform](folded(votes(attributes, x), 3, fold, base))
    given = dict(n_targets=3, aggregate_function=fold, post_transform=transform, base_values=base)
    np.testing.assert_allclose(run("TreeEnsembleRegressor", 3, x, attributes | given), due, 1e-4, 1e-5)


@pytest.mark.parametrize("modes", EACH_AND_ALL, ids=lambda m: m[0] if len(m) == 1 else "all")
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("fold", FOLDS)
def test_ensembles(fold, transform, modes):
    x, attributes = drawn(modes, transform, 2)
    reached = votes(attributes, x)
    if transform == "PROBIT":  # which has no value for a target without votes
        seen = [all(any(t == s for leaf in row for t, _ in leaf) for s in range(2)) for row in reached]
        x, reached = x[seen], [r for r, s in zip(reached, seen, strict=True) if s]
        assert reached
    due = TRANSFORMS[transform](folded(reached, 2, fold))
    given = dict(n_targets=2, aggregate_function=CODES[fold], post_transform=list(TRANSFORMS).index(transform))
    np.testing.assert_allclose(run("TreeEnsemble", 5, x, as_ensemble(attributes) | given), due, 1e-4, 1e-5)


@pytest.mark.parametrize("modes", EACH_AND_ALL, ids=lambda m: m[0] if len(m) == 1 else "all")
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("version", [1, 3])
def test_classifiers(version, transform, modes):
    """The label is that of the largest score before the transform."""
    x, attributes = drawn(modes, transform, 3, "class")
    base = [0.125, 0.25, 0.0625]
    scores = folded(votes(attributes, x, "class"), 3, base=base)
    given = dict(classlabels_strings=["a", "b", "c"], post_transform=transform, base_values=base)
    y, z = run("TreeEnsembleClassifier", version, x, attributes | given)
    assert y.tolist() == np.array(["a", "b", "c"])[scores.argmax(1)].tolist()
    np.testing.assert_allclose(z, TRANSFORMS[transform](scores), 1e-4, 1e-5)


@pytest.mark.parametrize("op", ["TreeEnsembleRegressor", "TreeEnsemble"])
def test_without_a_word_missing_values_go_the_false_way(op):
    """Even where NaN differs from the limit, as it does from every number."""
    x = np.full((1, 1), np.nan, np.float32)
    for mode in MODES:
        attributes = dict(
            nodes_treeids=[0] * 3, nodes_nodeids=[0, 1, 2], nodes_featureids=[0] * 3, nodes_modes=[mode, "LEAF", "LEAF"],
            nodes_values=[1.5, 0.0, 0.0], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
            nodes_missing_value_tracks_true=[0] * 3, target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0],
            target_weights=[1.0, 2.0])
        if op == "TreeEnsemble":
            attributes = as_ensemble(attributes)
        del attributes["nodes_missing_value_tracks_true"]
        version = 5 if op == "TreeEnsemble" else 3
        assert run(op, version, x, attributes | {"n_targets": 1}).tolist() == [[2]], mode
