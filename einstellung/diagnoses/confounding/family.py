"""A family of studies of confounded tasks (variants and models) on one page, in the form of the paper's tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from einstellung.diagnoses.confounding.answer import methods_by_verdict
from einstellung.diagnoses.confounding.card import ConfoundingCard
from einstellung.diagnoses.confounding.claims import claims_table
from einstellung.diagnoses.confounding.page import GLOSSARY
from einstellung.diagnoses.confounding.splits import UNCONFOUNDED
from einstellung.diagnoses.confounding.tables import (
    accuracies,
    accuracy_columns,
    accuracy_title,
    means_and_deviations,
)
from einstellung.diagnoses.confounding.verdict import ceiling_of
from einstellung.prose import join
from einstellung.report.family import FAMILY, FamilyPage
from einstellung.report.notation import DASH, Spread, per_cent
from einstellung.report.tables import Cell, Table

if TYPE_CHECKING:
    from einstellung.report.figures.plan import Plan

_VARIANTS = ("disjoint", "strict", UNCONFOUNDED)
_MODELS = ("NN", "NeSy")

Cards = Mapping[str, ConfoundingCard]


def family_page(cards: Cards) -> FamilyPage:
    """The page of a family; ``cards`` are by the names of the studies' folders."""
    ordered = dict(sorted(cards.items(), key=lambda item: _order(item[1])))
    return FamilyPage(
        name=FAMILY,
        title="Confounded tasks: a family of studies",
        kicker="Confounded tasks, several studies",
        answer=family_answer(ordered),
        data={"studies": {name: card.to_json() for name, card in ordered.items()}},
        tables=family_tables(ordered),
        figures=_figures(ordered),
        glossary=GLOSSARY,
        template=Path(__file__).with_name("family.html"),
    )


def _order(card: ConfoundingCard) -> tuple[int, int]:
    return (
        _VARIANTS.index(card.variant) if card.variant in _VARIANTS else len(_VARIANTS),
        _MODELS.index(card.model) if card.model in _MODELS else len(_MODELS),
    )


def confounded_studies(cards: Cards) -> dict[str, ConfoundingCard]:
    """The studies that have confounders."""
    return {name: card for name, card in cards.items() if card.variant != UNCONFOUNDED}


def family_answer(cards: Cards) -> list[str]:
    """A sentence for every study: which verdict falls to which methods."""
    sentences = []
    for name, card in cards.items():
        if card.variant == UNCONFOUNDED:
            ceiling = ceiling_of(card, name)
            reached = f"{100 * ceiling.mean:.1f} %" if ceiling else "an unmeasured accuracy"
            sentences.append(f"{name}: trained on the unconfounded set, the model reaches {reached} on it.")
            continue
        parts = [f"{verdict}: {join(methods)}" for verdict, methods in methods_by_verdict(card).items()]
        sentences.append(f"{name}: {'; '.join(parts)}.")
    return sentences


def family_tables(cards: Cards) -> dict[str, Table]:
    """The paper's findings, its Tables 1 and 4 over all studies, and the sanity check."""
    return {
        "claims": claims_table(cards),
        "table1": _accuracy_table(cards, spread=False),
        "sanity_check": _sanity_table(cards),
        "table4": _accuracy_table(cards, spread=True),
    }


def _accuracy_table(cards: Cards, *, spread: bool) -> Table:
    studies = confounded_studies(cards)
    columns = accuracy_columns(max((card.tasks for card in studies.values()), key=len)) if studies else []
    rows, values = [], []
    for name, card in studies.items():
        own = set(accuracy_columns(card.tasks))
        for method, record in card.methods.items():
            measured = {column: estimate for column, estimate in accuracies(record).items() if column in own}
            sources: dict[str, Mapping[str, Spread]] = {"measured": measured}
            if (reported := card.reported.methods.get(method)) is not None:
                sources["reported"] = reported
            for source, estimates in sources.items():
                verdict = record.verdict.name if source == "measured" else ""
                lead = {"variant": card.variant or DASH, "model": _model(card), "method": method, "source": source}
                cells = [Cell(per_cent(estimates.get(column), spread=spread)) for column in columns]
                rows.append((*map(Cell, lead.values()), *cells, Cell(verdict)))
                numbers = means_and_deviations(estimates, columns)
                values.append({"study": name, **lead, **numbers, "verdict": verdict})
    notes = ["Per cent" + (", mean ± standard deviation over seeds." if spread else ", mean over seeds.")]
    notes += [f"Reported: {next(iter(studies.values())).reported.source}."] if studies else []
    notes += [
        f"{name} differs from the paper's protocol: {'; '.join(card.reported.differences)}."
        for name, card in studies.items()
        if card.reported.differences
    ]
    head = ("variant", "model", "method", "source", *columns, "verdict")
    return Table(accuracy_title(spread=spread), " ".join(notes), head, tuple(rows), tuple(values), words=4)


def _model(card: ConfoundingCard) -> str:
    model = card.model or DASH
    return f"{model}, slots" if card.input_modality == "slots" else model


def _sanity_table(cards: Cards) -> Table:
    rows, values = [], []
    for name, card in cards.items():
        ceiling = ceiling_of(card, name)
        if ceiling is None:
            continue
        reported = card.reported.ceiling
        rows.append(
            (
                Cell(_model(card)),
                Cell(name),
                Cell(per_cent(ceiling, spread=True)),
                Cell(per_cent(reported, spread=True)),
                Cell(str(ceiling.n)),
            )
        )
        numbers = {"mean": ceiling.mean, "sd": ceiling.sd, "reported": reported.mean if reported else None}
        values.append({"model": _model(card), "study": name, **numbers, "n": ceiling.n})
    return Table(
        "Sanity check: trained on the unconfounded set",
        "Accuracy on unconfounded test images, per cent, mean ± standard deviation over seeds: the ceiling of the verdicts.",
        ("model", "study", "reached", "reported", "seeds"),
        tuple(rows),
        tuple(values),
        words=2,
    )


def _figures(cards: Cards) -> list[Plan]:
    studies = confounded_studies(cards)
    if not studies:
        return []
    from einstellung.diagnoses.confounding.figures.family import draw_family  # matplotlib takes most of a second
    from einstellung.report.figures.plan import Plan

    caption = (
        f"Accuracy on unconfounded images at the end of training, in {join(studies)}. Filled, with 95 % interval (over "
        "seeds, or over images for a single seed): measured here. Cross: reported in the paper. Line: the measured "
        "ceiling; grey: within the margin below it; dotted: chance."
    )
    return [Plan("family", "Unconfounded accuracy, measured and reported", caption, lambda: draw_family(studies))]
