"""The recorder against our own evaluator, and its promise to leave everything as it was."""

from __future__ import annotations

import random
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from einstellung.bridges import Recorder
from einstellung.cli import main
from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.files import write_atomically
from einstellung.streams import Presentation, Stream, shapes
from einstellung.timeline import Timeline
from einstellung.training import Evaluator


def small_net(outputs: int = 36) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.LazyLinear(outputs),
    )


@pytest.fixture(scope="module")
def stream() -> Stream:
    return shapes(PatchCue(), size=12, train_per_class=6, test_per_class=2)


@pytest.fixture(scope="module")
def net(stream: Stream) -> nn.Sequential:
    torch.manual_seed(0)
    net = small_net(stream.n_outputs)
    net.train()(Presentation(stream).normalised(stream.phases[0].train.images[:64]))  # statistics that mean something
    return net


def batch(count: int = 10, classes: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    draws = torch.Generator().manual_seed(3)
    return torch.randn(count, classes, generator=draws), torch.arange(count) % classes


def test_the_timeline_holds_our_own_evaluators_numbers(stream, net):
    recorder = Recorder("plain", seed=4)
    with recorder.phase("T2", samples=10):
        accuracies = recorder.evaluate(net, stream, epoch=1)
    names = [split.name for split in stream.splits]
    ours = Evaluator(stream, Presentation(stream), nullcontext).measure(net, names)
    frame = recorder.timeline().frame.set_index("split")
    assert list(frame.index) == names
    for one in ours:
        row = frame.loc[one.split]
        assert (row.acc, row.acc_task, row.top5, row.loss, row.n) == (one.acc, one.acc_task, one.top5, one.loss, one.n)
        assert row.acc_within == one.acc_within
        assert accuracies[one.split] == one.acc


@pytest.mark.parametrize("form", ["tensors", "loader", "data set", "batches with more in them"])
def test_every_form_of_a_split_gives_the_same_numbers(stream, net, form):
    split = stream.split("T2_val")
    inputs, labels = Presentation(stream).normalised(split.images.images), split.images.labels
    data = TensorDataset(inputs, labels)
    splits = {
        "tensors": (inputs, labels),
        "loader": DataLoader(data, batch_size=7, shuffle=True),
        "data set": data,
        "batches with more in them": [(inputs[:5], labels[:5], "a"), (inputs[5:], labels[5:], "b")],
    }[form]
    ours, theirs = Recorder("one", 1), Recorder("one", 1)
    classes = {phase.name: phase.classes for phase in stream.phases}
    with ours.phase("T2"), theirs.phase("T2"):
        ours.evaluate(net, stream, epoch=0)
        theirs.evaluate(net, {"T2_val": splits}, epoch=0, classes=classes)
    expected = ours.timeline().frame.set_index("split").loc["T2_val"]
    found = theirs.timeline().frame.set_index("split").loc["T2_val"]
    for column in ("acc", "acc_task", "acc_within", "top5", "n"):
        assert found[column] == expected[column]
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-6)


@settings(max_examples=20, deadline=None)
@given(frozen=st.sets(st.integers(0, 5)), seed=st.integers(0, 2**31), whole=st.booleans())
def test_evaluating_leaves_everything_as_it_was(stream, net, frozen, seed, whole):
    net.train(whole)
    for number in frozen:  # a user may hold some modules in another mode than the rest
        net[number].training = not whole
    images = Presentation(stream).normalised(stream.phases[0].train.images[:8])
    with torch.random.fork_rng(devices=[]):
        net(images).sum().backward()
    weights = {name: value.clone() for name, value in net.state_dict().items()}
    gradients = [parameter.grad.clone() for parameter in net.parameters()]
    modes = [module.training for module in net.modules()]
    own = torch.Generator().manual_seed(seed)
    shuffled = DataLoader(TensorDataset(*batch(12, 4)), batch_size=5, shuffle=True, generator=own)

    def draw() -> tuple[object, ...]:
        torch.manual_seed(seed), np.random.seed(seed), random.seed(seed)
        own.manual_seed(seed)
        return ()

    def noisy(inputs: torch.Tensor) -> torch.Tensor:  # draws from every global generator, as careless code does
        return inputs + torch.rand(1) + float(np.random.rand()) + random.random()

    draw()
    expected = (
        torch.rand(3).tolist(),
        np.random.rand(3).tolist(),
        random.random(),
        torch.rand(2, generator=own).tolist(),
    )
    draw()
    recorder = Recorder("plain", seed=1)
    with recorder.phase("T1"):
        recorder.evaluate(net, stream, epoch=0)
        recorder.evaluate(noisy, {"T1_loader": shuffled}, epoch=0)
    assert [module.training for module in net.modules()] == modes
    assert all(torch.equal(value, weights[name]) for name, value in net.state_dict().items())
    assert all(torch.equal(p.grad, g) for p, g in zip(net.parameters(), gradients, strict=True))
    found = torch.rand(3).tolist(), np.random.rand(3).tolist(), random.random(), torch.rand(2, generator=own).tolist()
    assert found == expected
    net.zero_grad()


