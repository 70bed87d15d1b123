"""Files outside ``docs/`` that the documentation links to, as parts of the site: it works offline and links to no other host.

A Markdown file or a notebook becomes a page, source code a page that shows it, anything else is copied.
Page ``studies/x/README.md`` of the repository is ``repository/studies/x/README.md`` of the site.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PREFIX = "repository/"
SOURCES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".cff": "yaml"}

_LINK = re.compile(
    r"(?P<open>!?\[(?:[^\[\]]|\[[^\]]*\]|\\.)*\]\()(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?P<close>\))"
)
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", flags=re.DOTALL | re.MULTILINE)


def repository_path(page: str) -> str:
    """Where a page of the site is in the repository.

    >>> repository_path("audit.md"), repository_path("repository/studies/concon/README.md")
    ('docs/audit.md', 'studies/concon/README.md')
    """
    return page.removeprefix(PREFIX) if page.startswith(PREFIX) else f"docs/{page}"


def site_path(path: str) -> str:
    """Where a file of the repository is in the site.

    >>> site_path("docs/audit.md"), site_path("examples/own_cue.py"), site_path("zoo.csv")
    ('audit.md', 'repository/examples/own_cue.py.md', 'repository/zoo.csv')
    """
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    shown = Path(path).suffix in SOURCES or path.endswith(".ipynb")
    return f"{PREFIX}{path}.md" if shown else f"{PREFIX}{path}"


def links(markdown: str, page: str) -> Iterator[str]:
    """Files of the repository that a page links to, as paths from its root; a folder stands for its README."""
    for match in _LINK.finditer(_FENCE.sub("", markdown)):
        if path := _resolved(match["target"], page):
            yield path


def rewritten(markdown: str, page: str) -> str:
    """The page with links into the repository turned into links within the site; a folder without a README loses its link."""

    def replace(match: re.Match[str]) -> str:
        path = _resolved(match["target"], page)
        if path is None:
            gone = (
                not _is_address(match["target"])
                and (ROOT / repository_path(page)).parent.joinpath(match["target"]).is_dir()
            )
            return match["open"].rstrip("(").strip("[]") if gone else match[0]
        target = posixpath.relpath(site_path(path), posixpath.dirname(page) or ".")
        return f"{match['open']}{target}{match['anchor'] or ''}{match['close']}"

    return _outside_fences(markdown, lambda text: _LINK.sub(replace, text))


def page_text(path: str) -> str:
    """What the site shows of a file of the repository: Markdown as it is, a notebook or source code as Markdown."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".md"):
        return text
    if path.endswith(".ipynb"):
        return notebook_text(json.loads(text))
    return f"# {path}\n\n```{SOURCES[Path(path).suffix]}\n{text.rstrip()}\n```\n"


def notebook_text(notebook: dict[str, Any]) -> str:
    """A notebook as Markdown: its texts, its code, and stored outputs (HTML before images before plain text)."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code" and source.strip():
            parts.append(f"```python\n{source}\n```")
            parts += [_output(output) for output in cell["outputs"]]
    return "\n\n".join(part for part in parts if part) + "\n"


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "text/html" in data:
        return f'<div class="notebook-output">\n{"".join(data["text/html"])}\n</div>'
    if "image/png" in data:
        encoded = "".join(data["image/png"]).replace("\n", "")
        return f'<img class="notebook-output" alt="Output of the cell above" src="data:image/png;base64,{encoded}">'
    text = "".join(data.get("text/plain", "")).rstrip()
    return f"```text\n{text}\n```" if text else ""


def _resolved(target: str, page: str) -> str | None:
    """The file that a link leads to, from the repository's root; None for an address, or where there is no such file."""
    if _is_address(target):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(repository_path(page)), target))
    if (ROOT / path).is_dir():
        path = f"{path}/README.md"
    return path if (ROOT / path).is_file() else None


def _is_address(target: str) -> bool:
    return target.startswith(("http:", "https:", "mailto:", "/"))


def _outside_fences(markdown: str, change: Callable[[str], str]) -> str:
    parts, end = [], 0
    for match in _FENCE.finditer(markdown):
        parts += [change(markdown[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*parts, change(markdown[end:])])
