"""Tree ensembles: TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor."""
from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...dims import Fact
from ...kernels.scores import Rule
from ...kernels.trees import Forest, walked
from ...registry import op
from ..once import once
from .classes import array_of, classified, label_type, labels_of, numbered, rows
from .forest import LEAF, MEMBER, MODES, Ensemble, Nodes, alike, distinct, from_ids, with_members

DOMAIN = "ai.onnx.ml"
FOLDS = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


class Model:
    """An ensemble with what becomes of its scores; packed for each floating type that comes."""

    def __init__(self, ensemble: Ensemble, rule: Rule, labels: np.ndarray | None = None):
        self.rule, self.labels = rule, labels
        self.numbers = None if labels is None else numbered(labels)
        self.packed = cache(ensemble.packed)

    def forest(self, x: np.ndarray) -> Forest:
        """For features of a type: trees compare in float where the features are no wider, else in double."""
        return self.packed(np.float32 if x.dtype in (np.float32, np.float16) else np.float64)

    def bind(self, x: np.ndarray, y: Any, z: Any) -> Any:
        return walked(x, self.forest(x), self.rule, self.numbers, y, z)


def base_of(values: np.ndarray | None, scores: int) -> np.ndarray:
    """What is added to each score; one number is for all of them."""
    if scores < 1:
        raise ValueError(f"{scores} targets or classes")
    if values is None or not values.size:
        return np.zeros(scores)
    if values.size not in (1, scores):
        raise ValueError(f"{values.size} base_values for {scores} scores")
    return np.broadcast_to(values, scores).copy()


def one_fold(name: str) -> str:
    if name not in FOLDS:
        raise ValueError(f"aggregate_function is {name}; it is one of {', '.join(FOLDS)}")
    return name


# TreeEnsembleRegressor

@once
def regressor(trees: Any, ids: Any, features: Any, modes: Any, values: Any, values_tensor: Any, true: Any, false: Any,
              tracks: Any, of_trees: Any, of_nodes: Any, targets: Any, weights: Any, weights_tensor: Any, base: Any,
              base_tensor: Any, n_targets: Any, fold: str, transform: str) -> Model:
    nodes, roots, find = from_ids(trees, ids, features, modes, array_of(values, values_tensor, "nodes_values"), true, false,
                                  tracks)
    f = alike(target_treeids=of_trees, target_nodeids=of_nodes, target_ids=targets,
              target_weights=array_of(weights, weights_tensor, "target_weights"))
    voter = find(f["target_treeids"], f["target_nodeids"], "a target's node")
    if n_targets is None:
        raise ValueError("n_targets is not given")
    base = base_of(array_of(base, base_tensor, "base_values"), n_targets)
    return Model(Ensemble(nodes, roots, voter, f["target_ids"], f["target_weights"].astype(float), base, one_fold(fold)),
                 Rule(transform, n_targets))


def _targets(x: Fact, *, n_targets: int | None = None, **_: Any) -> list[Any]:
    return [(rows(x), n_targets) if n_targets is not None else None]


@op("TreeEnsembleRegressor", 1, 5, domain=DOMAIN, shape=_targets)
def tree_ensemble_regressor(x, *, aggregate_function, base_values, n_targets, nodes_falsenodeids, nodes_featureids,
                            nodes_hitrates, nodes_missing_value_tracks_true, nodes_modes, nodes_nodeids, nodes_treeids,
                            nodes_truenodeids, nodes_values, post_transform, target_ids, target_nodeids, target_treeids,
                            target_weights, base_values_as_tensor=None, nodes_hitrates_as_tensor=None,
                            nodes_values_as_tensor=None, target_weights_as_tensor=None, out):
    """The votes of the leaves that a row reaches, folded for each target, plus base values, transformed.

    NaN goes to the false branch unless the attribute says otherwise, also at BRANCH_NEQ. Base values are added to targets
    without a vote too.
    """
    model = regressor(nodes_treeids, nodes_nodeids, nodes_featureids, nodes_modes, nodes_values, nodes_values_as_tensor,
                      nodes_truenodeids, nodes_falsenodeids, nodes_missing_value_tracks_true, target_treeids, target_nodeids,
                      target_ids, target_weights, target_weights_as_tensor, base_values, base_values_as_tensor, n_targets,
                      aggregate_function, post_transform)
    return model.bind(x, None, out)


