"""Which studies lie below the given folders. A study is only ever opened by its key in here, never by a path from outside."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

from einstellung.errors import InputError
from einstellung.results.family import family_file
from einstellung.results.sweep import sweep_file
from einstellung.view.plain_files import is_folder, signature, subfolders

REPORT, SWEEP_PAGE, FAMILY_PAGE = "report.html", "sweep.html", "family.html"
_CONFIG = "config.yaml"
_OURS = ("proof.json", "provenance.json", "score.json", "timeline.csv", REPORT)  # beside a damaged configuration
_DEEPEST = 8
_SKIPPED = ("node_modules", "__pycache__")
_RESCAN_SECONDS = 1.0


@dataclass(frozen=True)
class Found:
    """A study, or the folder of a sweep or a family (then ``group_page``)."""

    key: str  # of its place, ready for an address
    path: Path
    root: Path
    label: str
    group_page: str | None = None

    @property
    def page(self) -> Path | None:
        """The page that can be served, where it was written."""
        page = self.path / (self.group_page or REPORT)
        return page if signature(page) is not None else None


class Catalogue:
    """The studies below some folders, looked for again when asked; at most once a second, and a tenth of the time."""

    def __init__(self, folders: Sequence[Path]) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise InputError(f"no such folder: {folder}; give a results folder or a folder that contains some")
        self.roots = [folder.resolve() for folder in folders]
        self._found: dict[str, Found] = {}
        self._due = 0.0
        self._lock = threading.Lock()

    def all(self) -> dict[str, Found]:
        """Every study and group by key."""
        with self._lock:
            began = time.monotonic()
            if began >= self._due:
                self._found = {found.key: found for number in range(len(self.roots)) for found in self._below(number)}
                now = time.monotonic()
                self._due = now + max(_RESCAN_SECONDS, 9 * (now - began))
            return self._found

    def get(self, key: str) -> Found | None:
        """By its key, however an address writes it: a link may leave ``=`` as it is."""
        return self.all().get("/".join(_quoted(unquote_to_bytes(part)) for part in key.split("/")))

    def _below(self, number: int) -> Iterator[Found]:
        root = self.roots[number]
        waiting = [(root, 0)]
        while waiting:
            folder, depth = waiting.pop()
            if _is_study(folder):
                yield self._entry(number, folder)
                continue
            for file, page in ((sweep_file(folder), SWEEP_PAGE), (family_file(folder), FAMILY_PAGE)):
                if signature(file) is not None:
                    yield self._entry(number, folder, page)
            if depth < _DEEPEST:
                names = [entry.name for entry in subfolders(folder)]
                below = [folder / name for name in names if not name.startswith(".") and name not in _SKIPPED]
                waiting += [(path, depth + 1) for path in reversed(below)]

    def _entry(self, number: int, folder: Path, group_page: str | None = None) -> Found:
        root = self.roots[number]
        inside = folder.relative_to(root)
        key = "/".join([str(number), *(_quoted(os.fsencode(part)) for part in inside.parts)])
        label = "/".join([root.name or str(root), *inside.parts]).encode("utf-8", "backslashreplace").decode()
        return Found(key, folder, root, label, group_page)


def _quoted(part: bytes) -> str:
    return quote_from_bytes(part, safe="")


def _is_study(folder: Path) -> bool:
    """Whether a folder is a study's, damaged or not; a ``config.yaml`` of some other program alone makes none."""
    if signature(folder / "score.json") is not None:
        return True
    traces = is_folder(folder / "runs") or any(signature(folder / name) is not None for name in _OURS)
    if signature(folder / _CONFIG) is not None:
        return traces or is_folder(folder / "first_phases")
    return is_folder(folder / "runs") and signature(folder / "proof.json") is not None
