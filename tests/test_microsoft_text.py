"""Tokenizer, held against onnxruntime."""

import numpy as np
import pytest

import interp

from .test_text import run, strings

ort = pytest.importorskip("onnxruntime")


def tokens(x, **attributes):
    return run("Tokenizer", x, 1, "com.microsoft", **(dict(mark=0, pad_value="#", mincharnum=1) | attributes))


def theirs(x, **attributes):
    from onnx import TensorProto, helper

    node = helper.make_node(
        "Tokenizer", ["X"], ["Y"], domain="com.microsoft", **(dict(mark=0, pad_value="#", mincharnum=1) | attributes)
    )
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("X", TensorProto.STRING, x.shape)],
        [helper.make_tensor_value_info("Y", TensorProto.STRING, None)],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=10
    )
    options = ort.SessionOptions()
    options.log_severity_level = 4
    return ort.InferenceSession(model.SerializeToString(), options).run(None, {"X": x})[0]


@pytest.mark.parametrize(
    "attributes",
    [
        {"separators": [" "]},
        {"separators": [",", ";", " "]},
        {"separators": ["[,;]"]},
        {"separators": ["::", ":"]},
        {"separators": [":", "::"]},
        {"separators": [""]},
        {"tokenexp": "[a-zA-Z]+"},
        {"tokenexp": "ab|abc"},
        {"tokenexp": "a*"},
        {"tokenexp": "([a-z])([0-9])"},
        {"separators": [" "], "mincharnum": 2},
        {"tokenexp": "[a-z]+", "mincharnum": 4},
        {"separators": [" ", "b c"]},
        {"tokenexp": "é|[^ ]{2}"},
    ],
)
@pytest.mark.parametrize("mark", [0, 1])
@pytest.mark.parametrize(
    "x",
    [
        strings("a b", "c"),
        strings("a,b;c  d::e", "", "x1y abcabc aab"),
        strings("a b c d", "é ü", "", "The cat").reshape(2, 2),
        strings(),
        strings(""),
    ],
    ids=lambda x: str(x.shape),
)
def test_tokens_are_those_of_onnxruntime(attributes, mark, x):
    y, due = tokens(x, mark=mark, **attributes), theirs(x, mark=mark, **attributes)
    if x.size:
        assert y.shape == due.shape and y.tolist() == due.tolist()
    else:
        assert y.size == due.size == 0


@pytest.mark.parametrize(
    "attributes, said", [({}, "one of separators and tokenexp"), ({"separators": [" "], "mincharnum": 0}, "must be positive")]
)
def test_tokenizers_that_are_refused(attributes, said):
    with pytest.raises(interp.InterpError, match=said):
        tokens(strings("a"), **attributes)


def test_three_axes_are_refused():
    with pytest.raises(interp.InterpError, match="shape"):
        tokens(np.full((1, 1, 1), "a", object), separators=[" "])
