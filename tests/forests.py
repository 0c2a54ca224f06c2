"""Random decision trees as attributes, and what a row gets from them, walked node by node as the text says."""
import numpy as np

MODES = {"BRANCH_LEQ": np.less_equal, "BRANCH_LT": np.less, "BRANCH_GTE": np.greater_equal, "BRANCH_GT": np.greater,
         "BRANCH_EQ": np.equal, "BRANCH_NEQ": np.not_equal}
FOLDS = {"SUM": np.sum, "AVERAGE": np.sum, "MIN": np.min, "MAX": np.max}


def forest(rng, trees, depth, features, scores, modes=tuple(MODES), kind="target", votes=1):
    """Attributes of TreeEnsembleRegressor or, for the kind "class", of TreeEnsembleClassifier."""
    nodes = {k: [] for k in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
                             "missing_value_tracks_true")}
    leaves = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}

    def grow(tree, number, left):
        at, leaf = len(nodes["modes"]), left == 0 or left < depth and rng.random() < 0.2
        mode = "LEAF" if leaf else str(rng.choice(modes))
        feature, value = (0, 0.0) if leaf else (int(rng.integers(features)), float(rng.integers(-4, 5)) / 2)
        for k, v in zip(nodes, (tree, number, feature, mode, value, 0, 0, 0 if leaf else int(rng.integers(2))), strict=True):
            nodes[k].append(v)
        if leaf:
            for s in rng.choice(scores, votes, replace=False):
                for k, v in zip(leaves, (tree, number, int(s), float(np.float32(rng.normal()))), strict=True):
                    leaves[k].append(v)
            return number + 1
        nodes["truenodeids"][at] = number + 1
        nodes["falsenodeids"][at] = following = grow(tree, number + 1, left - 1)
        return grow(tree, following, left - 1)

    for tree in range(trees):
        grow(tree, 0, depth)
    return {f"nodes_{k}": v for k, v in nodes.items()} | {f"{kind}_{k}": v for k, v in leaves.items()}


def as_ensemble(attributes):
    """The attributes of a regressor in the form of TreeEnsemble, which numbers leaves apart; of a leaf alone it makes a node."""
    a, codes = attributes, list(MODES)
    keys = list(zip(a["nodes_treeids"], a["nodes_nodeids"], strict=True))
    inner = [i for i, m in enumerate(a["nodes_modes"]) if m != "LEAF"]
    leaves = list(zip(a["target_treeids"], a["target_nodeids"], strict=True))
    place = {keys[i]: (n, 0) for n, i in enumerate(inner)} | {k: (n, 1) for n, k in enumerate(leaves)}
    nodes = [(codes.index(a["nodes_modes"][i]), a["nodes_featureids"][i], a["nodes_values"][i],
              a["nodes_missing_value_tracks_true"][i], place[keys[i][0], a["nodes_truenodeids"][i]],
              place[keys[i][0], a["nodes_falsenodeids"][i]]) for i in inner]
    roots = []
    for tree in dict.fromkeys(a["nodes_treeids"]):
        at, alone = place[tree, 0]
        roots.append(len(nodes) if alone else at)
        nodes += [(0, 0, 0.0, 0, (at, 1), (at, 1))] if alone else []
    modes, features, limits, tracks, yes, no = zip(*nodes, strict=True)
    return {"tree_roots": roots, "nodes_modes": np.array(modes, np.uint8), "nodes_featureids": features,
            "nodes_splits": np.array(limits, np.float32), "nodes_missing_value_tracks_true": tracks,
            "nodes_truenodeids": [i for i, _ in yes], "nodes_trueleafs": [leaf for _, leaf in yes],
            "nodes_falsenodeids": [i for i, _ in no], "nodes_falseleafs": [leaf for _, leaf in no],
            "leaf_targetids": a["target_ids"], "leaf_weights": np.array(a["target_weights"], np.float32)}


def follows(mode, value, limit, tracks):
    """Whether a row takes the true branch: NaN does where the node says so."""
    return bool(tracks) if np.isnan(value) else bool(MODES[mode](value, limit))


def votes(attributes, x, kind="target"):
    """For each row and tree, the (target, weight) pairs at the leaf that the row reaches."""
    a = attributes
    at = {key: i for i, key in enumerate(zip(a["nodes_treeids"], a["nodes_nodeids"], strict=True))}
    tracks = a.get("nodes_missing_value_tracks_true") or [0] * len(at)
    limits = a.get("nodes_values") or a["nodes_values_as_tensor"]
    weights = a.get(f"{kind}_weights") or a[f"{kind}_weights_as_tensor"]
    leaves = {}
    for t, n, s, w in zip(a[f"{kind}_treeids"], a[f"{kind}_nodeids"], a[f"{kind}_ids"], weights, strict=True):
        leaves.setdefault((t, n), []).append((s, w))
    found = []
    for row in x:
        reached = []
        for tree in dict.fromkeys(a["nodes_treeids"]):
            i = at[tree, 0]
            while a["nodes_modes"][i] != "LEAF":
                limit = np.float32(limits[i]) if "nodes_values" in a else limits[i]
                yes = follows(a["nodes_modes"][i], row[a["nodes_featureids"][i]], limit, tracks[i])
                i = at[tree, a["nodes_truenodeids" if yes else "nodes_falsenodeids"][i]]
            reached.append(leaves.get((tree, a["nodes_nodeids"][i]), []))
        found.append(reached)
    return found


def folded(reached, scores, fold="SUM", base=None):
    """The scores of each row: votes folded by target, over the number of trees for an average, plus base values."""
    y = np.zeros((len(reached), scores))
    for row, trees in zip(y, reached, strict=True):
        for s in range(scores):
            mine = [w for leaf in trees for t, w in leaf if t == s]
            row[s] = FOLDS[fold](mine) if mine else 0
            row[s] /= len(trees) if fold == "AVERAGE" else 1
    return y + (0 if base is None else np.asarray(base))
