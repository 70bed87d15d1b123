"""Colours on the page's light and dark grounds: lightened or darkened until a line can be seen."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping

from einstellung.report.figures.style import BASELINE_COLOUR, MethodStyle

LIGHT_GROUND, DARK_GROUND = "#FFFFFF", "#1B1F24"
_VISIBLE = 3.0  # WCAG 2.2, 1.4.11: what a graphic needs against its ground
_STEP = 0.01
_BASELINE_ON_DARK = "#E8EAED"


def page_colours(styles: Mapping[str, MethodStyle]) -> dict[str, tuple[str, str]]:
    """The colour of every method on the light and on the dark page; on neither do two methods share one.

    >>> page_colours({"scratch_t2": MethodStyle("#000000", "-", "*"), "sgd": MethodStyle("#0072B2", "-", "o")})
    {'scratch_t2': ('#000000', '#E8EAED'), 'sgd': ('#0072B2', '#0072B2')}
    """
    found: dict[str, tuple[str, str]] = {}
    taken: tuple[set[str], set[str]] = (set(), set())
    for method, style in styles.items():
        if style.colour == BASELINE_COLOUR:
            pair = (BASELINE_COLOUR, _BASELINE_ON_DARK)
        else:
            light, dark = (
                _free(on_ground(style.colour, ground), ground, used)
                for ground, used in zip((LIGHT_GROUND, DARK_GROUND), taken, strict=True)
            )
            pair = (light, dark)
        found[method] = pair
        for colour, used in zip(pair, taken, strict=True):
            used.add(colour)
    return found


def _free(colour: str, ground: str, taken: set[str]) -> str:
    """The colour, or one of a neighbouring hue that is not taken."""
    while colour in taken:
        hue, lightness, saturation = colorsys.rgb_to_hls(*_parts(colour))
        colour = on_ground(_hex(colorsys.hls_to_rgb((hue + 0.03) % 1, lightness, max(saturation, 0.3))), ground)
    return colour


def on_ground(colour: str, ground: str) -> str:
    """The colour nearest in lightness that has a contrast of 3 with the ground.

    >>> on_ground("#0072B2", LIGHT_GROUND), on_ground("#000000", DARK_GROUND)
    ('#0072B2', '#696969')
    """
    hue, lightness, saturation = colorsys.rgb_to_hls(*_parts(colour))
    step = -_STEP if luminance(ground) > 0.5 else _STEP
    while contrast(colour, ground) < _VISIBLE:
        lightness += step
        colour = _hex(colorsys.hls_to_rgb(hue, min(max(lightness, 0.0), 1.0), saturation))
    return colour


def contrast(one: str, other: str) -> float:
    """The contrast of two colours by WCAG, from 1 to 21.

    >>> round(contrast("#000000", "#FFFFFF"))
    21
    """
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of an sRGB colour, by WCAG."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in _parts(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def _hex(parts: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * part):02X}" for part in parts)
