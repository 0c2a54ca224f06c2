"""Data in files beside the model: read where it is safe, refused by name where it is not."""
import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from interp.errors import ModelError
from interp.loading import load

from .toy import registry

DATA = np.arange(40_000, dtype=np.float32)


@pytest.fixture
def folder(tmp_path):
    """A model's folder, another one beside it, each with a file of data."""
    for name in ("model/sub", "other"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("model/data.bin", "model/sub/data.bin", "other/data.bin"):
        (tmp_path / name).write_bytes(DATA.tobytes())
    return tmp_path / "model"


def model(location, shape=(4,), element=TensorProto.FLOAT, **facts):
    """A model with one weight in a file."""
    weight = TensorProto(name="w", data_type=element, dims=shape, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **facts}.items():
        weight.external_data.add(key=key, value=str(value))
    ends = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, None)] for n in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", *ends, initializer=[weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def weight(folder, *args, trusted=(), **facts):
    path = folder / "model.onnx"
    path.write_bytes(model(*args, **facts).SerializeToString())
    return load(path, registry, trusted=trusted).constants["w"]


def refusal(folder, *args, **facts):
    with pytest.raises(ModelError) as caught:
        weight(folder, *args, **facts)
    assert str(caught.value).startswith("tensor 'w', external data")
    return str(caught.value)


@pytest.mark.parametrize("location", ["data.bin", "sub/data.bin", "./data.bin", "sub/../data.bin", "../model/data.bin"])
def test_a_file_inside_the_folder_is_read(folder, location):
    got = weight(folder, location, (3, 5), offset=8, length=60)
    np.testing.assert_array_equal(got, DATA[2:17].reshape(3, 5))
    assert not got.flags.writeable


def test_the_size_follows_from_the_shape_where_no_length_is_given(folder):
    np.testing.assert_array_equal(weight(folder, "data.bin"), DATA[:4])
    np.testing.assert_array_equal(weight(folder, "data.bin", checksum="nonsense", unheard_of="x"), DATA[:4])


def test_a_large_file_is_mapped_and_a_crooked_offset_is_copied(folder):
    assert weight(folder, "data.bin", (100,), offset=4096).flags.owndata is False
    crooked = weight(folder, "data.bin", (2,), offset=1)
    assert crooked.flags.aligned
    assert crooked.tobytes() == DATA.tobytes()[1:9]


def test_a_relative_path_and_one_without_a_folder(folder, monkeypatch):
    weight(folder, "data.bin")
    monkeypatch.chdir(folder)
    assert load("model.onnx", registry).constants["w"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("element, shape, size", [
    (TensorProto.INT4, (5,), 3), (TensorProto.UINT2, (5,), 2), (TensorProto.FLOAT6E2M3, (5,), 4),
    (TensorProto.BFLOAT16, (5,), 10)])
def test_packed_and_16_bit_types(folder, element, shape, size):
    (folder / "data.bin").write_bytes(bytes(range(1, size + 1)))
    path = folder / "model.onnx"
    onnx.save(model("data.bin", shape, element), path)
    want = onnx.numpy_helper.to_array(onnx.load(path).graph.initializer[0])
    got = weight(folder, "data.bin", shape, element=element)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    assert f"need {size}" in refusal(folder, "data.bin", shape, element=element, length=size + 1)


def test_what_onnx_itself_saves(tmp_path):
    proto = helper.make_model(helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])], "g",
        *[[helper.make_tensor_value_info(n, TensorProto.FLOAT, None)] for n in "xy"],
        initializer=[onnx.numpy_helper.from_array(DATA, "w")]), opset_imports=[helper.make_opsetid("", 18)])
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    np.testing.assert_array_equal(load(tmp_path / "m.onnx", registry).constants["w"], DATA)


@pytest.mark.parametrize("location", ["", "/etc/passwd", "..\\data.bin", "data.bin\0", "C:\\data.bin"])
def test_only_relative_locations_are_taken(folder, location):
    assert "must be a path relative to the model" in refusal(folder, location)


@pytest.mark.parametrize("location", ["../other/data.bin", "sub/../../other/data.bin", "..", "../model.onnx"])
def test_nothing_outside_the_folder_is_read(folder, location):
    assert "outside the model's folder" in refusal(folder, location)


def test_a_missing_file_and_a_folder_are_refused(folder):
    assert "No such file" in refusal(folder, "nowhere.bin")
    assert "is not a regular file" in refusal(folder, "sub")
    assert "is not a regular file" in refusal(folder, ".")


