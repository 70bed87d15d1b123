"""The probe finds planted cues, and raises an alarm on clean sets as rarely as it says."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.scenes import cue_probe
from einstellung.scenes.cue_probe import LEVEL, LabelledFeatures, position_features, probe_cues, visibility_features
from einstellung.scenes.rendering import least_visible
from tests.scenes.rendering.some_scenes import drawn


def labelled(each: int, seed: int, shift: float = 0.0) -> LabelledFeatures:
    """Four objects anywhere on the ground; those of positives lie ``shift`` further along x."""
    labels = np.repeat([1, 0], each)
    position = np.random.default_rng(seed).uniform(-3, 3, (2 * each, 4, 2))
    position[..., 0] += shift * labels[:, None]
    return LabelledFeatures({"positions": position_features(position), "counts": np.full((2 * each, 1), 4.0)}, labels)


def test_a_planted_positional_cue_is_found_in_its_task():
    probes = probe_cues({0: labelled(400, 1), 1: labelled(400, 2, shift=0.5)})
    assert [(one.task, one.cue) for one in probes if one.found] == [(1, "positions")]
    [planted] = [one for one in probes if one.found]
    assert planted.auc > planted.null_auc > 0.5
    assert planted.accuracy > 0.55
    assert planted.p_value == pytest.approx(1 / 500)


def test_the_false_alarm_rate_of_clean_sets():
    """Of 300 clean sets, as many alarms as :data:`LEVEL` lets expect: 3, and more than 9 in one of 1,000 cases."""
    alarms = sum(
        any(one.found for one in probe_cues({0: labelled(60, seed), 1: labelled(60, -seed % 9973)}))
        for seed in range(300)
    )
    assert alarms <= 9
    assert LEVEL == 0.01


def test_a_cue_without_variation_tells_nothing():
    [_, counts] = probe_cues({0: labelled(100, 3)})
    assert (counts.accuracy, counts.auc, counts.found) == (0.5, 0.5, False)


def test_what_the_rules_explain_is_held_against_fresh_scenes():
    planted, fresh = labelled(400, 4, shift=0.5), labelled(400, 5, shift=0.5)
    more = labelled(400, 6, shift=1.5)
    for scenes, found in ((planted, False), (more, True)):
        probe = probe_cues({0: scenes}, explained=("positions",), reference={0: fresh})[0]
        assert probe.expected_auc is not None
        assert probe.auc > probe.null_auc
        assert probe.found is found


def test_too_few_scenes_are_not_probed():
    assert probe_cues({0: labelled(9, 7)}) == ()


def test_the_order_of_objects_does_not_matter():
    scenes = drawn(20, seed=8)
    order = np.array([2, 0, 3, 1])
    other = type(scenes)(
        scenes.attributes[:, order], scenes.position[:, order], scenes.rotation[:, order], scenes.camera, scenes.lamps
    )
    np.testing.assert_allclose(position_features(scenes.position), position_features(other.position))
    for cue, values in visibility_features(scenes).items():
        np.testing.assert_array_equal(values, visibility_features(other)[cue])


def test_counts_and_areas_are_those_of_the_masks():
    features = visibility_features(drawn(20, seed=9))
    assert (features["counts"] == 4).all()  # every object is visible
    assert (features["areas"] >= least_visible(64)).all()
    assert (np.diff(features["areas"], axis=1) >= 0).all()


def test_auc_and_its_variance_against_their_definitions():
    generator = np.random.default_rng(10)
    positives, negatives = generator.integers(0, 9, 40) + 1.0, generator.integers(0, 9, 40) + 0.0
    wins = (positives[:, None] > negatives) + 0.5 * (positives[:, None] == negatives)
    scores, columns = np.concatenate([positives, negatives])[:, None], np.repeat([1.0, -1.0], 40)[:, None]
    assert cue_probe._aucs(scores, columns)[0] == pytest.approx(wins.mean())
    variance = wins.mean(axis=1).var(ddof=1) / 40 + wins.mean(axis=0).var(ddof=1) / 40
    assert cue_probe._delong_variance(positives, negatives) == pytest.approx(variance)
