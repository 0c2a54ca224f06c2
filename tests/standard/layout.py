"""Operators that copy elements and change none: written out with NumPy's indexing, or by the loops of their texts."""
from functools import partial

import numpy as np

from .case import Case, case

moved = partial(Case, exact=True)  # no element is changed


@case("Concat")
def concat(spec):
    parts = [spec.data((2, n, 3)) for n in (1, 4, 2)]
    y = np.empty((2, 7, 3), parts[0].dtype)
    y[:, :1], y[:, 1:5], y[:, 5:] = parts
    return moved(parts, [y], axis=None if spec.version < 4 else -2 if spec.version >= 11 else 1)


@case("Split")
def split(spec):
    x = spec.data((2, 7, 3))
    if spec.version >= 18:
        return moved([x], [x[:, :3], x[:, 3:6], x[:, 6:]], axis=1, num_outputs=3)
    due = [x[:, :1], x[:, 1:1], x[:, 1:5], x[:, 5:]] if spec.version >= 11 else [x[:, :1], x[:, 1:5], x[:, 5:]]
    sizes = [y.shape[1] for y in due]
    if not spec.has("split"):
        return moved([x, np.array(sizes)], due, axis=1)
    return moved([x], due, axis=1, split=sizes)


@case("Slice")
def slice_(spec):
    x = spec.data((4, 5, 6))
    if spec.has("starts"):
        return moved([x], [x[1:, :, -5:-1]], starts=[1, -5], ends=[2**63 - 1, -1], axes=[0, 2])
    kind = spec.dtype("Tind")
    least = np.iinfo(kind).min
    starts, ends, axes, steps = (np.array(v, kind) for v in ([2, -5, 4], [least, 1000, 0], [0, 2, 1], [-1, 2, -3]))
    if spec.version < 11:  # backward slices have no way to the first element yet
        starts, ends, axes, steps = (np.array(v, kind) for v in ([3, -5], [0, 1000], [0, 2], [-1, 2]))
        return moved([x, starts, ends, axes, steps], [x[3:0:-1, :, 1::2].copy()])
    return moved([x, starts, ends, axes, steps], [x[2::-1, 4:0:-3, 1::2].copy()])


@case("Transpose")
def transpose(spec):
    x = spec.data((2, 3, 4))
    y = np.empty((4, 2, 3), x.dtype)
    for i, j, k in np.ndindex(x.shape):
        y[k, i, j] = x[i, j, k]
    return moved([x], [y], perm=[2, 0, 1])


@case("Tile")
def tile(spec):
    x = spec.data((2, 3))
    if spec.version < 6:
        kind = spec.dtype("T")
        return moved([x, np.array(3, kind), np.array(1, kind)], [x[:, np.arange(9) % 3].copy()])
    return moved([x, np.array([2, 3])], [x[np.arange(4) % 2][:, np.arange(9) % 3].copy()])


@case("Expand")
def expand(spec):
    x = spec.data((3, 1, 2))
    return moved([x, np.array([2, 1, 4, 1])], [x[None][[0, 0]][:, :, [0] * 4]])


@case("Pad")
def pad(spec):
    """Pads that put around, or take away, in every mode of the version, one for each type in turn."""
    x = spec.data((3, 4, 2))
    modes = ("constant", "reflect", "edge", "wrap") if spec.version >= 19 else ("constant", "reflect", "edge")
    mode = modes[spec.rng.integers(len(modes))]
    before, after = [1, -1, 0], [2, 3, 0]
    rows, columns = (places(mode, n, b, a) for n, b, a in zip(x.shape[:2], before[:2], after[:2], strict=True))
    fill = np.array("no" if x.dtype.hasobject else 1, x.dtype)
    y = np.empty((len(rows), len(columns), 2), x.dtype)
    for i, j in np.ndindex(y.shape[:2]):
        y[i, j] = fill if rows[i] is None or columns[j] is None else x[rows[i], columns[j]]
    if spec.version == 1:
        return moved([x], [y], mode=mode, value=1, paddings=before + after)
    if spec.version == 2:
        return moved([x], [y], mode=mode, value=1, pads=before + after)
    if spec.version < 18:
        return moved([x, np.array(before + after), fill], [y], mode=mode)
    pads, axes = np.array([before[1], before[0], after[1], after[0]]), np.array([-2, 0], spec.dtype("Tind"))
    return moved([x, pads, fill, axes], [y], mode=mode)


def places(mode, size, before, after):
    """Where along an axis the elements of a padded one come from; None for the constant."""
    left = list(range(max(-before, 0), size - max(-after, 0)))
    n = len(left)
    found = []
    for i in range(-max(before, 0), n + max(after, 0)):
        if mode == "constant":
            found.append(left[i] if 0 <= i < n else None)
        elif mode == "edge":
            found.append(left[min(max(i, 0), n - 1)])
        elif mode == "wrap":
            found.append(left[i % n])
        else:
            there_and_back = left + left[-2:0:-1]
            found.append(there_and_back[i % len(there_and_back)])
    return found


@case("CenterCropPad")
def center_crop_pad(spec):
    x = spec.data((5, 3, 4))
    y = np.full((2, 3, 7), "" if x.dtype.hasobject else 0, x.dtype)
    y[:, :, 1:5] = x[1:3]
    return moved([x, np.array([7, 2], spec.dtype("Tind"))], [y], axes=[-1, 0])


@case("DepthToSpace")
def depth_to_space(spec):
    x, b, mode = spec.data((2, 12, 2, 3)), 2, "DCR"
    if spec.has("mode"):
        mode = ("DCR", "CRD")[spec.rng.integers(2)]
    y = np.empty((2, 3, 4, 6), x.dtype)
    for n, c, h, w in np.ndindex(y.shape):
        block = h % b * b + w % b
        y[n, c, h, w] = x[n, block * 3 + c if mode == "DCR" else c * b * b + block, h // b, w // b]
    return moved([x], [y], blocksize=b, mode=mode if spec.has("mode") else None)


@case("SpaceToDepth")
def space_to_depth(spec):
    x, b, mode = spec.data((2, 3, 4, 6)), 2, "DCR"
    if spec.has("mode"):
        mode = ("DCR", "CRD")[spec.rng.integers(2)]
    y = np.empty((2, 12, 2, 3), x.dtype)
    for n, c, h, w in np.ndindex(x.shape):
        block = h % b * b + w % b
        y[n, block * 3 + c if mode == "DCR" else c * b * b + block, h // b, w // b] = x[n, c, h, w]
    return moved([x], [y], blocksize=b, mode=mode if spec.has("mode") else None)
