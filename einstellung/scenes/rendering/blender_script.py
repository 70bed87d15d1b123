"""Run by a Python with ``bpy``: ``python blender_script.py FOLDER`` reads scenes.json there and writes 000000.png, ...

It imports nothing of this package, which need not be installed there.
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
        _configure(bpy, job)
        _camera(bpy, job, scene["camera"])
        _lights(bpy, job, scene["lamps"])
        _ground(bpy, job)
        for one in scene["objects"]:
            _object(bpy, job, one)
        bpy.context.scene.render.filepath = str(folder / f"{number:06d}.png")
        bpy.ops.render.render(write_still=True)


def _configure(bpy: Any, job: dict[str, Any]) -> None:
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
    # the sky as seen, mostly in metal, is brighter than the light it emits
    path = tree.nodes.new("ShaderNodeLightPath").outputs
    seen = _math_node(tree, "MAXIMUM", path["Is Camera Ray"], path["Is Glossy Ray"])
    strength = _math_node(tree, "MULTIPLY_ADD", seen, job["seen_sky"] - job["sky"], job["sky"])
    tree.links.new(strength, background.inputs["Strength"])


def _camera(bpy: Any, job: dict[str, Any], position: list[float]) -> None:
    data = bpy.data.cameras.new("camera")
    data.lens, data.sensor_width, data.sensor_fit = job["lens"], job["sensor"], "HORIZONTAL"
    bpy.context.scene.camera = _aimed_at_origin(bpy, "camera", data, position)


def _lights(bpy: Any, job: dict[str, Any], positions: list[list[float]]) -> None:
    for number, (lamp, position) in enumerate(zip(job["lamps"], positions, strict=True)):
        data = bpy.data.lights.new(f"lamp {number}", "AREA")
        data.shape, data.size, data.energy, data.color = "DISK", 2 * lamp["radius"], lamp["watts"], lamp["tint"]
        _fall_off(data, job["evenness"], sum(axis * axis for axis in position))
        _aimed_at_origin(bpy, data.name, data, position)
    sun = bpy.data.lights.new("sun", "SUN")
    sun.energy, sun.angle, sun.color = job["sun"]["irradiance"], job["sun"]["angle"], job["sun"]["tint"]
    _aimed_at_origin(bpy, "sun", sun, job["sun"]["from"])


def _fall_off(lamp: Any, evenness: float, distance: float) -> None:
    """Divide light by d^2 (1 - evenness) + evenness * distance: squared distances of the lamp to a point and to the origin."""
    lamp.use_nodes = True
    tree = lamp.node_tree
    length = tree.nodes.new("ShaderNodeLightPath").outputs["Ray Length"]
    square = _math_node(tree, "MULTIPLY", length, length)
    falloff = _math_node(tree, "MULTIPLY_ADD", square, 1 - evenness, evenness * distance)
    strength = _math_node(tree, "DIVIDE", square, falloff)
    tree.links.new(strength, tree.nodes["Emission"].inputs["Strength"])


def _math_node(tree: Any, operation: str, *terms: Any) -> Any:
    node = tree.nodes.new("ShaderNodeMath")
    node.operation = operation
    for socket, term in zip(node.inputs, terms, strict=False):
        if isinstance(term, float):
            socket.default_value = term
        else:
            tree.links.new(term, socket)
    return node.outputs["Value"]


def _ground(bpy: Any, job: dict[str, Any]) -> None:
    """A plane that fades to uniform brightness in the distance."""
    bpy.ops.mesh.primitive_plane_add(size=200)
    tree = _material(bpy, [job["ground"]] * 3, metal=False, rough=1.0)
    point, length, fade, glow, mix = (
        tree.nodes.new(f"ShaderNode{name}")
        for name in ("NewGeometry", "VectorMath", "MapRange", "Emission", "MixShader")
    )
    length.operation, fade.interpolation_type = "LENGTH", "SMOOTHSTEP"
    fade.inputs["From Min"].default_value, fade.inputs["From Max"].default_value = job["fade"]
    glow.inputs["Strength"].default_value = job["backdrop"]
    for start, end in (
        (point.outputs["Position"], length.inputs[0]),
        (length.outputs["Value"], fade.inputs["Value"]),
        (fade.outputs["Result"], mix.inputs["Fac"]),
        (tree.nodes["Principled BSDF"].outputs["BSDF"], mix.inputs[1]),
        (glow.outputs["Emission"], mix.inputs[2]),
        (mix.outputs["Shader"], tree.nodes["Material Output"].inputs["Surface"]),
    ):
        tree.links.new(start, end)


def _aimed_at_origin(bpy: Any, name: str, data: Any, position: list[float]) -> Any:
    from mathutils import Vector  # type: ignore[import-not-found, unused-ignore]

    created = bpy.data.objects.new(name, data)
    created.location = position
    created.rotation_euler = (-Vector(position)).to_track_quat("-Z", "Y").to_euler()
    bpy.context.collection.objects.link(created)
    return created


def _object(bpy: Any, job: dict[str, Any], one: dict[str, Any]) -> None:
    extent, pose = one["extent"], {"location": one["centre"], "rotation": (0, 0, one["rotation"])}
    if one["shape"] == "sphere":
        bpy.ops.mesh.primitive_uv_sphere_add(segments=96, ring_count=48, radius=extent, **pose)
    elif one["shape"] == "cube":
        bpy.ops.mesh.primitive_cube_add(size=2 * extent, **pose)
    else:
        bpy.ops.mesh.primitive_cylinder_add(vertices=96, radius=extent, depth=2 * extent, **pose)
    created = bpy.context.object
    if one["shape"] != "sphere":
        bevel = created.modifiers.new("bevel", "BEVEL")
        bevel.width, bevel.segments, bevel.limit_method, bevel.angle_limit = (
            job["bevel"] * extent / 2,
            4,
            "ANGLE",
            math.pi / 6,
        )
        bevel.harden_normals = False
    for face in created.data.polygons:
        face.use_smooth = one["shape"] == "sphere" or (one["shape"] == "cylinder" and abs(face.normal.z) < 0.5)
    _material(bpy, one["colour"], metal=one["metal"], rough=0.25 if one["metal"] else 0.7)


def _material(bpy: Any, colour: list[float], *, metal: bool, rough: float) -> Any:
    """Give the most recent object a material; returns its node tree."""
    created = bpy.data.materials.new("material")
    created.use_nodes = True
    inputs = created.node_tree.nodes["Principled BSDF"].inputs
    inputs["Base Color"].default_value = (*colour, 1)
    inputs["Metallic"].default_value = float(metal)
    inputs["Roughness"].default_value = rough
    bpy.context.object.data.materials.append(created)
    return created.node_tree


if __name__ == "__main__":
    main(Path(sys.argv[1]))
