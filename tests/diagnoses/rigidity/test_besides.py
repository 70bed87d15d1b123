"""Other effects of the cue: every finding from numbers chosen for it, and none where an interval holds 0."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.rigidity.besides import besides
from einstellung.diagnoses.rigidity.card import CueEffect, CueEffectOverSeeds, PerImage
from einstellung.diagnoses.rigidity.images import over_seeds
from einstellung.diagnoses.rigidity.score import score
from tests.metrics.timelines import run, timeline

SEEDS = (1, 2, 3)


def card(own, scratch=(0.70, 0.40, 0.60), seeds=SEEDS, **splits):
    """Both as (SC patched, SC masked, NSC); further splits of the method by name."""
    table = []
    for seed in seeds:
        shift = 0.002 * seed
        for method, (patched, masked, nsc), more in (("scratch_t2", scratch, {}), ("derpp", own, splits)):
            other = None if nsc is None else [nsc + shift] * 2
            further = {split: [acc + shift * 1.5] * 2 for split, acc in more.items()}
            # the method's own spread, so that differences have one
            table += run(method, seed, [0.2, patched + shift * len(method) / 10], [masked] * 2, other, **further)
    return score(timeline(table))


def found(card, kind):
    return [finding for finding in besides(card) if finding.kind == kind]


def test_a_cue_that_tells_the_task_is_found():
    """derpp keeps SC patched (.65 of .70) but not covered, while NSC falls (.28 of .60): PD_specific is .05 - .32."""
    (finding,) = found(card((0.65, 0.20, 0.28)), "specific")
    assert (finding.method, finding.n) == ("derpp", 3)
    assert finding.value == pytest.approx(0.05 - 0.32, abs=0.01)
    assert finding.ci95[1] < 0
    assert finding.text.startswith(
        "compared with scratch_t2, derpp retains the shortcut classes but loses the others: the cue "
    )
    assert "reveals which task an image comes from (SC with the cue: 0.65" in finding.text
    assert "NSC: 0.284 against 0.604)" in finding.text


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ((0.90, 0.40, 0.65), "gains more on the shortcut classes than on the others"),
        ((0.40, 0.30, 0.28), "loses less on the shortcut classes than on the others"),  # it loses both, by .30 and .32
        ((0.40, 0.30, 0.55), "loses more on the shortcut classes than on the others"),
        ((0.50, 0.40, 0.62), "does worse on the shortcut classes than on the others"),
        ((0.72, 0.40, 0.90), "gains less on the shortcut classes than on the others"),
    ],
)
def test_what_sets_the_cues_classes_apart(own, words):
    (finding,) = found(card(own), "specific")
    assert words in finding.text
    assert "which task" not in finding.text


@pytest.mark.parametrize(
    ("scratch_masked", "masked", "by_the_cue"),
    [(0.40, 0.35, False), (0.69, 0.64, False), (0.40, 0.20, True), (0.0, 0.0, True)],  # the last: saturated
)
def test_the_cue_is_named_only_where_covering_it_shows_it(scratch_masked, masked, by_the_cue):
    """A model that keeps its shortcut classes with the cue covered, too, keeps the classes, not the cue."""
    (finding,) = found(card((0.65, masked, 0.28), scratch=(0.70, scratch_masked, 0.60)), "specific")
    assert "retains the shortcut classes but loses the others" in finding.text
    assert ("the cue reveals" in finding.text) is by_the_cue


def test_nothing_is_said_of_what_may_be_nothing():
    assert besides(card((0.70, 0.40, 0.60), seeds=(1, 2))) == ()
    assert found(card((0.65, 0.40, 0.28), seeds=(1, 2)), "specific") == []  # two seeds
    assert found(card((0.65, 0.40, None)), "specific") == []
    table = []
    for seed, patched in zip(SEEDS, (0.5, 0.7, 0.9), strict=True):
        table += run("scratch_t2", seed, [0.2, 0.7], [0.4] * 2, [0.6] * 2)
        table += run("derpp", seed, [0.2, patched], [0.4] * 2, [0.6] * 2)
    assert besides(score(timeline(table))) == ()  # the interval contains 0


def test_a_cue_that_pulls_other_classes_is_found_from_accuracies():
    (finding,) = found(card((0.65, 0.40, 0.58), T2_nonshortcut_patched=0.28), "pull")
    assert finding.value == pytest.approx(0.30, abs=0.005)
    assert finding.text.startswith("adding the cue to images of other classes costs derpp 29.")
    assert found(card((0.65, 0.40, 0.58), T2_nonshortcut_patched=0.62), "pull") == []  # it does no harm there


def effect(without, with_cue) -> CueEffectOverSeeds:
    return over_seeds(
        {
            seed: CueEffect(
                SC_patch=0.9,
                NSC_called_SC=None if without is None else without + seed / 100,
                NSC_patched_called_SC=None if with_cue is None else with_cue + seed / 50,
                pull=None if without is None or with_cue is None else with_cue - without + seed / 100,
            )
            for seed in SEEDS
        }
    )


def test_a_cue_that_pulls_other_classes_is_found_from_single_images():
    plain = card((0.65, 0.40, 0.58), T2_nonshortcut_patched=0.28)
    pulled = plain.model_copy(update={"per_image": PerImage(masking={}, cue_effect={"derpp": effect(0.1, 0.5)})})
    (finding,) = found(pulled, "pull")
    assert finding.value == pytest.approx(0.42)
    assert "derpp assigns 54.0 % of them to a shortcut class (12.0 % without it)" in finding.text
    nothing = PerImage(masking={}, cue_effect={"derpp": effect(0.1, 0.09)})
    assert found(plain.model_copy(update={"per_image": nothing}), "pull") == []
    # Without predictions of the images with the cue put on, the accuracies still tell.
    unstored = PerImage(masking={}, cue_effect={"derpp": effect(None, None)})
    assert found(plain.model_copy(update={"per_image": unstored}), "pull") == found(plain, "pull")


@pytest.mark.parametrize(
    ("elsewhere", "words"),
    [
        (0.60, "on the other side of the image, the cue is worth 20."),
        (0.40 - 0.006, "derpp uses the cue only at its usual position: elsewhere, it is worth "),
        (0.30, "derpp uses the cue only at its usual position: elsewhere, it is worth -"),
    ],
)
def test_what_the_cue_is_worth_at_another_place(elsewhere, words):
    (finding,) = found(card((0.65, 0.40, 0.58), T2_shortcut_elsewhere=elsewhere), "placement")
    assert words in finding.text
    assert "of its 25." in finding.text


def test_a_cue_that_is_worth_nothing_has_no_place():
    assert found(card((0.65, 0.60, 0.58), T2_shortcut_elsewhere=0.60), "placement") == []
