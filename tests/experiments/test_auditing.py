"""From a model and images to a saved audit: what is asked, what is written, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import einstellung
from einstellung.cli import main
from einstellung.diagnoses.reporting import score_logs
from einstellung.errors import InputError
from einstellung.experiments import auditing
from einstellung.experiments.assembly import build_stream
from einstellung.experiments.audit_plans import Chosen, plan_folder
from einstellung.experiments.audited_images import images_of_arrays, images_of_stream
from einstellung.experiments.audited_models import weights_outputs
from einstellung.experiments.auditing import run_audit
from einstellung.experiments.data_maps import describe_phase, predictive_windows
from einstellung.probes.audit import AuditSettings
from einstellung.results.audit_files import read_audit
from einstellung.results.folder import ResultsFolder
from einstellung.results.run_files import read_prediction_file
from einstellung.streams import EvaluationSplit, ImageSet, Phase, Stream

from . import in_process  # noqa: F401 (registers a launcher)
from .audits import BOX, PatchReader, fake_audit, fake_relative, patched_images
from .test_probing import run

IMAGES, LABELS = patched_images()
NAMES = ["zero", "one", "two"]


@pytest.fixture(autouse=True)
def finder(monkeypatch):
    """An audit that tries only the known box: the finder has tests of its own."""
    monkeypatch.setattr(auditing, "audit_model", fake_audit)
    monkeypatch.setattr(auditing, "relative_rows", fake_relative)
    monkeypatch.setattr(auditing, "predictive_windows", lambda *_: ())  # takes seconds; below it is asked directly


def audited(**options):
    return einstellung.audit(PatchReader(), IMAGES, LABELS, names=NAMES, **options)


def test_a_patch_is_found_and_the_baseline_compared():
    result = audited(baseline=PatchReader(scale=0.0))
    found = next(one for one in result.findings if one.name == "one")
    assert (found.label, found.box) == (1, BOX)
    shown = result.to_json()
    assert set(shown["models"]) == {"model", "baseline"}
    first = next(one for one in shown["models"]["model"]["findings"] if one["class"] == 1)
    keys = {"class", "kind", "box", "area", "delta", "ci95", "found_by", "beats", "images"}
    assert keys <= first.keys()
    assert first["beats"] == {"nsc": True, "random": True, "fillings": True}
    assert first["images"][:2] == [39, 38]  # most bearing first, by position
    assert shown["models"]["model"]["cannot_tell"] is None
    row = next(one for one in shown["relative"]["model"] if one["class"] == 1)
    assert row["sfr_rel"] == pytest.approx(row["delta"] - row["delta_baseline"])
    assert row["delta_baseline"] < row["delta"]
    json.dumps(shown, allow_nan=False)


def test_what_the_baseline_leans_on_is_compared_too():
    result = einstellung.audit(PatchReader(scale=0.0), IMAGES, LABELS, baseline=PatchReader())
    row = next(one for one in result.to_json()["relative"]["model"] if one["class"] == 1)
    assert row["mask"].endswith("(found in baseline)")
    assert row["delta_baseline"] > 0.5


def test_what_is_saved_can_be_scored_and_reported_again(tmp_path):
    result = audited()
    page = result.save(tmp_path / "audit")
    assert page.read_text().count("<article") == 1
    assert read_audit(tmp_path / "audit") == result.audit
    scored = score_logs([tmp_path / "audit"])
    assert scored.card.methods["model"].verdict.name == "localised cue"
    assert {"timeline.csv", "audit.json", "audit_pictures.npz", "report.html", "score.json"} <= {
        file.name for file in (tmp_path / "audit").iterdir()
    }
    with np.load(tmp_path / "audit" / "audit_pictures.npz", allow_pickle=False) as pictures:
        assert pictures["0_0_images"].shape == (7, 16, 16, 3)
        top, left, height, width = BOX
        mapped = pictures["0_map_1"]
        inside = mapped[top : top + height, left : left + width].mean()
        assert inside > 5 * abs(mapped[10:, 10:]).mean()


def test_the_timeline_has_every_class_and_the_covered_box():
    frame = audited().timeline.frame.set_index("split")
    assert frame.loc["audit_normal", "n"] == 60
    assert frame.loc["audit_normal_class1", "acc"] == 1.0
    found = next(one for one in audited().findings if one.label == 1)
    assert frame.loc["audit_covered_class1_1", "acc"] == pytest.approx(1.0 - found.delta)


def test_images_may_come_in_any_common_layout():
    last = IMAGES.permute(0, 2, 3, 1).numpy()
    for given in (last, last / 255, IMAGES.float() / 255):
        assert torch.equal(images_of_arrays(given, LABELS, None).images, IMAGES)


def test_classes_and_numbers_of_images_are_chosen():
    images = images_of_arrays(IMAGES, LABELS, NAMES)
    some = Chosen(("one", "2"), 20).of(images)
    assert sorted(some.labels.tolist()) == [1] * 10 + [2] * 10
    fewest = Chosen(("one", "2"), 4).of(images)  # an audit needs eight of each
    assert sorted(fewest.labels.tolist()) == [1] * 8 + [2] * 8
    with pytest.raises(InputError, match="'on', but no image has this label: did you mean 'one'"):
        Chosen(("on",)).of(images)


class Stretched(nn.Module):
    def forward(self, inputs):
        return inputs.flatten(1) @ torch.zeros(5, 3)


class Hazy(nn.Module):
    def forward(self, inputs):
        return torch.rand(len(inputs), 3)


class NaNOnce(PatchReader):
    """NaN for a single image, the last one that no sample of the images shows before the search."""

    def forward(self, inputs):
        odd = (inputs - IMAGES[58] / 255).abs().amax(dim=(1, 2, 3)) < 1e-6
        return torch.where(odd.view(-1, 1), torch.nan, super().forward(inputs))


BROKEN = {
    "one NaN": (NaNOnce(), IMAGES, LABELS, "returns NaN or infinite logits for 1 of 60 images"),
    "outputs": (PatchReader(2), IMAGES, LABELS, "has 2 outputs, but the labels go up to 2"),
    "nan": (lambda inputs: torch.full((len(inputs), 3), torch.nan), IMAGES, LABELS, "returns NaN"),
    "random": (Hazy(), IMAGES, LABELS, "is not deterministic: its probabilities for the same images differ"),
    "size": (Stretched(), IMAGES, LABELS, "model fails on images of 3 x 16 x 16 "),
    "no labels": (PatchReader(), IMAGES, None, "labels are missing"),
    "few labels": (PatchReader(), IMAGES, LABELS[:5], "one class number for each of 60 images"),
    "one class": (PatchReader(), IMAGES[:20], LABELS[:20], "all 20 images belong to one class"),
    "normalised": (PatchReader(), IMAGES.float() / 128 - 1, LABELS, "floats outside 0..1"),
    "layout": (PatchReader(), IMAGES[0], LABELS, r"give \[N, C, H, W\]"),
    "no model": (3, IMAGES, LABELS, "model is int"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_be_audited_is_refused_in_one_line(case):
    model, images, labels, message = BROKEN[case]
    with pytest.raises(InputError, match=message) as error:
        einstellung.audit(model, images, labels)
    assert "\n" not in str(error.value)


def test_without_gradients_attribution_is_left_out_and_said(tmp_path):
    net = PatchReader()
    result = einstellung.audit(lambda inputs: net(inputs).detach(), IMAGES, LABELS)
    result.save(tmp_path)
    assert any("no gradient" in warning for warning in score_logs([tmp_path]).card.warnings)


def split(name: str, first: int, count: int, label: int, value: int, **more) -> EvaluationSplit:
    images = torch.full((count, 3, 8, 8), value, dtype=torch.uint8)
    index = torch.arange(first, first + count)
    return EvaluationSplit(name, "T2", ImageSet.without_cue(images, torch.full((count,), label), index), **more)


def test_every_test_image_of_a_stream_is_audited_once_as_its_first_split_shows_it():
    splits = (
        split("T2_shortcut_normal", 0, 4, 0, 1),
        split("T2_shortcut_masked", 0, 4, 0, 2),
        split("T2_nonshortcut_normal", 4, 3, 1, 3),
        split("T2_val", 7, 5, 0, 4, held_out=True),
        split("T2_train", 20, 5, 0, 5),
        split("unconfounded_positive", 30, 5, 0, 6),
    )
    phase = Phase("T2", (0, 1), (0,), splits[0].images)
    made = Stream("toy", (phase,), splits, (), None, None, 2, ("a", "b"), (0.5,) * 3, (0.5,) * 3)
    images = images_of_stream(made)
    assert images.image_names == tuple(range(7))
    assert images.images[:, 0, 0, 0].tolist() == [1] * 4 + [3] * 3


def test_a_folder_without_nets_is_refused(tmp_path):
    study = Path(__file__).parents[2] / "studies" / "cifar100-two-phase"
    with pytest.raises(InputError, match=r"has no stored nets \(runs/\*/model.safetensors\)"):
        plan_folder(ResultsFolder(study), Chosen())
    with pytest.raises(InputError, match="is not a results folder"):
        plan_folder(ResultsFolder(tmp_path), Chosen())


def test_one_window_that_tells_a_class_stands_out_from_the_images_alone():
    draws = np.random.default_rng(0)
    images = torch.from_numpy(draws.integers(0, 255, (90, 3, 16, 16)).astype(np.uint8))
    labels = torch.arange(90) % 3
    rows = predictive_windows(images, labels)
    assert not any(row.alarm for row in rows)
    assert "shuffled labels" in describe_phase("T1", rows, NAMES)
    images[labels == 1, :, :4, :4] = 255
    alarms = [row for row in predictive_windows(images, labels, phase="T1") if row.alarm]
    assert {row.label for row in alarms} == {1}
    assert alarms[0].box == (0, 0, 4, 4)
    assert describe_phase("T1", alarms, NAMES).startswith("T1, images alone: one window identifies 'one' in 100 %")


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    return run(tmp_path_factory.mktemp("audited") / "study", methods=["scratch_t2", "sgd"], seeds=[1])


def test_every_net_of_a_study_is_audited_with_its_baseline(study):
    plan = plan_folder(ResultsFolder(study), Chosen())
    assert [(one.name, one.baseline) for one in plan.models] == [
        ("scratch_t2-seed1", None),
        ("sgd-seed1", "scratch_t2-seed1"),
    ]
    stored = read_prediction_file(study / "runs" / "sgd-seed1" / "predictions.csv")
    normal = stored[stored["split"].isin(["T2_shortcut_normal", "T2_nonshortcut_normal"])]
    assert sorted(plan.images.image_names) == sorted(normal["index"].tolist())
    result = run_audit(plan, AuditSettings())
    right = (normal["prediction"] == normal["label"]).mean()
    assert result.audit.models["sgd-seed1"].accuracy == pytest.approx(right)
    assert result.timeline.runs == (("scratch_t2", 1), ("sgd", 1))
    some = plan_folder(ResultsFolder(study), Chosen(), methods=["sgd"])
    assert [one.name for one in some.models] == ["sgd-seed1"]
    assert some.models[0].baseline in some.loaders
    with pytest.raises(InputError, match=r"--seeds names 9, for which .* has no net; there are 1"):
        plan_folder(ResultsFolder(study), Chosen(), seeds=[9])


def test_the_stored_weights_of_a_run_are_a_weights_file(study):
    config = ResultsFolder(study).config()
    file = study / "runs" / "sgd-seed1" / "model.safetensors"
    assert weights_outputs(file, config.backbone.name, config.backbone.options) == build_stream(config).n_outputs


def test_validate_has_a_line_for_every_phase(monkeypatch, capsys, study):
    monkeypatch.setattr("sys.argv", ["einstellung", "validate", str(study / "config.yaml")])
    with pytest.raises(SystemExit):
        main()
    lines = [line for line in capsys.readouterr().out.splitlines() if ", images alone: " in line]
    assert [line[6:8] for line in lines] == ["T1", "T2"]
