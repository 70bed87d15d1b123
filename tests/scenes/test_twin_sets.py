"""Twins as pictures: the same scene before the same camera, with the confounder changed and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.scenes import twin_sets
from einstellung.scenes.layout import layouts_valid
from einstellung.scenes.rules import PAPER_RULES
from einstellung.scenes.store import attribute_set, scene_set
from einstellung.scenes.twin_sets import twin_set

DRAWN = {"size": 32, "backend": "numba"}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EINSTELLUNG_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def originals(cache):
    return [scene_set(PAPER_RULES, "strict", "test", task, count=20, seed=2, **DRAWN) for task in range(3)]


@pytest.mark.parametrize("insert", [False, True])
@pytest.mark.parametrize("task", [0, 1])
def test_colour_and_material_leave_every_outline_as_it_was(task, insert, originals):
    found = twin_set(originals[task], PAPER_RULES, task, insert=insert, **DRAWN)
    assert found.rows.tolist() == (list(range(20, 40)) if insert else list(range(20)))  # all of one class
    before = originals[task].take(found.rows)
    assert found.twins.names == before.names
    assert np.array_equal(found.twins.labels, before.labels)
    assert np.array_equal(found.twins.masks, before.masks)
    assert np.array_equal(found.twins.scenes.position, before.scenes.position)
    assert np.array_equal(found.twins.scenes.lamps, before.scenes.lamps)
    for row in range(20):
        changed = (found.twins.attributes[row] != before.attributes[row]).any(axis=1)
        differs = (found.twins.images[row] != before.images[row]).any(axis=-1)
        on_it = np.isin(before.masks[row], np.flatnonzero(changed) + 1)
        assert differs[on_it].mean() > 0.5  # the object itself looks different
        if task == 0 and not (before.attributes[row][:, 2] == 1).any():  # no metal mirrors the new colour
            assert not differs[~_near(on_it)].any()


def _near(marked):
    """The pixels, and those that touch one of them: the borders are shared."""
    padded = np.pad(marked, 1)
    return sum(padded[1 + dy : 33 + dy, 1 + dx : 33 + dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1)) > 0


@pytest.mark.parametrize("insert", [False, True])
def test_a_new_size_stands_where_the_old_did_and_hides_nobody(insert, originals):
    found = twin_set(originals[2], PAPER_RULES, 2, insert=insert, **DRAWN)
    before = originals[2].take(found.rows)
    assert len(found.rows) >= 5  # small ones far away would be too small to see
    assert found.counts["no_room"] == 20 - len(found.rows)
    assert layouts_valid(found.twins.scenes).all()
    assert np.array_equal(found.twins.scenes.position, before.scenes.position)
    assert np.array_equal(PAPER_RULES.truths(found.twins.attributes)[:, 0], PAPER_RULES.truths(before.attributes)[:, 0])
    assert (PAPER_RULES.truths(found.twins.attributes)[:, 3] == insert).all()
    larger = (found.twins.masks > 0).sum(axis=(1, 2)) > (before.masks > 0).sum(axis=(1, 2))
    assert (larger == insert).all()


def test_without_pictures_the_twins_are_those_of_the_same_scenes(originals, cache):
    bare = attribute_set(PAPER_RULES, "strict", "test", 0, count=20, seed=2)
    found = twin_set(bare, PAPER_RULES, 0, insert=False, **DRAWN)
    rendered = twin_set(originals[0], PAPER_RULES, 0, insert=False, **DRAWN)
    assert found.twins.images is None
    assert np.array_equal(found.twins.attributes, rendered.twins.attributes)
    assert np.array_equal(found.rows, rendered.rows)


def test_twins_are_rendered_once(originals, monkeypatch):
    first = twin_set(originals[1], PAPER_RULES, 1, insert=True, **DRAWN)
    monkeypatch.setattr(twin_sets, "render", None)
    second = twin_set(originals[1], PAPER_RULES, 1, insert=True, **DRAWN)
    assert np.array_equal(first.twins.images, second.twins.images)
    assert first.counts == second.counts
    with pytest.raises(TypeError):
        twin_set(originals[1].take(np.arange(39)), PAPER_RULES, 1, insert=True, **DRAWN)


def test_images_that_nothing_is_known_of_have_no_twins(originals):
    unknown = replace(originals[0], attributes=None, scenes=None)
    with pytest.raises(InputError, match=r"no scenes\.jsonl"):
        twin_set(unknown, PAPER_RULES, 0, insert=False, **DRAWN)
    with pytest.raises(InputError, match="has none"):
        twin_set(replace(originals[0], scenes=None), PAPER_RULES, 0, insert=False, **DRAWN)


def test_twins_by_another_renderer_are_refused(originals):
    """They would differ from their originals in everything, and that would be taken for the confounder's work."""
    brighter = replace(originals[0], images=np.clip(originals[0].images.astype(np.int64) + 3, 0, 255).astype(np.uint8))
    with pytest.raises(InputError, match="twins rendered by numba would not match these images"):
        twin_set(brighter, PAPER_RULES, 0, insert=False, **DRAWN)
    with pytest.raises(InputError, match="give the backend and size"):
        twin_set(originals[0], PAPER_RULES, 0, insert=False, size=16, backend="numba")
