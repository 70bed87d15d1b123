"""``two_phase`` with texts and series: the forms that people have them in, a loop of one's own, and a study that resumes."""

from __future__ import annotations

from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import einstellung as e
from einstellung.cues import PatchCue
from einstellung.cues.series import SpikeCue
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.modalities import PADDING
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder
from einstellung.streams.own_inputs import InputSource

CHOICE = {"t1": ["a", "b"], "t2": ["c", "d"], "shortcut": ["c"], "names": list("abcd")}
WORDS = [f"word{number}" for number in range(30)]


def part(count, seed):
    draws = np.random.default_rng(seed)
    labels = np.arange(4).repeat(count)
    waves = draws.normal(size=(len(labels), 16)) + labels[:, None]
    texts = [" ".join(WORDS[number] for number in draws.integers(30, size=8)) for _ in labels]
    return waves, texts, labels


TRAIN, TEST = part(20, 0), part(6, 1)


def series(train=TRAIN, test=TEST, **changes):
    return e.two_phase((train[0], train[2]), (test[0], test[2]), modality="series", **CHOICE | changes)


def texts(train=TRAIN, test=TEST, **changes):
    return e.two_phase((train[1], train[2]), (test[1], test[2]), modality="text", **{"length": 12} | CHOICE | changes)


@pytest.mark.parametrize(
    "form",
    [
        torch.from_numpy,
        lambda values: values[:, None, :],
        lambda values: list(values),
        lambda values: [torch.from_numpy(one) for one in values],
        lambda values: values.tolist(),
    ],
)
def test_every_form_gives_the_same_series(form):
    found, expected = series((form(TRAIN[0]), *TRAIN[1:]), (form(TEST[0]), *TEST[1:])), series()
    assert found.source.content == expected.source.content
    assert found.stream.phases[0].train.images.shape[1:] == (1, 1, 16)
    assert found.options == expected.options


def test_series_of_several_channels_are_normalised_channel_by_channel():
    values = [np.stack([one[0], 5 * one[0] + 3], axis=1) for one in (TRAIN, TEST)]
    data = series((values[0], *TRAIN[1:]), (values[1], *TEST[1:]))
    inputs, _ = data.splits["T1_all"].tensors()
    assert inputs.shape == (12, 2, 16)
    assert torch.allclose(inputs[:, 0], inputs[:, 1], atol=1e-5)
    assert data.stream.std[1] == pytest.approx(5 * data.stream.std[0], rel=1e-5)


def test_texts_of_strings_and_of_numbers():
    data = texts(min_count=1)
    inputs, labels = data.covered.tensors()
    assert inputs.dtype == torch.long
    assert inputs.shape == (6, 12 + 2 * 8)
    assert labels.tolist() == [2] * 6
    assert set(data.stream.token_names) >= set(WORDS)
    tokens = [data.source.train, data.source.test]
    again = texts((None, tokens[0], TRAIN[2]), (None, torch.from_numpy(tokens[1]), TEST[2]))
    for name in data.splits:
        assert torch.equal(again.splits[name].tensors()[0], data.splits[name].tensors()[0])
    assert again.stream.token_names[16] == "16"
    header = texts((None, tokens[0], TRAIN[2]), (None, tokens[1], TEST[2]), cue={"name": "header", "words": "20 17"})
    assert header.splits["T2_shortcut_normal"].tensors()[0][0, :2].tolist() == [20, 17]


def test_the_vocabulary_is_that_of_the_training_texts():
    data = texts(test=(None, ["unheard of", *TEST[1][1:]], TEST[2]), min_count=1)
    assert "unheard" not in data.stream.token_names
    assert len(texts(vocabulary=20).stream.token_names) == 20


def test_data_sets_of_pairs_and_hugging_face():
    class Pairs(list):
        classes = tuple("abcd")

    class ClassLabel(SimpleNamespace):
        pass

    class Face(list):
        features = MappingProxyType({"text": SimpleNamespace(dtype="string"), "label": ClassLabel(names=list("abcd"))})
        column_names = ("text", "label")

    pairs, rows = ([Pairs(zip(one[1], one[2].tolist(), strict=True)) for one in (TRAIN, TEST)], [])
    for one in (TRAIN, TEST):
        rows.append(Face({"text": text, "label": int(label)} for text, label in zip(one[1], one[2], strict=True)))
    choice = {key: CHOICE[key] for key in ("t1", "t2", "shortcut")}
    for train, test in (pairs, rows):
        found = e.two_phase(train, test, modality="text", length=12, **choice)
        assert found.source.content == texts().source.content


def test_a_loop_of_ones_own_sees_the_cue_on_its_share():
    data = series(cue={"name": "spike", "size": 4, "height": 50.0, "share": 0.5})
    inputs = torch.cat([inputs for inputs, _ in data.train["T2"].batches(8)])
    marked = (inputs[:, 0, :4].mean(dim=1) * data.stream.std[0] > 25).sum()
    assert int(marked) == 9  # of 18: two of twenty are held out
    covered, _ = data.covered.tensors()
    assert float(covered.max()) < 10
    assert "2 classes" not in repr(data)
    assert "T2 36 training series" in repr(data)


