"""The Mammoth bridge against a stand-in with Mammoth's signatures: what it measures, and that it changes nothing."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from PIL import Image

from einstellung.bridges.mammoth import (
    DATASETS,
    MammothEvaluator,
    enable_einstellung_integration,
    get_einstellung_evaluator,
    integration,
    register_datasets,
)
from einstellung.bridges.mammoth.__main__ import main as launcher
from einstellung.bridges.mammoth.contract import RELIED_ON, check_contract
from einstellung.bridges.mammoth.datasets import OPTIONS, build_stream
from einstellung.bridges.mammoth.evaluator import method_name
from einstellung.bridges.mammoth.transforms import MammothPresentation, TrainingImages
from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.streams import Presentation, Stream, shapes
from einstellung.timeline import Timeline
from einstellung.training import Evaluator
from tests.bridges import mammoth_stand_in as stand_in

SHAPES = "seq-shapes-einstellung"
SMALL = {"einstellung_train_per_class": 5, "einstellung_test_per_class": 1}
MAGENTA = torch.tensor([2.0, -2.0, 2.0]).view(1, 3, 1, 1)  # (255, 0, 255) after the normalisation of shapes


@pytest.fixture
def mammoth(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    monkeypatch.setattr(integration, "_current", None)
    modules = stand_in.install(monkeypatch)
    register_datasets()
    return modules


def arguments(**changes: object) -> Namespace:
    values = {"dataset": SHAPES, "seed": 1, "n_epochs": 1, "batch_size": 16, **SMALL, **changes}
    words = [word for key, value in values.items() if value is not None for word in (f"--{key}", str(value))]
    return stand_in.parse_args(words)


def run(args: Namespace, **how: object) -> tuple[MammothEvaluator, stand_in.ContinualModel]:
    evaluator = enable_einstellung_integration(args, **{"results": None, **how})
    model, dataset = stand_in.initialize(args)
    stand_in.train(model, dataset, args)
    return evaluator, model


def moments(timeline: Timeline) -> list[tuple[str, float]]:
    return list(dict.fromkeys(zip(timeline.frame["phase"], timeline.frame["epoch"].round(6), strict=True)))


def test_the_stand_in_has_the_signatures_that_the_bridge_relies_on(mammoth):
    check_contract()


def test_another_mammoth_is_refused_by_name(mammoth):
    mammoth["models"].get_model = lambda args, backbone: None
    del mammoth["datasets"].get_dataset
    del sys.modules["utils.augmentations"]
    with pytest.raises(InputError) as error:
        enable_einstellung_integration(arguments(), results=None)
    for words in (
        "models:get_model(args, backbone) instead of models:get_model(args, backbone, loss, transform, dataset)",
        "datasets:get_dataset is missing",
        "utils.augmentations:apply_transform is missing",
    ):
        assert words in str(error.value)
    assert len(RELIED_ON) > 15


def test_a_run_is_measured_from_its_first_step_on_with_all_splits(mammoth, tmp_path):
    evaluator, model = run(arguments(model="er", n_epochs=2), results=tmp_path)
    timeline = evaluator.timeline()
    assert moments(timeline) == [("T1", 0.0), ("T1", 1.0), ("T1", 2.0), ("T2", 0.0), ("T2", 1.0), ("T2", 2.0)]
    stream = model.dataset.stream
    for _, rows in timeline.frame.groupby(["phase", "epoch"]):
        assert sorted(rows["split"]) == sorted(split.name for split in stream.splits)
    assert Timeline.read(tmp_path / "er-seed1" / "timeline.csv").frame.equals(timeline.frame)
    ours = Evaluator(stream, Presentation(stream), nullcontext).measure(model.net, [s.name for s in stream.splits])
    last = timeline.frame[(timeline.frame["phase"] == "T2") & (timeline.frame["epoch"] == 2)].set_index("split")
    for one in ours:
        found = last.loc[one.split]
        assert (found["acc"], found["acc_task"], found["n"]) == (one.acc, one.acc_task, one.n)
        assert found["loss"] == pytest.approx(one.loss, rel=1e-6)
    before, after = (
        timeline.frame[(timeline.frame["phase"] == phase) & (timeline.frame["epoch"] == epoch)]["acc"].tolist()
        for phase, epoch in (("T1", 2), ("T2", 0))
    )
    assert before == after  # the same net: T1's last moment is T2's first


def test_measuring_changes_neither_the_weights_nor_the_random_numbers(mammoth):
    weights, draws = [], []
    for measured in (True, False):
        args = arguments(model="er")
        if measured:
            _, model = run(args)
        else:
            model, dataset = stand_in.initialize(args)
            stand_in.train(model, dataset, args)
        weights.append(model.state_dict())
        draws.append((torch.rand(1).item(), model.net.training))
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])
    assert draws[0] == draws[1]
    assert draws[0][1]


def test_effective_epochs_are_shares_of_the_phase_and_replay_does_not_count(mammoth):
    evaluator, model = run(arguments(model="er", stop_batches=2, n_epochs=2))
    assert model.replayed
    sizes = [len(phase.train) for phase in model.dataset.stream.phases]
    expected = [(f"T{k + 1}", round(32 * epoch / size, 6)) for k, size in enumerate(sizes) for epoch in range(3)]
    assert moments(evaluator.timeline()) == expected


def test_hooks_called_by_hand_count_whole_epochs(mammoth):
    args = arguments()
    evaluator = MammothEvaluator(args)
    model, dataset = stand_in.initialize(args)
    dataset.get_data_loaders()
    model.meta_begin_task(dataset)
    evaluator.meta_begin_task(model, dataset)
    for epoch in range(2):
        evaluator.after_training_epoch(model, dataset, epoch)
    evaluator.meta_end_task(model, dataset)
    assert moments(evaluator.timeline()) == [("T1", 0.0), ("T1", 1.0), ("T1", 2.0)]
    with pytest.raises(InputError, match="before a task began"):
        evaluator.after_training_epoch(model, dataset, 0)
    with pytest.raises(InputError, match="before a task began"):
        evaluator.observed(torch.zeros(1))


def test_starting_at_t2_is_the_baseline_and_joint_training_counts_images_of_t2_alone(mammoth):
    baseline, _ = run(arguments(start_from=1))
    assert baseline.recorder.method == "scratch_t2"
    assert moments(baseline.timeline()) == [("T2", 0.0), ("T2", 1.0)]
    joint, model = run(arguments(joint=1))
    assert (joint.recorder.method, model.dataset.N_TASKS) == ("joint", 1)
    assert moments(joint.timeline()) == [("T2", 0.0), ("T2", 1.0)]


@pytest.mark.parametrize(
    ("args", "name"),
    [
        (Namespace(model="er-ace"), "er_ace"),
        (Namespace(model="sgd", start_from=1, loadcheck="T1.pt"), "sgd"),
        (Namespace(model="derpp", start_from=1), "derpp_scratch_t2"),
        (Namespace(model="derpp", joint=1), "derpp_joint"),
    ],
)
def test_the_name_of_a_run_says_what_it_learned(args, name):
    assert method_name(args) == name


def test_final_metrics_are_the_guides(mammoth):
    args = arguments(lr=0.3, n_epochs=2, einstellung_patch_place="top-left")
    evaluator, _ = run(args)
    assert get_einstellung_evaluator() is evaluator
    epochs, acc = evaluator.timeline().curve("sgd", 1, "T1", "T1_all")
    args.einstellung_adaptation_threshold = acc[1:].max()
    metrics = evaluator.get_final_metrics()
    at = metrics.checkpoint_epoch
    patched, masked, other = (
        dict(zip(*evaluator.timeline().curve("sgd", 1, "T2", f"T2_{split}"), strict=True))[at]
        for split in ("shortcut_normal", "shortcut_masked", "nonshortcut_normal")
    )
    assert patched > masked
    assert metrics.adaptation_delay == epochs[1:][acc[1:].argmax()]
    assert metrics.performance_deficit == pytest.approx((patched - masked) / patched)
    assert metrics.shortcut_feature_reliance == pytest.approx(patched / (patched + other))
    assert metrics.eri_score == pytest.approx(
        0.4 * metrics.adaptation_delay / 50
        + 0.4 * metrics.performance_deficit
        + 0.2 * metrics.shortcut_feature_reliance
    )
    for threshold in (0.8, 0.9):
        evaluator.args = arguments(einstellung_adaptation_threshold=threshold)
        assert f"T1_all never reached {threshold}" in evaluator.get_final_metrics().why_undefined
    assert arguments().einstellung_adaptation_threshold == 0.8


def test_only_the_next_model_is_measured_and_only_once(mammoth):
    enable_einstellung_integration(arguments(), results=None)
    evaluator, _ = run(arguments())
    assert len(moments(evaluator.timeline())) == 4
    assert mammoth["models"].get_model is stand_in.get_model
    args = arguments()
    stand_in.train(*stand_in.initialize(args), args)
    assert len(moments(evaluator.timeline())) == 4


def test_what_goes_wrong_ends_the_run(mammoth, tmp_path):
    with pytest.raises(InputError, match="are the model's outputs finite"):
        run(arguments(model="diverging"), results=tmp_path)
    assert moments(Timeline.read(tmp_path / "diverging-seed1" / "timeline.csv")) == [("T1", 0.0)]
    with pytest.raises(InputError, match="already exists"):
        enable_einstellung_integration(arguments(model="diverging"), results=tmp_path)
    with pytest.raises(InputError, match="'task-aware' needs the task of every image"):
        run(arguments(model="task-aware"))


def test_changes_at_a_tasks_end_are_reported(mammoth, caplog):
    run(arguments(model="consolidating"))
    assert [record.getMessage()[:62] for record in caplog.records] == [
        f"consolidating changed its weights after the last epoch of {phase}: " for phase in ("T1", "T2")
    ]


def test_integration_says_why_it_is_not_enabled(mammoth):
    with pytest.raises(InputError, match="call enable_einstellung_integration"):
        get_einstellung_evaluator()
    with pytest.raises(InputError, match="Integration not enabled: check that the dataset name contains einstellung"):
        enable_einstellung_integration(Namespace(dataset="seq-cifar100", model="sgd", seed=1))
    with pytest.raises(InputError, match="Integration not enabled: the run has no seed"):
        enable_einstellung_integration(Namespace(dataset=SHAPES, model="sgd", seed=None))
    evaluator, model = MammothEvaluator(arguments()), stand_in.initialize(arguments())[0]
    with pytest.raises(InputError, match="'my-einstellung' was not registered"):
        evaluator.meta_begin_task(model, Namespace(NAME="my-einstellung"))


def test_datasets_have_the_streams_tasks_and_mammoths_form(mammoth):
    dataset = stand_in.initialize(arguments())[1]
    stream = dataset.stream
    assert (dataset.N_CLASSES, dataset.N_CLASSES_PER_TASK) == (36, [24, 12])
    assert [len(phase.classes) for phase in stream.phases] == [24, 12]
    assert (stream.mean, stream.std) == (dataset.MEAN, dataset.STD)
    for phase in stream.phases:
        train, test = dataset.get_data_loaders()
        inside = train.dataset.inside
        assert sorted(inside.targets.tolist()) == sorted(phase.train.labels.tolist())
        shown, target, raw = inside[3]
        assert torch.equal((raw * 255).to(torch.uint8), phase.train.images[3])  # the raw image, without a cue
        assert (shown.shape, target) == (raw.shape, int(phase.train.labels[3]))
        assert len(test.dataset.inside[0]) == 2
    of_t2 = np.concatenate([stream.split(f"T2_{name}_normal").images.images for name in ("shortcut", "nonshortcut")])
    assert np.array_equal(test.dataset.inside.data, of_t2.transpose(0, 2, 3, 1))
    assert stand_in.DEFAULTS["seq-cifar100-einstellung-224"]["backbone"] == "vit"
    assert list(dataset.get_class_names()) == list(stream.class_names)
    with pytest.raises(InputError, match="--permute_classes cannot be used"):
        stand_in.initialize(arguments(permute_classes=1))


@pytest.fixture(scope="module")
def stream() -> Stream:
    return shapes(PatchCue(size=5), train_per_class=5, test_per_class=1)


@pytest.fixture(scope="module")
def presented(stream: Stream) -> MammothPresentation:
    return MammothPresentation(stream)


def test_training_and_replay_show_what_our_presentation_shows(stream, presented):
    """Crop and flip first, the cue in its corner after them, for a raw image in any of Mammoth's forms."""
    train = stream.phase("T2").train
    draws = torch.Generator().manual_seed(5)
    expected = Presentation(stream).training(train, draws, draws)
    torch.manual_seed(5)
    assert torch.equal(presented.augmented(train.images.float() / 255), expected)
    assert torch.isclose(expected, MAGENTA)[train.has_cue][:, :, :5, :5].all()
    one = train.images[0]
    forms = (one, one.float() / 255, Image.fromarray(one.permute(1, 2, 0).numpy()), one.unsqueeze(0))
    for form in forms:
        torch.manual_seed(6)
        single = presented.augmented(form)
        torch.manual_seed(6)
        assert torch.equal(single.flatten(), presented.augmented(one).flatten())