def test_everything_is_put_back_where_the_model_raises():
    class Broken(nn.Module):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            torch.rand(1)
            raise RuntimeError("out of memory")

    model, state = Broken(), torch.get_rng_state()
    recorder = Recorder("plain", seed=1)
    with pytest.raises(RuntimeError, match="out of memory"), recorder.phase("T1"):
        recorder.evaluate(model, {"T1_all": batch()}, epoch=0)
    assert model.training
    assert torch.is_grad_enabled()
    assert torch.equal(torch.get_rng_state(), state)
    with pytest.raises(InputError, match="no rows"):
        recorder.timeline()


def test_a_model_whose_own_train_method_does_more_is_brought_back_by_it():
    class Merging(nn.Module):
        merged = False

        def train(self, mode: bool = True) -> nn.Module:
            self.merged = not mode
            return super().train(mode)

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            assert self.merged
            return inputs

    model = Merging()
    with Recorder("plain", 1).phase("T1") as recorder:
        recorder.evaluate(model, {"T1_all": batch()}, epoch=0)
    assert not model.merged


@pytest.mark.parametrize(
    "wrap",
    [
        lambda logits: SimpleNamespace(logits=logits),
        lambda logits: {"logits": logits, "loss": 0.0},
        lambda logits: (logits, "features"),
    ],
)
def test_logits_are_found_in_what_models_return(wrap):
    inputs, labels = batch()
    recorder = Recorder("plain", 1)
    with recorder.phase("T1"):
        plain = recorder.evaluate(lambda x: x, {"T1_all": (inputs, labels)}, epoch=0)
        wrapped = recorder.evaluate(lambda x: wrap(x), {"T1_all": (inputs, labels)}, epoch=1)
    assert plain == wrapped


def test_effective_epochs_are_counted_from_real_samples():
    recorder = Recorder("plain", 1)
    splits = {"T1_all": batch()}
    with recorder.phase("T1", samples=8):
        for count in (0, 2, 4, 8):
            recorder.saw(count)
            recorder.evaluate(lambda x: x, splits)
    with recorder.phase("T2", samples=4):
        assert recorder.effective_epoch == 0
        recorder.saw(1)
        recorder.record("T1_all", 0.25)
    timeline = recorder.timeline()
    assert timeline.curve("plain", 1, "T1", "T1_all")[0].tolist() == [0, 0.25, 0.75, 1.75]
    assert timeline.curve("plain", 1, "T2", "T1_all")[0].tolist() == [0.25]


def recorded(folder: Path, method: str, seed: int = 1) -> Recorder:
    recorder = Recorder(method, seed, folder)
    rises = {"T2_shortcut_normal": 0.2, "T2_shortcut_masked": 0.1, "T2_nonshortcut_normal": 0.15, "T2_val": 0.15}
    if method != "scratch_t2":
        with recorder.phase("T1", samples=100):
            recorder.record("T1_all", 0.9, epoch=4, n=20, loss=0.3)
    with recorder.phase("T2", samples=100):
        for epoch in range(5):
            for split, slope in rises.items():
                recorder.record(split, slope * epoch, epoch=epoch, n=50)
    return recorder


