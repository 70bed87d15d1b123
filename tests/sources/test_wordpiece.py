"""Word pieces against those of Hugging Face's tokenizers (0.23), written down, and the real vocabulary where it is installed."""

from __future__ import annotations

import pytest

from einstellung.errors import InputError
from einstellung.sources.model_files import MINILM_PACKAGE
from einstellung.sources.wordpiece import WordPieces

PIECES = (
    *(
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "un",
        "##aff",
        "##able",
        "cafe",
        "na",
        "##ive",
        "中",
        "文",
        "!",
        ".",
    ),
    *("don", "'", "t", "##t", "strasse", "stra", "##ße", "i", "##st", "##an", "##bul", "a", "##b", "c", "-", "–", "«"),
    *("»", "x", "12", "##3"),
)
# what tokenizers.BertWordPieceTokenizer(vocab, lowercase=True) says of them: ids and places
SEEN = {
    "Unaffable! unaff.": (
        [5, 6, 7, 13, 5, 6, 14],
        [(0, 2), (2, 5), (5, 9), (9, 10), (11, 13), (13, 16), (16, 17)],
    ),
    "CAFÉ naïve": ([8, 9, 10], [(0, 4), (5, 7), (7, 10)]),
    "中文x": ([11, 12, 33], [(0, 1), (1, 2), (2, 3)]),
    "don't\tdon\n12345 123": (
        [15, 16, 17, 15, 1, 34, 35],
        [(0, 3), (3, 4), (4, 5), (6, 9), (10, 15), (16, 18), (18, 19)],
    ),
    "Straße İstanbul": ([20, 21, 22, 23, 24, 25], [(0, 4), (4, 6), (7, 8), (8, 10), (10, 12), (12, 15)]),
    "a\x00b a\u200bb c\xa0-–«x»": (
        [26, 27, 26, 27, 28, 29, 30, 31, 33, 32],
        [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11), (11, 12), (12, 13), (13, 14), (14, 15)],
    ),
    "zzz " + "a" * 101: ([1, 1], [(0, 3), (4, 105)]),
    "": ([], []),
}


@pytest.mark.parametrize("text", SEEN)
def test_pieces_and_places(text):
    ids, places = SEEN[text]
    found = WordPieces(PIECES).encode_with_spans([text], 12)
    count = len(ids)
    assert found.tokens[0].tolist() == [1 if one == 1 else 16 + one for one in ids] + [0] * (12 - count)
    assert list(zip(found.starts[0].tolist(), found.ends[0].tolist(), strict=True))[:count] == places
    assert set(found.starts[0, count:].tolist()) <= {-1}


def test_truncation_and_repetition():
    """What has been looked up once is the same again, elsewhere in a text."""
    pieces = WordPieces(PIECES)
    assert pieces.encode(["unaffable unaffable", "cafe"], 4).tolist() == [[21, 22, 23, 21], [24, 0, 0, 0]]
    assert pieces.encode_with_spans(["  unaffable unaffable"], 6).starts.tolist() == [[2, 4, 7, 12, 14, 17]]


def test_names_and_numbers():
    pieces = WordPieces(PIECES)
    assert len(pieces) == 16 + len(PIECES)
    assert [pieces.name(number) for number in (1, 2, 21)] == ["[unknown]", "[language 1]", "un"]
    assert (pieces.number("un"), pieces.number("[UNK]"), pieces.number("nothing")) == (21, 1, 1)
    with pytest.raises(InputError, match="there is no token 900"):
        pieces.name(900)


def test_a_file_and_what_is_none(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    assert WordPieces.load(tmp_path) == WordPieces.load(tmp_path / "vocab.txt") == WordPieces(PIECES)
    with pytest.raises(InputError, match=r"nowhere holds no vocab.txt"):
        WordPieces.load("nowhere")
    (tmp_path / "vocab.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not text in UTF-8"):
        WordPieces.load(tmp_path)
    (tmp_path / "vocab.txt").write_text("cat\ndog\n")
    with pytest.raises(InputError, match=r"without \[PAD\] is none of BERT's"):
        WordPieces.load(tmp_path)


def test_the_real_vocabulary():
    try:
        pieces = WordPieces.load(MINILM_PACKAGE)
    except InputError as error:
        pytest.skip(str(error))
    assert len(pieces) == 30522 + 16
    ids = [number - 16 for number in pieces.encode(["The quick brown fox, café!"], 8)[0].tolist() if number]
    assert ids == [1996, 4248, 2829, 4419, 1010, 7668, 999]
