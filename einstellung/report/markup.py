"""From our plain text to the page's markup. Everything is escaped first."""

from __future__ import annotations

import base64
import re
from typing import Any

from markupsafe import Markup, escape

from einstellung.report.notation import DASH, MINUS

_SUBSCRIPTS = {
    "SFR_rel": "SFR<sub>rel</sub>",
    "CSR_rel": "CSR<sub>rel</sub>",
    "Δ_S": "Δ<sub>S</sub>",
    "d_z": "d<sub>z</sub>",
    "pull_S": "pull<sub>S</sub>",
}
_SPELLED = {"Delta": "Δ", " <= ": " ≤ ", " >= ": " ≥ ", "+-": "±", " -> ": " → "}


def symbols(text: str) -> Markup:
    """Escape a text and set the subscripts of our symbols.

    >>> symbols("SFR_rel < 0")
    Markup('SFR<sub>rel</sub> &lt; 0')
    """
    escaped = str(escape(text))
    for written, markup in _SUBSCRIPTS.items():
        escaped = escaped.replace(written, markup)
    return Markup(escaped)


def typeset(sentence: str) -> Markup:
    """A sentence of a verdict with the signs that plain text spells out.

    >>> typeset("Delta_S = -0.1 <= 0, not t-test")
    Markup('Δ<sub>S</sub> = −0.1 ≤ 0, not t-test')
    """
    spelled = sentence
    for written, sign in _SPELLED.items():
        spelled = spelled.replace(written, sign)
    return symbols(re.sub(r"(?<![\w.])-(?=\d)", MINUS, spelled))


def data_uri(svg: bytes) -> str:
    """An image that is part of the page itself."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()


def plain(value: Any) -> str:
    """A fact of the proof or of the provenance as text.

    >>> plain(0.0166667), plain([1, 2]), plain(None), plain(True)
    ('0.01667', '1, 2', '–', 'yes')
    """
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(plain(item) for item in value)
    return str(value)
