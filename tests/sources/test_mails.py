"""Mails as texts: what is a header, what is HTML, and that nothing breaks the parser."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einstellung.sources.mails import ENVELOPE, parse_mail

MULTIPART = b"""From joe@x.org  Wed Aug 28 10:50:15 2002
Received: from a (b [1.2.3.4])
\tby c with ESMTP;
    Wed, 28 Aug 2002 05:49:50 -0400
Received: from d
Subject: Hello
X-Mailer: The Bat!
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary="xx"

preamble
--xx
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

caf=E9 =
au lait
--xx
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: base64

%s
--xx
Content-Type: application/octet-stream
Content-Transfer-Encoding: base64

AAAA
--xx
Content-Type: text/plain
Content-Disposition: attachment; filename="a.txt"

attached
--xx--
""" % base64.b64encode("<b>größer</b>".encode())


def test_headers_html_and_body():
    mail = parse_mail(MULTIPART)
    shown = [(name, mail.text[start:end]) for name, (start, end) in mail.headers]
    assert [name for name, _ in shown] == [
        *(ENVELOPE, "received", "received", "subject", "x-mailer", "mime-version", "content-type")
    ]
    assert shown[0][1] == "From joe@x.org  Wed Aug 28 10:50:15 2002\n"
    assert shown[1][1] == ("Received: from a (b [1.2.3.4])\n\tby c with ESMTP;\n    Wed, 28 Aug 2002 05:49:50 -0400\n")
    assert "".join(line for _, line in shown) + "\n" == mail.text[: mail.body]
    assert mail.text[mail.body :] == "café au lait\n<b>größer</b>"
    assert [mail.text[start:end] for start, end in mail.html] == ["<b>größer</b>"]
    assert mail.header_spans("X-Mailer", "Subject") == [mail.headers[3][1], mail.headers[4][1]]
    assert len(mail.header_spans()) == 7


def test_some_headers_of_a_mail():
    mail = parse_mail(MULTIPART)
    some = mail.with_headers("subject", "x-mailer")
    assert some.text == "Subject: Hello\nX-Mailer: The Bat!\n\n" + mail.text[mail.body :]
    assert [some.text[start:end] for start, end in some.html] == ["<b>größer</b>"]
    assert [some.text[start:end] for _, (start, end) in some.headers] == ["Subject: Hello\n", "X-Mailer: The Bat!\n"]
    assert some.digest == mail.digest
    assert mail.with_headers().text == mail.text[mail.body :]
    assert mail.with_headers().body == 0


def test_copies_that_took_other_ways_have_one_digest():
    first = parse_mail(b"Received: from a\nSubject: Hi there\n\nbody  text\n")
    other = parse_mail(b"Received: from b\nDate: now\nSubject: hi THERE\n\nbody text\n\n")
    assert first.digest == other.digest
    assert first.digest != parse_mail(b"Subject: Hi there\n\nother text\n").digest
    assert first.digest != parse_mail(b"Subject: Bye\n\nbody text\n").digest


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", ""),
        (b"no header at all\n", "no header at all\n"),
        (b"Subject: a\xff\xe9\n\nb", "Subject: aÿé\n\nb"),
        ("Subject: é\n\nb".encode(), "Subject: é\n\nb"),
        (b'Content-Type: text/plain; charset="no such"\n\n\xe9', 'Content-Type: text/plain; charset="no such"\n\né'),
        (b"Content-Type: text/plain; charset=utf-8\n\n\xe9", "Content-Type: text/plain; charset=utf-8\n\né"),
        (b"A: b\r\n\r\nc\r\nd", "A: b\n\nc\nd"),
        (b"Content-Type: multipart/mixed\n\nno boundary", "Content-Type: multipart/mixed\n\nno boundary"),
        (b"Content-Transfer-Encoding: base64\n\n!!!", "Content-Transfer-Encoding: base64\n\n!!!"),
    ],
)
def test_mails_that_follow_no_standard(content, text):
    assert parse_mail(content).text in (text, text.replace("!!!", ""))


def test_a_mail_of_many_levels_is_no_endless_descent():
    levels = b"".join(
        b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (number, number) for number in range(3000)
    )
    assert parse_mail(levels + b"\ntext").text


def test_a_long_mail_is_cut():
    mail = parse_mail(b"Subject: x\nContent-Type: text/html\n\n" + b"a" * 3_000_000)
    assert len(mail.text) == 2**20
    assert mail.html[0][1] == 2**20


_LINES = st.sampled_from(
    [
        *(
            b"From x\n",
            b"Subject: =?utf-8?b?!!?=\n",
            b"Content-Type: text/html; charset=\x00\n",
            b"\n",
            b": x\n",
            b"--b\n",
        ),
        *(
            b"Content-Type: multipart/x; boundary=b\n",
            b"Content-Transfer-Encoding: uuencode\n",
            b" folded\n",
            b"\xff\xfe\n",
        ),
        *(
            b"Content-Type: message/rfc822\n",
            b"Content-Type: ;;\n",
            b"Content-Disposition: a; filename*=x'y\n",
            b"<b>\r",
        ),
        *(
            b"Content-Transfer-Encoding: quoted-printable\n",
            b"=zz=\n",
            b"Content-Type: text/plain; charset=utf-7\n",
            b"+\n",
        ),
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.lists(_LINES, max_size=12).map(b"".join)))
def test_any_bytes_are_a_mail_with_sound_spans(content):
    mail = parse_mail(content)
    mail.text.encode("utf-8")
    place = 0
    for _, (start, end) in mail.headers:
        assert (start, mail.text[end - 1]) == (place, "\n")
        place = end
    assert mail.body == place + (1 if mail.headers else 0)
    for start, end in mail.html:
        assert mail.body <= start <= end <= len(mail.text)
    assert mail.with_headers().text == mail.text[mail.body :]
