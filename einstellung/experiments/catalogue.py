"""Everything that a configuration can name, with summaries and options."""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import fields, is_dataclass
from itertools import takewhile
from typing import Any

from pydantic import BaseModel

from einstellung.results.config import PRESETS, preset_names


def catalogue(what: str) -> list[dict[str, Any]]:
    """Entries of one kind: name, summary, options with their defaults, and where the defaults come from.

    >>> [entry["name"] for entry in catalogue("presets") if entry["name"] == "demo"]
    ['demo']
    """
    if what == "presets":
        return [
            {"name": name, "summary": _first_comment(name), "options": {}, "sources": {}} for name in preset_names()
        ]
    registry = _registries()[what]
    modules = Counter(getattr(registry[name], "__module__", "") for name in registry)
    return [
        {
            "name": name,
            "summary": _summary(registry[name], modules[getattr(registry[name], "__module__", "")] == 1),
            "options": _options(registry[name]),
            "sources": _sources(registry[name]),
        }
        for name in registry
    ]


def _registries() -> dict[str, Any]:
    from einstellung.backbones import backbones
    from einstellung.cues import covers, cues
    from einstellung.diagnoses import diagnoses
    from einstellung.experiments.launchers import launchers
    from einstellung.learners import learners
    from einstellung.streams import streams

    return {
        "diagnoses": diagnoses,
        "learners": learners,
        "streams": streams,
        "cues": cues,
        "covers": covers,
        "backbones": backbones,
        "launchers": launchers,
    }


def _summary(thing: Any, has_own_module: bool) -> str:
    """The first paragraph about a function or a class; about a class that has a module of its own, of the module."""
    module = inspect.getmodule(thing) if inspect.isclass(thing) and has_own_module else None
    text = (module.__doc__ if module else None) or inspect.getdoc(thing) or ""
    return _first_paragraph(text)


def _options(thing: Any) -> dict[str, Any]:
    options = getattr(thing, "Options", getattr(thing, "Settings", thing))
    if isinstance(options, type) and issubclass(options, BaseModel):
        return dict(options().model_dump(mode="json"))
    if is_dataclass(options):
        return {field.name: field.default for field in fields(options) if not field.metadata.get("internal")}
    parameters = inspect.signature(options).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty and p.name != "cover"}


def _sources(thing: Any) -> dict[str, str]:
    """Where defaults come from, for options that say so."""
    options = getattr(thing, "Options", thing)
    if not is_dataclass(options):
        return {}
    return {field.name: field.metadata["source"] for field in fields(options) if "source" in field.metadata}


def _first_comment(name: str) -> str:
    """The first paragraph of the comment at the top of a preset."""
    comment = takewhile(lambda line: line.startswith("#"), (PRESETS / f"{name}.yaml").read_text("utf-8").splitlines())
    return _first_paragraph("\n".join(line.removeprefix("#") for line in comment))


def _first_paragraph(text: str) -> str:
    """The first paragraph of a text, in one line.

    >>> _first_paragraph("One sentence\\nin two lines.\\n\\nMore.")
    'One sentence in two lines.'
    """
    return " ".join(text.strip().split("\n\n")[0].split())
