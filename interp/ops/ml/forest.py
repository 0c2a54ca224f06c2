"""Decision trees as their attributes write them, made into nodes of one kind: x <= limit, or else."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...kernels.trees import Forest
from ...record import record, replace

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF = range(8)
CODES = {mode: code for code, mode in enumerate(MODES) if code != MEMBER}  # of ensembles whose nodes have numbers
MOST = 2**31 - 2


@record(frozen=True)
class Nodes:
    """Nodes of all trees: where ``feature`` compares with ``limit`` by ``mode``, a row goes to ``true``, else to ``false``.

    A NaN goes to ``true`` where ``tracks``. Children are positions; those of leaves do not matter.
    """

    mode: np.ndarray
    feature: np.ndarray
    limit: np.ndarray
    true: np.ndarray
    false: np.ndarray
    tracks: np.ndarray

    def __len__(self) -> int:
        return len(self.mode)

    def with_more(self, more: dict[str, Any]) -> Nodes:
        """These nodes and others behind them."""
        return Nodes(**{k: np.concatenate([getattr(self, k), np.asarray(v, getattr(self, k).dtype)]) for k, v in more.items()})


@record(frozen=True)
class Ensemble:
    """Trees, and the votes at their leaves: ``weight`` for ``target`` from the node at ``voter``."""

    nodes: Nodes
    roots: np.ndarray
    voter: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    base: np.ndarray
    fold: str

    def packed(self, real: Any) -> Forest:
        """For features of a floating type."""
        order, n = np.argsort(self.voter, kind="stable"), len(self.base)
        if len(wrong := np.flatnonzero((self.target < 0) | (self.target >= n))):
            raise ValueError(f"a vote is for number {self.target[wrong[0]]} of {n}")
        lowered = as_leq(self.nodes, np.dtype(real))
        counts = np.bincount(self.voter, minlength=len(lowered["limit"])) if len(self.voter) else np.zeros(len(lowered["limit"]))
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return Forest(**lowered, roots=self.roots.astype(np.int32), starts=starts, targets=self.target[order].astype(np.int32),
                      weights=self.weight[order], base=self.base, fold=self.fold)


def as_leq(nodes: Nodes, real: np.dtype) -> dict[str, np.ndarray]:
    """The fields of a Forest: all comparisons are made into `<=` with limits that the type has.

    x < t is x <= the number before t; >= and > change the children; equality takes two nodes.
    """
    equal = np.flatnonzero(np.isin(nodes.mode, (EQ, NEQ)) & ~np.isnan(nodes.limit))
    n, second = len(nodes), len(nodes) + np.arange(len(equal))
    swapped = np.isin(nodes.mode, (GTE, GT, NEQ))
    yes, no = np.where(swapped, nodes.false, nodes.true), np.where(swapped, nodes.true, nodes.false)
    limit = np.where(np.isin(nodes.mode, (LT, GTE)), before(nodes.limit, real), at_most(nodes.limit, real))
    nan_below = nodes.tracks ^ swapped
    below, above = yes.copy(), no.copy()
    below[equal] = second  # at most t: then equal, unless it is at most the number before t
    # NaN takes no part in an equality: it goes past the second node to where the first would send it.
    below = np.concatenate([below, no[equal]])
    above = np.concatenate([above, yes[equal]])
    limit = np.concatenate([limit, before(nodes.limit[equal], real)])
    nan_below = np.concatenate([nan_below, np.zeros(len(equal), bool)])
    never = np.flatnonzero(np.isnan(nodes.limit) & (nodes.mode != LEAF))  # nothing compares with NaN but by being unequal
    below[never], above[never], nan_below[never] = nodes.true[never], nodes.false[never], nodes.tracks[never]
    limit[never] = np.where(nodes.mode[never] == NEQ, np.inf, np.nan)
    leaves = np.flatnonzero(nodes.mode == LEAF)
    below[leaves] = above[leaves] = leaves
    feature = np.concatenate([nodes.feature, nodes.feature[equal]])
    feature[leaves] = 0
    if len(below) > MOST or len(feature) and not 0 <= feature.min() <= feature.max() <= MOST:
        raise ValueError("a node asks for a feature that no row has, or there are too many nodes")
    if n and not (0 <= min(below.min(), above.min()) and max(below.max(), above.max()) < len(below)):
        raise ValueError("a node has a child that there is not")
    return {"limit": limit.astype(real), "feature": feature.astype(np.int32), "nan_below": nan_below.astype(np.uint8),
            "below": below.astype(np.int32), "above": above.astype(np.int32)}


def at_most(limit: np.ndarray, real: np.dtype) -> np.ndarray:
    """The largest number of a type that is not above a limit."""
    with np.errstate(over="ignore"):
        near = limit.astype(real)
    return np.where(near.astype(np.float64) > limit, np.nextafter(near, real.type(-np.inf)), near)


def before(limit: np.ndarray, real: np.dtype) -> np.ndarray:
    """The largest number of a type below a limit; NaN, which nothing is at most, below the least one."""
    near = at_most(limit, real)
    below = np.where(near.astype(np.float64) == limit, np.nextafter(near, real.type(-np.inf)), near)
    return np.where(limit == -np.inf, real.type(np.nan), below)


def with_members(nodes: Nodes, values: np.ndarray) -> Nodes:
    """Nodes that ask for membership as chains of nodes that ask for equality; NaN stands between the sets."""
    asking = np.flatnonzero(nodes.mode == MEMBER)
    ends = np.flatnonzero(np.isnan(values))
    sets = [s[~np.isnan(s)] for s in np.split(values, ends)]
    if not len(values) or np.isnan(values[-1]):
        sets.pop()
    if len(sets) != len(asking):
        raise ValueError(f"{len(sets)} sets of membership_values for {len(asking)} nodes that ask for membership")
    made = replace(nodes, mode=nodes.mode.copy(), limit=nodes.limit.copy(), false=nodes.false.copy())
    more: dict[str, list[Any]] = {k: [] for k in ("mode", "feature", "limit", "true", "false", "tracks")}
    for node, members in zip(asking.tolist(), sets, strict=True):
        made.mode[node] = EQ
        made.limit[node] = members[0] if len(members) else np.nan
        for k, member in enumerate(members[1:]):
            at = len(nodes) + len(more["mode"])
            last = at if k == len(members) - 2 else None
            if k == 0:
                made.false[node] = at
            for field, value in (("mode", EQ), ("feature", nodes.feature[node]), ("limit", member), ("true", nodes.true[node]),
                                 ("false", nodes.false[node] if last is not None else at + 1), ("tracks", nodes.tracks[node])):
                more[field].append(value)
    return made.with_more(more)


def alike(**fields: Sequence[Any] | np.ndarray | None) -> dict[str, np.ndarray]:
    """Fields that describe the same things, as arrays of one length."""
    given = {k: np.asarray(() if v is None else v) for k, v in fields.items()}
    lengths = {k: v.size for k, v in given.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"attributes differ in length: {', '.join(f'{k} has {n}' for k, n in lengths.items())}")
    return given


def from_ids(nodes_treeids: Any, nodes_nodeids: Any, nodes_featureids: Any, nodes_modes: Any, nodes_values: Any,
             nodes_truenodeids: Any, nodes_falsenodeids: Any, tracks: Any) -> tuple[Nodes, np.ndarray, Any]:
    """Trees whose nodes have numbers: the nodes, the roots, and a function from tree and node numbers to positions."""
    f = alike(nodes_treeids=nodes_treeids, nodes_nodeids=nodes_nodeids, nodes_featureids=nodes_featureids,
              nodes_modes=nodes_modes, nodes_values=nodes_values, nodes_truenodeids=nodes_truenodeids,
              nodes_falsenodeids=nodes_falsenodeids, **({"nodes_missing_value_tracks_true": tracks} if tracks else {}))
    trees, ids = f["nodes_treeids"], f["nodes_nodeids"]
    if not len(ids):
        raise ValueError("there are no nodes")
    mode = np.array([CODES.get(m, -1) for m in f["nodes_modes"]])
    if len(wrong := np.flatnonzero(mode < 0)):
        raise ValueError(f"nodes_modes has {f['nodes_modes'][wrong[0]]}; it takes {', '.join(CODES)}")
    find = finder(trees, ids)
    inner = mode != LEAF
    true, false = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
    true[inner] = find(trees[inner], f["nodes_truenodeids"][inner], "a child")
    false[inner] = find(trees[inner], f["nodes_falsenodeids"][inner], "a child")
    child = np.zeros(len(ids), bool)
    child[true[inner]] = child[false[inner]] = True
    roots = roots_of(trees, inner, child)
    follows = f["nodes_missing_value_tracks_true"].astype(bool) if tracks else np.zeros(len(ids), bool)
    return (Nodes(mode, f["nodes_featureids"], f["nodes_values"].astype(np.float64), true, false, follows), roots, find)


def roots_of(trees: np.ndarray, inner: np.ndarray, child: np.ndarray) -> np.ndarray:
    """The node of each tree that is no other's child, in the order of the trees; leaves beside one that asks do not count."""
    asks = np.isin(trees, distinct(trees[inner]))
    free = np.flatnonzero(~child & (inner | ~asks))
    names, first, count = np.unique(trees[free], return_index=True, return_counts=True)
    if len(names) < len(distinct(trees)) or (count > 1).any():
        raise ValueError("a tree has no root, or several: one of its nodes, and only one, is no other's child")
    return free[np.sort(first)]


