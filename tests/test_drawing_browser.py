"""The page that `interp draw -o g.html` writes, in a browser: what moves, what is found, what is shown, and what never runs."""
import pytest
from onnx import TensorProto, helper

from interp.drawing import draw

from .chromium import BINARY, Page
from .test_cli import DIGITS
from .test_drawing import HOSTILE, branching, hostile, made, profile

pytestmark = pytest.mark.skipif(BINARY is None, reason="there is no Chromium (apt-get install chromium)")
VIEW = "document.getElementById('view')"
COLOUR = "getComputedStyle(document.querySelector('.n[data-n=\"{}\"] .head')).fill"


@pytest.fixture(scope="module")
def browser():
    page = Page()
    yield page
    page.close()


@pytest.fixture
def show(browser, tmp_path):
    """A function that opens a model's page; afterwards the page has asked for nothing and complained of nothing."""
    def opened(source, **keywords):
        path = tmp_path / "g.html"
        path.write_text(draw(source, "html", **keywords), encoding="utf-8")
        browser.said.clear()
        browser.asked.clear()
        browser.open(path.as_uri())
        return browser
    yield opened
    assert browser.said == []
    assert {url.partition(":")[0] for url in browser.asked} <= {"file"} and len(browser.asked) <= 1


def state(page):
    """Scale and place of the view."""
    page.js("new Promise(requestAnimationFrame)")
    return tuple(float(page.js(f"{VIEW}.dataset.{key}")) for key in ("scale", "x", "y"))


def middle(page, number):
    """Where on the screen the head of a box is."""
    found = page.js(f"(() => {{ const b = document.querySelector('.n[data-n=\"{number}\"] .head').getBoundingClientRect();"
                    " return [b.x + b.width / 2, b.y + b.height / 2] })()")
    return tuple(found)


def number_of(page, name):
    return page.js(f"JSON.parse(document.getElementById('data').textContent).boxes.findIndex((b) => b.n === {name!r})")


def selected(page):
    page.js("new Promise(requestAnimationFrame)")
    return int(page.js(f"{VIEW}.dataset.selected"))


def test_a_click_shows_what_a_node_is_made_of(show):
    page = show(str(DIGITS))
    conv = page.js("JSON.parse(document.getElementById('data').textContent).boxes.findIndex((b) => b.t === 'Conv')")
    page.click(*middle(page, conv))
    assert selected(page) == conv
    told = page.js("document.getElementById('panel').innerText")
    assert "Conv" in told and "kernel_shape" in told and "float32[" in told and "min" in told and "mean" in told
    assert page.js("document.querySelectorAll('#panel .bars rect').length") > 0
    assert page.js("document.querySelectorAll('.w.in').length") == page.js("document.querySelectorAll('.w.out').length") == 1
    page.js("document.querySelector('#panel .links button').click()")  # on to the node that it reads
    assert selected(page) != conv
    page.key("Escape")


def test_wheel_buttons_and_keys_zoom_about_the_right_point(show):
    page = show(str(DIGITS))
    scale, x, y = state(page)
    page.mouse("mouseWheel", 300, 300, deltaX=0, deltaY=-240)
    nearer = state(page)
    assert nearer[0] > scale
    box = page.js(f"(() => {{ const b = {VIEW}.getBoundingClientRect(); return [b.x, b.y] }})()")
    px, py = 300 - box[0], 300 - box[1]
    assert (px - nearer[1]) / nearer[0] == pytest.approx((px - x) / scale, abs=1)
    assert (py - nearer[2]) / nearer[0] == pytest.approx((py - y) / scale, abs=1)
    page.js("document.getElementById('out').click()")
    assert state(page)[0] == pytest.approx(nearer[0] * 0.8, rel=1e-3)
    page.js(f"{VIEW}.focus()")
    page.key("+")
    assert state(page)[0] == pytest.approx(nearer[0], rel=1e-3)
    page.js("document.getElementById('fit').click()")
    fitted = state(page)
    last = page.js("document.querySelector('.n[data-n]:last-of-type') && Math.max(...[...document.querySelectorAll('.n')]"
                   ".map((n) => n.getBoundingClientRect().bottom))")
    assert last <= page.js(f"{VIEW}.getBoundingClientRect().bottom") + 1
    page.key("ArrowDown")
    assert state(page)[2] == pytest.approx(fitted[2] - 80)


