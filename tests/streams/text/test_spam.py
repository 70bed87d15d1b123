"""``spam``: mails whose header lines or HTML are the cue, in small and the real ones where they lie."""

from __future__ import annotations

import os

import pytest
import torch

from einstellung.cues.text import TagCue, TokensCue
from einstellung.errors import InputError
from einstellung.modalities import PADDING, UNKNOWN
from einstellung.sources.spamassassin import PublishedSpamAssassin, load_spamassassin
from einstellung.streams import prove, spam
from einstellung.streams.text.spam import FOLDERS
from einstellung.timeline import SC_MASK, SC_PATCH
from tests.sources.hostile import mail_named
from tests.streams.broken import failed, with_split

COUNT = 12
HTML = "Content-Type: text/html\n\n<p>Buy {number} things now</p>\n"
PLAIN = "Content-Type: text/plain\n\nThe meeting {number} is on Monday in {folder}\n"


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """Twelve mails in each folder; spam_2 has HTML and a mailer's line, except one mail without the line."""
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
        for number in range(COUNT):
            mailer = "" if folder == "spam_2" and number == 0 else f"X-Mailer: {folder} mailer\n"
            body = HTML if folder == "spam_2" else PLAIN
            text = f"From: someone{number}@example.com\n{mailer}{body.format(number=number, folder=folder)}"
            write_mail(tmp_path / folder, number, text.encode())
    published = PublishedSpamAssassin(mails=dict.fromkeys(FOLDERS, COUNT), changed={})
    monkeypatch.setitem(spam.__globals__, "load_spamassassin", lambda path: load_spamassassin(path, published))
    return str(tmp_path)


def write_mail(folder, number, content):
    (folder / mail_named(number, content)).write_bytes(content)


def make(corpus, cue=None, **options):
    return spam(cue or TokensCue(), path=corpus, length=40, header_length=24, min_count=1, **options)


def shown(stream, split):
    return [
        [stream.token_names[number] for number in row] for row in stream.split(split).images.images.flatten(1).tolist()
    ]


@pytest.mark.parametrize("kind", ["headers", "html"])
@pytest.mark.parametrize("cover", ["remove", "neutral"])
def test_the_cue_is_part_of_the_mails(corpus, kind, cover):
    proof = prove(stream := make(corpus, cover=cover, cue_in_texts=kind))
    assert [check.name for check in proof.checks if check.passed is False] == []
    assert [phase.train.has_cue.any().item() for phase in stream.phases] == [False, False]
    patched, masked = (stream.split(name).images for name in (SC_PATCH, SC_MASK))
    changed = patched.images != masked.images
    region = stream.cue.region(patched.index, 1, patched.images.shape[-1])
    assert torch.equal(changed, region & (patched.images != {"remove": PADDING, "neutral": UNKNOWN}[cover]))


def test_named_header_lines_alone(corpus):
    stream = make(corpus, headers=("x-mailer",))
    for words, covered in zip(shown(stream, SC_PATCH), shown(stream, SC_MASK), strict=True):
        gone = [word for word, now in zip(words, covered, strict=True) if word != now]
        assert gone == ["x", "-", "mailer", ":", "spam_2", "mailer"]
    assert len(stream.split(SC_PATCH).images) <= 3  # of a quarter of twelve mails, those with the line
    assert stream.facts["natural_cue"] == "header lines x-mailer"


def test_a_planted_cue_in_mails(corpus):
    prove(make(corpus, cue_in_texts="none")).require()
    tagged = make(corpus, TagCue(), cue_in_texts="none")
    prove(tagged).require()
    assert tagged.phases[0].train.images[:, 0, 0, 0].unique().tolist() == [2]


def test_repeated_mails_are_left_out(corpus, tmp_path):
    first, second = sorted((tmp_path / "spam").iterdir())[:2]
    second.unlink()
    write_mail(tmp_path / "spam", 1, first.read_bytes())
    assert make(corpus).facts["source"] == "SpamAssassin's public corpus: 59 of 60 mails, each once"


def test_mails_that_are_alike_as_far_as_they_are_read(corpus, tmp_path):
    """Half of the mails of every folder begin with the same tokens: the first set keeps its own."""
    text = b"From: me\nX-Mailer: spam_2 mailer\n\n" + b"again " * 50
    for folder in FOLDERS:
        for file in sorted((tmp_path / folder).iterdir())[:6]:
            number = int(file.name[:5])
            file.unlink()
            write_mail(tmp_path / folder, number, text + b"%s %d" % (folder.encode(), number))
    stream = make(corpus)
    prove(stream).require()
    assert int(str(stream.facts["shared"]).split()[0]) > 10
    assert sum(len(phase.train) for phase in stream.phases) < 40


def test_a_cover_that_misses_the_cue_fails(corpus):
    stream = make(corpus)
    patched = stream.split(SC_PATCH).images
    assert failed(with_split(stream, SC_MASK, patched)) == ["the mask covers exactly the cue, on the same text"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"headers": ("x-nothing",)}, "no test mail of spam_2 has the header lines x-nothing to cover"),
        ({"t1": ("easy_ham", "spm")}, "stream.t1 names 'spm', .* did you mean 'spam'"),
        ({"test": 1.0}, r"stream\.test is 1\.0: it must lie between 0 and 1"),
        ({"room": 50}, r"stream\.room is 50"),
    ],
)
def test_what_is_refused(corpus, options, words):
    with pytest.raises(InputError, match=words):
        make(corpus, **options)


def test_a_header_must_leave_room_for_the_body(corpus):
    with pytest.raises(InputError, match=r"stream\.header_length is 40: give 1 to 39"):
        spam(TokensCue(), path=corpus, length=40, header_length=40)


def test_the_real_mails():
    place = os.environ.get("EINSTELLUNG_DATA")
    if place is None:
        pytest.skip("SpamAssassin's corpus not found: EINSTELLUNG_DATA is not set")
    try:
        stream = spam(TokensCue(), path=place, length=64, header_length=32)
    except InputError as error:
        pytest.skip(str(error))
    prove(stream).require()
    assert stream.facts["source"] == "SpamAssassin's public corpus: 5,927 of 6,046 mails, each once"
    changed = stream.split(SC_PATCH).images.images != stream.split(SC_MASK).images.images
    assert (changed.flatten(1).sum(dim=1) > 0).all()
