"""The audit finds what is planted, and nothing where nothing is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import hypergeom

from einstellung.cli.concon_logic import audit as audit_command
from einstellung.errors import InputError
from einstellung.scenes import audit_files as files
from einstellung.scenes.attributes import ATTRIBUTES, KINDS, in_words
from einstellung.scenes.audit import AuditedScenes, audit, best_variant, draw_scenes
from einstellung.scenes.exact_test import chance_of_difference
from einstellung.scenes.layout import place_scenes
from einstellung.scenes.predicates import VARIANTS, n_tasks
from einstellung.scenes.records import record
from einstellung.scenes.rules import PAPER_RULES, Pattern
from tests.scenes.naive import PLACED_PAIRS

BLUE = ATTRIBUTES["color"].index("blue")


def drawn(variant: str, count: int, seed: int, book=PAPER_RULES) -> AuditedScenes:
    return draw_scenes(book, variant, range(n_tasks(book, variant)), count, seed)


def with_twin_fillers(scenes: AuditedScenes, seed: int = 0) -> AuditedScenes:
    """Positives of task 0 as a generator makes them that fills a scene with one object twice."""
    generator = np.random.default_rng(seed)
    attributes = scenes.attributes.copy()
    for row in scenes.rows(0, 1):
        sphere, cube, filler = (KINDS[generator.integers(96)].copy() for _ in range(3))
        sphere[0], cube[:2], filler[3] = 1, 0, BLUE
        attributes[row] = generator.permutation(np.stack([sphere, cube, filler, filler]))
    return replace(scenes, attributes=attributes)


@pytest.mark.parametrize("count", [60, 750])
def test_two_identical_objects_are_found(count):
    found = audit(PAPER_RULES, with_twin_fillers(drawn("strict", count, seed=3)), "strict")
    assert not found.passed
    assert not found.broken  # every scene obeys its rule, and still there is a second one
    first = found.unintended[0]
    assert (first.task, first.words) == (0, "2 identical objects")
    assert first.found[0] == 1
    assert first.accuracy > 0.9
    assert first.expected_accuracy < 0.55
    assert first.chance is not None
    assert first.chance < 1e-6
    assert {one.task for one in found.unintended} == {0}


@pytest.mark.parametrize("variant", VARIANTS)
def test_our_own_sets_hide_nothing(variant):
    for seed in range(10):
        found = audit(PAPER_RULES, drawn(variant, count=40 if seed % 2 else 400, seed=seed))
        assert found.variant == variant
        assert found.passed, found.unintended[:3]
        assert found.predicates > 400


def test_what_the_rules_intend_is_expected():
    found = audit(PAPER_RULES, drawn("strict", 200, 1))
    perfect = {(one.task, one.words) for one in found.strongest if one.accuracy == one.expected_accuracy == 1}
    assert perfect >= {(0, "some blue"), (1, "some metal"), (2, "some large")}


def test_a_weak_rule_is_found_when_there_are_many_scenes():
    """A tenth of the positives made of rubber alone: little, and no chance."""
    scenes = drawn("unconfounded", 3000, 2)
    attributes = scenes.attributes.copy()
    rows = scenes.rows(0, 1)[:300]
    attributes[rows, :, 2] = 0
    found = audit(PAPER_RULES, replace(scenes, attributes=attributes))
    assert any(one.words in ("some metal", "all rubber") for one in found.unintended)
    assert max(one.excess for one in found.unintended) < 0.1


def test_rules_that_are_broken_are_counted():
    scenes = drawn("strict", 50, 4)
    labels = scenes.labels.copy()
    labels[scenes.rows(1, 1)[:5]] = 0
    found = audit(PAPER_RULES, replace(scenes, labels=labels), "strict")
    assert found.broken == {(1, 0): 5}
    assert not found.passed


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_variant_is_seen_from_the_scenes(variant):
    assert best_variant(PAPER_RULES, drawn(variant, 30, 5)) == variant


def numbered(scenes: AuditedScenes, seed: int, shift: float = 0.0) -> AuditedScenes:
    values = np.random.default_rng(seed).normal(size=len(scenes)) + shift * scenes.labels
    return replace(scenes, numbers={"brightness": values})


def test_numbers_of_an_image():
    scenes, fresh = drawn("strict", 300, 6), numbered(drawn("strict", 300, 7), 1)
    assert audit(PAPER_RULES, numbered(scenes, 2), "strict", fresh).passed
    found = audit(PAPER_RULES, numbered(scenes, 2, shift=1.5), "strict", fresh)
    assert found.unintended
    assert all(one.words.startswith("brightness above") for one in found.unintended)
    assert {one.task for one in found.unintended} == {0, 1, 2}
    alone = audit(PAPER_RULES, numbered(scenes, 2, shift=1.5), "strict")
    assert alone.passed
    assert alone.not_compared == ("brightness",)


def test_rules_about_places():
    scenes = drawn("strict", 200, 8, PLACED_PAIRS)
    assert audit(PLACED_PAIRS, scenes, "strict").passed
    assert scenes.places is not None
    places = np.where(scenes.labels[:, None] == 0, scenes.places, scenes.places & 1).astype(np.uint8)
    found = audit(PLACED_PAIRS, replace(scenes, places=places), "strict")
    assert any("back" in one.words or "front" in one.words for one in found.unintended)


def test_scenes_that_cannot_be_audited():
    scenes = drawn("strict", 10, 1)
    with pytest.raises(InputError, match="the scenes have 3 objects and the rules speak of 4"):
        audit(PAPER_RULES, replace(scenes, attributes=scenes.attributes[:, :3]))
    only = scenes.labels == 1
    with pytest.raises(InputError, match="task 0 has no scene with label 0"):
        audit(PAPER_RULES, AuditedScenes(scenes.attributes[only], scenes.labels[only], scenes.tasks[only]))


@pytest.mark.parametrize(
    "table", [(10, 5, 10, 0), (750, 3, 20_000, 10), (40, 40, 300, 290), (5, 0, 7, 0), (3000, 1800, 20_000, 12_500)]
)
def test_the_exact_test_against_another_implementation(table):
    total, hits, others, other_hits = table
    law = hypergeom(total + others, hits + other_hits, total)
    wanted = min(1, 2 * min(law.sf(hits - 1), law.cdf(hits)))
    assert chance_of_difference(*table) == pytest.approx(wanted, rel=1e-6)


def write_records(path, scenes: AuditedScenes, **extra) -> None:
    lines = []
    for number, (codes, task, label) in enumerate(zip(scenes.attributes, scenes.tasks, scenes.labels, strict=True)):
        objects = [in_words(one) | extra for one in codes]
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
    assert "40 positives of t3 do not obey the rule of their class" in done.stdout
    assert "nothing was compared: the rules have none of these tasks" in done.stdout
    assert "no unintended rule found" not in done.stdout


def test_a_folder_is_held_against_the_rules_that_it_was_made_with(tmp_path):
    book = replace(PAPER_RULES, ground_truth=(Pattern(shape="cylinder"),))
    write_records(
        tmp_path / "strict" / "val" / "scenes.jsonl", draw_scenes(book, "strict", [0, 1, 2], count=40, seed=1)
    )
    command = [str(tmp_path), "--json"]
    for passed in (False, True):
        done = CliRunner().invoke(audit_command, command, catch_exceptions=False)
        assert json.loads(done.stdout)["passed"] is passed
        (tmp_path / "made.json").write_text(json.dumps({"settings": {"rules": book.to_dict()}, "cases": {}}))


def test_layouts_are_audited_too(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_LAID_OUT", 40)
    scenes = drawn("strict", 30, 9)
    generators = [np.random.default_rng([9, number]) for number in range(len(scenes))]
    placed = place_scenes(scenes.attributes, None, generators)
    for shift, passed in ((0.0, True), (4.0, False)):
        moved = replace(placed, position=placed.position + shift * scenes.labels[:, None, None])
        lines = [
            record(f"t{task}/{label}/{row}.png", int(task), int(label), moved, None, row)
            for row, (task, label) in enumerate(zip(scenes.tasks, scenes.labels, strict=True))
        ]
        (tmp_path / "scenes.jsonl").write_text("\n".join(lines) + "\n")
        [found] = files.audit_files(PAPER_RULES, tmp_path / "scenes.jsonl")
        assert found.audit.passed is passed
        assert found.audit.not_compared == ()
        assert found.audit.variant == "strict"
    assert {one.words.split()[0] for one in found.audit.unintended} == {"mean"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no record"),
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
    with pytest.raises(InputError, match="there is nothing to audit"):
        files.audit_files(PAPER_RULES, tmp_path)
    with pytest.raises(InputError, match="there is no such file or folder"):
        files.audit_files(PAPER_RULES, tmp_path / "none")
