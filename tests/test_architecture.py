"""What import contracts cannot say about the house: nothing outside ``diagnoses/`` knows a kind of study, few know the guide."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import einstellung

PACKAGE = Path(einstellung.__file__).parent
KINDS = {folder.parent.name for folder in (PACKAGE / "diagnoses").glob("*/__init__.py")}
FILES = [file for file in sorted(PACKAGE.rglob("*.py")) if not file.is_relative_to(PACKAGE / "diagnoses")]


def name_of(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix()


def imports(tree: ast.AST) -> set[str]:
    """Every module that is imported, anywhere in a file."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def declared(tree: ast.AST) -> set[ast.AST]:
    """Values of what is called ``diagnosis``: a stream may say what its splits are made for.

    So are the names that a package exports: a function may be called like a kind.
    """
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "diagnosis":
            found.add(node.value)
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(getattr(target, "id", getattr(target, "attr", "")) == "diagnosis" for target in targets):
                found.add(node.value)  # type: ignore[arg-type]
            if any(getattr(target, "id", "") == "__all__" for target in targets) and isinstance(node.value, ast.List):
                found |= set(node.value.elts)
            if any(getattr(target, "id", "") == "_HOMES" for target in targets) and isinstance(node.value, ast.Dict):
                found |= set(node.value.keys) - {None}  # type: ignore[arg-type]
    return found


def kinds_named(tree: ast.AST) -> set[str]:
    """Kinds of studies that a file names in a string of its own, other than to declare one."""
    harmless = declared(tree)
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in KINDS and node not in harmless
    }


def test_there_are_kinds():
    assert {"rigidity", "confounding", "shortcuts"} <= KINDS


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_no_file_outside_diagnoses_knows_a_kind(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert kinds_named(tree) == set()
    if not name_of(file).startswith("guide/"):  # which is a variant of the rigidity index
        of_kinds = {
            found for found in imports(tree) if found.startswith(tuple(f"einstellung.diagnoses.{k}" for k in KINDS))
        }
        assert of_kinds == set()


def test_a_branch_on_a_kind_would_be_found():
    assert kinds_named(ast.parse('if card.kind == "confounding": ...')) == {"confounding"}
    assert kinds_named(ast.parse('Stream(diagnosis="confounding")')) == set()
    assert kinds_named(ast.parse('__all__ = ["audit"]\n_HOMES = {"audit": "einstellung.api.auditing"}')) == set()
    assert kinds_named(ast.parse('__all__ = ["audit"]\nif card.kind == "audit": ...')) == {"audit"}
    assert kinds_named(ast.parse('_HOMES = {"name": "audit"}')) == {"audit"}


def test_at_most_three_files_outside_know_the_guide():
    knowing = [
        name_of(file)
        for file in sorted(PACKAGE.rglob("*.py"))
        if not file.is_relative_to(PACKAGE / "guide")
        and any(found.startswith("einstellung.guide") for found in imports(ast.parse(file.read_text(encoding="utf-8"))))
    ]
    assert len(knowing) <= 3, knowing
