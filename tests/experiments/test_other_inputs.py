"""Studies of texts and series: what they assume, what they refuse, and what they keep for their page."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
import torch

from einstellung.cues.text import TokensCue
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, check_backbone, resolve
from einstellung.experiments.audited_images import images_of_stream
from einstellung.experiments.data_maps import phase_windows
from einstellung.experiments.rehearsal import rehearse
from einstellung.experiments.samples import stream_samples
from einstellung.results.config import build_config
from einstellung.streams import streams
from einstellung.streams.stream import modality_of
from tests.experiments.conftest import typed

SMALL = {"train_per_class": 4, "test_per_class": 2, "validation": 0.25}
TEXTS, SERIES = {"name": "phrases", **SMALL}, {"name": "waves", **SMALL}


def resolved(**values):
    return resolve(build_config({"methods": ["sgd"], **values}))


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (TEXTS, ("tokens", "remove", "embedding_bag")),
        (SERIES, ("spike", "interpolate", "resnet1d")),
        ({"name": "shapes"}, ("patch", "black", "resnet18")),
    ],
)
def test_defaults_are_those_of_the_kind_of_inputs(stream, expected):
    config = resolved(stream=stream)
    assert (config.cue.name, config.cover, config.backbone.name) == expected
    assert resolve(config) == config
    given = resolved(
        stream=stream,
        cue={"name": expected[0], "share": 0.5},
        cover="noise" if stream is SERIES else None or expected[1],
    )
    assert given.cue.options["share"] == 0.5
    assert resolved(stream=stream, cue={"share": 0.5}).cue.name == expected[0]


def test_every_stream_has_a_kind():
    kinds = {name: modality_of(name).name for name in streams}
    assert {name for name, kind in kinds.items() if kind == "text"} == {"newsgroups", "phrases", "spam", "text_arrays"}
    assert {name for name, kind in kinds.items() if kind == "series"} == {"series_arrays", "ucr", "waves"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"stream": TEXTS, "cue": {"name": "patch"}},
            "cue 'patch' is not for texts, which the stream 'phrases' holds: give header, style, tag, tokens",
        ),
        (
            {"stream": TEXTS, "cover": "black"},
            "cover 'black' is not for texts, which the stream 'phrases' holds: give neutral, remove",
        ),
        (
            {"stream": SERIES, "cue": {"name": "tokens"}},
            "cue 'tokens' is not for series, which the stream 'waves' holds: give gap, offset, signature, spike",
        ),
        ({"stream": SERIES, "cover": "remove"}, "give interpolate, mean, noise"),
        ({"cue": {"name": "tokens"}}, "cue 'tokens' is not for images, which the stream 'shapes' holds: give patch"),
        ({"cover": "interpolate"}, "cover 'interpolate' is not for images"),
        ({"stream": TEXTS, "cue": {"name": "header", "size": 3}}, "unknown key 'cue.size'"),
    ],
)
def test_cues_and_covers_for_other_inputs_are_refused(values, words):
    with pytest.raises(InputError, match=re.escape(words)):
        resolved(**values)


def test_several_mistakes_at_once():
    with pytest.raises(InputError) as error:
        resolved(
            stream={**TEXTS, "colour": 3},
            cue={"name": "patch"},
            cover="black",
            backbone={"name": "resnet1d", "wide": 3},
        )
    for words in ("'stream.colour'", "cue 'patch' is not for texts", "cover 'black' is not", "'backbone.wide'"):
        assert words in str(error.value)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"stream": TEXTS, "backbone": {"name": "resnet18"}}, "backbone 'resnet18' does not fit texts of 40 tokens"),
        (
            {"stream": TEXTS, "backbone": {"vocabulary": 50}},
            "the backbone's tokens end at 49: raise backbone.vocabulary",
        ),
        (
            {"stream": TEXTS, "backbone": {"name": "text_transformer", "length": 20}},
            "texts of 40 tokens, but the backbone takes 20: raise backbone.length",
        ),
        ({"stream": SERIES, "backbone": {"channels": 3}}, "this backbone takes series, [N, 3, L]"),
        (
            {"stream": SERIES, "backbone": {"name": "embedding_bag"}},
            "this backbone takes texts, [N, T] of token numbers",
        ),
        ({"stream": {**TEXTS, "input_size": 64}}, "stream.input_size is for images; leave it out for texts"),
        ({"stream": TEXTS, "attention": {}, "backbone": {"name": "text_transformer"}}, "attention"),
        ({"stream": SERIES, "attention": {}}, "attention"),
    ],
)
def test_nets_that_do_not_fit_are_refused(values, words):
    config = resolved(**values)
    with pytest.raises(InputError, match=re.escape(words)) as error:
        check_backbone(config, build_stream(config))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("stream", "method"), [(TEXTS, "mixup"), (TEXTS, "er+mixup"), (SERIES, "dgr")])
def test_methods_for_other_inputs_are_refused(stream, method):
    config = resolved(stream=stream, methods=[method])
    kinds = "images and series" if method.endswith("mixup") else "images"
    many = modality_of(stream["name"]).words.many
    with pytest.raises(InputError, match=re.escape(f"{method} learns from {kinds} only")) as error:
        rehearse(config, build_stream(config))
    assert f"holds {many}: leave the method out" in str(error.value)


@pytest.mark.parametrize("stream", [TEXTS, SERIES], ids=lambda stream: stream["name"])
def test_an_audit_is_for_images(stream):
    built = build_stream(resolved(stream=stream))
    with pytest.raises(InputError, match="an audit is for images, on which its windows and its null were measured"):
        images_of_stream(built)
    assert phase_windows(built) == {}


def test_samples_of_texts_are_words():
    stream = build_stream(resolved(stream=TEXTS))
    with np.load(io.BytesIO(stream_samples(stream)), allow_pickle=False) as stored:
        arrays = dict(stored)
    assert set(arrays) == {"original", "patched", "masked", "region", "captions"}
    assert arrays["patched"].shape == arrays["region"].shape == (4, 40)
    assert arrays["patched"][0, :3].tolist() == ["[marker 0]", "[marker 0]", ""]
    assert np.array_equal(arrays["original"], arrays["masked"])
    assert np.array_equal(arrays["patched"] != arrays["original"], arrays["region"])
    assert set(arrays["captions"]) == {"topic i", "topic k"}


def test_samples_of_series_are_numbers():
    stream = build_stream(resolved(stream=SERIES))
    with np.load(io.BytesIO(stream_samples(stream, 3)), allow_pickle=False) as stored:
        arrays = dict(stored)
    assert arrays["patched"].shape == (3, 1, 64)
    assert np.array_equal((arrays["patched"] != arrays["original"])[:, 0], arrays["region"])
    rows = torch.linspace(0, 3, 3).long()
    expected = stream.split("T2_shortcut_masked").images.images[rows].flatten(2).numpy()
    assert np.array_equal(arrays["masked"], expected)


def test_a_cue_that_was_in_the_texts_has_no_original(monkeypatch):
    from dataclasses import replace

    from einstellung.streams import phrases
    from einstellung.streams.stream import MaskedPair

    stream = phrases(TokensCue(), **SMALL)
    pair = stream.pairs[0]
    natural = replace(stream, pairs=(MaskedPair(pair.patched, pair.patched, pair.masked),))
    with np.load(io.BytesIO(stream_samples(natural)), allow_pickle=False) as stored:
        assert "original" not in stored
        assert "patched" in stored


CONFIG = """
name: tiny
stream: {name: %s, train_per_class: 20, test_per_class: 10}
backbone: {%s}
methods: [scratch_t2, sgd, derpp]
learners: {derpp: {replay: earlier}}
seeds: [1]
training: {epochs: [2, 2], batch_size: 32, milestones: []}
"""
NETS = {"phrases": "dim: 16, hidden: 16", "waves": "width: 4"}


@pytest.mark.parametrize("name", ["phrases", "waves"])
def test_a_study_from_its_plan_to_its_page(name, tmp_path, monkeypatch, capsys):
    def said(*words, code=(0,)):
        assert typed(monkeypatch, *words) in code
        return "".join(capsys.readouterr())

    file, out = tmp_path / "tiny.yaml", tmp_path / "out"
    file.write_text(CONFIG % (name, NETS[name]))
    words = {"phrases": ("texts", "text", "tokens"), "waves": ("series", "series", "samples")}[name]
    assert f"phases share no {words[1]}" in said("validate", file)
    shown = said("run", file, "--out", out, "--workers", "1")
    assert "image" not in shown
    page = (out / "report.html").read_text(encoding="utf-8")
    visible = re.sub(r"(?s)<(script|style|svg|pre)\b.*?</\1>", "", page)
    visible = re.sub(r"<[^>]*>", " ", visible)
    assert not re.findall(r"[^.]*\b(?:images?|pixels?)\b[^.]*", visible)
    assert f"20 {words[0]}" in visible
    assert "fig1_samples" in page
    assert "greyscale" not in page
    for table in (out / "tables").glob("*.md"):
        assert not re.search(r"\bimages?\b", table.read_text(encoding="utf-8")), table.name
    proof = (out / "proof.json").read_text(encoding="utf-8")
    assert '"inputs": "' in proof
    assert "image" not in re.sub(r"(training|evaluation)_images", "", proof)
    assert "flips" in said("gate", "--before", out, "--after", out, "--method", "sgd,derpp", code=(0, 1, 3))
    refused = said("audit", out, code=(2,))
    assert refused.strip().count("\n") == 0
    assert "an audit is for images" in refused
