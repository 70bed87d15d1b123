"""The composites stream: its facts, options, and folders."""

from __future__ import annotations

import pytest
import torch

from einstellung.composites.writing import write_composites
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.results.config import build_config
from einstellung.streams import Presentation, prove
from einstellung.streams.composites import composites
from einstellung.streams.composites.stream import stream_of
from tests.composites.small import few
from tests.streams.composites.conftest import CUES, PETS


def test_what_is_known_of_a_phase(stream):
    assert stream.cue_names == CUES
    assert [phase.cues for phase in stream.phases] == [("background", "watermark"), ("co-object",)]
    assert stream.class_names == ("round", "spiky")
    facts = prove(stream).facts
    assert facts["protocol"] == "several shortcuts"
    assert facts["cues"] == list(CUES)
    assert facts["correlations"] == {"T1": [0.75, 0.5, 0.9], "T2": [0.5, 0.75, 0.5]}
    assert set(facts["groups"]["test"].values()) == {2}
    assert sum(facts["groups"]["T1"].values()) == 40


def test_the_same_seed_gives_the_same_stream():
    small = {"size": 16, "counts": {"train": 4}}
    one, again, other = (stream_of(few(**small, seed=seed), shared=False, seed=seed) for seed in (0, 0, 1))
    assert again.facts["content"] == one.facts["content"] != other.facts["content"]
    for before, after in zip(one.splits, again.splits, strict=True):
        assert torch.equal(before.images.images, after.images.images)


def configured(**stream):
    epochs = [1] * len(stream.get("phases", [0]))
    values = {
        "methods": ["sgd"],
        "seeds": [0],
        "stream": {"name": "composites", **stream},
        "training": {"epochs": epochs},
    }
    return build_config(values)


def test_a_configuration_names_it():
    config = resolve(configured(phases=[[0.75, 0.5], [0.5, 0.75]], size=32, train=8, val=4, test=4))
    stream = build_stream(config)
    assert [phase.cues for phase in stream.phases] == [("background",), ("co-object",)]
    assert stream.cue_names == CUES[:2]
    assert prove(stream).holds
    shown = Presentation(stream).unaugmented(stream.phases[0].train)
    assert torch.allclose(shown, stream.phases[0].train.images.float() / 127.5 - 1, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"input_modality": "features"}, "if and only if stream.input_modality is 'features'"),
        (
            {"extractor": "efficientnet-lite0"},
            "stream.extractor, the name of a classifier, must be given if and only if",
        ),
        (
            {"sources": "pets-on-scenes", "path": "x"},
            "stream.sources is 'pets-on-scenes' and stream.path is given too",
        ),
        ({"path": "/nowhere/at/all"}, "no such folder"),
        ({"size": 8}, "size is 8"),
        ({"phases": ((0.95,),)}, "phases have 1 correlations"),
        ({"first_labels": ("round",)}, "first_labels is for sources in folders"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(InputError, match=words):
        composites(**options)


def test_finished_composites_are_a_stream(tmp_path):
    composed = few(size=32, phases=((0.75, 0.75),))
    write_composites(tmp_path / "made", composed, {"size": 32, "seed": 0}, lambda done, total: None)
    stream = composites(path=str(tmp_path / "made"), size=32, phases=((0.75, 0.75),))
    assert prove(stream).holds
    assert stream.class_names == ("round", "spiky")
    assert stream.facts["sources"].startswith("finished composites read from a folder")
    with pytest.raises(InputError, match=r"stream.train is given, but .* has finished composites"):
        composites(path=str(tmp_path / "made"), size=32, phases=((0.75, 0.75),), train=4)


@pytest.mark.skipif(PETS is None or not PETS.is_dir(), reason="pets-on-scenes not found in EINSTELLUNG_DATA")
def test_photographs():
    stream = composites(sources="pets-on-scenes", train=20, val=4, test=8, size=32)
    assert prove(stream).holds
    assert stream.class_names == ("cat", "dog")
    assert stream.facts["labels"]["background"] == ["urban", "country"]
    assert stream.facts["groups"]["T1"]["0_11"] == 17
