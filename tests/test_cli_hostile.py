"""The command line against files that lie, specs that make no sense, closed streams and names with control characters."""
import os
import pickle
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from onnx import TensorProto

from . import test_cli
from .test_cli import DIGITS, ROOT, SEVEN, interp, refused

identity = test_cli.identity


def test_files_that_promise_more_than_they_hold_are_bad_input(identity, tmp_path):
    copy = identity(TensorProto.FLOAT, ["N"])
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999999,), }".ljust(117) + b"\n"
    (tmp_path / "large.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    (tmp_path / "deep.json").write_text("[" * 100_000)
    elsewhere = TensorProto(data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    elsewhere.external_data.add(key="location", value="large.npy")
    (tmp_path / "elsewhere.pb").write_bytes(elsewhere.SerializeToString())
    for name in ("large.npy", "deep.json", "elsewhere.pb"):
        assert name in refused(5, copy, "-i", tmp_path / name, cwd=tmp_path)
    assert "cannot be made" in refused(5, copy, "-d", f"N={10**23}")


def test_nothing_that_is_pickled_is_read(identity, tmp_path):
    copy, made = identity(TensorProto.FLOAT, ["N"]), tmp_path / "made"
    trap = np.array([Trap(str(made))], object)
    np.save(tmp_path / "x.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "x.npz", x=trap)
    (tmp_path / "bare.npy").write_bytes(pickle.dumps(Trap(str(made))))
    for name in ("x.npy", "x.npz", "bare.npy"):
        refused(5, copy, "-i", tmp_path / name)
    assert not made.exists()


class Trap:
    """What makes a file when it is read with pickle."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("spec", ["f32[2,-1]", "f32[a]", "rand:-inf:inf", "rand:-1e308:1e308"])
def test_specs_that_make_no_sense_are_usage_errors(identity, spec):
    refused(2, identity(TensorProto.FLOAT, ["N"]), "-i", spec)


def test_images_that_are_too_large_or_divided_by_nothing_are_refused(identity, tmp_path):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", 200_000, 200_000, 8, 2, 0, 0, 0)
    (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")))
    copy = identity(TensorProto.FLOAT, [1, 1, "H", "W"])
    assert "bomb" in refused(5, copy, "-i", tmp_path / "bomb.png")
    assert "no image" in refused(2, copy, "-i", SEVEN, "--resize=99999999x99999999")
    assert "--std" in refused(2, copy, "-i", SEVEN, "--std", "0")


def test_a_bracket_left_open_is_no_shape(identity):
    refused(5, identity(TensorProto.FLOAT, ["N"]), "-i", "f32[2")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_failure(identity, closed):
    copy = identity(TensorProto.FLOAT, ["N"])
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run(f'"{sys.executable}" -m interp "{copy}" {closed}', shell=True, env=env, timeout=120).returncode == 0


def test_names_cannot_drive_a_terminal_or_break_a_narrow_encoding(identity):
    done = interp(identity(TensorProto.FLOAT, ["N"], name="щ\x1b[31m"), PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and "\\u0449\\x1b[31m" in done.stdout and "\x1b" not in done.stdout + done.stderr


def test_a_kernels_module_that_exits_is_an_error(tmp_path):
    (tmp_path / "exits.py").write_text("raise SystemExit(0)")
    assert "SystemExit" in refused(2, DIGITS, "--kernels", tmp_path / "exits.py")
