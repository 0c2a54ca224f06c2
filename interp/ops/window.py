"""Windows that slide over spatial axes: how many there are and where they start, for numbers and for named sizes."""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..dims import Fact, Size, larger, smaller
from ..record import record

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def out_size(size: Size, kernel: Size, stride: int, dilation: int, before: Size, after: Size, ceil: bool = False) -> Size:
    """How many windows fit along one axis. With ``ceil`` the last may reach past the padding, if it starts before it."""
    room = size + before + after - dilation * (kernel - 1) - 1
    if not ceil:
        return room // stride + 1
    # A window that would start in the padding after the end is dropped in every version; the text says so from 22 on.
    return smaller(-(-room // stride), (size + before - 1) // stride) + 1


@record(frozen=True)
class Window:
    """A window over the spatial axes of (N, C, D1, …): one entry an axis; ``before`` and ``after`` are the declared padding."""

    size: tuple[Size, ...]
    kernel: tuple[Size, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[Size, ...]
    after: tuple[Size, ...]
    out: tuple[Size, ...]

    @classmethod
    def of(cls, shape: Sequence[Size], kernel_shape: Sequence[Size] | None, auto_pad: str = "NOTSET",
           pads: Sequence[int] | None = None, strides: Sequence[int] | None = None, dilations: Sequence[int] | None = None,
           ceil_mode: int = 0) -> Window:
        """The window that a node's attributes describe over an input of this shape; ValueError names the axis that cannot be."""
        given = (tuple(v) if isinstance(v, list) else v for v in (kernel_shape, auto_pad, pads, strides, dilations, ceil_mode))
        return cls._of(_spatial(shape), *given)

    @classmethod
    @lru_cache(1024)  # a new batch size changes no window, and the blocks of a network share theirs
    def _of(cls, size: tuple[Size, ...], kernel_shape: Sequence[Size] | None, auto_pad: str, pads: Sequence[int] | None,
            strides: Sequence[int] | None, dilations: Sequence[int] | None, ceil_mode: int) -> Window:
        n = len(size)
        if kernel_shape is None:
            raise ValueError("kernel_shape is missing")
        kernel = _each("kernel_shape", kernel_shape, n)
        stride = _each("strides", strides, n)
        dilation = _each("dilations", dilations, n)
        if auto_pad not in AUTO_PADS:
            raise ValueError(f"auto_pad is {auto_pad!r}; it must be one of {', '.join(AUTO_PADS)}")
        axes = list(zip(size, kernel, stride, dilation, strict=True))
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            out = tuple(-(-z // s) for z, _, s, _ in axes)
            total = [larger((o - 1) * s + d * (k - 1) + 1 - z, 0) for o, (z, k, s, d) in zip(out, axes, strict=True)]
            less, more = tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)
            return cls(size, kernel, stride, dilation, *((less, more) if auto_pad == "SAME_UPPER" else (more, less)), out)
        before, after = ((0,) * n,) * 2 if auto_pad == "VALID" else _both("pads", pads, n)
        ceil = bool(ceil_mode) and auto_pad == "NOTSET"
        for axis, ((z, k, _, d), b, a) in enumerate(zip(axes, before, after, strict=True), 2):
            room, reach = z + b + a, d * (k - 1) + 1
            if isinstance(room, int) and isinstance(reach, int) and reach > room:
                dilated = f", dilated to {reach}," if d > 1 else ""
                raise ValueError(f"axis {axis}: a kernel of {k}{dilated} is larger than the padded input of {room}")
        out = tuple(out_size(*axis, b, a, ceil) for axis, b, a in zip(axes, before, after, strict=True))
        return cls(size, kernel, stride, dilation, before, after, out)

    @classmethod
    def whole(cls, shape: Sequence[Size]) -> Window:
        """One window over all there is."""
        size, n = _spatial(shape), len(shape) - 2
        ones, zeros = (1,) * n, (0,) * n
        return cls(size, size, ones, ones, zeros, zeros, ones)


def pooled(x: Fact, *, kernel_shape: Any, auto_pad: str = "NOTSET", pads: Any = None, strides: Any = None,
           dilations: Any = None, ceil_mode: int = 0, **_: Any) -> list[tuple[Size, ...]]:
    """The shape rule of a pool; attributes that do not move its window are ignored."""
    shape = _known(x)
    return [(*shape[:2], *Window.of(shape, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode).out)]


def collapsed(x: Fact, **_: Any) -> list[tuple[Size, ...]]:
    """The shape rule of a global pool."""
    shape = _known(x)
    return [(*shape[:2], *Window.whole(shape).out)]


def _known(x: Fact) -> tuple[Size, ...]:
    if x.shape is None:
        raise ValueError("the rank of the input is not known")
    return x.shape


def _spatial(shape: Sequence[Size]) -> tuple[Size, ...]:
    if len(shape) < 2:
        raise ValueError(f"an input has a batch and a channel axis, this one has shape {tuple(shape)}")
    return tuple(shape[2:])


def _each(name: str, values: Sequence[Any] | None, n: int) -> tuple[Any, ...]:
    """One positive number for each spatial axis, 1 where nothing is given."""
    if not values:
        values = (1,) * n if name != "kernel_shape" else ()
    if len(values) != n:
        raise ValueError(f"{name} has {len(values)} entries for {n} spatial axes")
    for axis, v in enumerate(values, 2):
        if isinstance(v, int) and v < 1:
            raise ValueError(f"axis {axis}: {name} is {v}; it must be at least 1")
    return tuple(values)


def _both(name: str, values: Sequence[int] | None, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The padding before and after each spatial axis."""
    if not values:
        return (0,) * n, (0,) * n
    if len(values) != 2 * n:
        raise ValueError(f"{name} has {len(values)} entries for {n} spatial axes; it needs {2 * n}")
    for i, v in enumerate(values):
        if v < 0:
            raise ValueError(f"axis {2 + i % n}: {name} has {v}; padding must be at least 0")
    return tuple(values[:n]), tuple(values[n:])
