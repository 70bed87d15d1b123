"""Pictures of scenes, and which object each pixel shows: by an own ray-caster (numba or torch), or by Blender."""

from einstellung.scenes.rendering.backends import BACKENDS, resolve_backend
from einstellung.scenes.rendering.look import RENDERER_VERSION
from einstellung.scenes.rendering.painting import REFERENCE, least_visible, object_masks, render, visible_pixels

__all__ = [
    "BACKENDS",
    "REFERENCE",
    "RENDERER_VERSION",
    "least_visible",
    "object_masks",
    "render",
    "resolve_backend",
    "visible_pixels",
]
