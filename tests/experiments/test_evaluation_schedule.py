"""Which splits are measured when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.evaluation_schedule import splits_due
from einstellung.results.config import EvaluationConfig, build_config

from .conftest import SMALL

NEEDED = {"T2_shortcut_normal", "T2_shortcut_masked", "T2_nonshortcut_normal", "T2_val"}


@pytest.fixture(scope="module")
def stream():
    return build_stream(resolve(build_config(SMALL)))


def due(stream, phase, epoch, last=False, **settings):
    return set(splits_due(stream, stream.phase(phase), EvaluationConfig(**settings), epoch, last))


def test_everything_by_default(stream):
    every = {split.name for split in stream.splits}
    assert due(stream, "T2", 1) == due(stream, "T2", 0) == due(stream, "T1", 1) == every


def test_what_the_index_needs_is_always_due(stream):
    assert due(stream, "T2", 3, t1_all_every=5, extra_every=5) == NEEDED
    assert due(stream, "T2", 0.5, t1_all_every=1, extra_every=1) == NEEDED


def test_the_large_and_the_extra_ones_at_their_own_pace(stream):
    assert due(stream, "T2", 4, t1_all_every=4, extra_every=3) == {*NEEDED, "T1_all"}
    extras = due(stream, "T2", 3, t1_all_every=4, extra_every=3) - NEEDED
    assert "T2_shortcut_clean" in extras
    assert "T1_all" not in extras


def test_the_last_moment_measures_all(stream):
    every = {split.name for split in stream.splits}
    assert due(stream, "T2", 3, last=True, t1_all_every=5, extra_every=5) == every


def test_the_first_phase_alone_with_itself(stream):
    assert due(stream, "T1", 1, first_phase="own", t1_all_every=7) == {"T1_all"}


def test_the_first_phase_with_all_splits_at_every_epoch(stream):
    every = {split.name for split in stream.splits}
    assert due(stream, "T1", 1, first_phase="all", t1_all_every=7, extra_every=5) == every


def test_subsets_at_the_end_leave_only_validation_on_the_way(stream):
    every = {split.name for split in stream.splits}
    assert due(stream, "T1", 1, subsets="end") == set()
    assert due(stream, "T2", 1, subsets="end") == {"T2_val"}
    assert due(stream, "T2", 3, last=True, subsets="end") == every
    assert due(stream, "T1", 1, last=True, subsets="end") == every


def test_a_single_phase_is_the_last_one_too(stream):
    """What holds for a first phase is for those that others follow: extra splits keep their own pace."""
    alone = replace(stream, phases=stream.phases[1:], splits=tuple(s for s in stream.splits if s.phase == "T2"))
    assert due(alone, "T2", 3, extra_every=5) == NEEDED
    assert due(alone, "T2", 3, extra_every=5, first_phase="end") == NEEDED
    assert due(alone, "T2", 5, extra_every=5) == {split.name for split in alone.splits}


def test_what_chooses_the_epoch_is_always_due(stream):
    chosen = replace(stream, selected_by=("T2_shortcut_clean",))
    assert due(chosen, "T2", 3, t1_all_every=5, extra_every=5) == {*NEEDED, "T2_shortcut_clean"}
    assert due(chosen, "T2", 3, subsets="end") == {"T2_val", "T2_shortcut_clean"}
