"""A page as tests look at it: what it loads, its ids and links, its data, and its visible text."""

from __future__ import annotations

import base64
import hashlib
import json
from html.parser import HTMLParser
from typing import Any


class HtmlReader(HTMLParser):
    """Attributes that load something, ids, links within the page, its data, and its text.

    A frame is an error, and so is a script that is not in the page itself and allowed by its hash in the page's own policy.
    """

    VOID = ("meta", "link", "img", "br", "hr", "input")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.data: dict[str, Any] = {}
        self.code = ""
        self._policy = ""
        self._script: str | None = None
        self._words: list[str] = []
        self._quiet = False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.loads += [found[name] for name in ("src", "srcset", "data", "action", "poster") if name in found]
        self.ids += [found["id"]] if "id" in found else []
        if "href" in found:
            (self.links if tag == "a" else self.loads).append(found["href"])
        self._quiet = tag in ("style", "script", "title")
        assert tag not in ("iframe", "object", "embed", "base")
        assert not any(name.startswith("on") for name in found)
        if found.get("http-equiv") == "Content-Security-Policy":
            self._policy = found["content"]
        if tag == "script":
            self._script = found.get("type", "code")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self._quiet, self._script = False, None

    def handle_data(self, data):
        if self._script == "application/json":
            self.data = json.loads(data)
        elif self._script is not None:
            self.code = data
            digest = base64.b64encode(hashlib.sha256(data.encode()).digest()).decode()
            assert f"script-src 'sha256-{digest}'" in self._policy
        elif not self._quiet:
            self._words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._words).split())
