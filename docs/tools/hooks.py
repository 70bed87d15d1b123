"""Hooks of mkdocs: generated sections, and the files of the repository that pages link to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

import catalogue
import repository


def on_files(files: Files, *, config: Any) -> Files:
    """Add every file of the repository that the navigation names or a page links to, and what these link to in turn."""
    texts = {file.src_uri: file.content_string for file in files.documentation_pages()}
    texts = {page: catalogue.filled(text, repository.ROOT) for page, text in texts.items()}
    named = [uri.removeprefix(repository.PREFIX) for uri in _pages(config.nav) if uri.startswith(repository.PREFIX)]
    while texts or named:
        if texts:
            page, text = texts.popitem()
            named += repository.links(text, page)
        while named:
            path = named.pop()
            uri = repository.site_path(path)
            if files.get_file_from_path(uri) is not None:
                continue
            if uri.endswith(".md"):
                content = repository.page_text(path)
                files.append(File.generated(config, uri, content=content))
                texts[uri] = content
            else:
                files.append(File.generated(config, uri, abs_src_path=str(repository.ROOT / path)))
    return files


def _pages(nav: Any) -> Iterator[str]:
    """The pages of a navigation, however deep."""
    if isinstance(nav, str):
        yield nav
    for part in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _pages(part)


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    return repository.rewritten(catalogue.filled(markdown, repository.ROOT), page.file.src_uri)
