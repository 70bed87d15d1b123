"""The audit of record files and folders, and its command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from einstellung.cli.concon_logic import audit as audit_command
from einstellung.errors import InputError
from einstellung.scenes import audit_files as files
from einstellung.scenes.attributes import describe_object
from einstellung.scenes.audit import AuditedScenes, draw_scenes
from einstellung.scenes.layout import place_scenes
from einstellung.scenes.records import scene_record
from einstellung.scenes.rules import PAPER_RULES, ObjectPattern
from einstellung.scenes.scene import Scenes
from tests.scenes.audited_scenes import drawn, with_twin_fillers


def write_records(path, scenes: AuditedScenes, **extra) -> None:
    lines = []
    for number, (codes, task, label) in enumerate(zip(scenes.attributes, scenes.tasks, scenes.labels, strict=True)):
        objects = [describe_object(one) | extra for one in codes]
        name = f"t{task}/{label}/{number:06d}.png"
        lines.append(json.dumps({"image": name, "task": int(task), "label": int(label), "objects": objects}))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def test_the_command(tmp_path):
    clean, planted = tmp_path / "case_strict_main" / "val", tmp_path / "case_strict_main" / "train"
    write_records(clean / "scenes.jsonl", drawn("strict", 60, 1))
    write_records(planted / "scenes.jsonl", with_twin_fillers(drawn("strict", 60, 1)))
    done = CliRunner().invoke(audit_command, [str(tmp_path), "--json"], catch_exceptions=False)
    report = json.loads(done.stdout)
    assert done.exit_code == 0
    assert report["passed"] is False
    assert [one["passed"] for one in report["sets"]] == [False, True]
    assert report["sets"][0]["unintended"][0]["predicate"] == "2 identical objects"
    assert report["sets"][0]["variant"] == "strict"
    spoken = CliRunner().invoke(audit_command, [str(tmp_path)], catch_exceptions=False)
    assert spoken.exit_code == 0
    assert "no unintended rule found among" in spoken.stdout
    assert "unintended rules" in spoken.stdout
    assert "2 identical objects" in spoken.stdout


def test_a_file_right_below_the_root_has_no_folder_that_it_was_made_in(monkeypatch):
    scenes = drawn("strict", 40, 1)
    monkeypatch.setattr(files, "_files", lambda path: [path])
    monkeypatch.setattr(files, "read_audited", lambda path: scenes)
    (found,) = files.audit_files(None, Path("/scenes.jsonl"))
    assert found.audit.variant == "strict"


def test_scenes_of_tasks_that_the_rules_do_not_have_are_not_called_clean(tmp_path):
    scenes = drawn("strict", 40, 1)
    write_records(tmp_path / "strict" / "val" / "scenes.jsonl", replace(scenes, tasks=scenes.tasks + 3))
    done = CliRunner().invoke(audit_command, [str(tmp_path)], catch_exceptions=False)
    assert "40 positives of t3 break the rule of their class" in done.stdout
    assert "nothing was compared: the rules have none of these tasks" in done.stdout
    assert "no unintended rule found" not in done.stdout


def test_a_folder_is_held_against_the_rules_that_it_was_made_with(tmp_path):
    book = replace(PAPER_RULES, ground_truth=(ObjectPattern(shape="cylinder"),))
    write_records(
        tmp_path / "strict" / "val" / "scenes.jsonl", draw_scenes(book, "strict", [0, 1, 2], count=40, seed=1)
    )
    command = [str(tmp_path), "--json"]
    for passed in (False, True):
        done = CliRunner().invoke(audit_command, command, catch_exceptions=False)
        assert json.loads(done.stdout)["passed"] is passed
        (tmp_path / "made.json").write_text(json.dumps({"settings": {"rules": book.to_dict()}, "cases": {}}))


def write_layouts(path, scenes: AuditedScenes, placed: Scenes) -> None:
    lines = [
        scene_record(f"t{task}/{label}/{row}.png", int(task), int(label), placed, None, row)
        for row, (task, label) in enumerate(zip(scenes.tasks, scenes.labels, strict=True))
    ]
    path.write_text("\n".join(lines) + "\n")


def placed_scenes(count: int) -> tuple[AuditedScenes, Scenes]:
    scenes = drawn("strict", count, 9)
    generators = [np.random.default_rng([9, number]) for number in range(len(scenes))]
    return scenes, place_scenes(scenes.attributes, None, generators)


def test_layouts_are_audited_too(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_REFERENCE_SCENES", 40)
    scenes, placed = placed_scenes(30)
    for shift, passed in ((0.0, True), (4.0, False)):
        moved = replace(placed, position=placed.position + shift * scenes.labels[:, None, None])
        write_layouts(tmp_path / "scenes.jsonl", scenes, moved)
        [found] = files.audit_files(PAPER_RULES, tmp_path / "scenes.jsonl")
        assert found.audit.passed is passed
        assert found.audit.not_compared == ()
        assert found.audit.variant == "strict"
    assert {one.words.split()[0] for one in found.audit.unintended} == {"mean"}


def test_a_positional_cue_that_no_predicate_shows_is_found(tmp_path, monkeypatch):
    """Positives of one task a little nearer: too little for a decile of any statistic, not for the probe."""
    monkeypatch.setattr(files, "_REFERENCE_SCENES", 40)
    scenes, placed = placed_scenes(200)
    nearer = 0.8 * ((scenes.labels == 1) & (scenes.tasks == 1))
    moved = replace(placed, position=placed.position + nearer[:, None, None] * np.array([0.6, -0.6]))
    write_layouts(tmp_path / "scenes.jsonl", scenes, moved)
    found = json.loads(CliRunner().invoke(audit_command, [str(tmp_path), "--json"], catch_exceptions=False).stdout)
    [audited] = found["sets"]
    assert found["passed"] is audited["passed"] is False
    assert audited["unintended"] == []
    cues = {(one["task"], one["cue"]): one for one in audited["probes"]}
    assert set(cues) == {(task, cue) for task in (0, 1, 2) for cue in ("positions", "counts", "areas")}
    assert cues[1, "positions"]["found"]
    assert cues[1, "positions"]["auc"] > cues[1, "positions"]["null_auc"]
    assert cues[2, "areas"]["expected_auc"] > 0.9  # 'large' is the confounder: the rules explain it
    assert not cues[2, "areas"]["found"]
    spoken = CliRunner().invoke(audit_command, [str(tmp_path)], catch_exceptions=False)
    assert "positions alone predict the label of t1" in spoken.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ('{"image": "a", "task": 0, "label": 2, "objects": [OBJECT]}', "label 2 is neither 1"),
        ('{"image": "a", "task": "0", "label": 1, "objects": [OBJECT]}', "the record of a has task '0'"),
        ('{"image": "a", "task": 0, "label": 1, "objects": [POSITIONED]}', "a position is not a list of numbers"),
        ('{"image": "a", "task": 0, "label": 1, "objects": [SHORT]}', "a: a position is not a list of numbers"),
        ("nonsense", "line 1"),
    ],
)
def test_files_that_cannot_be_audited(tmp_path, text, message):
    item = {"shape": "cube", "size": "small", "material": "metal", "color": "red"}
    text = text.replace("OBJECT", json.dumps(item)).replace(
        "POSITIONED", json.dumps(item | {"position": ["x", "y", 0]})
    )
    text = text.replace("SHORT", json.dumps(item | {"position": [1.0]}))
    (tmp_path / "scenes.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        files.audit_files(PAPER_RULES, tmp_path)


def test_nothing_to_audit(tmp_path):
    with pytest.raises(InputError, match="nothing to audit"):
        files.audit_files(PAPER_RULES, tmp_path)
    with pytest.raises(InputError, match="no such file or folder"):
        files.audit_files(PAPER_RULES, tmp_path / "none")
