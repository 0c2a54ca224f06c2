"""Windows: sizes by hand, and numbers and names agree on every window."""
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper, shape_inference

from interp.dims import Fact, named, number
from interp.ops.window import Window, collapsed, out_size, pooled


@pytest.mark.parametrize("size, kernel, stride, dilation, before, after, ceil, expected", [
    (7, 3, 2, 1, 0, 0, False, 3), (8, 3, 2, 1, 0, 0, False, 3), (8, 3, 2, 1, 0, 0, True, 4),
    (7, 3, 2, 3, 0, 0, False, 1), (5, 5, 1, 1, 2, 2, False, 5),
    (2, 1, 3, 1, 0, 1, True, 1),  # the second window would start at 3, past the input
    (4, 2, 2, 1, 0, 1, True, 2),  # the third would start at 4, in the padding after the end
    (4, 2, 2, 1, 1, 1, True, 3), (3, 2, 1, 1, 0, 5, False, 7), (3, 2, 1, 1, 0, 5, True, 3),
])
def test_windows_along_an_axis_are_counted_as_the_text_says(size, kernel, stride, dilation, before, after, ceil, expected):
    assert out_size(size, kernel, stride, dilation, before, after, ceil) == expected


def test_the_odd_element_of_same_padding_goes_to_the_side_it_is_named_after():
    upper = Window.of((1, 1, 5), (4,), "SAME_UPPER")
    lower = Window.of((1, 1, 5), (4,), "SAME_LOWER")
    assert (upper.before, upper.after, upper.out) == ((1,), (2,), (5,))
    assert (lower.before, lower.after, lower.out) == ((2,), (1,), (5,))


def test_same_padding_reckons_with_the_dilated_kernel():
    w = Window.of((1, 1, 7), (3,), "SAME_UPPER", dilations=(2,), strides=(2,))
    assert (w.before, w.after, w.out) == ((2,), (2,), (4,))


def test_valid_ignores_pads_and_ceil_mode():
    assert Window.of((1, 1, 8), (3,), "VALID", (9, 9), (2,), ceil_mode=1) == Window.of((1, 1, 8), (3,), strides=(2,))


def test_no_spatial_axes_leave_nothing_to_slide_over():
    assert Window.of((4, 5), ()).out == () == Window.whole((4, 5)).out


@pytest.mark.parametrize("attributes, complaint", [
    (dict(kernel_shape=(3, 9)), "axis 3: a kernel of 9 is larger than the padded input of 8"),
    (dict(kernel_shape=(3, 3), dilations=(4, 1)), "axis 2: a kernel of 3, dilated to 9, is larger than the padded input of 7"),
    (dict(kernel_shape=(3, 9), pads=(0, 0, 0, 0), ceil_mode=1), "axis 3: a kernel of 9 is larger"),
    (dict(kernel_shape=(3,)), "kernel_shape has 1 entries for 2 spatial axes"),
    (dict(kernel_shape=None), "kernel_shape is missing"),
    (dict(kernel_shape=(3, 0)), "axis 3: kernel_shape is 0"),
    (dict(kernel_shape=(3, 3), strides=(0, 1)), "axis 2: strides is 0"),
    (dict(kernel_shape=(3, 3), dilations=(1, -1)), "axis 3: dilations is -1"),
    (dict(kernel_shape=(3, 3), pads=(1, 1)), "pads has 2 entries for 2 spatial axes; it needs 4"),
    (dict(kernel_shape=(3, 3), pads=(0, 0, 0, -1)), "axis 3: pads has -1"),
    (dict(kernel_shape=(3, 3), auto_pad="SAME"), "auto_pad is 'SAME'"),
])
def test_a_window_that_cannot_be_is_refused_by_axis(attributes, complaint):
    with pytest.raises(ValueError, match=complaint):
        Window.of((1, 1, 7, 8), **attributes)


def test_an_input_without_channels_is_refused():
    with pytest.raises(ValueError, match="a batch and a channel axis"):
        Window.whole((3,))


few, padding = st.integers(1, 4), st.integers(0, 3)
axis = st.tuples(st.integers(1, 12), few, few, st.integers(1, 3), padding, padding)
windows = st.tuples(st.lists(axis, min_size=1, max_size=3), st.sampled_from(("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")),
                    st.integers(0, 1))


def described(window):
    axes, auto_pad, ceil_mode = window
    size, kernel, stride, dilation, before, after = zip(*axes, strict=True)
    return size, dict(kernel_shape=kernel, auto_pad=auto_pad, pads=(*before, *after), strides=stride, dilations=dilation,
                      ceil_mode=ceil_mode)


@given(windows)
def test_names_and_numbers_agree(window):
    size, attributes = described(window)
    try:
        want = Window.of((2, 3, *size), **attributes)
    except ValueError:
        return
    given_names = tuple(named(f"d{i}") for i in range(len(size)))
    got = Window.of((named("N"), 3, *given_names), **attributes)
    known = {f"d{i}": z for i, z in enumerate(size)}
    for field in ("out", "before", "after"):
        assert tuple(number(d, dict(known)) for d in getattr(got, field)) == getattr(want, field)


@given(windows)
def test_every_window_reads_inside_the_padded_input_unless_ceil_mode_says_otherwise(window):
    size, attributes = described(window)
    try:
        w = Window.of((2, 3, *size), **attributes)
    except ValueError:
        return
    for z, k, s, d, b, a, o in zip(w.size, w.kernel, w.stride, w.dilation, w.before, w.after, w.out, strict=True):
        last = (o - 1) * s
        assert o >= 1
        if attributes["ceil_mode"] and attributes["auto_pad"] == "NOTSET":
            assert last < z + b
        else:
            assert last + d * (k - 1) + 1 <= z + b + a < last + s + d * (k - 1) + 1 or attributes["auto_pad"].startswith("SAME")


@given(windows)
def test_sizes_are_those_of_onnx_shape_inference(window):
    size, attributes = described(window)
    axes, auto_pad, ceil_mode = window
    try:
        want = pooled(Fact("tensor(float)", (2, 3, *size)), **attributes)[0]
    except ValueError:
        return
    if ceil_mode and (auto_pad != "NOTSET" or any(a > d * (k - 1) for _, k, _, d, _, a in axes)):
        return  # onnx drops one window only, where pads as large as the kernel hold several, and applies ceil_mode to VALID
    if auto_pad != "NOTSET":
        attributes = {k: v for k, v in attributes.items() if k not in ("pads", "dilations")}
        want = pooled(Fact("tensor(float)", (2, 3, *size)), **attributes)[0]
    node = helper.make_node("MaxPool", ["x"], ["y"], **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", 1, (2, 3, *size))],
                              [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])
    found = shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type.shape
    assert tuple(d.dim_value for d in found.dim) == want


def test_rules_keep_batch_and_channels():
    x = Fact("tensor(float)", (named("N"), 3, 8, named("W")))
    [(batch, channels, height, width)] = pooled(x, kernel_shape=(2, 2), strides=(2, 2), p=2)
    assert (batch, channels, height, number(width, {"W": 9})) == (named("N"), 3, 4, 4)
    assert collapsed(x, p=2) == [(named("N"), 3, 1, 1)]
    assert collapsed(Fact("tensor(float)", (0, 3))) == [(0, 3)]
