"""What the inputs of a study are called: most sentences speak of images, studies of texts and series of their own inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_WORDS = re.compile(r"\b(?:([Aa])n )?([Ii]mages?|[Pp]ixels)\b")
_MARKUP = re.compile(r"(?s)<(script|style|pre|code|svg)\b.*?</\1>|<[^>]*>")


@dataclass(frozen=True)
class InputWords:
    """``one`` input, ``many`` of them, and the ``places`` that one consists of."""

    one: str
    many: str
    places: str

    def say(self, text: str) -> str:
        """A sentence about images, in these words.

        >>> INPUT_WORDS["text"].say("Images: 3 image pairs, 2 pixels")
        'Texts: 3 text pairs, 2 tokens'
        """
        if self == IMAGE_WORDS:
            return text
        own = {"image": self.one, "images": self.many, "pixels": self.places}

        def replaced(match: re.Match[str]) -> str:
            article, noun = match.groups()
            word = own[noun.lower()]
            return (f"{article} " if article else "") + (word.capitalize() if noun[0].isupper() else word)

        return _WORDS.sub(replaced, text)

    def say_html(self, page: str) -> str:
        """The text of a page in these words; not its code, its listings, or what stands within tags.

        >>> INPUT_WORDS["series"].say_html('<p class="image">An image, <code>image</code></p>')
        '<p class="image">A series, <code>image</code></p>'
        """
        if self == IMAGE_WORDS:
            return page
        parts, end = [], 0
        for markup in _MARKUP.finditer(page):
            parts += [self.say(page[end : markup.start()]), markup[0]]
            end = markup.end()
        return "".join([*parts, self.say(page[end:])])

    def say_data(self, value: Any) -> Any:
        """Plain values with every text in these words; keys stay."""
        if isinstance(value, str):
            return self.say(value)
        if isinstance(value, Mapping):
            return {key: self.say_data(one) for key, one in value.items()}
        return [self.say_data(one) for one in value] if isinstance(value, list | tuple) else value


IMAGE_WORDS = InputWords("image", "images", "pixels")
INPUT_WORDS = {
    "image": IMAGE_WORDS,
    "text": InputWords("text", "texts", "tokens"),
    "series": InputWords("series", "series", "samples"),
}


def words_for(facts: Mapping[str, Any] | None) -> InputWords:
    """The words for the inputs of a study, by the facts of its stream's proof.

    >>> words_for({"inputs": "text"}).many, words_for({}).many
    ('texts', 'images')
    """
    return INPUT_WORDS.get(str((facts or {}).get("inputs")), IMAGE_WORDS)
