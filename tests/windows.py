"""The windows that the pooling tests slide: every combination of a version's attributes, and tensors to slide over."""

import itertools

import numpy as np

from tests import oracle
from tests.every import run_node
from tests.tolerance import assert_close, size_of_terms

WINDOWED = ("AveragePool", "LpPool", "MaxPool")
ORACLE = {"AveragePool": oracle.average_pool, "LpPool": oracle.lp_pool, "MaxPool": oracle.max_pool}

# By number of spatial axes. Wide padding is wider than the kernel, so that windows lie wholly in it.
SHAPES = {1: (2, 3, 9), 2: (2, 3, 7, 6), 3: (2, 2, 5, 4, 4), 4: (1, 2, 4, 3, 4, 3)}
KERNELS = {1: [3], 2: [3, 2], 3: [2, 3, 2], 4: [2, 2, 1, 2]}
STRIDES = {1: [2], 2: [2, 3], 3: [2, 1, 3], 4: [2, 1, 3, 2]}
DILATIONS = {1: [3], 2: [2, 4], 3: [3, 1, 2], 4: [1, 2, 5, 2]}
UNEVEN = {1: [1, 2], 2: [1, 0, 0, 1], 3: [0, 1, 1, 1, 0, 1], 4: [0, 1, 0, 1, 1, 0, 0, 0]}
WIDE = {1: [7, 5], 2: [6, 0, 0, 7], 3: [5, 0, 0, 0, 1, 6], 4: [4, 0, 0, 0, 0, 0, 1, 4]}


def settings(case, spatial):
    """Every combination of the attributes of this version, on windows along `spatial` axes."""
    choices = {
        "strides": [None, STRIDES[spatial]],
        "dilations": [None, DILATIONS[spatial]],
        "ceil_mode": [None, 1],
        "count_include_pad": [None, 1],
        "storage_order": [None, 1],
        "p": [None, 1.0, 3.0, 2.5] if case.version == 1 else [None, 1, 3, 4],
    }
    choices = {name: values for name, values in choices.items() if case.has(name)}
    places = [
        {},
        {"pads": UNEVEN[spatial]},
        {"pads": WIDE[spatial], "auto_pad": "NOTSET"},
        {"pads": UNEVEN[spatial], "auto_pad": "VALID"},
        {"auto_pad": "SAME_UPPER"},
        {"auto_pad": "SAME_LOWER"},
    ]
    for place, *values in itertools.product(places, *choices.values()):
        chosen = {n: v for n, v in zip(choices, values, strict=True) if v is not None}
        yield {"kernel_shape": KERNELS[spatial], **place, **chosen}


def tensor(case, shape, seed=0):
    """Random values; for MaxPool few different ones, so that windows hold equal ones."""
    random = np.random.default_rng(seed)
    if case.dtype.kind in "iu":
        low = np.iinfo(case.dtype).min
        return random.integers(low, low + 9, shape).astype(case.dtype)
    values = random.standard_normal(shape)
    return (np.round(values) if case.op == "MaxPool" else values).astype(case.dtype)


def expected(case, x, attributes):
    """The results by the oracle, as a list: MaxPool has a second one from version 8 on."""
    results = ORACLE[case.op](x, **attributes)
    return list(results)[: len(case.schema.outputs)] if case.op == "MaxPool" else [results]


def check(case, x, attributes, **options):
    """The package against the oracle on one window; MaxPool with its indices and without, which other loops do."""
    wanted = expected(case, x, attributes)
    scale = None if case.op == "MaxPool" else size_of_terms(x, wanted[0])
    for count in range(1, len(wanted) + 1):
        got = run_node(case.op, case.version, {"X": x}, attributes, ["Y", "Indices"][:count], **options)
        try:
            for actual, right in zip(got, wanted[:count], strict=True):
                assert_close(actual, right, scale)
        except AssertionError as error:
            raise AssertionError(f"{case}, {x.shape}, {attributes}, {count} outputs: {error}") from error