# TreeEnsembleClassifier

@once
def classifier(trees: Any, ids: Any, features: Any, modes: Any, values: Any, values_tensor: Any, true: Any, false: Any,
               tracks: Any, of_trees: Any, of_nodes: Any, classes: Any, weights: Any, weights_tensor: Any, base: Any,
               base_tensor: Any, ints: Any, strings: Any, transform: str) -> Model:
    nodes, roots, find = from_ids(trees, ids, features, modes, array_of(values, values_tensor, "nodes_values"), true, false,
                                  tracks)
    f = alike(class_treeids=of_trees, class_nodeids=of_nodes, class_ids=classes,
              class_weights=array_of(weights, weights_tensor, "class_weights"))
    voter = find(f["class_treeids"], f["class_nodeids"], "a class's node")
    labels, n = labels_of(ints, strings), len(ints or strings)
    base, voted, weight = array_of(base, base_tensor, "base_values"), f["class_ids"], f["class_weights"].astype(float)
    if len(voted) and not 0 <= voted.min() <= voted.max() < n:
        raise ValueError(f"class_ids go from {voted.min()} to {voted.max()}, there are {n} classes")
    rule, scores = class_rule(transform, n, voted, weight), n
    base = base_of(base, n)
    if rule.scores == 1:  # all votes are for one class: its score tells that of the other
        scores, base, voted = 1, base[:1], np.zeros_like(voted)
    return Model(Ensemble(nodes, roots, voter, voted, weight, base[:scores], "SUM"), rule, labels)


def class_rule(transform: str, n: int, voted: np.ndarray, weight: np.ndarray) -> Rule:
    """How scores become labels. The rules for one class, and for two where all votes are for one, are onnxruntime's."""
    if n == 1:
        return Rule(transform, 1, positive=0)
    named = distinct(voted)
    if n != 2 or len(named) != 1:
        return Rule(transform, n)
    positive = (weight >= 0).all()
    limit = 0.5 if positive else 0.0
    if named[0] == 1:
        return Rule(transform, 2, positive=1, limit=limit)
    return Rule(transform, 1, "complement" if positive else "negated", 0, limit)


def _classes(x: Fact, *, classlabels_int64s: Any = None, classlabels_strings: Any = None, **_: Any) -> list[Any]:
    n = rows(x)
    kind = label_type(classlabels_int64s, classlabels_strings)
    return [Fact(kind, (n,)), (n, len(classlabels_int64s or classlabels_strings or ()))]


@op("TreeEnsembleClassifier", 1, 5, domain=DOMAIN, shape=_classes, cells=True)
def tree_ensemble_classifier(x, *, base_values, class_ids, class_nodeids, class_treeids, class_weights, classlabels_int64s,
                             classlabels_strings, nodes_falsenodeids, nodes_featureids, nodes_hitrates,
                             nodes_missing_value_tracks_true, nodes_modes, nodes_nodeids, nodes_treeids, nodes_truenodeids,
                             nodes_values, post_transform, base_values_as_tensor=None, class_weights_as_tensor=None,
                             nodes_hitrates_as_tensor=None, nodes_values_as_tensor=None, out):
    """The class with the largest sum of votes, and the sums, transformed."""
    model = classifier(nodes_treeids, nodes_nodeids, nodes_featureids, nodes_modes, nodes_values, nodes_values_as_tensor,
                       nodes_truenodeids, nodes_falsenodeids, nodes_missing_value_tracks_true, class_treeids, class_nodeids,
                       class_ids, class_weights, class_weights_as_tensor, base_values, base_values_as_tensor,
                       classlabels_int64s, classlabels_strings, post_transform)
    return classified(lambda y, z: model.bind(x, y, z), x, model.labels, out)