def test_score_takes_the_folder(tmp_path, monkeypatch, capsys):
    for method in ("mine", "scratch_t2"):
        assert recorded(tmp_path / "logs", method).path == tmp_path / "logs" / f"{method}-seed1" / "timeline.csv"
    monkeypatch.setattr(sys, "argv", ["einstellung", "score", str(tmp_path / "logs")])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert "mine" in shown
    assert "scratch_t2" in shown


def test_a_changed_working_directory_does_not_part_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recorder = Recorder("mine", 1, "logs")
    (tmp_path / "elsewhere").mkdir()
    with recorder.phase("T1"):
        recorder.record("T1_all", 0.5, epoch=0)
        monkeypatch.chdir(tmp_path / "elsewhere")
        recorder.record("T1_all", 0.6, epoch=1)
    assert len(Timeline.read(tmp_path / "logs" / "mine-seed1" / "timeline.csv").frame) == 2
    assert not list((tmp_path / "elsewhere").iterdir())


def test_killed_between_two_measurements_the_file_is_whole(tmp_path, monkeypatch):
    """Every state that a reader could ever find on disk, the one just before the file is put in place included."""
    seen: list[int] = []
    path = tmp_path / "mine-seed1" / "timeline.csv"

    def watched(target: Path, write: object) -> Path:
        def half(temporary: Path) -> None:
            write(temporary)  # the new file is written beside the old one, which must still be whole
            if path.exists():
                seen.append(len(Timeline.read(path).frame))

        return write_atomically(target, half)

    monkeypatch.setattr("einstellung.timeline.table.write_atomically", watched)
    recorder = Recorder("mine", 1, tmp_path)
    with recorder.phase("T2"):
        for epoch in range(3):
            recorder.evaluate(lambda x: x, {"T2_val": batch(), "T1_all": batch()}, epoch=epoch)
            assert len(Timeline.read(path).frame) == 2 * (epoch + 1)
    assert seen == [2, 4]
    pd.testing.assert_frame_equal(Timeline.read(path).frame, recorder.timeline().frame)


def test_a_failed_measurement_leaves_the_file_as_it_was(tmp_path):
    recorder = Recorder("mine", 1, tmp_path)
    with recorder.phase("T1"):
        recorder.evaluate(lambda x: x, {"T1_all": batch()}, epoch=0)
        before = recorder.path.read_bytes()
        broken = {"T1_all": batch(), "T2_val": (batch()[0] * torch.nan, batch()[1])}
        with pytest.raises(InputError, match=r"split 'T2_val': the loss is nan"):
            recorder.evaluate(lambda x: x, broken, epoch=1)
        assert recorder.path.read_bytes() == before
        recorder.evaluate(lambda x: x, {"T1_all": batch()}, epoch=1)  # and the moment is still free


def test_resuming_keeps_the_rows_and_replaces_what_is_measured_again(tmp_path):
    recorded(tmp_path, "mine")
    with pytest.raises(InputError, match=r"mine-seed1/timeline.csv already exists.*resume=True"):
        Recorder("mine", 1, tmp_path)
    again = Recorder("mine", 1, tmp_path, resume=True)
    with again.phase("T2", samples=100):
        again.record("T2_val", 0.5, epoch=3, n=50)
        again.record("T2_val", 0.75, epoch=5, n=50)
        with pytest.raises(InputError, match="'T2_val' was already recorded at epoch 5 of T2"):
            again.record("T2_val", 0.75, epoch=5)
    timeline = Timeline.read(again.path)
    epochs, accuracies = timeline.curve("mine", 1, "T2", "T2_val")
    assert epochs.tolist() == [0, 1, 2, 3, 4, 5]
    assert accuracies.tolist() == pytest.approx([0, 0.15, 0.3, 0.5, 0.6, 0.75])
    assert timeline.curve("mine", 1, "T1", "T1_all")[1].tolist() == [0.9]


