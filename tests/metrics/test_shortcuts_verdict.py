"""What a verdict on several shortcuts takes: both ways of measuring a gap, a margin, an interval; and who is among the judged."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.diagnoses.shortcuts.score import shortcut_score
from einstellung.diagnoses.shortcuts.settings import ShortcutSettings
from einstellung.diagnoses.shortcuts.verdict import agreed, judge_gap
from einstellung.errors import InputError
from einstellung.metrics.statistics import holm

from .several import PAPERLIKE, groups, rows_of, study, timeline_of, two_cues
from .test_shortcuts_phases import estimate

CUES = ("background", "co-object")
BOTH = {"cues": CUES, "correlations": (0.95, 0.95)}
HALF = {"cues": CUES, "correlations": (0.5, 0.95)}  # the background tells nothing, and half of all images lack it

#: Both lose .20 where the co-object is uncommon; only the second leans on the background, which moves its ID accuracy.
EVEN = two_cues(0.95, 0.75, 0.95, 0.75)
LEANING = two_cues(0.95, 0.75, 0.65, 0.45)


def test_a_gap_that_only_id_accuracy_moved_is_not_reduced():
    card = shortcut_score(study({"erm": {"T1": EVEN}, "sd": {"T1": LEANING}}), **HALF)
    end = card["methods"]["sd"]["phases"]["T1"]
    assert end["own"]["difference"]["co-object"]["mean"] == pytest.approx(0.94 - 0.79)  # ID of erm minus that of sd
    assert end["alone"]["difference"]["co-object"]["mean"] == pytest.approx(0)
    verdict = card["methods"]["sd"]["verdict"]
    assert verdict["gaps"]["co-object"] | {"p_holm": None} == {
        "name": "undecided",
        "from_ID": "reduced",
        "alone": "unchanged",
        "p_holm": None,
    }
    assert "undecided (reduced from ID, unchanged from where all cues are common)" in verdict["sentence"]
    assert verdict["gaps"]["background"]["name"] == "amplified"  # and no Whac-A-Mole, since nothing was hit
    assert verdict["name"] == "amplifies"


def test_a_gap_that_only_id_accuracy_moved_is_not_amplified_either():
    card = shortcut_score(study({"erm": {"T1": LEANING}, "sd": {"T1": EVEN}}), **HALF)
    verdict = card["methods"]["sd"]["verdict"]
    assert verdict["gaps"]["co-object"]["from_ID"] == "amplified"
    assert verdict["gaps"]["co-object"]["name"] == "undecided"
    assert verdict["name"] == "reduces some"


def test_both_ways_of_measuring_must_agree():
    assert agreed("cured", "cured") == "cured"
    assert agreed("reduced", "cured") == "reduced"
    assert agreed("amplified", "unchanged") == agreed("amplified", "reduced") == "undecided"


def test_who_has_no_gap_amplifies_none():
    inputs = [estimate(-0.05, 0.01), estimate(-0.01, 0.005), estimate(0.04, 0.01)]
    assert judge_gap(*inputs, 0.02) == "undecided"
    assert judge_gap(inputs[0], estimate(-0.03, 0.005), estimate(0.02, 0.01), 0.02) == "amplified"


def test_amplification_is_null_where_the_baseline_gains_by_the_uncommon():
    ends = {"erm": {"T1": two_cues(0.9, 0.95, 0.7, 0.4)}, "sd": {"T1": two_cues(0.9, 0.8, 0.7, 0.4)}}
    found = shortcut_score(study(ends), **BOTH)["methods"]["sd"]["phases"]["T1"]["own"]["amplification"]
    assert found["co-object"]["value"] is None
    assert found["co-object"]["interval"] == "none: the denominator is above 0"
    assert found["co-object"]["per_seed"]["mean"] is None
    assert found["background"]["value"] is not None


@pytest.mark.parametrize(("margin", "certain"), [(0.02, False), (0.005, True)])
def test_a_trade_below_the_margin_is_none(margin, certain):
    ends = {"erm": {"T1": two_cues(0.9, 0.8, 0.7, 0.4)}, "sd": {"T1": two_cues(0.9, 0.79, 0.71, 0.4)}}
    card = shortcut_score(study(ends), ShortcutSettings(margin=margin), **BOTH)
    (beside,) = card["methods"]["sd"]["trade"]["against_baseline"]
    assert beside["alone"]["background -> co-object"]["mean"] == pytest.approx(0.01)
    assert beside["alone"]["background -> co-object"]["ci95"][0] > 0
    assert beside["alone"]["background -> co-object"]["certain"] is certain


def carried(before: float, left: float, spread: float = 0.0, fresh: float | None = 0.0, **inputs) -> bool:
    """``fresh``: the gap that a net without a history has in the second phase; None: there is no such net."""

    def ends_with(gap: float) -> dict[str, dict[str, float]]:
        return {"T1": two_cues(0.95, 0.95, 0.95 + before, 0.9), "T2": two_cues(0.95, 0.7, 0.95 + gap, 0.6)}

    ends = {"erm": ends_with(left)} | ({} if fresh is None else {"scratch": ends_with(fresh)})
    correlations = {"T1": (0.95, 0.5), "T2": (0.5, 0.95)}
    card = shortcut_score(study(ends, spread=spread, **inputs), cues=CUES, correlations=correlations)
    (entry,) = card["methods"]["erm"]["carry_over"]
    if fresh is None:
        assert entry["common"]["minus_fresh"] is None
    else:
        assert [entry["certain"] for entry in card["methods"]["scratch"]["carry_over"]] == [False]  # it has no history
        assert entry["common"]["minus_fresh"]["mean"] == pytest.approx(left - fresh)
    return entry["certain"]


def test_what_is_carried_over_was_there_before_and_is_there_now_beyond_the_margin():
    assert carried(-0.3, -0.1, spread=0.01)
    assert not carried(-0.015, -0.1, spread=0.001)  # not there before: the second phase made it
    assert not carried(-0.03, -0.1, spread=0.01)  # before, its interval reaches the margin
    assert not carried(-0.3, -0.015, spread=0.001)  # what is left is within the margin
    assert not carried(-0.3, -0.1, seeds=(1,))
    assert carried(-0.3, -0.1, spread=0.01, fresh=None)
    assert carried(-0.3, -0.1, spread=0.01, fresh=-0.07)
    assert not carried(-0.3, -0.1, spread=0.01, fresh=-0.09)  # a net without a history has nearly as much


def test_holms_family_is_of_the_judged_alone():
    rng = np.random.default_rng(11)
    ends = {**PAPERLIKE, "scratch": PAPERLIKE["erm"], "jtt": {"T1": two_cues(0.5, 0.5, 0.5, 0.5)}}
    rows = []
    for method, phases in ends.items():
        for seed in (1, 2, 3):
            noisy = {pattern: float(np.clip(acc + rng.normal(0, 0.01), 0, 1)) for pattern, acc in phases["T1"].items()}
            rows += rows_of(method, seed, "T1", groups(noisy))
    card = shortcut_score(timeline_of(rows), **BOTH)
    assert card["methods"]["jtt"]["verdict"]["name"] == "not learned"
    keys = [(method, cue) for method in ("cutmix", "lle") for cue in CUES]
    plain = [card["methods"][method]["phases"]["T1"]["own"]["difference"][cue]["p"] for method, cue in keys]
    expected = dict(zip(keys, holm(plain), strict=True))
    for (method, cue), p in expected.items():
        assert card["methods"][method]["verdict"]["gaps"][cue]["p_holm"] == pytest.approx(p)


def two_phases(worst: dict[str, list[float]]) -> list[tuple]:
    """Of every phase, epochs 1, 2, ... whose worst validation group and whose 00 test groups are as given."""
    rows = []
    for phase, values in worst.items():
        for epoch, low in enumerate(values, start=1):
            validation = groups(two_cues(0.9, 0.9, 0.9, 0.9), "val") | {"val_1_00": low}
            rows += rows_of("erm", 1, phase, validation | groups(two_cues(0.9, 0.9, 0.9, low)), epochs=(epoch,))
    return rows


def test_of_several_phases_only_the_last_is_selected_and_only_if_asked():
    timeline = timeline_of(two_phases({"T1": [0.8, 0.3], "T2": [0.2, 0.7, 0.4]}))
    auto = shortcut_score(timeline, **BOTH)
    assert auto["final"] == "last"
    assert auto["methods"]["erm"]["phases"]["T2"]["chosen_epoch"] == {"1": 3.0}
    card = shortcut_score(timeline, ShortcutSettings(final="worst-group"), **BOTH)
    assert card["final_by_phase"] == {"T1": "last", "T2": "worst-group"}
    phases = card["methods"]["erm"]["phases"]
    assert phases["T1"]["chosen_epoch"] == {"1": 2.0}  # what T2 began with, though epoch 1 was better
    assert phases["T2"]["chosen_epoch"] == {"1": 2.0}
    assert (phases["T1"]["choices"], phases["T2"]["choices"]) == ({"1": 1}, {"1": 3})
    (check,) = [check for check in card["checks"] if "to choose from" in check["name"]]
    assert check["detail"] == "among 3 epochs of T2, by 8 groups"


def test_a_first_phase_without_validation_groups_hinders_no_selection():
    rows = [row for row in two_phases({"T1": [0.8], "T2": [0.2, 0.7]}) if row[2] == "T2" or row[4].startswith("group")]
    card = shortcut_score(timeline_of(rows), ShortcutSettings(final="worst-group"), **BOTH)
    assert card["methods"]["erm"]["phases"]["T2"]["chosen_epoch"] == {"1": 2.0}


@pytest.mark.parametrize("name", ["sky+sea", "sky -> sea", " "])
def test_names_of_cues_that_would_read_as_several_are_refused(name):
    with pytest.raises(InputError, match="cannot name a cue"):
        shortcut_score(study(PAPERLIKE), cues=(name, "thing"))
