"""Programs written for onnxruntime, as PyPI has them, over this package: each in a process of its own that calls `install`."""
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(program, *needs):
    """What a program prints, as JSON, with interp in place of onnxruntime."""
    for package in needs:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed; it is part of the programs extra")
    text = f"import json\nimport interp.compat.onnxruntime as stand_in\nstand_in.install()\n{program}"
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=120)
    if "cv2" in done.stderr and "cannot open shared object file" in done.stderr:
        pytest.skip(f"opencv-python needs libraries of the system: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_rapidocr_reads_a_rendered_page():
    found = run("""
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rapidocr_onnxruntime import RapidOCR
import onnxruntime
assert onnxruntime is stand_in
page = Image.new("RGB", (900, 260), "white")
draw, font = ImageDraw.Draw(page), ImageFont.load_default(44)
draw.text((40, 40), "The quick brown fox", fill="black", font=font)
draw.text((40, 150), "jumps over 13 lazy dogs", fill="black", font=font)
lines, _ = RapidOCR()(np.array(page))
print(json.dumps([[text, float(score)] for _, text, score in lines]))
""", "rapidocr_onnxruntime", "PIL")
    assert " ".join(text for text, _ in found) == "The quick brown fox jumps over 13 lazy dogs"
    assert min(score for _, score in found) > 0.9


def test_magika_names_the_types_of_files():
    found = run(r'''
import io
import numpy as np
from magika import Magika
from PIL import Image
import onnxruntime
assert onnxruntime is stand_in
picture = io.BytesIO()
Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)).save(picture, "png")
files = {
    "python": b"import os\n\n\ndef main(names):\n    for n in names:\n        print(os.path.join('x', n))\n\n\nmain([])\n" * 2,
    "c": b"#include <stdio.h>\n\nint main(int argc, char **argv) {\n    printf(\"%d\\n\", argc);\n    return 0;\n}\n" * 2,
    "json": json.dumps({"name": "something", "numbers": list(range(30)), "more": {"a": None, "b": True}}, indent=1).encode(),
    "html": b"<!DOCTYPE html>\n<html><head><title>A page</title></head>\n<body><p>Words</p><ul><li>x</li></ul></body></html>\n",
    "png": picture.getvalue(),
}
magika = Magika()
print(json.dumps({due: magika.identify_bytes(content).output.label for due, content in files.items()}))
''', "magika", "PIL")
    assert found == {name: name for name in ("python", "c", "json", "html", "png")}
