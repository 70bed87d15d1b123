"""The look of light, materials and ground: every constant that colours depend on, apart from geometry.

Light is normalised so that a white diffuse surface under irradiance pi is white in the image. Every change here, and every change
of layouts, needs a new :data:`RENDERER_VERSION`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from einstellung.scenes.attributes import Codes
from einstellung.scenes.rendering.geometry import LAMP_RADII
from einstellung.scenes.scene import Floats

RENDERER_VERSION = "2"  # of layouts and images; part of cache keys

EXPOSURE = 1.0
POWER = (100.0, 30.0, 12.5, 540.0)  # of key, fill, back and sun: irradiance times squared distance
TINT = ((1.0, 0.95, 0.88), (0.86, 0.93, 1.0), (1.0, 1.0, 1.0), (1.0, 0.98, 0.95))
SAMPLES = 2  # per pixel side
LEVELS = 4096  # entries of the tone-mapping table
MAX_LIGHT = 4.0


class ShadingConstants(NamedTuple):
    """Scalar constants shared by both casters."""

    evenness: float = 0.75  # 0: light falls off with the squared distance; 1: no falloff
    ground: float = 0.8  # albedo of the ground
    sky: float = EXPOSURE * 0.07  # ambient light from the sky on a horizontal surface
    bounce: float = EXPOSURE * 0.28  # ambient light from the ground on a surface facing down
    backdrop: float = EXPOSURE * 0.19  # brightness the ground fades to in the distance
    zenith: float = EXPOSURE * 0.15  # brightness of the sky overhead, as reflected by metal
    fade_from: float = 4.0  # distance from the origin at which the ground starts to fade
    fade_to: float = 12.0
    bevel: float = 0.1  # share of the extent over which normals are rounded near edges; outlines stay sharp
    rubber_specular: float = 0.05  # strength of rubber's wide highlight
    metal_specular: float = 12.0  # strength of metal's narrow highlight
    metal_sheen: float = 0.4  # strength of metal's wide highlight
    metal_diffuse: float = 0.15  # diffuse share of metal
    max_light: float = MAX_LIGHT  # brighter light is clipped


class Look(NamedTuple):
    """Everything about appearance that both casters need."""

    power: Floats  # [4, 3], per lamp and channel
    radii: Floats  # [4], of the lamps' discs
    targets: Floats  # [16, 2], shadow-ray targets on the unit disc
    constants: ShadingConstants


def look() -> Look:
    power = EXPOSURE / math.pi * np.array(POWER)[:, None] * np.array(TINT)
    return Look(power, LAMP_RADII, _targets(), ShadingConstants())


def _targets() -> Floats:
    """Sixteen points spread evenly over the unit disc; every quarter of the list has inner and outer ones."""
    number = np.arange(16)
    radius, angle = np.sqrt((number + 0.5) / 16), number * math.pi * (3 - math.sqrt(5))
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return points.reshape(4, 4, 2).transpose(1, 0, 2).reshape(16, 2)


def grey_levels() -> Codes:
    """Tone-mapping table: entry i is the grey level of light (i / (LEVELS - 1))^2 MAX_LIGHT. sRGB with a soft shoulder.

    >>> table = grey_levels()
    >>> [int(table[round((light / MAX_LIGHT) ** 0.5 * (LEVELS - 1))]) for light in (0.0, 0.2, 0.5, 1.0, 4.0)]
    [0, 124, 188, 238, 255]
    """
    light = (np.arange(LEVELS) / (LEVELS - 1)) ** 2 * MAX_LIGHT
    knee = 0.6  # brighter light is compressed, so that highlights keep their colour
    compressed = np.where(light < knee, light, 1 - (1 - knee) * np.exp(-(light - knee) / (1 - knee)))
    shown = np.where(compressed <= 0.0031308, 12.92 * compressed, 1.055 * compressed ** (1 / 2.4) - 0.055)
    return np.round(255 * shown).astype(np.uint8)