@pytest.mark.parametrize("facts, says", [
    ({"offset": DATA.nbytes - 8}, f"needs bytes {DATA.nbytes - 8} to {DATA.nbytes + 8}, the file has {DATA.nbytes}"),
    ({"offset": 2 ** 62}, "the file has"), ({"offset": -4}, "not negative, it is '-4'"), ({"offset": "four"}, "it is 'four'"),
    ({"offset": "9" * 5000}, "must be a whole number"), ({"length": -16}, "not negative, it is '-16'"),
    ({"length": 12}, "length is 12 bytes"), ({"length": 2 ** 62}, "its shape and type need 16"),
    ({"length": 0}, "length is 0 bytes"), ({"shape": (2 ** 50,)}, "the file has"),
])
def test_offsets_and_lengths_are_held_against_the_file(folder, facts, says):
    assert says in refusal(folder, "data.bin", **facts)


@pytest.mark.parametrize("target", ["../other/data.bin", "data.bin", "sub/data.bin"])
def test_symbolic_links_are_refused(folder, target):
    (folder / "link").symlink_to(folder / target)
    says = refusal(folder, "link")
    assert "symbolic link" in says or "outside the model's folder" in says


def test_symbolic_links_to_folders_are_refused(folder):
    (folder / "link").symlink_to(folder / "sub")
    assert "symbolic link" in refusal(folder, "link/data.bin")
    (folder / "out").symlink_to(folder.parent / "other")
    assert "outside the model's folder" in refusal(folder, "out/data.bin")


def test_a_link_to_itself_and_one_to_nothing_are_refused(folder):
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "void").symlink_to(folder / "void.bin")
    assert refusal(folder, "loop") and "symbolic link" in refusal(folder, "void")


def test_hard_links_are_refused(folder):
    os.link(folder.parent / "other" / "data.bin", folder / "link")
    assert "more than one hard link" in refusal(folder, "link")


def test_links_into_a_trusted_folder_are_followed(folder):
    other = folder.parent / "other"
    (folder / "soft").symlink_to(other / "data.bin")
    os.link(other / "data.bin", other / "hard")
    (folder / "to_hard").symlink_to(other / "hard")
    for location in ("soft", "to_hard", "../other/data.bin"):
        assert weight(folder, location, trusted=[other]).tolist() == [0, 1, 2, 3]
    assert "outside" in refusal(folder, "soft", trusted=[folder / "sub"])


def test_a_model_that_is_itself_a_link_finds_its_data_beside_the_link(folder, tmp_path):
    weight(folder, "data.bin")
    cache = tmp_path / "cache"
    cache.mkdir()
    os.rename(folder / "model.onnx", cache / "blob1")
    os.rename(folder / "data.bin", cache / "blob2")
    (folder / "model.onnx").symlink_to(cache / "blob1")
    (folder / "data.bin").symlink_to(cache / "blob2")
    assert load(folder / "model.onnx", registry, trusted=[cache]).constants["w"].tolist() == [0, 1, 2, 3]


def test_a_pipe_and_a_device_are_refused_without_waiting(folder):
    os.mkfifo(folder / "pipe")
    assert "is not a regular file" in refusal(folder, "pipe")
    (folder / "zero").symlink_to("/dev/zero")
    assert "is not a regular file" in refusal(folder, "zero", trusted=["/dev"])


def test_bytes_have_no_folder():
    for source in (model("data.bin"), model("data.bin").SerializeToString()):
        with pytest.raises(ModelError, match="give the path of the model instead"):
            load(source, registry)


def test_strings_do_not_come_from_files(folder):
    with pytest.raises(ModelError, match="has 0 strings"):
        weight(folder, "data.bin", element=TensorProto.STRING)


def test_an_empty_file_serves_an_empty_tensor(folder):
    (folder / "empty").write_bytes(b"")
    assert weight(folder, "empty", (0, 3)).shape == (0, 3)


def test_a_swap_after_the_check_is_noticed(folder, monkeypatch):
    """The path is resolved before the file is opened: a link put there in between must not be followed."""
    resolve = os.path.realpath

    def slow(path, **how):
        found = resolve(path, **how)
        if found.endswith("sub/data.bin"):
            os.rename(folder / "sub", folder / "moved")
            (folder / "sub").symlink_to(folder.parent / "other")
        return found
    monkeypatch.setattr(os.path, "realpath", slow)
    assert "Not a directory" in refusal(folder, "sub/data.bin")
