"""Gaps from phase to phase: what is carried over, what is traded, and what is neither."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.diagnoses.shortcuts.settings import ShortcutsSettings

from .timelines import BOTH, CUES, PAPERLIKE, SWITCH, moved, study, two_cues


def test_carry_over_is_the_gap_left_and_its_share_of_what_it_was():
    card = score_shortcuts(study(moved(), spread=0.01), cues=CUES, correlations=SWITCH)
    (entry,) = card.methods["erm"].carry_over
    assert (entry.cue, entry.had, entry.phase) == ("background", "T1", "T2")
    assert entry.common.gap.mean == pytest.approx(-0.15)
    assert entry.common.gap_before.mean == pytest.approx(-0.40)
    assert entry.common.share.value == pytest.approx(0.15 / 0.40)
    assert entry.common.gap.ci95[1] < 0
    assert entry.common.share.interval == "Fieller"
    one = score_shortcuts(study(moved(), seeds=(1,)), cues=CUES, correlations=SWITCH)
    (entry,) = one.methods["erm"].carry_over
    assert entry.own.gap.ci95 is None
    assert entry.own.share.ci95 is None


def test_a_correlation_that_stays_or_turns_round_carries_nothing_over():
    for correlations in ({"T1": (0.95, 0.95), "T2": (0.95, 0.95)}, {"T1": (0.95, 0.5), "T2": (0.05, 0.5)}):
        assert score_shortcuts(study(moved()), cues=CUES, correlations=correlations).methods["erm"].carry_over == ()


def carried(before: float, left: float, spread: float = 0.0, fresh: float | None = 0.0, **inputs) -> bool:
    """``fresh``: the gap that a net without a history has in the second phase; None: there is no such net."""

    def ends_with(gap: float) -> dict[str, dict[str, float]]:
        """What is lost without the background is the same whatever the co-object shows: the gap is the main effect."""
        return {
            "T1": two_cues(0.95, 0.9, 0.95 + before, 0.9 + before),
            "T2": two_cues(0.95, 0.7, 0.95 + gap, 0.7 + gap),
        }

    ends = {"erm": ends_with(left)} | ({} if fresh is None else {"scratch": ends_with(fresh)})
    correlations = {"T1": (0.95, 0.5), "T2": (0.5, 0.95)}
    card = score_shortcuts(study(ends, spread=spread, **inputs), cues=CUES, correlations=correlations)
    (entry,) = card.methods["erm"].carry_over
    if fresh is None:
        assert entry.common.minus_fresh is None
    else:
        assert [entry.certain for entry in card.methods["scratch"].carry_over] == [False]  # it has no history
        assert entry.common.minus_fresh.mean == pytest.approx(left - fresh)
        assert entry.judged.minus_fresh.mean == pytest.approx(fresh - left)
    assert entry.certain == (entry.why is None)
    return entry.certain


def test_what_is_carried_over_was_there_before_and_is_there_now_beyond_the_margin():
    assert carried(-0.3, -0.1, spread=0.01)
    assert not carried(-0.015, -0.1, spread=0.001)  # not there before: the second phase made it
    assert not carried(-0.03, -0.1, spread=0.01)  # before, its interval reaches the margin
    assert not carried(-0.3, -0.015, spread=0.001)  # what is left is within the margin
    assert not carried(-0.3, -0.1, seeds=(1,))
    assert not carried(-0.3, -0.1, spread=0.01, seeds=(1, 2))  # two seeds are too few
    assert carried(-0.3, -0.1, spread=0.01, fresh=None)
    assert carried(-0.3, -0.1, spread=0.01, fresh=-0.06)
    assert not carried(-0.3, -0.1, spread=0.01, fresh=-0.09)  # a net without a history has nearly as much


def test_carry_over_of_a_turned_correlation_is_a_loss_too():
    ends = {"erm": {"T1": two_cues(0.55, 0.55, 0.95, 0.95), "T2": two_cues(0.8, 0.5, 0.95, 0.65)}}
    correlations = {"T1": (0.05, 0.5), "T2": (0.5, 0.95)}
    (entry,) = (
        score_shortcuts(study(ends, spread=0.004), cues=CUES, correlations=correlations).methods["erm"].carry_over
    )
    assert entry.common.gap_before.mean == pytest.approx(0.55 - 0.95)
    assert entry.common.gap.mean == pytest.approx(0.8 - 0.95)
    assert entry.common.share.value == pytest.approx(0.15 / 0.4)
    assert entry.own.gap.mean == pytest.approx(0.8 - (0.475 * (0.8 + 0.95) + 0.025 * (0.5 + 0.65)))
    assert (entry.judged.before.mean, entry.judged.left.mean) == pytest.approx((0.4, 0.15))
    assert entry.certain is True


def test_trade_from_phase_to_phase_and_against_the_baseline():
    card = score_shortcuts(study(moved()), cues=CUES, correlations=SWITCH)
    trades = card.methods["erm"].trade
    (between,) = trades.between_phases
    found = between.common["background -> co-object"]
    assert found.mean == pytest.approx(min(0.25, 0.30))
    assert found.ci95 is not None
    assert between.common["co-object -> background"].mean < 0
    assert all(entry.own["background -> co-object"].mean is None for entry in trades.against_baseline)
    cutmix = score_shortcuts(study(PAPERLIKE), **BOTH).methods["cutmix"]
    erm = score_shortcuts(study(PAPERLIKE), **BOTH).methods["erm"]
    (against_erm,) = cutmix.trade.against_baseline
    gaps = {name: record.phases["T1"].own.gaps for name, record in (("cutmix", cutmix), ("erm", erm))}
    shrinks = gaps["cutmix"]["co-object"].mean - gaps["erm"]["co-object"].mean
    grows = gaps["erm"]["background"].mean - gaps["cutmix"]["background"].mean
    assert against_erm.own["co-object -> background"].mean == pytest.approx(min(shrinks, grows))
    assert shrinks > 0
    single = score_shortcuts(study(moved(), seeds=(1,)), cues=CUES, correlations=SWITCH)
    (between,) = single.methods["erm"].trade.between_phases
    assert between.common["background -> co-object"].ci95 is None


def test_a_fresh_net_trades_nothing_from_phase_to_phase():
    """It never had the gap that shrank: the same numbers are a certain trade of a net that learns on, and none of its own."""
    both = moved()["erm"]
    card = score_shortcuts(study({"erm": both, "scratch": both}, spread=0.01), cues=CUES, correlations=SWITCH)
    certain = {
        method: card.methods[method].trade.between_phases[0].judged["background -> co-object"].certain
        for method in ("erm", "scratch")
    }
    assert certain == {"erm": True, "scratch": False}


@pytest.mark.parametrize(("margin", "certain"), [(0.02, False), (0.005, True)])
def test_a_trade_below_the_margin_is_none(margin, certain):
    ends = {"erm": {"T1": two_cues(0.9, 0.8, 0.7, 0.4)}, "sd": {"T1": two_cues(0.9, 0.79, 0.71, 0.4)}}
    card = score_shortcuts(study(ends, spread=0.001), ShortcutsSettings(margin=margin), **BOTH)
    (against_erm,) = card.methods["sd"].trade.against_baseline
    assert against_erm.alone["background -> co-object"].mean == pytest.approx(0.01, abs=0.002)
    # background: from (.2 + .4) / 2 to (.19 + .39) / 2; co-object: from (.1 + .3) / 2 to (.11 + .31) / 2
    found = against_erm.judged["background -> co-object"]
    assert found.mean == pytest.approx(0.01, abs=0.002)
    assert found.ci95[0] > 0
    assert found.certain is certain
