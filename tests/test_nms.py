"""NonMaxSuppression: boxes of both formats, thresholds absent and given, what does not overlap, ties."""
import numpy as np
import pytest

import interp

from .every import run_node
from .oracle.sample import non_max_suppression as oracle

F = np.float32


def suppressed(boxes, scores, most=None, overlap=None, least=None, opset=11, scalar=True, **attributes):
    feeds = {"boxes": np.asarray(boxes, F), "scores": np.asarray(scores, F)}
    for name, value, kind in (("max_output_boxes_per_class", most, np.int64), ("iou_threshold", overlap, F),
                              ("score_threshold", least, F)):
        feeds[name] = None if value is None else np.array(value if scalar else [value], kind)
    return run_node("NonMaxSuppression", opset, feeds, attributes, outputs=("selected_indices",))[0]


def boxes(batch, count, seed=0, centred=False):
    random = np.random.default_rng(seed)
    middle, size = random.uniform(0, 4, (batch, count, 2)), random.uniform(0.1, 3, (batch, count, 2))
    if centred:
        return np.concatenate([middle, size], 2).astype(F)
    return np.concatenate([middle - size / 2, middle + size / 2], 2).astype(F)


@pytest.mark.parametrize("opset", [10, 11])
@pytest.mark.parametrize("centred", [0, 1])
@pytest.mark.parametrize("most, overlap, least", [(3, 0.5, 0.3), (100, 0.2, None), (2, None, -0.5), (1, 0, 0), (50, 1, 0.5)])
@pytest.mark.parametrize("scalar", [True, False])
def test_the_best_that_do_not_overlap(opset, centred, most, overlap, least, scalar):
    b, scores = boxes(2, 30, centred=centred), np.random.default_rng(1).uniform(-1, 1, (2, 3, 30)).astype(F)
    y = suppressed(b, scores, most, overlap, least, opset, scalar, center_point_box=centred)
    due = oracle(b, scores, most, overlap or 0, None if least is None else F(least), center_point_box=centred)
    np.testing.assert_array_equal(y, due)
    assert y.dtype == np.int64 and len(y)


def test_corners_may_be_exchanged():
    b, scores = boxes(1, 40), np.random.default_rng(2).random((1, 2, 40))
    due = suppressed(b, scores, 20, 0.3)
    for order in ([2, 1, 0, 3], [0, 3, 2, 1], [2, 3, 0, 1]):
        np.testing.assert_array_equal(suppressed(b[:, :, order], scores, 20, 0.3), due)


def test_without_a_number_of_boxes_there_are_none():
    b, scores = boxes(1, 5), np.ones((1, 1, 5))
    for most in (None, 0, -3):
        y = suppressed(b, scores, most, 0.5)
        assert y.shape == (0, 3) and y.dtype == np.int64


def test_an_overlap_of_just_the_threshold_stays():
    halves = [[[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 1, 0.5]]]  # each a half of the next larger one
    assert suppressed(halves, [[[3, 2, 1]]], 9, 0.5)[:, 2].tolist() == [0, 1, 2]
    assert suppressed(halves, [[[3, 2, 1]]], 9, 0.49)[:, 2].tolist() == [0]
    assert suppressed(halves, [[[3, 2, 1]]], 9)[:, 2].tolist() == [0]


def test_boxes_that_touch_do_not_overlap():
    side_by_side = [[[0, 0, 1, 1], [0, 1, 1, 2], [1, 0, 2, 1], [5, 5, 6, 6]]]
    assert suppressed(side_by_side, [[[1, 2, 3, 4]]], 9, 0)[:, 2].tolist() == [3, 2, 1, 0]


def test_boxes_without_an_area_overlap_none():
    points = [[[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 2, 2], [1, 0, 1, 2]]]
    assert suppressed(points, [[[4, 3, 2, 1]]], 9, 0)[:, 2].tolist() == [0, 1, 2, 3]
    assert suppressed([[[1, 1, 0, 0], [1, 1, -1, 2]]], [[[1, 2]]], 9, 0, center_point_box=1)[:, 2].tolist() == [1, 0]


def test_no_boxes_batches_or_classes():
    assert suppressed(np.zeros((1, 0, 4)), np.zeros((1, 2, 0)), 5).shape == (0, 3)
    assert suppressed(np.zeros((0, 3, 4)), np.zeros((0, 2, 3)), 5).shape == (0, 3)
    assert suppressed(np.zeros((1, 3, 4)), np.zeros((1, 0, 3)), 5).shape == (0, 3)


def test_of_equal_scores_the_first_box_is_taken():
    apart = [[[0, i, 1, i + 1] for i in range(20)]]
    assert suppressed(apart, np.ones((1, 1, 20)), 7)[:, 2].tolist() == list(range(7))


def test_scores_must_lie_above_the_threshold():
    apart = [[[0, i, 1, i + 1] for i in range(4)]]
    assert suppressed(apart, [[[0.5, 0.25, 0, -1]]], 9, 0, 0)[:, 2].tolist() == [0, 1]
    assert suppressed(apart, [[[0.5, 0.25, 0, -1]]], 9, 0)[:, 2].tolist() == [0, 1, 2, 3]


def test_numbers_that_are_none_or_infinite():
    apart = [[[0, i, 1, i + 1] for i in range(4)]]
    assert suppressed(apart, [[[np.nan, -np.inf, np.inf, 1]]], 9, 0)[:, 2].tolist() == [2, 3, 1]
    strange = [[[np.nan] * 4, [0, 0, np.inf, np.inf], [0, 0, 1, 1], [-np.inf, 0, 1, 1]]]
    assert sorted(suppressed(strange, [[[4, 3, 2, 1]]], 9, 0.5)[:, 2].tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize("b, scores, options", [
    ((1, 3, 5), (1, 1, 3), {}), ((1, 3, 4), (1, 1, 4), {}), ((2, 3, 4), (1, 1, 3), {}), ((1, 3, 4), (1, 3), {}),
    ((1, 3, 4), (1, 1, 3), {"overlap": 1.5}), ((1, 3, 4), (1, 1, 3), {"overlap": -0.1}),
    ((1, 3, 4), (1, 1, 3), {"overlap": np.nan}), ((1, 3, 4), (1, 1, 3), {"center_point_box": 2})], ids=str)
def test_what_does_not_fit_is_refused(b, scores, options):
    with pytest.raises(interp.InterpError):
        suppressed(np.zeros(b), np.zeros(scores), 5, **options)