# TreeEnsemble

@once
def ensemble(roots: Any, features: Any, modes: Any, splits: Any, true: Any, true_leaf: Any, false: Any, false_leaf: Any,
             tracks: Any, members: Any, targets: Any, weights: Any, n_targets: Any, fold: int, transform: int) -> Model:
    f = alike(nodes_featureids=features, nodes_modes=modes, nodes_splits=splits, nodes_truenodeids=true,
              nodes_trueleafs=true_leaf, nodes_falsenodeids=false, nodes_falseleafs=false_leaf,
              **({"nodes_missing_value_tracks_true": tracks} if tracks else {}))
    leaves = alike(leaf_targetids=targets, leaf_weights=weights)
    n, m = len(f["nodes_modes"]), len(leaves["leaf_targetids"])
    if n and f["nodes_modes"].max() > MEMBER:
        raise ValueError(f"nodes_modes has {f['nodes_modes'].max()}; it takes 0 to {MEMBER}, {MODES[0]} to {MODES[MEMBER]}")
    if not all(0 <= r < n for r in roots):
        raise ValueError(f"tree_roots are not all among {n} nodes")
    children = [child_of(f[f"nodes_{side}nodeids"], f[f"nodes_{side}leafs"].astype(bool), n, m) for side in ("true", "false")]
    none = np.zeros(m, np.int64)
    follows = f["nodes_missing_value_tracks_true"].astype(bool) if tracks else np.zeros(n, bool)
    nodes = Nodes(*(np.concatenate(pair) for pair in (
        (f["nodes_modes"].astype(np.int64), none + LEAF), (f["nodes_featureids"], none),
        (f["nodes_splits"].astype(np.float64), none), (children[0], none), (children[1], none), (follows, none.astype(bool)))))
    nodes = with_members(nodes, np.ravel(np.asarray(() if members is None else members, np.float64)))
    if not (0 <= fold < len(FOLDS) and 0 <= transform < len(TRANSFORMS)):
        raise ValueError(f"aggregate_function {fold} or post_transform {transform} is none of the standard's")
    n_targets = 1 if n_targets is None else n_targets
    return Model(Ensemble(nodes, np.array(roots, np.int64), n + np.arange(m), leaves["leaf_targetids"],
                          leaves["leaf_weights"].astype(np.float64), base_of(None, n_targets), FOLDS[fold]),
                 Rule(TRANSFORMS[transform], n_targets))


def child_of(ids: np.ndarray, leaf: np.ndarray, nodes: int, leaves: int) -> np.ndarray:
    """Positions of children, where the leaves stand behind the nodes."""
    if len(ids) and not ((ids >= 0) & (ids < np.where(leaf, leaves, nodes))).all():
        raise ValueError(f"a child is none of {nodes} nodes and {leaves} leaves")
    return ids + nodes * leaf


@op("TreeEnsemble", 5, 5, domain=DOMAIN, shape=lambda x, *, n_targets=None, **_: [
    (rows(x), 1 if n_targets is None else n_targets)])
def tree_ensemble(x, *, aggregate_function, leaf_targetids, leaf_weights, membership_values, n_targets, nodes_falseleafs,
                  nodes_falsenodeids, nodes_featureids, nodes_hitrates, nodes_missing_value_tracks_true, nodes_modes,
                  nodes_splits, nodes_trueleafs, nodes_truenodeids, post_transform, tree_roots, out):
    """The weights of the leaves that a row reaches, folded for each target, transformed; one target unless they are counted."""
    model = ensemble(tree_roots, nodes_featureids, nodes_modes, nodes_splits, nodes_truenodeids, nodes_trueleafs,
                     nodes_falsenodeids, nodes_falseleafs, nodes_missing_value_tracks_true, membership_values, leaf_targetids,
                     leaf_weights, n_targets, aggregate_function, post_transform)
    return model.bind(x, None, out)
