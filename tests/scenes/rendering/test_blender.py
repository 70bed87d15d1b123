"""Blender's process: what it is told, what it leaves, what is said when it fails. The real one only where bpy is."""

from __future__ import annotations

import json
import os
import stat
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.scenes.rendering import blender, object_masks, render
from tests.scenes.rendering.some_scenes import by_hand, drawn

STAND_IN = """
import json, pathlib, shutil, sys
from PIL import Image
script, folder = pathlib.Path(sys.argv[-2]), pathlib.Path(sys.argv[-1])
assert script.name == "blender_script.py" and script.exists()
job = json.loads((folder / "scenes.json").read_text())
shutil.copy(folder / "scenes.json", {kept!r})
for number, scene in enumerate(job["scenes"]):
    Image.new("RGB", ({size}, {size}), (number, len(scene["objects"]), 7)).save(folder / f"{{number:06d}}.png")
{more}
"""


def stand_in(place: Path, monkeypatch: pytest.MonkeyPatch, size: str = "job['size']", more: str = "") -> Path:
    """A program that is called as a Python with bpy would be; what it is told is kept."""
    kept = place / "told.json"
    code = place / "stand_in.py"
    code.write_text(STAND_IN.format(kept=str(kept), size=size, more=more))
    program = place / "python-with-bpy"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{code}" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("EINSTELLUNG_BPY_PYTHON", str(program))
    return kept


pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")


def test_scenes_go_as_json_and_come_back_as_pictures(tmp_path, monkeypatch):
    kept = stand_in(tmp_path, monkeypatch)
    scenes = drawn(3, seed=8)
    images, masks = render(scenes, 32, "bpy")
    assert images.shape == (3, 32, 32, 3)
    assert images[:, 0, 0].tolist() == [[0, 4, 7], [1, 4, 7], [2, 4, 7]]
    np.testing.assert_array_equal(masks, object_masks(scenes, 32))
    job = json.loads(kept.read_text())
    assert (job["size"], job["samples"], job["lens"], job["sensor"]) == (32, 64, 35.0, 32.0)
    assert job["scenes"][1]["camera"] == pytest.approx((scenes.camera[1] + [7.481, -6.508, 5.344]).tolist())
    assert job["scenes"][2]["lamps"][0] == pytest.approx((scenes.lamps[2, 0] + [6.45, -2.91, 4.26]).tolist())


def test_objects_are_sent_with_their_real_size(tmp_path, monkeypatch):
    kept = stand_in(tmp_path, monkeypatch)
    render(by_hand(("cube large metal blue", 1.0, -2.0)), 16, "bpy")
    (one,) = json.loads(kept.read_text())["scenes"][0]["objects"]
    half = 0.7 / 2**0.5
    assert one == {
        "shape": "cube",
        "centre": pytest.approx([1.0, -2.0, half]),
        "extent": pytest.approx(half),
        "rotation": 0.3,
        "colour": pytest.approx([42 / 255, 75 / 255, 215 / 255]),
        "metal": True,
    }


def test_a_process_that_fails_is_quoted(tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch, more="raise SystemExit('no display, no cycles')")
    with pytest.raises(InputError, match=r"^Blender exited with code 1: no display, no cycles$"):
        render(drawn(1), 16, "bpy")


def test_pictures_that_are_missing_or_of_another_size_are_refused(tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch, more="(folder / '000000.png').unlink()")
    with pytest.raises(InputError, match=r"wrote no 000000\.png"):
        render(drawn(1), 16, "bpy")
    stand_in(tmp_path, monkeypatch, size="5")
    with pytest.raises(InputError, match=r"000000\.png is 5 x 5, not 16 x 16"):
        render(drawn(1), 16, "bpy")


def test_a_missing_python_or_bpy_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_BPY_PYTHON", str(tmp_path / "nothing"))
    with pytest.raises(InputError, match=r"'bpy' finds no program .*nothing'"):
        render(drawn(1), 16, "bpy")
    if find_spec("bpy") is None:
        monkeypatch.setenv("EINSTELLUNG_BPY_PYTHON", sys.executable)
        with pytest.raises(InputError, match=r"cannot import bpy .*pip install bpy there"):
            render(drawn(1), 16, "bpy")


@pytest.mark.skipif(blender.obstacle() is not None, reason="bpy is not installed: the real Blender is not tried")
def test_the_real_one_shows_the_same_scene():
    scenes = by_hand(("sphere large rubber red", 0.5, -1.0), ("cube small metal cyan", -1.5, 1.0))
    theirs, ours = (render(scenes, 64, backend)[0].astype(float) for backend in ("bpy", "auto"))
    assert 10 * np.log10(255**2 / ((theirs - ours) ** 2).mean()) > 28
