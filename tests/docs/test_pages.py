"""The prose: links that lead somewhere, lines that can be read, a navigation that is complete, commands that exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import click
import pytest
import yaml

from einstellung.cli.main import cli

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
STUDIES = sorted((ROOT / "studies").glob("*/README.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("**/*.md")), *STUDIES]
WRITTEN = [ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "RESULTS.md"]  # prose all the same
LONGEST = 140

FENCE = re.compile(r"^```.*?^```", flags=re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")


def named(pages: list[Path]) -> list:
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages]


def prose(page: Path) -> str:
    """The page without fenced and indented code."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return "\n".join(line for line in text.splitlines() if not line.startswith("    "))


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub and mkdocs make them, and those that are given by name."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    given = re.findall(r"\{ *#([\w-]+) *\}", text)
    headings = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    plain = [re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower() for heading in headings]
    return frozenset([*given, *(re.sub(r"\s", "-", heading) for heading in plain)])


@pytest.mark.parametrize("page", named(PAGES))
def test_links_and_anchors_resolve(page):
    for target in LINK.findall(prose(page)):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{target}: no such file"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{target}: no such heading"


@pytest.mark.parametrize("page", named([*PAGES, *WRITTEN]))
def test_lines_are_short(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if not line.startswith(("|", "    "))]
    assert [line for line in lines if len(line) > LONGEST] == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 90


def in_navigation(part: object) -> list[str]:
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part
    return [page for below in parts for page in in_navigation(below)]


def test_the_navigation_is_complete():
    pages = in_navigation(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    assert len(pages) == len(set(pages))
    for page in pages:
        path = ROOT / page.removeprefix("repository/") if page.startswith("repository/") else DOCS / page
        assert path.is_file(), f"{page} is in the navigation, and there is no such page"
    missing = {str(page.relative_to(DOCS)) for page in DOCS.glob("**/*.md")} - set(pages)
    assert missing == set(), "pages that are not in the navigation"
    studies = {f"repository/{page.relative_to(ROOT)}" for page in STUDIES}
    assert studies <= set(pages), "studies that are not in the navigation"


def mentioned(page: Path) -> set[tuple[str, ...]]:
    """What stands after 'einstellung' where a page shows a command: in code, or after a prompt's path."""
    text = page.read_text(encoding="utf-8")
    code = [
        *re.findall(r"`(einstellung [^`]+)`", text.replace("\n", " ")),
        *re.findall(r"`(einstellung\n[^`]+)`", text),
    ]
    code += re.findall(r"^(?: {4}|\$ )?(?:\S*/bin/)?(einstellung [a-z].*)$", text, flags=re.MULTILINE)
    return {tuple(line.partition("#")[0].split()[1:3]) for line in code if re.match(r"einstellung\s+[a-z]", line)}


@pytest.mark.parametrize("page", named(PAGES))
def test_every_command_exists(page):
    for words in mentioned(page):
        command = cli.commands.get(words[0])
        assert command is not None, f"einstellung {words[0]}: no such command"
        if isinstance(command, click.Group) and len(words) > 1 and re.fullmatch(r"[a-z-]+", words[1]):
            assert words[1] in command.commands, f"einstellung {' '.join(words)}: no such command"


def test_commands_are_found_in_pages():
    """The test above can fail: it sees the commands of the start page."""
    assert {("demo",), ("run", "mine.yaml"), ("data", "get")} <= mentioned(DOCS / "start.md") | mentioned(
        ROOT / "README.md"
    )


@pytest.mark.parametrize("page", named(PAGES))
def test_no_placeholder_is_left(page):
    """A comment is a section that is generated, the frame of one that a program writes, or forgotten."""
    known = r"catalogue: \w+|commands|python|notebooks|benchmark|where each method runs|ranking|campaign|end"
    comments = re.findall(r"<!-- (.*?) -->", prose(page))
    assert [comment for comment in comments if not re.fullmatch(known, comment)] == []
