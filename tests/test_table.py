"""Products of one-hot rows: what they come to, and when they stay products."""
import numpy as np
import pytest

from .fusing import floats, fused
from .test_line import with_constants

TEXT = """m (int64[2,N] x) => (float[2,N,7] y) {
    last = Constant<value = int64[1] {2}>()  c = Unsqueeze(x, last)  e = Equal(c, iota)  h = Cast<to = 1>(e)
    y = MatMul(h, table) }"""


def counted(n=5, dtype=np.int64):
    return np.arange(n, dtype=dtype).reshape(1, 1, n)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_product_of_one_hot_rows_is_rows_of_the_table(dtype, swapped):
    """A number that the table lacks has no one in its row, so that the result is zeros."""
    text = TEXT.replace("int64[2,N]", f"{np.dtype(dtype).name}[2,N]")
    text = text.replace("Equal(c, iota)", "Equal(iota, c)") if swapped else text
    x = np.array([[0, 4, 2, 5, -1, 3], [1, 1, 99, 0, 2, 2]], dtype)
    made = with_constants(text, iota=counted(dtype=dtype), table=floats((5, 7)))
    left = fused(made, {"x": x})
    assert left["Rows"] == 1 and "MatMul" not in left


@pytest.mark.parametrize("change", ["other numbers", "infinite", "fewer axes", "not one-hot"])
def test_other_products_stay(change):
    iota, table, text, x = counted(), floats((5, 7)), TEXT, np.array([[0, 4, 2], [1, 1, 9]])
    if change == "other numbers":
        iota = iota[..., ::-1].copy()
    elif change == "infinite":
        table[2, 3] = np.inf
    elif change == "fewer axes":
        iota = iota[None]
        text = text.replace("float[2,N,7]", "float[1,2,N,7]")
    else:
        text = text.replace("Equal(c, iota)", "LessOrEqual(c, iota)")
    assert "Rows" not in fused(with_constants(text, iota=iota, table=table), {"x": x})
