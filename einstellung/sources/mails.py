"""Raw mails as texts, with the character spans of their headers and of their HTML parts."""

from __future__ import annotations

import email
import email.errors
import hashlib
import re
from dataclasses import dataclass
from email.message import Message

Span = tuple[int, int]

ENVELOPE = "(envelope)"  # the line 'From SENDER DATE' that a mailbox puts before a mail

_MOST_CHARACTERS = 2**20
_SPACE = re.compile(r"\s+")
# what the standard library's parser raises on mails that follow no standard
_UNPARSEABLE = (
    email.errors.MessageError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class ParsedMail:
    """The text of a mail: its header lines as they were sent, an empty line, and its decoded text and HTML parts.

    ``headers``: name in lower case and characters [start, end) of every header line, with its continuation lines and line break.
    ``html``: characters [start, end) of every HTML part, ``body``: where the first part begins. ``digest`` is a hash of subject
    and body that is the same for copies of a mail that only took other ways.
    """

    text: str
    headers: tuple[tuple[str, Span], ...]
    html: tuple[Span, ...]
    body: int
    digest: str

    def header_spans(self, *names: str) -> list[Span]:
        """The spans of these headers, or of all if none is named.

        >>> mail = parse_mail(b"From: a@b\\nX-Mailer: The\\n  Bat\\n\\nhello")
        >>> [mail.text[start:end] for start, end in mail.header_spans("x-mailer")]
        ['X-Mailer: The\\n  Bat\\n']
        """
        wanted = {name.lower() for name in names}
        return [span for name, span in self.headers if not wanted or name in wanted]

    def with_headers(self, *names: str) -> ParsedMail:
        """The same mail with these headers only; without names, with none.

        >>> parse_mail(b"From: a@b\\nX-Mailer: c\\n\\nhello").with_headers("x-mailer").text
        'X-Mailer: c\\n\\nhello'
        """
        wanted = {name.lower() for name in names}
        kept, lines = [], []
        length = 0
        for name, (start, end) in self.headers:
            if name in wanted:
                kept.append((name, (length, length + end - start)))
                lines.append(self.text[start:end])
                length += end - start
        head = "".join(lines) + ("\n" if kept else "")
        moved = len(head) - self.body
        html = tuple((start + moved, end + moved) for start, end in self.html)
        return ParsedMail(head + self.text[self.body :], tuple(kept), html, len(head), self.digest)


def parse_mail(content: bytes) -> ParsedMail:
    """Parse any bytes as a mail; what cannot be decoded is kept as it is, or replaced character by character.

    >>> mail = parse_mail(b"Subject: hi\\nContent-Type: text/html; charset=none-such\\n\\n<b>caf\\xe9</b>")
    >>> mail.text, mail.html
    ('Subject: hi\\nContent-Type: text/html; charset=none-such\\n\\n<b>café</b>', ((56, 67),))
    """
    try:
        message = email.message_from_bytes(content)
        fields, envelope = list(message.raw_items()), message.get_unixfrom()
        parts = _readable_parts(message)
    except _UNPARSEABLE:
        fields, envelope, parts = [], None, [(_decoded(content, None), False)]
    pieces: list[str] = []
    headers: list[tuple[str, Span]] = []
    length = 0

    def add(piece: str) -> Span:
        nonlocal length
        start = length
        pieces.append(piece[: max(0, _MOST_CHARACTERS - start)])
        length += len(pieces[-1])
        return start, length

    if envelope:
        headers.append((ENVELOPE, add(f"{_readable(envelope)}\n")))
    for name, value in fields:
        headers.append((_readable(name).lower(), add(f"{_readable(name)}: {_readable(str(value))}\n")))
    if headers:
        add("\n")
    body = length
    html = []
    for number, (text, is_html) in enumerate(parts):
        if number:
            add("\n")
        span = add(text)
        if is_html:
            html.append(span)
    text = "".join(pieces)
    subject = next((text[start:end] for name, (start, end) in headers if name == "subject"), "")
    same = _SPACE.sub(" ", f"{subject}\n{text[body:]}").strip().lower()
    digest = hashlib.sha256(same.encode("utf-8", "replace")).hexdigest()
    return ParsedMail(text, tuple(headers), tuple(html), body, digest)


def _readable_parts(message: Message) -> list[tuple[str, bool]]:
    """The text of every inline text part, and whether it is HTML."""
    found = []
    for part in message.walk():
        # 'multipart' without parts: they were announced, but what follows is one text
        is_text = part.get_content_maintype() in ("text", "multipart")
        if part.is_multipart() or not is_text or part.get_filename():
            continue
        payload = part.get_payload(decode=True)
        if isinstance(payload, bytes):
            found.append((_decoded(payload, _charset(part)), part.get_content_subtype() == "html"))
    return found


def _charset(part: Message) -> str | None:
    try:
        return part.get_content_charset()
    except _UNPARSEABLE:
        return None


def _decoded(content: bytes, charset: str | None) -> str:
    """By the declared charset, else as UTF-8, else as Latin-1, in which every byte is a character."""
    for name in (charset, "utf-8"):
        if name:
            try:
                return _unix(content.decode(name))
            except (LookupError, ValueError):
                continue
    return _unix(content.decode("latin-1"))


def _readable(field: str) -> str:
    """A header field, whose bytes beyond ASCII the parser has kept as surrogates."""
    if field.isascii():
        return _unix(field)
    return _decoded(field.encode("utf-8", "surrogateescape"), None)


def _unix(text: str) -> str:
    # some codecs decode to lone surrogates, which no file can hold
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
