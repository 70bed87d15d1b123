"""The page's code and data: inlined, allowed by its hash alone, and unable to leave their tags."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from einstellung.report.minify import minify

_BROWSER = Path(__file__).with_name("browser")
#: In the order in which they are needed; a diagnosis' own scripts come before the last.
SHARED = ("dom.js", "numbers.js", "tips.js", "tables.js", "forest.js", "sections.js")
START = "start.js"
#: What only some diagnoses need, to be put first among their own scripts.
CHART, MARGIN = _BROWSER / "chart.js", _BROWSER / "margin.js"


def page_script(own: Sequence[Path | str] = ()) -> Markup:
    """All code of a page as one script: what every page shares, then a diagnosis' own files and code, then the start."""
    parts = [*(_BROWSER / name for name in SHARED), *own, _BROWSER / START]
    code = "\n".join(part if isinstance(part, str) else minify(part.read_text(encoding="utf-8")) for part in parts)
    if "</script" in code.lower() or "<!--" in code:
        raise ValueError("a page script contains text that would close its tag")
    return Markup(f'\n"use strict";\n(() => {{\n{code}\n}})();\n')


def script_hash(code: str) -> str:
    """What a content security policy allows this one script by.

    >>> script_hash("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def json_data(data: Any) -> Markup:
    """JSON that is data wherever it stands in a page: no character of it can end a tag or a script.

    >>> json_data({"</script>": "&"})
    Markup('{"\\\\u003c/script\\\\u003e":"\\\\u0026"}')
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
