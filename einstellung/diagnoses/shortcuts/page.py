"""The page of a study of several shortcuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from einstellung.diagnoses.rigidity.answer import failed_checks
from einstellung.diagnoses.shortcuts.answer import shortcut_answer
from einstellung.diagnoses.shortcuts.continual_tables import weights_in_words
from einstellung.diagnoses.shortcuts.notation import intervals_in_words
from einstellung.diagnoses.shortcuts.score import AGAINST_LABEL
from einstellung.diagnoses.shortcuts.splits import pattern_in_words, split_meaning, split_place
from einstellung.diagnoses.shortcuts.tables import finals_in_words
from einstellung.diagnoses.shortcuts.verdict import (
    AMPLIFIES,
    CURES_ALL,
    FRESH,
    NOT_LEARNED,
    REDUCES_ALL,
    REDUCES_SOME,
    UNCHANGED,
    UNDECIDED,
    WHAC_A_MOLE,
)
from einstellung.diagnoses.wording import percent, points
from einstellung.report import measured
from einstellung.report.figures.plan import Drawn
from einstellung.report.notation import join
from einstellung.report.page import check_groups, render_template, worded
from einstellung.report.tables import Missing, Table

#: The class of a verdict's pill; it is a word in any case.
PILLS = {
    WHAC_A_MOLE: "red-flag",
    AMPLIFIES: "shared-shortcut",
    CURES_ALL: "benign-transfer",
    REDUCES_ALL: "benign-transfer",
    REDUCES_SOME: "benign-avoidance",
}
GLOSSARY = {
    WHAC_A_MOLE: "Reduces or cures one cue's gap and amplifies that of another, both beyond the margin; the intervals agree, and "
    "so does accuracy where all cues are common, which other cues' gaps do not touch.",
    AMPLIFIES: "Amplifies the gap of at least one cue and reduces that of none, as far as the data decide.",
    CURES_ALL: "Every cue's gap is smaller than the baseline's, and its interval stays within the margin of 0, measured from ID "
    "accuracy and from accuracy where all cues are common.",
    REDUCES_ALL: "Every cue's gap is smaller than the baseline's beyond the margin, measured in both ways, and the intervals "
    "agree.",
    REDUCES_SOME: "A cue's gap is reduced and none is amplified; of another the data do not decide, or it is unchanged.",
    UNCHANGED: "No gap differs from the baseline's by more than the margin, and the intervals say so.",
    UNDECIDED: "The intervals do not decide, or a gap moved from ID accuracy only and not from where all cues are common, or "
    "what is needed was not measured; always so with a single seed.",
    NOT_LEARNED: "ID accuracy stays below the level: who knows nothing has no gaps.",
    FRESH: "Starts anew in every phase: what reliance and delay are compared with; it mitigates nothing and is not judged.",
}


def shortcut_page(
    frame: pd.DataFrame,
    card: Mapping[str, Any],
    figures: Mapping[str, Drawn],
    tables: Mapping[str, Table],
    *,
    no_figure: Sequence[Missing],
    proof: Mapping[str, Any] | None,
    provenance: Mapping[str, Any] | None,
    configuration: str | None,
    title: str,
) -> str:
    """The whole page as HTML text."""
    proof_checks, log_checks = list((proof or {}).get("checks", ())), list(card["checks"])
    return render_template(
        "shortcuts.html",
        title=title,
        answer=shortcut_answer(card),
        failed=failed_checks(proof_checks, log_checks),
        fewest_seeds=measured.fewest_seeds(card),
        warnings=card["warnings"],
        verdicts=[
            (method, record["verdict"]["name"], PILLS.get(record["verdict"]["name"], ""), record["verdict"]["sentence"])
            for method, record in card["methods"].items()
        ],
        check_groups=check_groups(proof, proof_checks, log_checks),
        figures=figures,
        no_figure=no_figure,
        tables=tables,
        setting=_setting(card),
        splits=_splits(frame, card["cues"]),
        facts=worded((proof or {}).get("facts") or {}),
        terms=_terms(card),
        stream=(proof or {}).get("stream"),
        glossary=[(name, PILLS.get(name, ""), words) for name, words in GLOSSARY.items()],
        provenance=worded(provenance or {}),
        configuration=configuration,
    )


def _terms(card: Mapping[str, Any]) -> dict[str, str]:
    """Words that the tables take for granted, with this study's own cues."""
    cues = card["cues"]
    example = card["patterns"][1] if len(cues) > 1 else card["patterns"][-1]
    return {
        "cue": f"something in a picture that goes with the label in most training images but is not what the label names; here: "
        f"{join(cues)}. Its value goes with one of the classes",
        "turned": "a correlation below .5: the cue goes against the label in most training images of the phase. The phase's own "
        "gaps take for common what is common in its training, so that a gap is what is lost where the cue contradicts that",
        "pattern": f"a digit for every cue in the order {', '.join(cues)}: 1 where its value goes with the label, 0 where it "
        f"does not; {example}: {pattern_in_words(example, cues, 'with the label', 'against it')}",
        "group": f"the test images of one class and one pattern; group_{card['labels'][0]}_{example} is one",
        "twin": "a test image with one cue swapped to its other value, or covered, and all else as it was",
        "effective epoch": "how far a phase is: real images of the phase seen so far, divided by how many it has; replayed "
        "images do not count",
    }


def _setting(card: Mapping[str, Any]) -> dict[str, str]:
    correlations = [
        f"{phase}: {', '.join(_correlation(card, phase, cue, rho) for cue, rho in zip(card['cues'], found, strict=True))}"
        for phase, found in card["correlations"].items()
    ]
    images = card["images"]
    return {
        "cues": ", ".join(card["cues"]),
        "correlations in training": "; ".join(correlations) or "not known",
        "weights": weights_in_words(card),
        "seeds": measured.seeds_in_words(card),
        "test images": f"{images['group']:,} a group, {images['test']:,} in all"
        if images["group"]
        else "not recorded, or uneven",
        "final values": finals_in_words(card),
        "baseline": card["baseline"]
        if card["baseline"] in card["methods"]
        else f"none ('{card['baseline']}' is not there)",
        "fresh in every phase": card["scratch"] or "no such method",
        "margin of the verdict": f"{points(card['margin'])} points",
        "intervals of the verdict": f"95 %, {intervals_in_words(card)}",
        "level of a learned task": f"ID accuracy of {percent(card['level'])}",
        "threshold τ of AD": f"{card['tau']:.2f}, curves {measured.smoothing_in_words(card)}",
    }


def _correlation(card: Mapping[str, Any], phase: str, cue: str, rho: float) -> str:
    value = card["common_values"][phase][cue]
    return f"{cue} {rho:g}{f' (common value: {value})' if value == AGAINST_LABEL else ''}"


def _splits(frame: pd.DataFrame, cues: Sequence[str]) -> list[measured.Split]:
    """Every split of the timeline, groups first."""
    methods = frame["method"].nunique()
    found = []
    for name in sorted(frame["split"].unique(), key=lambda split: split_place(split, cues)):
        by = list(frame.loc[frame["split"] == name, "method"].unique())
        where = f"all {methods}" if len(by) == methods else ", ".join(by)
        meaning = split_meaning(name, cues) or "not one of the named splits"
        found.append(measured.Split(name, meaning, measured.images_of(frame, name), where))
    return found
