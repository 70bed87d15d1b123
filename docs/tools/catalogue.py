"""Sections that are generated when the site is built: what a configuration can name, commands, public Python names.

A page asks for them by a comment: ``<!-- catalogue: learners -->``, ``<!-- commands -->``, ``<!-- python -->``,
``<!-- notebooks -->``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from commands import commands_section

KINDS = ("diagnoses", "learners", "streams", "cues", "covers", "backbones", "launchers", "presets")

_MARKER = re.compile(
    r"^<!-- (?P<what>catalogue|commands|python|notebooks)(?:: (?P<kind>\w+))? -->$", flags=re.MULTILINE
)


def filled(markdown: str, root: Path) -> str:
    """The page with every such comment replaced by its section."""

    def replace(match: re.Match[str]) -> str:
        if match["what"] == "catalogue":
            return catalogue_section(match["kind"])
        if match["what"] == "commands":
            return commands_section()
        return python_section() if match["what"] == "python" else notebooks_section(root)

    return _MARKER.sub(replace, markdown)


def catalogue_section(kind: str) -> str:
    """One heading, summary and table of options for every entry of a registry."""
    from einstellung.experiments.catalogue import catalogue

    return "\n\n".join(entry_text(entry, kind) for entry in catalogue(kind))


def entry_text(entry: Mapping[str, Any], kind: str) -> str:
    """One entry; names such as ``guide`` recur among kinds, so an anchor has both."""
    lines = [f"### `{entry['name']}` {{ #{kind}-{entry['name']} }}", "", cell(entry["summary"])]
    if entry["options"]:
        sourced = bool(entry["sources"])
        lines += ["", "| option | default |" + (" source of the default |" if sourced else "")]
        lines.append("| --- | --- |" + (" --- |" if sourced else ""))
        for name, value in entry["options"].items():
            row = f"| `{name}` | {default(value)} |"
            lines.append(row + (f" {cell(entry['sources'].get(name, ''))} |" if sourced else ""))
    return "\n".join(lines)


def default(value: Any) -> str:
    """A default as a configuration file has it.

    >>> default(None), default((8, 9)), default(False), default("")
    ('`null`', '`[8, 9]`', '`false`', '`""`')
    """
    import yaml

    if isinstance(value, tuple):
        value = [list(item) if isinstance(item, tuple) else item for item in value]
    if value == "":
        return '`""`'
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000).removesuffix("...\n").strip()
    return f"`{text}`"


def cell(text: str) -> str:
    """Text inside a table: a bar would end the cell, and Markdown would read <tags>."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def python_section() -> str:
    """Every public name of the package, documented where it is defined."""
    import einstellung

    names = getattr(einstellung, "__all__", None) or [name for name in vars(einstellung) if not name.startswith("_")]
    parts = []
    for name in sorted(names, key=str.lower):
        thing = getattr(einstellung, name)
        if getattr(thing, "__module__", "").startswith("einstellung"):
            where = f"{thing.__module__}.{thing.__qualname__}"
            parts.append(f"::: {where}\n    options:\n      heading: einstellung.{name}\n      toc_label: {name}")
    return "\n\n".join(parts)


def notebooks_section(root: Path) -> str:
    """A list of the notebooks, each with the first heading in it."""
    import json

    lines = []
    for path in sorted((root / "examples/notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "".join(next(cell["source"] for cell in cells if cell["cell_type"] == "markdown"))
        lines.append(f"- [{text.splitlines()[0].lstrip('# ')}](../examples/notebooks/{path.name})")
    return "\n".join(lines)
