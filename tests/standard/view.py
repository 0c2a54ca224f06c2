"""Operators that give the same elements another shape, and those that tell it."""
from functools import partial

import numpy as np

from .case import Case, case

moved = partial(Case, exact=True)  # no element is changed


@case("Reshape")
def reshape(spec):
    x = spec.data((2, 3, 4))
    y = x.ravel().reshape(2, 6, 2)
    if spec.has("shape"):
        return moved([x], [y], shape=[0, -1, 2])
    if spec.has("allowzero"):
        x = spec.data((0, 3, 4))
        return moved([x, np.array([3, 0, 2])], [np.empty((3, 0, 2), x.dtype)], allowzero=1)
    return moved([x, np.array([0, -1, 2])], [y])


@case("Flatten")
def flatten(spec):
    x = spec.data((2, 3, 4))
    return moved([x], [x.ravel().reshape(6, 4)], axis=-1 if spec.version >= 11 else 2)


@case("Squeeze")
def squeeze(spec):
    x = spec.data((1, 3, 1, 2, 1))
    y = x.ravel().reshape(3, 1, 2)
    axes = [0, 4] if spec.version < 11 else [-1, 0]
    return moved([x], [y], axes=axes) if spec.has("axes") else Case([x, np.array(axes)], [y])


@case("Unsqueeze")
def unsqueeze(spec):
    x = spec.data((2, 3))
    y = x.ravel().reshape(1, 2, 3, 1)
    axes = [0, 3] if spec.version < 11 else [-1, 0]
    return moved([x], [y], axes=axes) if spec.has("axes") else Case([x, np.array(axes)], [y])


@case("Shape")
def shape(spec):
    x = spec.data((2, 0, 4, 5))
    if spec.has("start"):
        return moved([x], [np.array([0, 4])], start=-3, end=-1)
    return moved([x], [np.array([2, 0, 4, 5])])


@case("Size")
def size(spec):
    return moved([spec.data((2, 3, 4))], [np.array(24)])
