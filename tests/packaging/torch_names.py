"""Every name of torch that the package uses, with the oldest torch release in which it was found.

``python -m tests.packaging.torch_names`` adds what the installed torch has to ``torch_names.json``. Run it with the oldest
supported release first; a name that only a newer one has gets that one's number, and needs a fallback.
"""

from __future__ import annotations

import ast
import importlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from .contents import ROOT

RECORD = Path(__file__).with_suffix(".json")


def release(version: str) -> tuple[int, ...]:
    """
    >>> release("2.4.0+cu121")
    (2, 4, 0)
    """
    return tuple(int(part) for part in version.partition("+")[0].split("."))


def used_in(code: str) -> set[str]:
    """Dotted names of torch in a file, by its imports; attributes of objects are not followed.

    >>> sorted(used_in("import torch.nn.functional as F\\nfrom torch import nn\\nF.relu(nn.Linear(1, 1).weight)"))
    ['torch.nn', 'torch.nn.Linear', 'torch.nn.functional', 'torch.nn.functional.relu']
    """
    tree = ast.parse(code)
    bound: dict[str, str] = {}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "torch":
                    bound[alias.asname or "torch"] = alias.name if alias.asname else "torch"
                    found.add(alias.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch" and not node.level:
            for alias in node.names:
                bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                found.add(f"{node.module}.{alias.name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (name := _dotted(node, bound)):
            found.add(name)
    return found - {"torch"}


def _dotted(node: ast.expr, bound: Mapping[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return bound.get(node.id)
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value, bound)):
        return f"{before}.{node.attr}"
    return None


@cache
def used_names() -> Mapping[str, tuple[str, ...]]:
    """Every name of torch in the package and the examples -> the files that use it."""
    files: dict[str, list[str]] = defaultdict(list)
    for folder in ("einstellung", "examples"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for name in used_in(file.read_text(encoding="utf-8")):
                files[name].append(file.relative_to(ROOT).as_posix())
    return {name: tuple(places) for name, places in files.items()}


def missing_from(names: Iterable[str]) -> set[str]:
    """Those of the names that the installed torch does not have."""
    return {name for name in names if not _exists(name)}


def _exists(name: str) -> bool:
    parts = name.split(".")
    found = importlib.import_module(parts[0])
    for number, part in enumerate(parts[1:], start=2):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(".".join(parts[:number]))
            except ImportError:
                return False
    return True


def main() -> None:
    import torch

    here = str(torch.__version__).partition("+")[0]
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    record = {}
    for name in sorted(used_names()):
        versions = [known[name]] if name in known else []
        versions += [here] if _exists(name) else []
        if versions:
            record[name] = min(versions, key=release)
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(
        f"torch {here}: {len(record)} of {len(used_names())} names; nowhere yet: {used_names().keys() - record.keys()}"
    )


if __name__ == "__main__":
    main()