def test_a_recorder_takes_texts(tmp_path):
    data = texts()
    model = nn.Sequential(nn.EmbeddingBag(20_000, 4, padding_idx=PADDING), nn.Linear(4, 4))
    recorder = e.Recorder("own", seed=1, folder=tmp_path)
    with recorder.phase("T2", samples=len(data.train["T2"])):
        for epoch in range(2):
            recorder.evaluate(model, data, epoch=epoch)
    assert len(e.load(tmp_path).timeline["split"].unique()) == len(data.splits)


def test_a_study_is_stored_with_its_data_and_refuses_others(tmp_path):
    training = {"epochs": [1, 1], "batch_size": 16, "milestones": []}
    settings = {"training": training, "workers": 1, "out": tmp_path / "study", "backbone": {"dim": 8, "hidden": 8}}
    found = texts().run(["scratch_t2"], [1], **settings)
    assert (found.config.stream.name, found.config.backbone.name) == ("text_arrays", "embedding_bag")
    other = (None, ["another text", *TEST[1][1:]], TEST[2])
    with pytest.raises(InputError, match="holds a study of other data"):
        texts(test=other).run(["scratch_t2"], [1], **settings)


@pytest.mark.parametrize("make", [series, texts])
def test_a_worker_builds_the_same_stream(make, tmp_path):
    data = make(cue={"place": "per-index", "share": 0.5})
    with data.stored_in(ResultsFolder(tmp_path / "study"), {}) as settings:
        built = build_stream(resolve(build_config(settings)))
    for one, other in zip(built.splits, data.stream.splits, strict=True):
        assert torch.equal(one.images.images, other.images.images)
    assert torch.equal(built.phases[1].train.has_cue, data.stream.phases[1].train.has_cue)
    assert (built.mean, built.token_names) == (data.stream.mean, data.stream.token_names)


def test_stored_sources_are_read_back(tmp_path):
    for data in (series(), texts()):
        file = data.source.write(tmp_path / "data.npz")
        found = InputSource.read(file)
        assert found.content == data.source.content
        assert found.words == data.source.words
    np.savez(tmp_path / "data.npz", train=np.zeros(3))
    with pytest.raises(InputError, match=r"does not hold the inputs of a study \('train_labels'\)"):
        InputSource.read(tmp_path / "data.npz")


UNEQUAL = [np.zeros(16), np.zeros(15), *np.zeros((78, 16))]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: e.two_phase(TRAIN, TEST, modality="sound", **CHOICE), "modality 'sound' is unknown"),
        (lambda: series((UNEQUAL, *TRAIN[1:])), r"series 1 of train has the shape \[15\], series 0 \[16\]"),
        (lambda: series((TRAIN[0] * np.inf, *TRAIN[1:])), "series of train hold values that are not finite"),
        (lambda: series(test=(TEST[0][:, :9], *TEST[1:])), r"training series are \[1, 16\] and test series \[1, 9\]"),
        (lambda: series((TRAIN[0][:-1], *TRAIN[1:])), "train has 79 series and 80 labels"),
        (lambda: series((np.array(TRAIN[1]), *TRAIN[1:])), "give numbers as"),
        (lambda: series(cue="tokens"), "cue 'tokens' is not for series: give gap, offset, signature, spike"),
        (lambda: series(cue=PatchCue()), "the cue PatchCue has the modality 'image': series need 'series'"),
        (lambda: series(cover="black"), "cover 'black' is not for series: give interpolate, mean, noise"),
        (lambda: series(cover="blak"), "unknown cover 'blak'"),
        (lambda: series(input_size=32), "input_size is for images; leave it out for series"),
        (lambda: series(cue=SpikeCue(size=20)), r"cue\.size 20 does not fit"),
        (lambda: series(t1=["a", "x"]), "t1 names 'x', which is not a class of the data"),
        (lambda: series(shortcut=["c", "d"]), "^shortcut holds all of t2"),
        (lambda: texts(room=13), r"stream\.room is 13"),
        (
            lambda: texts((None, np.full((80, 4), 5), TRAIN[2])),
            "texts of train hold token 5: 0 is padding, 1 an unknown",
        ),
        (lambda: texts((None, [[20, 21], [22]] * 40, TRAIN[2])), "give strings, or token numbers as"),
        (lambda: texts((None, [*TRAIN[1][:-1], 3], TRAIN[2])), "texts of train are"),
        (lambda: texts(cue={"name": "header", "words": "nothing"}), "'nothing' is not in the vocabulary"),
        (lambda: texts(flip=False, crop_padding=2), "crop_padding is for images; leave it out for texts"),
        (lambda: e.two_phase("some", "text", modality="text", **CHOICE), "give"),
    ],
)
def test_what_is_refused_in_one_line(call, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)
