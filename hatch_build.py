"""Long description and URLs of the package, made from README.md and the repository's address when it is built."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_IMAGE = re.compile(r"!\[([^\]]*)\]\((?!https?://)([^)\s]+)\)\n?")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?://|#)([^)\s]+)\)")


class Metadata(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        repository = self.config.get("repository", "").rstrip("/")
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": long_description(readme, repository)}
        metadata["urls"] = urls(repository)


def urls(repository: str) -> dict[str, str]:
    if not repository:
        return {}
    return {
        "Repository": repository,
        "Documentation": f"{repository}/blob/HEAD/docs/installation.md",
        "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def long_description(readme: str, repository: str) -> str:
    """The README with absolute links and images; without an address, links become plain text and images are left out.

    A package index shows the text far from the repository's files: a relative link would lead nowhere.
    """
    if not repository:
        return _LINK.sub(r"\1", _IMAGE.sub("", readme))
    with_images = _IMAGE.sub(rf"![\1]({repository}/raw/HEAD/\2)\n", readme)
    return _LINK.sub(rf"[\1]({repository}/blob/HEAD/\2)", with_images)
