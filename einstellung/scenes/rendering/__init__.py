"""Render scenes to images and object masks: with our own ray-caster (numba or torch), or with Blender."""

from einstellung.scenes.rendering.backends import (
    BACKENDS,
    REFERENCE,
    least_visible,
    object_masks,
    render,
    resolve_backend,
    visible_pixels,
)
from einstellung.scenes.rendering.look import RENDERER_VERSION

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