def test_another_runs_file_is_not_continued(tmp_path):
    path = recorded(tmp_path, "mine").path
    path.rename(tmp_path / "timeline.csv")
    (tmp_path / "other-seed1").mkdir()
    (tmp_path / "timeline.csv").rename(tmp_path / "other-seed1" / "timeline.csv")
    with pytest.raises(InputError, match="holds other runs than other, seed 1"):
        Recorder("other", 1, tmp_path, resume=True)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda r: r.record("T1_all", 0.5, epoch=0), "no phase has begun"),
        (lambda r: r.saw(3), "no phase has begun"),
        (lambda r: r.end_phase(), "no phase has begun"),
        (lambda r: r.begin_phase("task 2"), "the phase is named 'task 2': write T1, T2"),
        (lambda r: r.begin_phase("T1", samples=0), "T1 has 0 samples"),
        (lambda r: (r.begin_phase("T1"), r.begin_phase("T2")), "T2 cannot begin: T1 has not ended"),
        (lambda r: (r.begin_phase("T2"), r.end_phase(), r.begin_phase("T1")), "T1 cannot begin after T2"),
        (lambda r: (r.begin_phase("T1"), r.saw(-1)), "not below 0"),
        (lambda r: (r.begin_phase("T1"), r.saw(2.5)), r"saw\(2.5\): give a whole number"),
        (lambda r: (r.begin_phase("T1"), r.record("a", 0.5)), "the size of T1 is not known"),
        (lambda r: (r.begin_phase("T1"), r.record("a", 55.0, epoch=0)), "split 'a': acc is 55.0.*divide by 100"),
        (lambda r: (r.begin_phase("T1"), r.record("a", float("nan"), epoch=0)), "split 'a': acc is nan"),
        (lambda r: (r.begin_phase("T1"), r.record("a", 0.5, epoch=-1)), "the epoch is -1.0"),
        (
            lambda r: (r.begin_phase("T1"), r.record("a", 0.5, epoch=2), r.record("a", 0.5, epoch=1)),
            "epoch 1 comes after epoch 2",
        ),
    ],
)
def test_wrong_use_is_one_line(use, words):
    with pytest.raises(InputError, match=words):
        use(Recorder("mine", 1))


@pytest.mark.parametrize(
    ("splits", "words"),
    [
        ({}, "evaluate needs splits"),
        ({"a": 3}, "split 'a' is a int"),
        ({"a": iter([batch()])}, "split 'a' is an iterator"),
        ({"a": []}, "split 'a' holds no images"),
        ({"a": (torch.zeros(0, 4), torch.zeros(0).long())}, "split 'a' holds no images"),
        ({"a": [torch.zeros(3, 4)]}, "split 'a' yields a Tensor"),
        ({"a": (torch.zeros(3, 4), torch.zeros(2).long())}, "3 inputs and 2 labels"),
        ({"a": (torch.zeros(3, 4), torch.zeros(3))}, r"labels are torch.float32 of shape \[3\]"),
        ({"a": (torch.zeros(3, 4), torch.tensor([0, 1, 4]))}, "labels 0 to 4; the model has 4 outputs"),
        ({"a": (torch.zeros(3, 4, 4), torch.zeros(3).long())}, r"a tensor of shape \[3, 4, 4\]"),
    ],
)
def test_wrong_splits_are_named(splits, words):
    with pytest.raises(InputError, match=words), Recorder("mine", 1).phase("T1") as recorder:
        recorder.evaluate(lambda x: x, splits, epoch=0)


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ({"T1": range(3)}, "split 'T1_all' has the label 3, which is not among the classes of its phase"),
        ({"T1": range(9)}, "reach from 0 to 8; the model has 4 outputs"),
        ({"T1": range(-1, 4)}, "reach from -1 to 3; the model has 4 outputs"),
    ],
)
def test_classes_that_do_not_fit_are_named(classes, words):
    with pytest.raises(InputError, match=words), Recorder("mine", 1).phase("T1") as recorder:
        recorder.evaluate(lambda x: x, {"T1_all": batch()}, epoch=0, classes=classes)


def test_tensors_of_one_number_are_recorded_as_numbers():
    recorder = Recorder("mine", 1)
    with recorder.phase("T1", samples=torch.tensor(8)):
        recorder.saw(torch.tensor(4))
        recorder.record("T1_all", torch.tensor(0.5), loss=torch.tensor(2.0), n=torch.tensor(10))
    row = recorder.timeline().frame.iloc[0]
    assert (row["epoch"], row["acc"], row["loss"], row["n"]) == (0.5, 0.5, 2.0, 10)


