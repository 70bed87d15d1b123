"""A page as tests look at it: what it loads, its ids and links, and its visible text."""

from __future__ import annotations

from html.parser import HTMLParser


class HtmlReader(HTMLParser):
    """Attributes that load something, ids, links within the page, and the visible text; a script or a frame is an error."""

    VOID = ("meta", "link", "img", "br", "hr", "input")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
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
        assert tag not in ("script", "iframe", "object", "embed", "base")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self._quiet = False

    def handle_data(self, data):
        if not self._quiet:
            self._words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._words).split())
