"""A page as a reader and as a browser see it."""

from __future__ import annotations

from html.parser import HTMLParser


class Reader(HTMLParser):
    """Attributes that load something, ids, links within the page, and the visible text."""

    VOID = ("meta", "link", "img", "br", "hr", "input")

    def __init__(self, html):
        super().__init__()
        self.loads, self.ids, self.links, self.words, self.open, self.quiet = [], [], [], [], [], False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.loads += [found[name] for name in ("src", "srcset", "data", "action", "poster") if name in found]
        self.ids += [found["id"]] if "id" in found else []
        if "href" in found:
            (self.links if tag == "a" else self.loads).append(found["href"])
        self.quiet = tag in ("style", "script", "title")
        assert tag not in ("script", "iframe", "object", "embed", "base")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.quiet = False

    def handle_data(self, data):
        if not self.quiet:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())