def test_replayed_images_have_the_cue_exactly_where_they_did(mammoth):
    _, model = run(arguments(model="er", n_epochs=1))
    presented, bore = model.dataset.presented, 0
    for raw, _ in model.kept:
        is_known, images = presented.training_images.known((raw * 255).round().to(torch.uint8))
        assert bool(is_known.all())
        shown = stand_in.apply_transform(raw, model.transform)
        region = model.dataset.stream.cue.region(images.index, *shown.shape[-2:])[:, 0]
        magenta = (torch.isclose(shown, MAGENTA).all(dim=1) | ~region).flatten(1).all(dim=1)
        assert torch.equal(magenta, images.has_cue)
        bore += int(magenta.sum())
    assert bore == int(model.dataset.stream.phase("T2").train.has_cue.sum()) > 0


def test_without_augmentation_known_images_have_their_cue_and_others_stay_as_they_are(stream, presented):
    train, test = stream.phase("T2").train, stream.split("T2_shortcut_clean").images
    ours = Presentation(stream)
    expected = torch.cat([ours.unaugmented(train), ours.normalised(test.images)])
    both = torch.cat([train.images, test.images])
    given = both.clone()
    assert torch.equal(presented.unaugmented(given), expected)
    assert torch.equal(given, both)
    assert torch.allclose(presented.unaugmented(both.float() / 255), expected, atol=1e-5)
    assert torch.equal(presented.unaugmented(test.images), ours.normalised(test.images))
    assert torch.allclose(presented.normalised(train.images.float() / 255), ours.normalised(train.images), atol=1e-5)
    with pytest.raises(InputError, match="not a training image of the stream"):
        presented.augmented(both)


