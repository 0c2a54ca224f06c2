"""Normalizations: formulas in float64, from the operators' texts."""
import numpy as np

from .case import Case, case

EPSILON = 2.0 ** -7  # attributes are floats: 0.01 would not be the same number in double


def wide(*arrays):
    return [a.astype(np.float64) for a in arrays]


def by_channel(a, x):
    return a.reshape(1, -1, *(1,) * (x.ndim - 2))


def standardized(x, axes, epsilon=0.0):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


@case("BatchNormalization")
def batch_normalization(spec):
    """Training in versions where that has outputs of its own, and for types of the running statistics; else inference."""
    x = spec.data((3, 4, 5), "T")
    scale_type = "T1" if "T1" in spec.types else "T"
    of = next(c for c in ("T2", "U", "T") if c in spec.types)
    scale, b, mean, var = (spec.data((4,), c, low) for c, low in ((scale_type, -2), (scale_type, -2), (of, -2), (of, 0.5)))
    wide_x, k, shift, m, v = wide(x, scale, b, mean, var)
    attributes = {"epsilon": EPSILON}
    if spec.version == 1:
        attributes["consumed_inputs"] = [0, 0, 0, 1, 1]
    if spec.version >= 14 and spec.tried in ("T", "T1"):
        y = (wide_x - by_channel(m, x)) / np.sqrt(by_channel(v, x) + EPSILON) * by_channel(k, x) + by_channel(shift, x)
        return Case([x, scale, b, mean, var], [y], **attributes)
    own_mean, own_var = wide_x.mean((0, 2)), wide_x.var((0, 2))
    y = standardized(wide_x, (0, 2), EPSILON) * by_channel(k, x) + by_channel(shift, x)
    if spec.version >= 14:
        attributes["training_mode"] = 1
    running = [m * 0.75 + own_mean * 0.25, v * 0.75 + own_var * 0.25]
    outputs = [y, *running, own_mean, own_var] if spec.version < 14 else [y, *running]
    return Case([x, scale, b, mean, var], outputs, momentum=0.75, terms=10, **attributes)


@case("LRN")
def lrn(spec):
    x = spec.data((2, 6, 3), "T")
    [wide_x] = wide(x)
    squares = np.zeros_like(wide_x)
    for c in range(6):
        squares[:, c] = np.square(wide_x[:, max(0, c - 1):c + 3]).sum(1)  # floor(3 / 2) before, ceil(3 / 2) after
    return Case([x], [wide_x / (1.5 + 0.25 / 4 * squares) ** 0.625], size=4, alpha=0.25, beta=0.625, bias=1.5)


@case("LayerNormalization")
def layer_normalization(spec):
    """Mean and InvStdDev have the type of stash_type."""
    x, scale, b = spec.data((2, 3, 4), "T"), spec.data((3, 4), "T"), spec.data((4,), "T")
    wide_x, k, shift = wide(x, scale, b)
    stash = 16 if spec.types["U"] == "tensor(bfloat16)" else 1
    mean, spread = wide_x.mean((1, 2), keepdims=True), 1 / np.sqrt(wide_x.var((1, 2), keepdims=True) + EPSILON)
    y = (wide_x - mean) * spread * k + shift
    return Case([x, scale, b], [y, mean, spread], axis=1, epsilon=EPSILON, stash_type=stash)


@case("RMSNormalization")
def rms_normalization(spec):
    x, scale = spec.data((2, 3, 5), "T"), spec.data((5,), "V")
    wide_x, k = wide(x, scale)
    return Case([x, scale], [wide_x / np.sqrt(np.square(wide_x).mean(-1, keepdims=True) + EPSILON) * k], epsilon=EPSILON, terms=4)


@case("GroupNormalization")
def group_normalization(spec):
    x, scale, bias = spec.data((2, 6, 3), "T"), spec.data((6,), "T"), spec.data((6,), "T")
    wide_x, k, shift = wide(x, scale, bias)
    normal = standardized(wide_x.reshape(2, 2, 9), 2, EPSILON).reshape(2, 6, 3)
    return Case([x, scale, bias], [normal * by_channel(k, x) + by_channel(shift, x)], num_groups=2, epsilon=EPSILON)


@case("InstanceNormalization")
def instance_normalization(spec):
    x, scale, bias = spec.data((2, 3, 2, 5), "T"), spec.data((3,), "T"), spec.data((3,), "T")
    wide_x, k, shift = wide(x, scale, bias)
    y = standardized(wide_x, (2, 3), EPSILON) * by_channel(k, x) + by_channel(shift, x)
    return Case([x, scale, bias], [y], epsilon=EPSILON)


@case("MeanVarianceNormalization")
def mean_variance_normalization(spec):
    """The text has no epsilon, its function adds 1e-9 to the standard deviation."""
    x = spec.data((3, 4, 5), "T")
    [wide_x] = wide(x)
    y = (wide_x - wide_x.mean((0, 2), keepdims=True)) / (wide_x.std((0, 2), keepdims=True) + 1e-9)
    return Case([x], [y], axes=[0, 2])


@case("LpNormalization")
def lp_normalization(spec):
    x = spec.data((2, 3, 5), "T")
    x[:, :, 2] = 0
    [wide_x] = wide(x)
    norm = np.abs(wide_x).sum(1, keepdims=True) if spec.version == 1 else np.sqrt(np.square(wide_x).sum(1, keepdims=True))
    return Case([x], [wide_x / np.where(norm, norm, 1)], axis=1, p=1 if spec.version == 1 else 2)


@case("Softmax", "LogSoftmax")
def softmax(spec):
    """Before version 13 all axes from one on are one."""
    x = spec.data((2, 3, 4), "T")
    [wide_x] = wide(x)
    axes = (1, 2) if spec.version < 13 else 1
    powers = np.exp(wide_x - wide_x.max(axes, keepdims=True))
    y = powers / powers.sum(axes, keepdims=True)
    return Case([x], [y if spec.op == "Softmax" else np.log(y)], axis=1)
