"""Attention in a study: when it is measured, what the files hold, and that looking changes nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_learner, build_stream, resolve
from einstellung.experiments.execution import JobExecution
from einstellung.experiments.plan import plan
from einstellung.experiments.study import prepare_study
from einstellung.results.config import build_config, merged

from .conftest import SMALL, results, study

VIT = {
    "backbone": {"name": "vit", "dim": 12, "depth": 2, "heads": 2, "patch": 4, "image": 12},
    "stream": {"train_per_class": 6, "t1": [0, 1], "t2": [8, 10], "shortcut": [8]},
    "training": {"epochs": [1, 2]},
    "methods": ["scratch_t2", "sgd"],
}
WATCHED = {**VIT, "attention": {"epochs": [1], "examples": 2, "batch_size": 5}}
SPLITS = ["T1_all", "T2_shortcut_clean", "T2_shortcut_normal", "T2_shortcut_masked", "T2_nonshortcut_normal"]


def vit(small: dict, change: dict) -> dict:
    return {**merged(small, {k: v for k, v in change.items() if k != "backbone"}), "backbone": change["backbone"]}


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    import yaml

    folder = tmp_path_factory.mktemp("attention")
    for name, change in (("watched", WATCHED), ("unwatched", VIT)):
        path = folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(vit(SMALL, change)))
        assert not study(path, folder / name).failures
    return folder


def test_moments_splits_layers_and_heads(finished):
    table = pd.read_csv(
        finished / "watched" / "runs" / "sgd-seed1" / "attention.csv", dtype={"layer": str, "head": str}
    )
    moments = table[["phase", "epoch"]].drop_duplicates().to_numpy().tolist()
    assert moments == [["T1", 1.0], ["T2", 1.0], ["T2", 2.0]]
    assert table["split"].drop_duplicates().tolist() == SPLITS
    one = table[(table.phase == "T2") & (table.epoch == 2) & (table.split == "T1_all")]
    kinds = list(zip(one["layer"], one["head"].fillna(""), strict=True))
    assert kinds == [("1", "1"), ("1", "2"), ("1", "mean"), ("2", "1"), ("2", "2"), ("2", "mean"), ("rollout", "")]
    assert one["boxed"].eq(1).all()
    assert one["n"].eq(12).all()
    scratch = pd.read_csv(finished / "watched" / "runs" / "scratch_t2-seed1" / "attention.csv")
    assert scratch["phase"].unique().tolist() == ["T2"]


def test_numbers_are_those_of_the_stored_net(finished):
    """The last row again, from the weights that the run left and nothing but arithmetic on its mean map."""
    folder = finished / "watched" / "runs" / "sgd-seed1"
    table = pd.read_csv(folder / "attention.csv")
    with np.load(folder / "attention.npz", allow_pickle=False) as stored:
        mean = stored["mean_rollout/T2/2/T2_shortcut_normal"]
        heads = stored["mean_heads/T2/2/T2_shortcut_normal"]
        images, regions = stored["example_images/T2_shortcut_normal"], stored["example_regions"]
        assert stored["example_rollout/T2/2/T2_shortcut_masked"].shape == (2, 3, 3)
        assert stored["mean_heads/T1/1/T1_all"].shape == (2, 2, 3, 3)
    assert mean.sum() == pytest.approx(1, abs=1e-5)
    last = table[(table.phase == "T2") & (table.epoch == 2) & (table.split == "T2_shortcut_normal")]
    # A 4x4 cue in the top-left corner is exactly the first token, so the mean share is the mean map's first cell.
    assert last[last.layer == "rollout"]["AS"].item() == pytest.approx(mean[0, 0], abs=1e-6)
    one = last[(last.layer == "2") & (last["head"] == "1")]["AS"].item()
    assert one == pytest.approx(heads[1, 0, 0, 0], abs=1e-6)
    assert images.shape == (2, 12, 12, 3)
    assert (images[regions] == [255, 0, 255]).all()
    assert regions.sum(axis=(1, 2)).tolist() == [16, 16]


def test_looking_changes_nothing(finished):
    watched, unwatched = (
        {name: content for name, content in results(finished / which).items() if name.startswith("runs")}
        for which in ("watched", "unwatched")
    )
    assert watched == unwatched


def test_a_stopped_run_leaves_the_same_attention(finished, tmp_path):
    config = resolve(build_config(vit(SMALL, WATCHED)))
    stream = build_stream(config)
    torch.set_num_threads(config.training.threads)  # as a worker does: sums depend on it
    first, run = (job for job in plan(config, stream) if job.method == "sgd")
    JobExecution(first, config, tmp_path, stream, lambda *_: None).run()

    stopped = JobExecution(run, config, tmp_path, stream, lambda *_: None)
    save = stopped._save

    def save_and_stop(*where):
        save(*where)
        raise KeyboardInterrupt

    stopped._save = save_and_stop
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    JobExecution(run, config, tmp_path, stream, lambda *_: None).run()
    for name in ("attention.csv", "attention.npz"):
        whole = finished / "watched" / run.folder / name
        assert (tmp_path / run.folder / name).read_bytes() == whole.read_bytes()


def test_fewer_images_and_other_splits(tmp_path):
    change = {"attention": {"images": 3, "splits": ["T2_val", "T2_shortcut_normal"], "examples": 0}}
    config = resolve(build_config({**vit(SMALL, VIT), **change}))
    stream = build_stream(config)
    job = next(job for job in plan(config, stream) if job.method == "scratch_t2")
    JobExecution(job, config, tmp_path, stream, lambda *_: None).run()
    table = pd.read_csv(tmp_path / job.folder / "attention.csv")
    assert set(table["split"]) == {"T2_val", "T2_shortcut_normal"}
    assert set(table["n"]) == {3}
    with np.load(tmp_path / job.folder / "attention.npz") as stored:
        assert not [name for name in stored.files if name.startswith("example")]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"backbone": {"name": "resnet18", "width": 8}}, "attention: .*ResNet18.*remove the attention section"),
        ({"attention": {"splits": ["T2_shortcut_norml"]}}, "did you mean 'T2_shortcut_normal'"),
        ({"attention": {"epochs": [3]}}, "no phase has more than 2"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_training(change, words):
    with pytest.raises(InputError, match=words):
        prepare_study(build_config({**vit(SMALL, WATCHED), **change}))


def test_first_phases_with_and_without_attention_are_not_mixed_up():
    keys = []
    for change in (VIT, WATCHED):
        config = resolve(build_config(vit(SMALL, change)))
        keys.append({job.key for job in plan(config, build_stream(config))})
    assert not keys[0] & keys[1]


def test_images_shown_larger_carry_the_cue_at_the_right_size():
    """A 4x4 cue on 12x12 pixels, shown at 48x48: a 16x16 block, and its region is the first 4x4 tokens of four pixels."""
    change = {"stream": {**VIT["stream"], "input_size": 48}, "backbone": {**VIT["backbone"], "image": 48}}
    config = resolve(build_config(vit(SMALL, {**VIT, **change})))
    stream = build_stream(config)
    learner = build_learner(config, "sgd", 1, stream)
    split = stream.split("T2_shortcut_normal").images.take(torch.arange(1))
    shown = learner.context.presentation.normalised(split.images)
    assert shown.shape == (1, 3, 48, 48)
    magenta = torch.tensor([255.0, 0.0, 255.0])
    expected = ((magenta / 255 - torch.tensor(stream.mean)) / torch.tensor(stream.std)).view(3, 1, 1)
    assert torch.allclose(shown[0, :, :14, :14], expected.expand(3, 14, 14))  # the border blends with its neighbours
    assert not torch.allclose(shown[0, :, 18:30, 18:30], expected.expand(3, 12, 12))
    assert learner.net(shown).shape == (1, stream.n_outputs)