def distinct(values: np.ndarray) -> np.ndarray:
    """The values that there are, in order; to import what `np.unique` needs takes longer than to pack a forest."""
    ordered = np.sort(values, axis=None)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])[:ordered.size]]


def finder(trees: np.ndarray, ids: np.ndarray) -> Any:
    """A function from numbers of trees and of nodes in them to positions."""
    tree_names, node_names = distinct(trees), distinct(ids)
    key = np.searchsorted(tree_names, trees) * len(node_names) + np.searchsorted(node_names, ids)
    order = np.argsort(key)
    keys = key[order]
    if len(twice := np.flatnonzero(keys[1:] == keys[:-1])):
        raise ValueError(f"node {ids[order[twice[0]]]} of tree {trees[order[twice[0]]]} is there twice")

    def find(of: np.ndarray, ids: np.ndarray, what: str) -> np.ndarray:
        t, i = np.searchsorted(tree_names, of), np.searchsorted(node_names, ids)
        wanted = np.minimum(t, len(tree_names) - 1) * len(node_names) + np.minimum(i, len(node_names) - 1)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        here = (keys[at] == wanted) & (tree_names[np.minimum(t, len(tree_names) - 1)] == of)
        here &= node_names[np.minimum(i, len(node_names) - 1)] == ids
        if not here.all():
            wrong = np.flatnonzero(~here)[0]
            raise ValueError(f"{what} is node {ids[wrong]} of tree {of[wrong]}, which there is not")
        return order[at]

    return find
