"""Pictures by Blender, for those who want a path tracer's: slow, and optional.

Blender's module ``bpy`` is under the GPL and keeps a whole application's state, so it is never imported here: a script runs in a
process of its own (:mod:`einstellung.scenes.rendering.blender_script`), gets the scenes as JSON and leaves one PNG for each.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from einstellung.errors import InputError
from einstellung.files import write_json
from einstellung.scenes.attributes import SHAPES, Codes
from einstellung.scenes.rendering.geometry import CAMERA, LAMP_RADII, LAMPS, stage
from einstellung.scenes.rendering.look import EXPOSURE, POWER, TINT, look
from einstellung.scenes.scene import Scenes

VARIABLE = "EINSTELLUNG_BPY_PYTHON"
SAMPLES = 64
_SCRIPT = Path(__file__).with_name("blender_script.py")


def obstacle() -> str | None:
    """Why Blender cannot be used, and what to do about it."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return None if shutil.which(named) else f"finds no program '{named}': let {VARIABLE} name a Python that has bpy"
    if find_spec("bpy") is None:
        return f"needs Blender's module: pip install bpy, or let {VARIABLE} name a Python that has it"
    return None


def paint(scenes: Scenes, size: int, samples: int = SAMPLES) -> Codes:
    """The pictures [N, size, size, 3], by so many samples a pixel and Blender's denoiser."""
    with tempfile.TemporaryDirectory(prefix="einstellung-blender-") as place:
        folder = Path(place)
        write_json(folder / "scenes.json", {"size": size, "samples": samples, **_setting(), "scenes": _told(scenes)})
        # a process without this one's modules: what is beside the script must not hide Blender's own
        command = [os.environ.get(VARIABLE, sys.executable), "-P", str(_SCRIPT), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            raise InputError(
                f"Blender's process ended with code {done.returncode}: {lines[-1] if lines else 'no message'}"
            )
        return np.stack([_read(folder / f"{number:06d}.png", size) for number in range(len(scenes))])


def _setting() -> dict[str, Any]:
    """What all scenes share, in Blender's terms: watts for lamps, brightness for faces that shine by themselves."""
    numbers = look().numbers
    lamps = [
        {"watts": math.pi * EXPOSURE * power, "tint": tint, "radius": radius}
        for power, tint, radius in zip(POWER[:3], TINT[:3], LAMP_RADII.tolist()[:3], strict=True)
    ]
    far = float(np.sqrt((LAMPS[3] ** 2).sum()))
    return {
        "lens": 35.0,
        "sensor": 32.0,
        "lamps": lamps,
        "sun": {
            "from": LAMPS[3].tolist(),
            "irradiance": EXPOSURE * POWER[3] / far**2,
            "angle": 2 * math.atan(LAMP_RADII[3] / far),
            "tint": TINT[3],
        },
        "evenness": numbers.evenness,
        "sky": numbers.sky,
        "seen_sky": (numbers.backdrop + numbers.zenith) / 2,
        "backdrop": numbers.backdrop,
        "fade": [numbers.fade_from, numbers.fade_to],
        "ground": numbers.ground,
        "bevel": numbers.bevel,
    }


def _told(scenes: Scenes) -> list[dict[str, Any]]:
    on = stage(scenes)
    return [
        {
            "camera": (CAMERA + scenes.camera[scene]).tolist(),
            "lamps": on.lamp[scene, :3].tolist(),
            "objects": [
                {
                    "shape": SHAPES[on.shape[scene, item]],
                    "centre": on.centre[scene, item].tolist(),
                    "extent": float(on.extent[scene, item]),
                    "rotation": float(scenes.rotation[scene, item]),
                    "colour": on.colour[scene, item].tolist(),
                    "metal": bool(on.metal[scene, item]),
                }
                for item in range(on.shape.shape[1])
            ],
        }
        for scene in range(len(scenes))
    ]


def _read(file: Path, size: int) -> Codes:
    if not file.exists():
        raise InputError(f"Blender left no picture {file.name}: run it again, or give another backend")
    with Image.open(file, formats=("PNG",)) as picture:
        if picture.size != (size, size):
            found = f"{picture.width} x {picture.height}, not {size} x {size}"
            raise InputError(f"Blender's picture {file.name} is {found}: check what {VARIABLE} names")
        return np.asarray(picture.convert("RGB"))
