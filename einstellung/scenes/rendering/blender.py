"""Optional rendering with Blender's path tracer: slow, but realistic.

Blender's module ``bpy`` is GPL-licensed and keeps global state, so it is never imported here: a script
(:mod:`einstellung.scenes.rendering.blender_script`) runs in its own process, reads the scenes as JSON and writes one PNG each.
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
from einstellung.scenes.rendering.geometry import CAMERA, LAMP_RADII, LAMPS, scene_geometry
from einstellung.scenes.rendering.look import EXPOSURE, POWER, TINT, look
from einstellung.scenes.scene import Scenes

VARIABLE = "EINSTELLUNG_BPY_PYTHON"
SAMPLES = 64
_SCRIPT = Path(__file__).with_name("blender_script.py")


def obstacle() -> str | None:
    """Why Blender cannot be used, and what to do about it; None if it can."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return None if shutil.which(named) else f"finds no program '{named}': set {VARIABLE} to a Python with bpy"
    if find_spec("bpy") is None:
        return f"needs Blender's module: pip install bpy, or set {VARIABLE} to a Python that has it"
    return None


def render_images(scenes: Scenes, size: int, samples: int = SAMPLES) -> Codes:
    """Images [N, size, size, 3], rendered with ``samples`` per pixel and Blender's denoiser."""
    with tempfile.TemporaryDirectory(prefix="einstellung-blender-") as temporary:
        folder = Path(temporary)
        job = {"size": size, "samples": samples, **_shared_settings(), "scenes": _scenes_as_json(scenes)}
        write_json(folder / "scenes.json", job)
        # -P: modules next to the script must not shadow Blender's own
        command = [os.environ.get(VARIABLE, sys.executable), "-P", str(_SCRIPT), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            raise InputError(f"Blender exited with code {done.returncode}: {lines[-1] if lines else 'no message'}")
        return np.stack([_read(folder / f"{number:06d}.png", size) for number in range(len(scenes))])


def _shared_settings() -> dict[str, Any]:
    """What all scenes share, in Blender's units: watts for lamps, radiance for emitters."""
    constants = look().constants
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
        "evenness": constants.evenness,
        "sky": constants.sky,
        "seen_sky": (constants.backdrop + constants.zenith) / 2,
        "backdrop": constants.backdrop,
        "fade": [constants.fade_from, constants.fade_to],
        "ground": constants.ground,
        "bevel": constants.bevel,
    }


def _scenes_as_json(scenes: Scenes) -> list[dict[str, Any]]:
    geometry = scene_geometry(scenes)
    return [
        {
            "camera": (CAMERA + scenes.camera[scene]).tolist(),
            "lamps": geometry.lamp[scene, :3].tolist(),
            "objects": [
                {
                    "shape": SHAPES[geometry.shape[scene, item]],
                    "centre": geometry.centre[scene, item].tolist(),
                    "extent": float(geometry.extent[scene, item]),
                    "rotation": float(scenes.rotation[scene, item]),
                    "colour": geometry.colour[scene, item].tolist(),
                    "metal": bool(geometry.metal[scene, item]),
                }
                for item in range(geometry.shape.shape[1])
            ],
        }
        for scene in range(len(scenes))
    ]


def _read(file: Path, size: int) -> Codes:
    if not file.exists():
        raise InputError(f"Blender wrote no {file.name}: run it again, or give another backend")
    with Image.open(file, formats=("PNG",)) as picture:
        if picture.size != (size, size):
            found = f"{picture.width} x {picture.height}, not {size} x {size}"
            raise InputError(f"Blender's {file.name} is {found}: check {VARIABLE}")
        return np.asarray(picture.convert("RGB"))
