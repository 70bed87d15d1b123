"""A ConCon stream: its splits and proof, and what is refused."""

from __future__ import annotations

import json
import shutil

import pytest
import torch

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.plan import plan
from einstellung.experiments.study import prepare_study
from einstellung.perception.inference import perception_bytes
from einstellung.perception.slot_attention import SlotOptions, SlotPerception
from einstellung.randomness import seeded_globally
from einstellung.results.config import build_config, merged
from einstellung.scenes.attributes import ATTRIBUTES
from einstellung.scenes.dataset_writer import write_dataset
from einstellung.scenes.folders import rules_of
from einstellung.scenes.manifest import DatasetSpec
from einstellung.scenes.rules import PAPER_RULES, RuleBook
from einstellung.scenes.work_chunks import RenderSettings
from einstellung.streams import Presentation, prove
from einstellung.streams.concon import concon
from einstellung.streams.stream import ImageSet
from tests.streams.concon.conftest import FEW


def test_every_task_has_its_splits_and_their_sizes(tables):
    sizes = {split.name: len(split.images) for split in tables.splits}
    for name in ("T1", "T2", "T3"):
        assert sizes[f"{name}_train"] == 40
        assert sizes[f"{name}_val"] == 10
        assert sizes[f"{name}_positive"] == sizes[f"{name}_negative"] == 20
        for word in ("positive", "negative"):
            assert sizes[f"{name}_{word}_paired"] == sizes[f"{name}_{word}_twin"] <= 20
    assert sizes["unconfounded_positive"] == sizes["unconfounded_negative"] == 20
    assert [len(phase.train) for phase in tables.phases] == [80, 80, 80]
    always = {split.name for split in tables.splits if split.always}
    assert always == {f"T{t}_{what}" for t in (1, 2, 3) for what in ("val", "positive", "negative")}


def test_a_net_gets_zeros_and_ones_of_a_table(tables):
    shown = Presentation(tables).unaugmented(tables.phases[0].train)
    assert torch.equal(shown, tables.phases[0].train.images.float())


def test_the_proof_holds_for_every_variant():
    for variant in ("strict", "disjoint", "unconfounded"):
        proof = prove(concon(variant=variant, input_modality="attributes", **FEW))
        assert proof.holds, [check for check in proof.checks if not check.passed]
        assert proof.facts["protocol"] == "confounded tasks"
        assert proof.facts["ground_truth"] == "sphere and small cube"
        assert proof.facts["confounders"] == ([] if variant == "unconfounded" else ["blue", "metal", "large"])


def test_the_unconfounded_variant_is_one_phase_measured_on_the_unconfounded_test():
    stream = concon(variant="unconfounded", input_modality="attributes", **FEW)
    assert [phase.name for phase in stream.phases] == ["T1"]
    assert torch.equal(stream.split("T1_positive").images.images, stream.split("unconfounded_positive").images.images)


def test_more_tasks_than_an_image_can_remember_are_refused(tmp_path):
    rules = PAPER_RULES.to_dict()
    (tmp_path / "many.json").write_text(json.dumps(rules | {"confounders": rules["confounders"] * 21}))
    with pytest.raises(InputError, match=r"^the rules have 63 tasks; a study has at most 62$"):
        concon(input_modality="attributes", rules=str(tmp_path / "many.json"), **FEW)


def test_a_folder_in_the_published_layout_gives_the_stream_that_is_drawn_here(pictures):
    _, drawn, read = pictures
    for one, other in zip(drawn.phases, read.phases, strict=True):
        assert same(one.train, other.train)
    assert [split.name for split in drawn.splits] == [split.name for split in read.splits]
    for one, other in zip(drawn.splits, read.splits, strict=True):
        assert same(one.images, other.images), one.name
    assert drawn.facts["content"] == read.facts["content"]
    assert prove(read).holds
    assert drawn.samples["T1_positive"].shape == (4, 3, 32, 32)


def same(one: ImageSet, other: ImageSet) -> bool:
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in ("images", "labels", "features"))


