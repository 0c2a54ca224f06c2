"""The operator as a model calls it, compared with its formula."""
import numpy as np
import onnx.parser
import pytest

import interp

MODEL = """<ir_version: 10, opset_import: ["" : 21, "org.example" : 1]>
g (%s[n, d] x, %s[m, d] y) => (%s[n, m] z) { z = org.example.PairDistance <squared = %d> (x, y) }"""


@pytest.mark.parametrize("squared", [0, 1])
@pytest.mark.parametrize("name, dtype", [("float", "f4"), ("double", "f8"), ("float16", "f2")])
@pytest.mark.parametrize("rows, others, columns", [(3, 4, 5), (1, 1, 1), (0, 2, 3), (2, 3, 0)])
def test_it_is_the_formula(name, dtype, squared, rows, others, columns):
    model = onnx.parser.parse_model(MODEL % (name, name, name, squared))
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((n, columns)).astype(dtype) for n in (rows, others))
    [z] = interp.load(model).run(None, {"x": x, "y": y})
    total = ((x[:, None].astype("f8") - y[None].astype("f8")) ** 2).sum(-1)
    np.testing.assert_allclose(z, total if squared else np.sqrt(total), 2e-3 if dtype == "f2" else 1e-6)
    assert z.dtype == dtype


def test_rows_that_do_not_go_together_are_refused_with_the_node():
    text = MODEL.replace("[n, d]", "[2, 3]").replace("[m, d]", "[2, 4]") % ("float", "float", "float", 0)
    with pytest.raises(interp.ModelError, match="PairDistance.*rows of 3 numbers and rows of 4 have no distance"):
        interp.load(onnx.parser.parse_model(text))
