"""Models of one node of com.microsoft, run here and by onnxruntime, which is what such operators mean."""
import numpy as np
import onnxruntime
from onnx import helper

import interp


def model(op, inputs, outputs, attributes, domain="com.microsoft"):
    """A model of one node; `outputs` has the type of each, None for one that the node has not."""
    names = ["" if a is None else f"i{k}" for k, a in enumerate(inputs)]
    results = ["" if t is None else f"o{k}" for k, t in enumerate(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    given = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
             for n, a in zip(names, inputs, strict=True) if n]
    made = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(t)), None)
            for n, t in zip(results, outputs, strict=True) if n]
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "one_node", given, made)
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), {n: a for n, a in zip(names, inputs, strict=True) if n}


def ours(op, inputs, outputs=("f4",), domain="com.microsoft", **attributes):
    made, feeds = model(op, inputs, outputs, attributes, domain)
    return interp.load(made).run(None, feeds)


def theirs(op, inputs, outputs=("f4",), domain="com.microsoft", **attributes):
    made, feeds = model(op, inputs, outputs, attributes, domain)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def agree(op, inputs, outputs=("f4",), near=1e-5, **attributes):
    """Both give the same for the same node; returns what we give."""
    found, wanted = (run(op, inputs, outputs, **attributes) for run in (ours, theirs))
    for k, (a, b) in enumerate(zip(found, wanted, strict=True)):
        assert a.dtype == b.dtype and a.shape == b.shape, f"output {k}: {a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
        np.testing.assert_allclose(a.astype("f8"), b.astype("f8"), rtol=near, atol=near, err_msg=f"output {k}")
    return found
