"""The plug-in's callbacks in the order in which Avalanche calls them; Avalanche itself is not needed here."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from einstellung.bridges import Recorder, avalanche
from einstellung.bridges.avalanche import benchmark as module
from einstellung.bridges.avalanche import plugin as plugins
from einstellung.bridges.avalanche.benchmark import SingleImages
from einstellung.bridges.avalanche.plugin import AvalancheRecording
from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.streams import Presentation, Stream, shapes


@pytest.fixture(scope="module")
def stream() -> Stream:
    return shapes(PatchCue(), size=8, train_per_class=6, test_per_class=1)


@pytest.fixture
def without_avalanche(monkeypatch):
    plugins.plugin_class.cache_clear()
    monkeypatch.setitem(sys.modules, "avalanche", None)
    yield
    plugins.plugin_class.cache_clear()


class DataSet(SimpleNamespace):
    def __init__(self, targets) -> None:
        super().__init__(targets=targets)

    def __len__(self) -> int:
        return len(self.targets)


class Strategy(SimpleNamespace):
    """A strategy with the part of Avalanche's loop that a plug-in sees."""

    def __init__(self, stream: Stream) -> None:
        net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 64, stream.n_outputs))
        super().__init__(model=net, device=torch.device("cpu"), experience=None, mb_y=None)

    def begin(self, phase, recording: AvalancheRecording) -> None:
        self.experience = SimpleNamespace(dataset=DataSet(phase.train.labels.tolist()))
        recording.before_training_exp(self)

    def epoch(self, batches, recording: AvalancheRecording) -> None:
        for labels in batches:
            self.mb_y = labels
            recording.before_training_iteration(self)
        recording.after_training_epoch(self)


def epochs_of(recording: AvalancheRecording, phase: str) -> list[float]:
    return recording.timeline().curve("er", 1, phase, "T2_val")[0].tolist()


def test_images_of_an_earlier_phase_in_a_batch_do_not_count(stream):
    t1, t2 = stream.phases
    recording, strategy = AvalancheRecording(("er", 1, None), stream), Strategy(stream)
    strategy.begin(t1, recording)
    strategy.epoch(t1.train.labels.split(16), recording)
    recording.after_training_exp(strategy)
    strategy.begin(t2, recording)
    for _ in range(2):
        mixed = [torch.cat([t1.train.labels[:16], labels]) for labels in t2.train.labels.split(16)]
        strategy.epoch(mixed, recording)
    recording.after_training_exp(strategy)
    assert epochs_of(recording, "T1") == [0, 1]
    assert epochs_of(recording, "T2") == [0, 1, 2]


def test_a_cut_epoch_is_measured_at_the_end_where_it_is(stream):
    t1, _ = stream.phases
    recording, strategy = AvalancheRecording(("er", 1, None), stream, every=2), Strategy(stream)
    strategy.begin(t1, recording)
    strategy.epoch([t1.train.labels], recording)
    strategy.epoch([t1.train.labels[:24]], recording)
    strategy.epoch([t1.train.labels[:24]], recording)
    recording.after_training_exp(strategy)
    assert epochs_of(recording, "T1") == [0, 1 + 24 / len(t1.train), 1 + 48 / len(t1.train)]


def test_a_phase_by_name_counts_its_own_images_alone(stream):
    t1, t2 = stream.phases
    recording, strategy = AvalancheRecording(("er", 1, None), stream, phase="T2"), Strategy(stream)
    strategy.begin(t1, recording)
    strategy.epoch([torch.cat([t1.train.labels, t2.train.labels])], recording)
    recording.after_training_exp(strategy)
    assert epochs_of(recording, "T2") == [0, 1]
    assert recording.timeline().phases("er", 1) == ("T2",)


def test_goes_on_with_a_recorder_of_ones_own(stream, tmp_path):
    recorder = Recorder("er", 1, tmp_path)
    recording, strategy = AvalancheRecording(recorder, stream), Strategy(stream)
    strategy.begin(stream.phase("T1"), recording)
    assert recording.recorder is recorder
    assert recorder.path is not None
    assert recorder.path.exists()


def test_an_experience_of_another_benchmark_is_refused(stream):
    recording, strategy = AvalancheRecording(("er", 1, None), stream), Strategy(stream)
    strategy.experience = SimpleNamespace(dataset=DataSet([0, 1, 2]))
    with pytest.raises(InputError, match=r"classes \[0, 1, 2\] is no phase of the stream 'shapes'"):
        recording.before_training_exp(strategy)


@pytest.mark.parametrize(("options", "words"), [({"every": 0}, "every is 0"), ({"phase": "T3"}, "there are T1, T2")])
def test_wrong_options_are_refused(stream, options, words):
    with pytest.raises(InputError, match=words):
        AvalancheRecording(("er", 1, None), stream, **options)


@pytest.mark.usefixtures("without_avalanche")
def test_without_avalanche_one_line_says_what_to_install(stream):
    with pytest.raises(InputError, match="pip install avalanche-lib"):
        avalanche.avalanche_benchmark(stream)
    with pytest.raises(InputError, match="pip install avalanche-lib"):
        avalanche.ERIPlugin  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'Plugin'"):
        avalanche.Plugin  # noqa: B018


def test_single_images_are_shown_as_our_own_training_shows_them(stream):
    train, presentation = stream.phase("T2").train, Presentation(stream)
    rows = SingleImages(train)
    torch.manual_seed(3)
    shown = torch.stack([module._augmented(presentation, rows[row][0]) for row in range(len(rows))])
    own = torch.Generator().manual_seed(3)
    expected = [presentation.training(train.take(torch.tensor([row])), own, own) for row in range(len(train))]
    assert torch.equal(shown, torch.cat(expected))
    unaugmented = torch.stack([module._unaugmented(presentation, rows[row][0]) for row in range(len(rows))])
    assert torch.equal(unaugmented, presentation.unaugmented(train))
    assert [rows[row][1] for row in range(len(rows))] == train.labels.tolist()
    with pytest.raises(IndexError):
        rows[len(train)]


def test_a_phase_without_test_images_is_refused(stream):
    with pytest.raises(InputError, match="no test images of T3"):
        module._test_images(stream, "T3")