def test_accuracy_within_a_splits_classes_is_recorded_where_there_are_two(tmp_path):
    logits, _ = batch(4, classes=3)
    recorder = Recorder("mine", 1, folder=tmp_path)
    with recorder.phase("T1"):
        recorder.evaluate(lambda x: x, {"T1_all": (logits, torch.tensor([0, 1, 0, 1]))}, epoch=0)
        recorder.evaluate(lambda x: x, {"one": (logits, torch.zeros(4, dtype=torch.long))}, epoch=0)
        recorder.record("given", 0.25, acc_within=0.75, epoch=0)
        with pytest.raises(InputError, match="acc_within"):
            recorder.record("wrong", 0.25, acc_within=75, epoch=0)
    curves = Timeline.read_many([tmp_path]).curves("mine", 1, "T1")
    right = [max((0, 1), key=lambda one, row=row: row[one]) for row in logits.tolist()]
    by_class = [sum(right[row] == label for row in rows) / 2 for label, rows in ((0, (0, 2)), (1, (1, 3)))]
    assert curves["T1_all"].acc_within.tolist() == [sum(by_class) / 2]
    assert np.isnan(curves["one"].acc_within).tolist() == [True]
    assert curves["given"].acc_within.tolist() == [0.75]


@pytest.mark.parametrize("seed", [1.5, "1", None, True, float("nan")])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(InputError, match="the seed is"):
        Recorder("mine", seed)


def test_a_batch_size_of_0_is_refused():
    with pytest.raises(InputError, match="batch_size is 0"):
        Recorder("mine", 1, batch_size=0)


@pytest.mark.parametrize("method", ["", "../mine", "a/b", ".hidden"])
def test_a_method_that_cannot_name_a_folder_is_refused(method):
    with pytest.raises(InputError, match="as it names a folder"):
        Recorder(method, 1)


def test_mixed_precision_is_used_where_it_is_asked_for():
    seen: list[torch.dtype] = []
    layer = nn.Linear(4, 4)

    def model(inputs: torch.Tensor) -> torch.Tensor:
        seen.append(layer(inputs).dtype)
        return layer(inputs)

    with Recorder("mine", 1).phase("T1") as recorder:
        recorder.evaluate(model, {"T1_all": batch()}, epoch=0)
        recorder.evaluate(model, {"T1_all": batch()}, epoch=1, amp=torch.bfloat16)
    assert seen == [torch.float32, torch.bfloat16]


def test_a_misspelt_split_is_pointed_out_once(recwarn):
    recorder = Recorder("mine", seed=1)
    with recorder.phase("T2"):
        for epoch in (1, 2):
            recorder.record("T2_shortcut_norml", 0.5, epoch=epoch)
            recorder.record("T2_shortcut_masked", 0.5, epoch=epoch)
            recorder.record("my_own_split", 0.5, epoch=epoch)
    said = [str(warning.message) for warning in recwarn]
    assert said == ["split 'T2_shortcut_norml' is not used by the index: did you mean 'T2_shortcut_normal'?"]


def test_phases_may_have_names_of_their_own(tmp_path):
    recorder = Recorder("sgd", 1, tmp_path)
    for place, phase in enumerate(("day", "dusk", "night")):
        with recorder.phase(phase, samples=10):
            recorder.record("day_all", 0.9 - 0.1 * place, epoch=1)
    assert recorder.timeline().phase_names == ("day", "dusk", "night")
    with pytest.raises(InputError, match="day cannot begin after night: phases must come in order, each once"):
        recorder.begin_phase("day")
    again = Recorder("sgd", 1, tmp_path, resume=True)
    again.begin_phase("polar_night")
    with pytest.warns(UserWarning, match="did you mean 'polar_night_shortcut_normal'"):
        again.record("polar_night_shortcut_nromal", 0.5, epoch=1)


def test_the_classes_of_a_phase_whose_name_begins_like_another_s():
    logits, labels = torch.tensor([[3.0, 1.0, 2.0, 0.0]]), torch.tensor([2])
    recorder = Recorder("sgd", 1)
    with recorder.phase("day", samples=1):
        recorder.evaluate(
            torch.nn.Identity(), {"day_two_val": (logits, labels)}, epoch=1, classes={"day": (0, 1), "day_two": (2, 3)}
        )
    assert recorder.timeline().frame["acc_task"].tolist() == [1.0]
