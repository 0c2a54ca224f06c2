"""Trains a small CNN for handwritten digits with NumPy alone, and writes it as digits.onnx.

    pip install scikit-learn onnx pillow
    python examples/digits/train_digits.py

The data are scikit-learn's digits: 1,797 images of 8x8 pixels in 17 grey levels. A fifth is held out; the accuracy on it is
printed, its images are written to held_out.npz, and one of them, a seven, to seven.png. seven.npz has the probabilities that
the network below gives for that image, computed in float64 and rounded.
"""
from pathlib import Path

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper
from PIL import Image
from sklearn.datasets import load_digits

HERE = Path(__file__).parent
EPOCHS, BATCH, RATE = 30, 32, 2e-3


class Conv:
    """A 3x3 convolution that keeps the size, and its Relu."""

    def __init__(self, channels, filters, rng):
        self.w = rng.normal(0, np.sqrt(2 / (9 * channels)), (filters, channels, 3, 3))
        self.b = np.zeros(filters)

    def forward(self, x):
        self.windows = sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
        self.y = np.maximum(np.einsum("nchwij,fcij->nfhw", self.windows, self.w, optimize=True) + self.b[:, None, None], 0)
        return self.y

    def backward(self, dy):
        dy = dy * (self.y > 0)
        self.dw = np.einsum("nfhw,nchwij->fcij", dy, self.windows, optimize=True)
        self.db = dy.sum((0, 2, 3))
        windows = sliding_window_view(np.pad(dy, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
        return np.einsum("nfhwij,fcij->nchw", windows, self.w[:, :, ::-1, ::-1], optimize=True)


class MaxPool:
    """The largest of every 2x2 block."""

    def forward(self, x):
        n, c, h, w = x.shape
        self.blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        self.y = self.blocks.max((3, 5), keepdims=True)
        return self.y[:, :, :, 0, :, 0]

    def backward(self, dy):
        largest = self.blocks == self.y
        share = largest / largest.sum((3, 5), keepdims=True)
        n, c, h, w = dy.shape
        return (share * dy[:, :, :, None, :, None]).reshape(n, c, 2 * h, 2 * w)


class AveragePool:
    """The mean of every 2x2 window, one pixel apart."""

    def forward(self, x):
        return sliding_window_view(x, (2, 2), (2, 3)).mean((4, 5))

    def backward(self, dy):
        return sliding_window_view(np.pad(dy, ((0, 0), (0, 0), (1, 1), (1, 1))), (2, 2), (2, 3)).sum((4, 5)) / 4


class GlobalLpPool:
    """The Euclidean norm of every channel."""

    def forward(self, x):
        self.x = x
        self.y = np.sqrt((x * x).sum((2, 3), keepdims=True))
        return self.y[:, :, 0, 0]

    def backward(self, dy):
        return dy[:, :, None, None] * self.x / np.maximum(self.y, 1e-12)


class Dense:
    """A fully connected layer."""

    def __init__(self, features, classes, rng):
        self.w = rng.normal(0, np.sqrt(1 / features), (classes, features))
        self.b = np.zeros(classes)

    def forward(self, x):
        self.x = x
        return x @ self.w.T + self.b

    def backward(self, dy):
        self.dw, self.db = dy.T @ self.x, dy.sum(0)
        return dy @ self.w


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


class Network:
    """The layers in order, trained with Adam on the cross-entropy."""

    def __init__(self, rng):
        self.layers = [Conv(1, 16, rng), MaxPool(), Conv(16, 48, rng), AveragePool(), GlobalLpPool(), Dense(48, 10, rng)]
        self.trained = [layer for layer in self.layers if hasattr(layer, "w")]
        self.moments = [(np.zeros_like(p), np.zeros_like(p)) for layer in self.trained for p in (layer.w, layer.b)]
        self.steps = 0

    def predict(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return softmax(x)

    def learn(self, x, labels, rate):
        dy = self.predict(x)
        dy[np.arange(len(labels)), labels] -= 1
        dy /= len(labels)
        for layer in reversed(self.layers):
            dy = layer.backward(dy)
        self.steps += 1
        pairs = [(p, d) for layer in self.trained for p, d in ((layer.w, layer.dw), (layer.b, layer.db))]
        for (p, d), (mean, square) in zip(pairs, self.moments, strict=True):
            mean += 0.1 * (d - mean)
            square += 0.001 * (d * d - square)
            p -= rate * mean / (1 - 0.9**self.steps) / (np.sqrt(square / (1 - 0.999**self.steps)) + 1e-8)


def as_onnx(network, accuracy):
    """The network as a model that takes any number of images."""
    first, second, dense = network.trained
    weights = dict(w1=first.w, b1=first.b, w2=second.w, b2=second.b, w3=dense.w, b3=dense.b)
    same = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    nodes = [
        helper.make_node("Conv", ["image", "w1", "b1"], ["edges"], "conv1", **same),
        helper.make_node("Relu", ["edges"], ["edges+"], "relu1"),
        helper.make_node("MaxPool", ["edges+"], ["strongest"], "maxpool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["strongest", "w2", "b2"], ["shapes"], "conv2", **same),
        helper.make_node("Relu", ["shapes"], ["shapes+"], "relu2"),
        helper.make_node("AveragePool", ["shapes+"], ["smooth"], "averagepool", kernel_shape=[2, 2]),
        helper.make_node("GlobalLpPool", ["smooth"], ["norms"], "globallppool", p=2),
        helper.make_node("Flatten", ["norms"], ["features"], "flatten"),
        helper.make_node("Gemm", ["features", "w3", "b3"], ["scores"], "gemm", transB=1),
        helper.make_node("Softmax", ["scores"], ["probability"], "softmax", axis=1),
    ]
    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["N", 10])],
        [numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()],
        doc_string="Which digit an 8x8 greyscale image shows; white ink on black, 0 to 1.")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10,
                              producer_name="train_digits.py", doc_string="Trained on scikit-learn's digits.")
    helper.set_model_props(model, {"labels": ",".join(map(str, range(10))), "accuracy": f"{accuracy:.4f}"})
    onnx.checker.check_model(model, full_check=True)
    return model


def main():
    rng = np.random.default_rng(0)
    digits = load_digits()
    images, labels = digits.images[:, None] / 16, digits.target
    order = rng.permutation(len(images))
    held_out, kept = order[:len(order) // 5], order[len(order) // 5:]
    network = Network(rng)
    for epoch in range(EPOCHS):
        rng.shuffle(kept)
        for start in range(0, len(kept), BATCH):
            batch = kept[start:start + BATCH]
            network.learn(images[batch], labels[batch], RATE * (1 - epoch / EPOCHS))

    accuracy = (network.predict(images[held_out]).argmax(1) == labels[held_out]).mean()
    print(f"test accuracy {accuracy:.4f} on {len(held_out)} images")
    onnx.save(as_onnx(network, accuracy), HERE / "digits.onnx")
    np.savez_compressed(HERE / "held_out.npz", image=images[held_out].astype(np.float32), label=labels[held_out])

    seven = held_out[labels[held_out] == 7][0]
    pixels = np.rint(images[seven, 0] * 255).astype(np.uint8)
    Image.fromarray(pixels).save(HERE / "seven.png")
    np.savez(HERE / "seven.npz", probability=network.predict(pixels[None, None] / 255).astype(np.float32))


if __name__ == "__main__":
    main()