def test_a_run_is_known_by_what_its_pictures_show_not_by_where_they_lie(pictures, tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    folder, *_ = pictures
    moved = tmp_path / "elsewhere"
    moved.symlink_to(folder)
    keys = []
    for path in (folder, moved):
        values = {
            "stream": {"name": "concon", "path": str(path), "size": 32, "train": 3, "val": 2, "test": 4},
            "training": {"epochs": [1, 1, 1]},
            "methods": ["naive"],
        }
        config = resolve(build_config(values))
        keys.append([job.key for job in plan(config, build_stream(config))])
    assert keys[0] == keys[1]


def test_pictures_without_a_record_have_no_twins_and_the_proof_says_what_it_did_not_check(
    pictures, tmp_path, monkeypatch
):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    folder, *_ = pictures
    bare = tmp_path / "bare"
    shutil.copytree(folder, bare, ignore=shutil.ignore_patterns("scenes.jsonl", "made.json", "masks"))
    few = {"path": str(bare), "size": 32, "train": 3, "val": 2, "test": 4}
    stream = concon(**few)
    assert not any(split.name.endswith("_twin") for split in stream.splits)
    assert stream.phases[0].train.features is None
    proof = prove(stream)
    assert proof.holds
    assert sum(check.passed is None for check in proof.checks) == 4
    assert all(("not checked" in check.detail) == (check.passed is None) for check in proof.checks)
    with pytest.raises(InputError, match=r"has no scenes\.jsonl"):
        concon(**few, input_modality="attributes")


def test_records_without_camera_and_lamps_give_attributes_and_no_twins(pictures, tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    folder, _, whole = pictures
    known = tmp_path / "known"
    shutil.copytree(folder, known, ignore=shutil.ignore_patterns("made.json", "masks"))
    for file in known.rglob("scenes.jsonl"):
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        kept = [{key: line[key] for key in ("image", "task", "label", "objects")} for line in lines]
        for line in kept:
            line["objects"] = [{key: one[key] for key in (*ATTRIBUTES, "position")} for one in line["objects"]]
        file.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
    stream = concon(path=str(known), size=32, train=3, val=2, test=4)
    assert torch.equal(stream.phases[0].train.features, whole.phases[0].train.features)  # what bgs must know
    assert not any(split.name.endswith("_twin") for split in stream.splits)
    proof = prove(stream)
    assert proof.holds
    assert any("T1_positive none of 4" in check.detail for check in proof.checks)


def test_facts_report_perception_accuracy_for_slots(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    options = SlotOptions(slots=5, channels=8, hidden=8)
    with seeded_globally(0, "test"):
        net = SlotPerception(options)
    (tmp_path / "eyes.safetensors").write_bytes(perception_bytes(net, options, 16, "key"))
    few = {"size": 16, "train": 20, "val": 2, "test": 10}
    stream = concon(input_modality="slots", perception=str(tmp_path / "eyes.safetensors"), **few)
    assert stream.phases[0].train.images.shape[1:] == (1, 5, 16)
    assert prove(stream).holds
    read = stream.facts["perceived"]
    assert read["whole_scenes"] == 0.0  # untrained eyes
    assert read["ground_truth"] <= 0.8
    assert "perceived" not in concon(input_modality="attributes", **FEW).facts


def test_the_rules_are_those_that_the_folder_was_made_with(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    book = RuleBook(PAPER_RULES.ground_truth, PAPER_RULES.confounders[:2])
    folder, counts = tmp_path / "made", {"train": 2, "val": 1, "test": 2}
    spec = DatasetSpec(RenderSettings(book, 32, 7, "numba"), ("strict", "unconfounded"), counts)
    write_dataset(spec, folder, 1, lambda done, total: None)
    read = {"path": str(folder), "size": 32, **counts}
    assert [phase.name for phase in concon(**read).phases] == ["T1", "T2"]
    assert len(rules_of(folder / "case_strict_main").confounders) == 2
    named = tmp_path / "there" / "strict"  # a folder of cases that has the name of one
    named.mkdir(parents=True)
    (named / "made.json").write_bytes((folder / "made.json").read_bytes())
    assert len(rules_of(named).confounders) == 2
    (tmp_path / "one.yaml").write_text("ground_truth: [{shape: sphere}]\nconfounders: [[{color: blue}]]\n")
    one = str(tmp_path / "one.yaml")
    with pytest.raises(InputError, match=r"stream\.rules .*one\.yaml are not those .*made was made with: leave"):
        concon(**read, rules=one)
    (folder / "made.json").unlink()
    with pytest.raises(
        InputError, match="the train images of 'strict' have 2 tasks, but the rules have 1 task: check stream"
    ):
        concon(**read, rules=one)
    with pytest.raises(
        InputError, match="the train images of 'strict' have 2 tasks, but the rules have 3 tasks: check stream"
    ):
        concon(**read)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"input_modality": "slots"}, "must be given if and only if stream.input_modality is 'slots'"),
        ({"perception": "eyes.safetensors"}, "if and only if stream.input_modality is 'slots'"),
        ({"train": 0}, "stream.train is 0"),
        ({"size": 4}, "stream.size is 4"),
        ({"rules": "absent.yaml"}, "absent.yaml"),
        ({"path": "absent"}, "absent"),
        (
            {"input_modality": "attributes", "rules": "left.yaml"},
            "a table without positions, but the rules constrain places",
        ),
    ],
)
def test_what_is_given_wrongly_is_named(options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "left.yaml").write_text(
        "ground_truth: [{shape: sphere}]\nconfounders: [[{color: blue, side: left}], [{material: metal}]]\n"
    )
    with pytest.raises(InputError, match=words):
        concon(**options)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"score": {"final": "best-val"}}, "score.final is not a setting of the diagnosis 'confounding'"),
        ({"score": {"tau": 0.4}}, "tau is 0.4: a number above chance"),
        ({"diagnosis": "rigidity"}, "diagnosis names 'rigidity', but the stream 'concon' has no splits of"),
        ({"companions": {"guide": {}}}, "companions names 'guide', but the stream 'concon' has no splits of"),
        ({"learners": {"fromp": {"buffer": 1}}}, "learners.fromp.buffer is 1: give at least one for each of 2 phases"),
    ],
)
def test_what_no_study_of_these_tasks_can_do_is_refused_before_training(change, words):
    values = {
        "stream": {"name": "concon", "input_modality": "attributes", **FEW},
        "backbone": {"name": "set_transformer"},
        "training": {"epochs": [1, 1, 1]},
        "methods": ["naive", "fromp"],
    }
    assert prepare_study(build_config(values)).proof.holds
    with pytest.raises(InputError, match=words):
        prepare_study(build_config(merged(values, change)))
