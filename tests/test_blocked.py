"""The operators of the blocked layout, against formulas and against the plain operators on the same channels."""
import numpy as np
import pytest

from interp.dims import Fact, named
from interp.ops.fused import blocked
from interp.registry import misfits, ops_of

CHANNELS = [1, 7, 8, 9, 16, 21]


def random(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def made(op, *arrays, threads=1, **attributes):
    """What an operator writes over a result full of 77."""
    facts = [None if a is None else Fact("tensor(float)", a.shape, a) for a in arrays]
    [shape] = op.shape(*facts, **attributes)
    out = np.full(shape, 77, np.float32)
    op(*arrays, **attributes, out=out)(threads)
    return out


def blocks_of(x):
    """The blocked layout in NumPy: zeros beyond the channels."""
    n, c, *places = x.shape
    padded = np.zeros((n, -(-c // 8) * 8, *places), np.float32)
    padded[:, :c] = x
    return np.ascontiguousarray(np.moveaxis(padded.reshape(n, -1, 8, *places), 2, -1))


def plain_of(y, channels):
    """The channels of a blocked value."""
    n, blocks, *places, _ = y.shape
    return np.moveaxis(y, -1, 2).reshape(n, blocks * 8, *places)[:, :channels]


@pytest.mark.parametrize("op", list(ops_of(blocked)), ids=lambda op: op.name)
def test_every_operator_fits_its_signature(op):
    assert not list(misfits(op))


@pytest.mark.parametrize("places", [(1, 1), (3, 5), (4, 4), (7, 9), (33, 40), ()], ids=str)
@pytest.mark.parametrize("channels", CHANNELS)
def test_a_value_is_blocked_and_back(channels, places):
    x = random((2, channels, *places))
    y = made(blocked.block, x)
    np.testing.assert_array_equal(y, blocks_of(x))
    np.testing.assert_array_equal(made(blocked.unblock, y, channels=channels), x)
    np.testing.assert_array_equal(made(blocked.block, x, threads=2), y)


def test_a_value_without_elements_is_blocked():
    for shape in [(0, 3, 2, 2), (2, 0, 2, 2), (2, 3, 0, 2)]:
        y = made(blocked.block, np.zeros(shape, np.float32))
        assert y.shape == (shape[0], -(-shape[1] // 8), *shape[2:], 8) and not y.any()
        assert made(blocked.unblock, y, channels=shape[1]).shape == shape


def test_blocks_of_named_sizes_have_shapes():
    n, h = map(named, "NH")
    assert blocked.block.shape(Fact("tensor(float)", (n, 20, h, 4))) == [(n, 3, h, 4, 8)]
    assert blocked.unblock.shape(Fact("tensor(float)", (n, 3, h, 4, 8)), channels=20) == [(n, 20, h, 4)]


def test_what_is_not_blocked_is_refused():
    with pytest.raises(ValueError, match="not blocked"):
        blocked.unblock.shape(Fact("tensor(float)", (1, 3, 4, 4)), channels=20)
    with pytest.raises(ValueError, match="20 channels take 3 blocks, not 2"):
        blocked.unblock.shape(Fact("tensor(float)", (1, 2, 4, 4, 8)), channels=20)
    with pytest.raises(ValueError, match="has no blocks"):
        blocked.block(random((1, 20, 4, 4)), out=np.empty((1, 2, 4, 4, 8), np.float32))
