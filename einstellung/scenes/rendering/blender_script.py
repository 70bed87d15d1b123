"""Run by a Python that has ``bpy``: ``python blender_script.py FOLDER`` reads its scenes.json and leaves 000000.png, ...

It imports nothing of the package, which need not be installed there.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any


def main(folder: Path) -> None:
    try:
        import bpy  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise SystemExit(f"{sys.executable} cannot import bpy ({error}): pip install bpy there") from None
    job = json.loads((folder / "scenes.json").read_text(encoding="utf-8"))
    for number, scene in enumerate(job["scenes"]):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        _set_up(bpy, job)
        _camera(bpy, job, scene["camera"])
        _lights(bpy, job, scene["lamps"])
        _ground(bpy, job)
        for one in scene["objects"]:
            _object(bpy, job, one)
        bpy.context.scene.render.filepath = str(folder / f"{number:06d}.png")
        bpy.ops.render.render(write_still=True)


def _set_up(bpy: Any, job: dict[str, Any]) -> None:
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.device = "CPU"
    scene.cycles.samples = job["samples"]
    scene.cycles.use_denoising = True
    scene.cycles.seed = 0
    scene.render.resolution_x = scene.render.resolution_y = job["size"]
    scene.render.resolution_percentage = 100
    scene.render.image_settings.file_format = "PNG"
    scene.render.image_settings.color_mode = "RGB"
    scene.view_settings.view_transform = "Standard"
    scene.world = bpy.data.worlds.new("sky")
    scene.world.use_nodes = True
    tree = scene.world.node_tree
    background = tree.nodes["Background"]
    background.inputs["Color"].default_value = (1, 1, 1, 1)
    # what is seen of the sky, mostly in metal, is brighter than the light that it gives
    path = tree.nodes.new("ShaderNodeLightPath").outputs
    seen = _calculated(tree, "MAXIMUM", path["Is Camera Ray"], path["Is Glossy Ray"])
    strength = _calculated(tree, "MULTIPLY_ADD", seen, job["seen_sky"] - job["sky"], job["sky"])
    tree.links.new(strength, background.inputs["Strength"])


def _camera(bpy: Any, job: dict[str, Any], place: list[float]) -> None:
    data = bpy.data.cameras.new("camera")
    data.lens, data.sensor_width, data.sensor_fit = job["lens"], job["sensor"], "HORIZONTAL"
    bpy.context.scene.camera = _looking_at_origin(bpy, "camera", data, place)


def _lights(bpy: Any, job: dict[str, Any], places: list[list[float]]) -> None:
    for number, (lamp, place) in enumerate(zip(job["lamps"], places, strict=True)):
        data = bpy.data.lights.new(f"lamp {number}", "AREA")
        data.shape, data.size, data.energy, data.color = "DISK", 2 * lamp["radius"], lamp["watts"], lamp["tint"]
        _fall_off(data, job["evenness"], sum(axis * axis for axis in place))
        _looking_at_origin(bpy, data.name, data, place)
    sun = bpy.data.lights.new("sun", "SUN")
    sun.energy, sun.angle, sun.color = job["sun"]["irradiance"], job["sun"]["angle"], job["sun"]["tint"]
    _looking_at_origin(bpy, "sun", sun, job["sun"]["from"])


def _fall_off(lamp: Any, evenness: float, distance: float) -> None:
    """Let light fall off with d^2 (1 - evenness) + evenness distance, of the squared distances to a point and to the origin."""
    lamp.use_nodes = True
    tree = lamp.node_tree
    length = tree.nodes.new("ShaderNodeLightPath").outputs["Ray Length"]
    square = _calculated(tree, "MULTIPLY", length, length)
    falling_off = _calculated(tree, "MULTIPLY_ADD", square, 1 - evenness, evenness * distance)
    strength = _calculated(tree, "DIVIDE", square, falling_off)
    tree.links.new(strength, tree.nodes["Emission"].inputs["Strength"])


def _calculated(tree: Any, operation: str, *terms: Any) -> Any:
    node = tree.nodes.new("ShaderNodeMath")
    node.operation = operation
    for entrance, term in zip(node.inputs, terms, strict=False):
        if isinstance(term, float):
            entrance.default_value = term
        else:
            tree.links.new(term, entrance)
    return node.outputs["Value"]


def _ground(bpy: Any, job: dict[str, Any]) -> None:
    """A plane that fades to an even brightness far away."""
    bpy.ops.mesh.primitive_plane_add(size=200)
    tree = _material(bpy, [job["ground"]] * 3, metal=False, rough=1.0)
    place, length, fade, glow, mix = (
        tree.nodes.new(f"ShaderNode{name}")
        for name in ("NewGeometry", "VectorMath", "MapRange", "Emission", "MixShader")
    )
    length.operation, fade.interpolation_type = "LENGTH", "SMOOTHSTEP"
    fade.inputs["From Min"].default_value, fade.inputs["From Max"].default_value = job["fade"]
    glow.inputs["Strength"].default_value = job["backdrop"]
    for start, end in (
        (place.outputs["Position"], length.inputs[0]),
        (length.outputs["Value"], fade.inputs["Value"]),
        (fade.outputs["Result"], mix.inputs["Fac"]),
        (tree.nodes["Principled BSDF"].outputs["BSDF"], mix.inputs[1]),
        (glow.outputs["Emission"], mix.inputs[2]),
        (mix.outputs["Shader"], tree.nodes["Material Output"].inputs["Surface"]),
    ):
        tree.links.new(start, end)


def _looking_at_origin(bpy: Any, name: str, data: Any, place: list[float]) -> Any:
    from mathutils import Vector  # type: ignore[import-not-found, unused-ignore]

    made = bpy.data.objects.new(name, data)
    made.location = place
    made.rotation_euler = (-Vector(place)).to_track_quat("-Z", "Y").to_euler()
    bpy.context.collection.objects.link(made)
    return made


def _object(bpy: Any, job: dict[str, Any], one: dict[str, Any]) -> None:
    extent, place = one["extent"], {"location": one["centre"], "rotation": (0, 0, one["rotation"])}
    if one["shape"] == "sphere":
        bpy.ops.mesh.primitive_uv_sphere_add(segments=96, ring_count=48, radius=extent, **place)
    elif one["shape"] == "cube":
        bpy.ops.mesh.primitive_cube_add(size=2 * extent, **place)
    else:
        bpy.ops.mesh.primitive_cylinder_add(vertices=96, radius=extent, depth=2 * extent, **place)
    made = bpy.context.object
    if one["shape"] != "sphere":
        bevel = made.modifiers.new("bevel", "BEVEL")
        bevel.width, bevel.segments, bevel.limit_method, bevel.angle_limit = (
            job["bevel"] * extent / 2,
            4,
            "ANGLE",
            math.pi / 6,
        )
        bevel.harden_normals = False
    for face in made.data.polygons:
        face.use_smooth = one["shape"] == "sphere" or (one["shape"] == "cylinder" and abs(face.normal.z) < 0.5)
    _material(bpy, one["colour"], metal=one["metal"], rough=0.25 if one["metal"] else 0.7)


def _material(bpy: Any, colour: list[float], *, metal: bool, rough: float) -> Any:
    """For the object made last; its nodes."""
    made = bpy.data.materials.new("material")
    made.use_nodes = True
    inputs = made.node_tree.nodes["Principled BSDF"].inputs
    inputs["Base Color"].default_value = (*colour, 1)
    inputs["Metallic"].default_value = float(metal)
    inputs["Roughness"].default_value = rough
    bpy.context.object.data.materials.append(made)
    return made.node_tree


if __name__ == "__main__":
    main(Path(sys.argv[1]))