def test_dragging_moves_and_does_not_select(show):
    page = show(str(DIGITS))
    scale, x, y = state(page)
    page.drag(*middle(page, 1), 50, 30)
    assert state(page) == pytest.approx((scale, x + 50, y + 30))
    assert selected(page) == -1


def test_two_fingers_zoom(show):
    page = show(str(DIGITS))
    scale = state(page)[0]
    page("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    try:
        for kind, gap in (("touchStart", 50), ("touchMove", 80), ("touchMove", 100)):
            page("Input.dispatchTouchEvent", type=kind,
                 touchPoints=[{"x": 300 - gap, "y": 300, "id": 0}, {"x": 300 + gap, "y": 300, "id": 1}])
        page("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        assert state(page)[0] == pytest.approx(2 * scale, rel=0.05)
    finally:
        page("Emulation.setTouchEmulationEnabled", enabled=False)


def test_search_finds_operators_nodes_and_tensors_and_goes_there(show):
    nodes = [helper.make_node("Relu", ["x" if k == 0 else f"t{k - 1}"], [f"t{k}"], f"step{k}") for k in range(120)]
    page = show(made([*nodes, helper.make_node("Abs", ["t119"], ["y"], "last")]))
    page.key("/")
    assert page.js("document.activeElement.id") == "search"
    page.type("ABS")
    found = number_of(page, "last")
    assert page.js("document.getElementById('found').textContent") == "1 of 1" and selected(page) == found
    x, y = middle(page, found)
    box = page.js(f"(() => {{ const b = {VIEW}.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom] }})()")
    assert box[0] < x < box[2] and box[1] < y < box[3]
    page.js("document.getElementById('search').select()")
    page.type("step1")
    assert page.js("document.getElementById('found').textContent") == "1 of 31"  # 1, 10 to 19, 100 to 119
    assert selected(page) == number_of(page, "step1") and page.js("document.querySelectorAll('.hit').length") == 31
    page.key("Enter")
    assert selected(page) == number_of(page, "step10")
    page.js("document.getElementById('search').select()")
    page.type("t77")
    assert {number_of(page, "step77"), number_of(page, "step78")} == set(page.js(
        "[...document.querySelectorAll('.hit')].map((e) => +e.dataset.n)"))
    page.js("document.getElementById('search').select()")
    page.type("no such thing")
    assert page.js("document.getElementById('found').textContent") == "nothing"


def test_keys_follow_edges(show):
    page = show(made([helper.make_node("Relu", ["x"], ["a"], "left"), helper.make_node("Abs", ["x"], ["b"], "right"),
                      helper.make_node("Add", ["a", "b"], ["y"], "join")]))
    page.js(f"{VIEW}.focus()")
    page.key("Enter")
    assert selected(page) >= 0
    page.key("Escape")
    assert selected(page) == -1
    page.click(*middle(page, number_of(page, "left")))
    page.key("ArrowDown")
    assert selected(page) == number_of(page, "join")
    page.key("ArrowUp")
    left, right = number_of(page, "left"), number_of(page, "right")
    assert selected(page) in (left, right)
    before = selected(page)
    page.key("ArrowRight" if middle(page, before)[0] < middle(page, left + right - before)[0] else "ArrowLeft")
    assert selected(page) == left + right - before
    assert "Abs right" in page.js("document.getElementById('said').textContent") or before == right


def test_branches_lie_in_their_node_and_are_searched_too(show):
    page = show(branching())
    inside = page.js("(() => { const at = (n) => document.querySelector(`.n[data-n=\"${n}\"] .card`).getBoundingClientRect();"
                     f"const a = at({number_of(page, 'choice')}), b = at({number_of(page, 'Abs')});"
                     "return a.left < b.left && b.right < a.right && a.top < b.top && b.bottom < a.bottom })()")
    assert inside
    page.click(*middle(page, number_of(page, "Abs")))
    assert selected(page) == number_of(page, "Abs")


def test_times_colour_nodes_and_families_do_otherwise(show):
    source = made([helper.make_node("Relu", ["x"], ["a"], "slow"), helper.make_node("Abs", ["a"], ["b"], "quick"),
                   helper.make_node("Exp", ["b"], ["y"], "unknown")])
    page = show(source, profile=profile(("slow", [], 0.9), ("quick", [], 0.01)))
    slow, quick, unknown = (page.js(COLOUR.format(number_of(page, n))) for n in ("slow", "quick", "unknown"))
    assert slow == "rgb(128, 4, 60)" and len({slow, quick, unknown}) == 3
    assert "900 ms" in page.js("document.querySelector('footer').innerText")
    assert "slow" in page.js("document.getElementById('panel').innerText")
    page = show(source)
    assert page.js(COLOUR.format(number_of(page, "slow"))) != slow
    page.js("document.querySelector('footer button[data-family=activation]').click()")
    assert page.js("[...document.querySelectorAll('.n:not(.dim)')].map((e) => +e.dataset.n)") == [number_of(page, "slow")]


def test_light_and_dark(show):
    page = show(str(DIGITS))
    paper = "getComputedStyle(document.body).backgroundColor"
    before = page.js(paper)
    page.js("document.getElementById('theme').click()")
    assert page.js(paper) != before
    page("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    dark = show(str(DIGITS)).js(paper)
    page("Emulation.setEmulatedMedia", features=[])
    assert dark != show(str(DIGITS)).js(paper)


def test_names_that_are_markup_stay_text(show):
    page = show(hostile(), name=HOSTILE)
    page.js(f"{VIEW}.focus()")
    for _ in range(3):
        page.key("Enter")
        page.key("ArrowDown")
    assert page.js("document.images.length") == 0 and page.js("document.title").startswith("</script><img")
    node = page.js("JSON.parse(document.getElementById('data').textContent).boxes.findIndex((b) => b.k === 'node')")
    page.click(*middle(page, node))
    assert "onerror" in page.js("document.getElementById('panel').innerText") and page.js("document.images.length") == 0
    assert page.js("document.querySelectorAll('script').length") == 2


def test_two_thousand_nodes_move_smoothly(show):
    nodes = [helper.make_node("Relu" if k % 7 else "Add", [f"t{k}"] if k % 7 else [f"t{k}", f"t{max(k - 6, 0)}"], [f"t{k + 1}"],
                              f"n{k}") for k in range(2000)]
    page = show(made(nodes, [("t0", TensorProto.FLOAT, [2, 3])], [("t2000", TensorProto.FLOAT, None)]))
    page("Performance.enable", timeDomain="threadTicks")
    busy = [page("Performance.getMetrics")["metrics"]]
    page.js("""new Promise((done) => { let k = 0; const view = document.getElementById("view");
      const frame = () => { if (++k > 30) return done();
        view.dispatchEvent(new WheelEvent("wheel", { deltaY: k < 15 ? 60 : -40, clientX: 300, clientY: 300, cancelable: true }));
        requestAnimationFrame(frame); };
      requestAnimationFrame(frame); })""")
    busy.append(page("Performance.getMetrics")["metrics"])
    before, after = ({m["name"]: m["value"] for m in found}["TaskDuration"] for found in busy)
    assert (after - before) / 30 < 0.15  # seconds of the processor a frame, 0.03 where this was written
    assert page.js("[...document.querySelectorAll('#world > g')].filter((g) => g.style.display === 'none').length") > 0
