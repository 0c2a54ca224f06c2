"""Plots as SVG: they parse, and things lie where the formula of their axis says."""
import math
import xml.etree.ElementTree as ET

import pytest

from interp.plots import BAR, GAP, HEIGHT, LEFT, NAMES, RIGHT, TOP, WIDTH, Axis, Scale, Series, bars, histogram, lines

SVG = "{http://www.w3.org/2000/svg}"
FOOT = HEIGHT - 46


def found(picture, tag):
    """The elements of one kind in a picture, which must be well-formed."""
    return list(ET.fromstring(picture).iter(SVG + tag))


def texts(picture):
    return ["".join(t.itertext()) for t in found(picture, "text")]


def test_a_line_goes_through_its_points():
    picture = lines([Series("one", [(0, 0), (5, 20), (10, 40)])], title="t", x=Axis("x"), y=Axis("y", low=0, high=80))
    [line] = found(picture, "polyline")
    points = [tuple(map(float, p.split(","))) for p in line.get("points").split()]
    across = [LEFT + v / 10 * (WIDTH - RIGHT - LEFT) for v in (0, 5, 10)]
    up = [FOOT + v / 80 * (TOP - FOOT) for v in (0, 20, 40)]
    for (x, y), due_x, due_y in zip(points, across, up, strict=True):
        assert (x, y) == (pytest.approx(due_x, abs=0.01), pytest.approx(due_y, abs=0.01))


def test_logarithms_are_even_and_what_is_not_positive_lies_at_the_end():
    series = Series("e", [(0, 1e-6), (1, 1e-3), (2, 0), (3, math.inf), (4, math.nan)], list("abcde"), joined=False)
    picture = lines([series], title="t", x=Axis(), y=Axis(low=1e-9, high=1, log=True))
    ys = [float(c.get("cy")) for c in found(picture, "circle")]
    due = [FOOT + share * (TOP - FOOT) for share in (1 / 3, 2 / 3, 0, 1, 1)]
    assert ys == pytest.approx(due, abs=0.01)
    assert [c[0].text for c in found(picture, "circle")] == list("abcde")


@pytest.mark.parametrize("scale, ticks", [
    (Scale(0, 10, 0, 1), [0, 2, 4, 6, 8, 10]), (Scale(0, 1, 0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1]),
    (Scale(3, 3.5, 0, 1), [3, 3.1, 3.2, 3.3, 3.4, 3.5]),
    (Scale(-1, 1, 0, 1), [-1, -0.5, 0, 0.5, 1]), (Scale(1e-3, 10, 0, 1, True), [1e-3, 1e-2, 0.1, 1, 10]),
    (Scale(1e-12, 1, 0, 1, True), [1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1])], ids=str)
def test_ticks_are_round_numbers(scale, ticks):
    assert scale.ticks() == pytest.approx(ticks)


def test_a_histogram_counts():
    picture = histogram([0, 0.1, 0.1, 1.9, 2], title="t", x=Axis("ms", low=0, high=2), bins=2, marks={"p50": 0.5})
    page, *boxes = found(picture, "rect")
    half = (WIDTH - RIGHT - LEFT) / 2
    assert [float(b.get("x")) for b in boxes] == [LEFT, LEFT + half]
    assert [float(b.get("height")) for b in boxes] == pytest.approx([FOOT - TOP, (FOOT - TOP) * 2 / 3], abs=0.01)
    assert [b[0].text for b in boxes] == ["3", "2"]
    [mark] = [e for e in found(picture, "line") if e.get("class") == "mark"]
    assert float(mark.get("x1")) == pytest.approx(LEFT + 0.25 * 2 * half)
    assert "p50" in texts(picture) and page.get("class") == "page"


def test_bars_are_as_long_as_their_numbers():
    picture = bars({"a": [1, 2], "b": [4, math.nan]}, title="t", mark=1)
    boxes = [b for b in found(picture, "rect") if b.get("fill")]
    assert [float(b.get("width")) for b in boxes] == [105, 210, 420]
    assert [float(b.get("y")) for b in boxes] == [26, 26 + BAR, 26 + 2 * BAR + GAP]
    [mark] = [e for e in found(picture, "line") if e.get("class") == "mark"]
    assert float(mark.get("x1")) == NAMES + 105


def test_texts_are_escaped():
    name = '<b>"&\x1b'
    series = [Series(name, [(0, 1)], [name]), Series("b", [])]
    for picture in (bars({name: [1]}, title=name), lines(series, title=name, x=Axis(name), y=Axis(name)),
                    histogram([1.0], title=name, x=Axis(name), marks={name: 1})):
        assert '<b>"&\ufffd' in texts(picture) and "\x1b" not in picture


@pytest.mark.parametrize("values", [[], [0], [5, 5, 5], [1e-300], [math.inf, math.nan]], ids=str)
def test_any_data_make_a_picture(values):
    points = [(v, v) for v in values]
    for log in (False, True):
        found(lines([Series("s", points)], title="", x=Axis(log=log), y=Axis(log=log)), "svg")
        found(histogram(values, title="", x=Axis(log=log)), "svg")
    found(bars({"a": values}, title=""), "svg")


def test_pages_may_be_dark():
    picture = bars({"a": [1]}, title="")
    assert "prefers-color-scheme: dark" in picture and "currentColor" in picture
