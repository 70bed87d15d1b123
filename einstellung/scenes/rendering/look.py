"""How light, materials and ground look: every number that a picture's colours depend on, beside the geometry.

Light is counted so that a white matt face under irradiance pi is as bright as white in the picture. Every
change here, and every one of layouts, is another :data:`RENDERER_VERSION`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from einstellung.scenes.attributes import Codes
from einstellung.scenes.rendering.geometry import LAMP_RADII
from einstellung.scenes.scene import Floats

RENDERER_VERSION = "2"  # of layouts and pictures: part of the names that caches give to what they hold

EXPOSURE = 1.0
POWER = (100.0, 30.0, 12.5, 540.0)  # of key, fill, back and sun: irradiance times squared distance
TINT = ((1.0, 0.95, 0.88), (0.86, 0.93, 1.0), (1.0, 1.0, 1.0), (1.0, 0.98, 0.95))
SAMPLES = 2  # a side, of a pixel
LEVELS = 4096  # of light that are told apart when it becomes grey levels
BRIGHTEST = 4.0


class Numbers(NamedTuple):
    """Plain numbers that both casters take."""

    evenness: float = 0.75  # from 0, where light falls off with the squared distance, to 1, where it does not
    ground: float = 0.8  # the share of the light that the ground sends back
    sky: float = EXPOSURE * 0.07  # what the sky adds to the lamps, on a level face
    bounce: float = EXPOSURE * 0.28  # what the ground adds, on a face turned down
    backdrop: float = EXPOSURE * 0.19  # how bright is what the ground fades to, far away
    zenith: float = EXPOSURE * 0.15  # how bright the sky is overhead, as metal mirrors it
    fade_from: float = 4.0  # distance from the middle at which the ground begins to fade
    fade_to: float = 12.0
    bevel: float = 0.1  # the share of an extent over which edges look round; their outline stays sharp
    matt_shine: float = 0.05  # the share of a lamp's light in the wide highlight of rubber
    metal_shine: float = 12.0  # in the narrow one of metal
    metal_glow: float = 0.4  # in the wide one of metal
    metal_matt: float = 0.15  # the share of metal that scatters light as rubber does
    brightest: float = BRIGHTEST  # more light than this is cut off


class Look(NamedTuple):
    """All that both casters take."""

    power: Floats  # [4, 3], of a lamp's light
    radii: Floats  # [4], of a lamp's disc
    targets: Floats  # [16, 2], on a lamp's disc of radius 1
    numbers: Numbers


def look() -> Look:
    power = EXPOSURE / math.pi * np.array(POWER)[:, None] * np.array(TINT)
    return Look(power, LAMP_RADII, _targets(), Numbers())


def _targets() -> Floats:
    """Sixteen points spread evenly over the unit disc; each of the four quarters of the list has far and near ones."""
    number = np.arange(16)
    radius, angle = np.sqrt((number + 0.5) / 16), number * math.pi * (3 - math.sqrt(5))
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return points.reshape(4, 4, 2).transpose(1, 0, 2).reshape(16, 2)


def grey_levels() -> Codes:
    """The grey level of every amount of light: entry i is for (i / (LEVELS - 1))^2 BRIGHTEST. sRGB, with a soft shoulder.

    >>> table = grey_levels()
    >>> [int(table[round((light / BRIGHTEST) ** 0.5 * (LEVELS - 1))]) for light in (0.0, 0.2, 0.5, 1.0, 4.0)]
    [0, 124, 188, 238, 255]
    """
    light = (np.arange(LEVELS) / (LEVELS - 1)) ** 2 * BRIGHTEST
    knee = 0.6  # light above it is pressed together, so that highlights keep their colour
    pressed = np.where(light < knee, light, 1 - (1 - knee) * np.exp(-(light - knee) / (1 - knee)))
    shown = np.where(pressed <= 0.0031308, 12.92 * pressed, 1.055 * pressed ** (1 / 2.4) - 0.055)
    return np.round(255 * shown).astype(np.uint8)
