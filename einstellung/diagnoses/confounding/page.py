"""The page of a study of confounded tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from einstellung.diagnoses.confounding.answer import confounding_answer, reading_in_words
from einstellung.diagnoses.confounding.splits import split_meaning, split_place
from einstellung.diagnoses.confounding.verdict import (
    CONFOUNDED,
    INSIDIOUS,
    NOT_CONFOUNDED,
    NOT_LEARNED,
    SANITY_CHECK,
    UNDECIDED,
    percent,
    points,
)
from einstellung.diagnoses.rigidity.answer import failed_checks
from einstellung.report import measured
from einstellung.report.figures.plan import Drawn
from einstellung.report.figures.style import styles_of
from einstellung.report.notation import number, per_cent
from einstellung.report.page import check_groups, render_template, worded
from einstellung.report.tables import Missing, Table

#: The class of a verdict's pill; it is a word in any case.
PILLS = {INSIDIOUS: "red-flag", CONFOUNDED: "shared-shortcut", NOT_CONFOUNDED: "benign-transfer"}
GLOSSARY = {
    INSIDIOUS: "Confounded, as cumulative training is, although joint training on the very same data is not: the order of the "
    "tasks does it.",
    CONFOUNDED: "Unconfounded accuracy stays below the ceiling by more than the margin, and the interval agrees.",
    NOT_CONFOUNDED: "The gap to the ceiling is smaller than the margin, and the interval agrees.",
    NOT_LEARNED: "At least one task stays below the level right after it was learned: nothing can be concluded.",
    UNDECIDED: "The interval of the gap holds the margin, or what is needed was not measured.",
    SANITY_CHECK: "Trained on the unconfounded set itself: no verdict, but the ceiling of this kind of model.",
}


def confounding_page(
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
        "confounding.html",
        title=title,
        answer=confounding_answer(card),
        failed=failed_checks(proof_checks, log_checks),
        single=measured.fewest_seeds(card) == 1,
        warnings=card["warnings"],
        cards=[_method_card(card, method) for method in card["methods"]],
        check_groups=check_groups(proof, proof_checks, log_checks),
        figures=figures,
        no_figure=no_figure,
        tables=tables,
        setting=_setting(card),
        splits=_splits(frame),
        facts=worded((proof or {}).get("facts") or {}),
        stream=(proof or {}).get("stream"),
        glossary=[(name, PILLS.get(name, ""), words) for name, words in GLOSSARY.items()],
        provenance=worded(provenance or {}),
        configuration=configuration,
    )


def _method_card(card: Mapping[str, Any], method: str) -> dict[str, Any]:
    record = card["methods"][method]
    verdict = record["verdict"]
    last = card["tasks"][-1]
    return {
        "method": method,
        "colour": styles_of(card)[method].colour,
        "is_baseline": method == card["baseline"],
        "verdict": verdict["name"],
        "pill": PILLS.get(verdict["name"], ""),
        "sentence": verdict["sentence"],
        "numbers": [
            ("unconfounded, positives", per_cent(record["matrix"][last]["unconfounded"]["positive"], spread=True)),
            ("unconfounded, negatives", per_cent(record["matrix"][last]["unconfounded"]["negative"], spread=True)),
            ("own tasks, just learned", per_cent(record["own_tasks"], spread=True)),
            ("seeds", str(record["n_seeds"])),
        ],
    }


def _setting(card: Mapping[str, Any]) -> dict[str, str]:
    ceiling = card["ceiling"]
    smoothing = measured.smoothing_in_words(card)
    named = {"ground truth": card["ground_truth"], "variant": card["variant"], "model": card["model"]}
    named["perception"] = reading_in_words(card)
    if card["variant"] == "unconfounded" and (reported := card["reported"]["ceiling"]):
        named["the paper's sanity check"] = f"{per_cent(reported, spread=True)} per cent (its section 4.1)"
    confounders = zip(card["tasks"], card["confounders"], strict=False)
    return {
        **{name: value for name, value in named.items() if value},
        "confounders": ", ".join(f"{task} '{words}'" for task, words in confounders) or "none, or not recorded",
        "seeds": measured.seeds_in_words(card),
        "accuracy": "of a task or of the unconfounded set: the mean of positives and negatives, so chance is "
        + percent(card["chance"]),
        "final values": "at the last epoch of every phase",
        "ceiling": f"{percent(ceiling['mean'])}, {ceiling['source']}" if ceiling else "none: own tasks instead",
        "margin of the verdict": f"{points(card['margin'])} points",
        "level of a learned task": percent(card["level"]),
        "baseline of the facets": card["baseline"] if card["baseline"] in card["methods"] else "none",
        "threshold τ of AD": f"{number(card['tau'], digits=2)}, curves {smoothing}",
    }


def _splits(frame: pd.DataFrame) -> list[measured.Split]:
    """Every split of the timeline, by task."""
    methods = frame["method"].nunique()
    found = []
    for name in sorted(frame["split"].unique(), key=split_place):
        by = list(frame.loc[frame["split"] == name, "method"].unique())
        where = f"all {methods}" if len(by) == methods else ", ".join(by)
        meaning = split_meaning(name) or "not one of the named splits"
        found.append(measured.Split(name, meaning, measured.images_of(frame, name), where))
    return found