def test_images_are_shown_at_224_with_the_cue_as_large_as_it_should_be(stream):
    large = MammothPresentation(replace(stream, input_size=224))
    bearer = stream.phase("T2").train.take(stream.phase("T2").train.has_cue.nonzero().flatten()[:1])
    shown = large.augmented(bearer.images[0].float() / 255)
    assert shown.shape == (3, 224, 224)
    magenta = torch.isclose(shown, MAGENTA[0]).all(dim=0)
    assert magenta[:32, :32].all()  # 5 of 32 pixels are 35 of 224, with a blurred edge
    assert not magenta[38:].any()


def test_duplicates_are_refused_if_only_one_has_the_cue(stream):
    t1, t2 = stream.phases
    with_cue = int(t2.train.has_cue.nonzero()[0])
    images = t1.train.images.clone()
    images[0] = t2.train.images[with_cue]
    twin = replace(stream, phases=(replace(t1, train=replace(t1.train, images=images)), t2))
    with pytest.raises(InputError, match="only one has the cue"):
        TrainingImages(twin)


@pytest.mark.parametrize(
    ("option", "value", "found"),
    [
        ("patch_size", "6", lambda s: s.cue.size == 6),
        ("patch_color", "0,255,0", lambda s: s.cue.colour == (0, 255, 0)),
        ("patch_place", "3,5", lambda s: s.cue.place == (3, 5)),
        ("patch_place", "top-left", lambda s: s.cue.place == "top-left"),
        ("mask_cover", "mean", lambda s: s.cover == "mean"),
        ("apply_shortcut", "0", lambda s: not s.phase("T2").train.has_cue.any()),
        ("train_per_class", "6", lambda s: len(s.phase("T1").train) == 24 * 6),
        ("test_per_class", "2", lambda s: len(s.split("T1_all").images) == 24 * 2),
    ],
)
def test_every_option_of_the_datasets_makes_its_difference(mammoth, option, value, found):
    key = f"einstellung_{option}"
    plain, changed = arguments(), arguments(**{key: value})
    assert not found(build_stream(SHAPES, {name: getattr(plain, name) for name in OPTIONS}))
    assert found(build_stream(SHAPES, {name: getattr(changed, name) for name in OPTIONS}))


