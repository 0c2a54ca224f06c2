"""Convolutions, by products added up one by one in float64, and columns put back."""
from ..oracle import conv as oracle
from ..oracle.sample import deform_conv as deformed
from .case import Case, case


@case("Conv")
def convolution(spec):
    x, w, b = spec.data((2, 4, 5, 4), "T"), spec.data((6, 2, 3, 2), "T"), spec.data((6,), "T")
    how = dict(group=2, strides=[2, 1], dilations=[1, 2], pads=[1, 0, 0, 2])
    return Case([x, w, b], [oracle.conv(x, w, b, **how)], terms=100.0, **how, kernel_shape=[3, 2])


@case("ConvTranspose")
def conv_transpose(spec):
    x, w, b = spec.data((1, 4, 2, 3), "T"), spec.data((4, 2, 3, 2), "T"), spec.data((4,), "T")
    how = dict(group=2, strides=[2, 3], dilations=[1, 2], pads=[1, 0, 0, 2], output_padding=[1, 0])
    if spec.version == 11:
        how = dict(group=2, strides=[2, 2], auto_pad="SAME_UPPER")
    return Case([x, w, b], [oracle.conv_transpose(x, w, b, **how)], terms=100.0, **how)


@case("DeformConv")
def deform_conv(spec):
    x, w, b = spec.data((1, 2, 3, 3), "T"), spec.data((2, 1, 2, 2), "T"), spec.data((2,), "T")
    offset, mask = spec.data((1, 16, 2, 2), "T", -1.5, 1.5), spec.data((1, 8, 2, 2), "T")
    how = dict(group=2, offset_group=2)
    return Case([x, w, offset, b, mask], [deformed(x, w, offset, b, mask, **how)], terms=100.0, **how)


@case("Col2Im")
def col2im(spec):
    columns, how = spec.data((1, 8, 6), "T"), dict(strides=[2, 1], pads=[1, 0, 0, 0], dilations=[1, 2])
    image, block = [4, 5], [2, 2]
    due = oracle.col2im(columns, image, block, **how)
    return Case([columns, spec.array((2,), "int64", 0, 0) + image, spec.array((2,), "int64", 0, 0) + block], [due], **how)


@case("CausalConvWithState")
def causal_conv_with_state(spec):
    x, w, bias = spec.data((2, 3, 4), "T"), spec.data((3, 1, 3), "T"), spec.data((3,), "T")
    past = spec.data((2, 3, 2), "T")
    return Case([x, w, bias, past], oracle.causal_conv_with_state(x, w, bias, past, activation="silu"), terms=30.0,
                activation="silu")