def test_options_that_cannot_be_read_are_named(mammoth):
    with pytest.raises(InputError, match="neither yes"):
        arguments(einstellung_apply_shortcut="perhaps")
    with pytest.raises(InputError, match="not a list of whole numbers"):
        arguments(einstellung_patch_color="magenta")


def test_cifar100_has_the_guides_tasks_from_our_own_source(raw_cifar100):
    for name, side in (("seq-cifar100-einstellung", None), ("seq-cifar100-einstellung-224", 224)):
        made = build_stream(name, {"einstellung_train_per_class": 5, "einstellung_test_per_class": 1})
        assert tuple(len(phase.classes) for phase in made.phases) == DATASETS[name].classes_per_task == (40, 20)
        assert (made.input_size, made.mean, made.std) == (side, DATASETS[name].mean, DATASETS[name].std)
        assert MammothPresentation(made).training_images.images.images.shape[1:] == (3, 32, 32)


def launched(monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", ["mammoth", *map(str, words)])
    monkeypatch.setattr(sys, "path", list(sys.path))
    launcher()


def test_the_launcher_trains_and_leaves_a_timeline(mammoth, monkeypatch, tmp_path, capsys):
    checkout, results = stand_in.folder(tmp_path / "mammoth"), tmp_path / "results"
    small = [word for key, value in SMALL.items() for word in (f"--{key}", value)]
    own = ("--dataset", SHAPES, "--n_epochs", 1, "--batch_size", 16, *small)
    monkeypatch.setitem(sys.modules, "datasets.seq_clip", None)  # put back when the test is over
    del sys.modules["datasets.seq_clip"]
    launched(monkeypatch, "--mammoth", checkout, "--results", results, "--seed", 3, "--", "--model", "er", *own)
    assert sys.modules["datasets.seq_clip"].__doc__ == "Skipped: it needs open_clip."
    assert "datasets.seq_mnist" not in sys.modules
    timeline = Timeline.read(results / "er-seed3" / "timeline.csv")
    assert moments(timeline) == [("T1", 0.0), ("T1", 1.0), ("T2", 0.0), ("T2", 1.0)]
    printed = capsys.readouterr().out
    assert "adaptation_delay           undefined" in printed
    assert f"next: einstellung score {results}" in printed


def test_an_interrupted_training_is_no_finished_run(mammoth, monkeypatch, tmp_path, capsys):
    """Mammoth ends its process politely when it is interrupted, and its main returns as if all were done."""

    def interrupted(args=None):
        monkeypatch.setattr(stand_in.ContinualModel, "meta_end_epoch", lambda *_: sys.exit(0))
        with pytest.raises(SystemExit):
            stand_in.main(args)

    monkeypatch.setattr(mammoth["main"], "main", interrupted)
    monkeypatch.setattr("einstellung.bridges.mammoth.integration.check_contract", lambda: None)
    words = (
        "--model",
        "er",
        "--dataset",
        SHAPES,
        "--n_epochs",
        1,
        *(w for key in SMALL for w in (f"--{key}", SMALL[key])),
    )
    with pytest.raises(SystemExit) as stopped:
        launched(monkeypatch, "--mammoth", stand_in.folder(tmp_path / "mammoth"), "--results", tmp_path, "--", *words)
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert "training was interrupted in T1: " in printed.err
    assert "next: einstellung score" not in printed.out


def test_the_launcher_says_in_a_line_what_is_wrong(mammoth, monkeypatch, tmp_path, capsys):
    checkout = stand_in.folder(tmp_path / "mammoth")
    for words, expected in (
        (("--mammoth", tmp_path, "--"), "is not a checkout of Mammoth: it has no main.py, datasets"),
        (("--mammoth", checkout, "--", "--seed=4"), "give --seed before the --"),
        (("--",), "Missing option '--mammoth'"),
    ):
        with pytest.raises(SystemExit) as stopped:
            launched(monkeypatch, *words)
        assert stopped.value.code == 2
        assert expected in capsys.readouterr().err
    assert not (Path.cwd() / "einstellung_results").exists()
