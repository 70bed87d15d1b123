"""A family of studies of confounded tasks (variants and models) on one page, in the form of the paper's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from einstellung.files import digest, write_json
from einstellung.metrics.confounding_verdict import VERDICTS, ceiling_of
from einstellung.report.confounding import CEILING_FILE, confounding_card, report_confounding
from einstellung.report.confounding_claims import claims_table
from einstellung.report.confounding_tables import column_value, columns_of, per_cent
from einstellung.report.family_page import Cards, finished_timelines, write_family_page
from einstellung.report.notation import DASH, join
from einstellung.report.tables import Cell, Table
from einstellung.results.folder import ResultsFolder

_VARIANTS = ("disjoint", "strict", "unconfounded")
_MODELS = ("NN", "NeSy")


def report_family(root: Path, names: Sequence[str]) -> tuple[dict[str, dict[str, Any]], Path]:
    """Report every study of a family that has finished runs, then the family; the cards by name, and the page's path.

    Studies on the unconfounded set come first: what they reach is the ceiling of the others with the same model, and is left in
    their folders, so that a report of one of them alone says the same.
    """
    timelines = finished_timelines(root, names)
    folders = {name: ResultsFolder(root / name) for name in timelines}
    ceilings, given = {}, set()
    for name, timeline in timelines.items():
        if ceiling := ceiling_of(confounding_card(folders[name], timeline), f"study {name}"):
            ceilings[_model_key(folders[name])] = ceiling
            given.add(name)
    cards = {}
    for name in timelines:
        ceiling = ceilings.get(_model_key(folders[name]))
        if ceiling is not None and name not in given:
            write_json(folders[name].path / CEILING_FILE, ceiling)
        cards[name], _ = report_confounding(folders[name])
    return cards, write_family_report(root, cards)


def _model_key(folder: ResultsFolder) -> str:
    """The same for studies whose ceilings are comparable: the same net that sees the same of a scene, and the same question."""
    config = folder.config()
    seen = {key: config.stream.options.get(key) for key in ("input_modality", "size", "perception", "rules")}
    # a folder of pictures has rules of its own, whatever the configuration says
    facts = (folder.read_optional(folder.proof_file) or {}).get("facts") or {}
    asked = facts.get("ground_truth")
    return digest({"backbone": config.backbone.model_dump(mode="json"), "asked": asked, **seen})


def write_family_report(root: Path, cards: Cards, *, title: str = "Confounded tasks: a family of studies") -> Path:
    """Write ``tables/``, ``figures/``, ``family.json`` and, last, ``family.html`` into ``root``; return its path.

    ``cards`` are of :func:`einstellung.report.confounding.report_confounding`, by the name of the folder below ``root`` in which
    the study's own page lies.
    """
    from einstellung.report.confounding_page import GLOSSARY, PILLS  # matplotlib takes most of a second to import
    from einstellung.report.figures.canvas import drawing, save
    from einstellung.report.figures.catalogue import Drawn
    from einstellung.report.figures.confounding_family import draw_family

    ordered = dict(sorted(cards.items(), key=lambda item: _order(item[1])))
    figure = None
    if any(card["variant"] != "unconfounded" for card in ordered.values()):
        with drawing():
            svg = save(draw_family(ordered), root / "figures", "family")["svg"]
        figure = Drawn("family", "Unconfounded accuracy, measured and reported", _caption(ordered), svg)
    return write_family_page(
        root,
        "confounding_family.html",
        ordered,
        title=title,
        answer=family_answer(ordered),
        tables=family_tables(ordered),
        figure=figure,
        glossary=[(name, PILLS.get(name, ""), words) for name, words in GLOSSARY.items()],
    )


def _order(card: Mapping[str, Any]) -> tuple[int, int]:
    variant, model = card["variant"], card["model"]
    return (
        _VARIANTS.index(variant) if variant in _VARIANTS else len(_VARIANTS),
        _MODELS.index(model) if model in _MODELS else len(_MODELS),
    )


def family_answer(cards: Cards) -> list[str]:
    """A sentence for every study: which verdict falls to which methods."""
    sentences = []
    for name, card in cards.items():
        if card["variant"] == "unconfounded":
            ceiling = ceiling_of(card, name)
            reached = f"{100 * ceiling['mean']:.1f} %" if ceiling else "nothing that was measured"
            sentences.append(f"{name}: trained on the unconfounded set, the model reaches {reached} on it.")
            continue
        groups = {
            verdict: [method for method, record in card["methods"].items() if record["verdict"]["name"] == verdict]
            for verdict in VERDICTS
        }
        parts = [f"{verdict}: {join(methods)}" for verdict, methods in groups.items() if methods]
        sentences.append(f"{name}: {'; '.join(parts)}.")
    return sentences


def family_tables(cards: Cards) -> dict[str, Table]:
    """The paper's Tables 1 and 4 over all studies, the sanity check, and the paper's findings."""
    return {
        "table1": _family_table(cards, spread=False),
        "table4": _family_table(cards, spread=True),
        "sanity_check": _sanity_table(cards),
        "claims": claims_table(cards),
    }


def _family_table(cards: Cards, *, spread: bool) -> Table:
    studies = {name: card for name, card in cards.items() if card["variant"] != "unconfounded"}
    columns = columns_of(max(studies.values(), key=lambda card: len(card["tasks"]))) if studies else []
    rows, values = [], []
    for name, card in studies.items():
        own = set(columns_of(card))
        for method, record in card["methods"].items():
            reported = card["reported"]["methods"].get(method)
            sources = {"measured": {column: column_value(record, column) for column in columns if column in own}}
            if reported is not None:
                sources["reported"] = dict(reported)
            for source, estimates in sources.items():
                verdict = record["verdict"]["name"] if source == "measured" else ""
                lead = (card["variant"] or DASH, _model(card), method, source)
                cells = [Cell(per_cent(estimates.get(column), spread=spread)) for column in columns]
                rows.append((*map(Cell, lead), *cells, Cell(verdict)))
                numbers = {
                    f"{column}_{part}": (estimates.get(column) or {}).get(part)
                    for column in columns
                    for part in ("mean", "sd")
                }
                described = dict(zip(("variant", "model", "method", "source"), lead, strict=True))
                values.append({"study": name, **described, **numbers, "verdict": verdict})
    differences = {name: card["reported"]["differences"] for name, card in studies.items()}
    notes = ["Per cent" + (", mean ± standard deviation over seeds." if spread else ", mean over seeds.")]
    notes += [f"Reported: {next(iter(studies.values()))['reported']['source']}."] if studies else []
    notes += [
        f"{name} differs from the paper's protocol: {'; '.join(words)}." for name, words in differences.items() if words
    ]
    head = ("variant", "model", "method", "source", *columns, "verdict")
    title = "Table 4: with standard deviations" if spread else "Table 1: current tasks, old tasks, unconfounded"
    return Table(title, " ".join(notes), head, tuple(rows), tuple(values), words=4)


def _model(card: Mapping[str, Any]) -> str:
    """
    >>> _model({"model": "NeSy", "sees": "slots"}), _model({"model": "NN"}), _model({"model": None})
    ('NeSy, slots', 'NN', '–')
    """
    model = card["model"] or DASH
    return f"{model}, slots" if card.get("sees") == "slots" else model


def _sanity_table(cards: Cards) -> Table:
    rows, values = [], []
    for name, card in cards.items():
        ceiling = ceiling_of(card, name)
        if ceiling is None:
            continue
        reported = card["reported"]["ceiling"]
        rows.append(
            (
                Cell(_model(card)),
                Cell(name),
                Cell(per_cent(ceiling, spread=True)),
                Cell(per_cent(reported, spread=True)),
                Cell(str(ceiling["n"])),
            )
        )
        numbers = {"mean": ceiling["mean"], "sd": ceiling["sd"], "reported": (reported or {}).get("mean")}
        values.append({"model": _model(card), "study": name, **numbers, "n": ceiling["n"]})
    return Table(
        "Sanity check: trained on the unconfounded set",
        "Accuracy on unconfounded test images, per cent, mean ± standard deviation over seeds: the ceiling of the verdicts.",
        ("model", "study", "reached", "reported", "seeds"),
        tuple(rows),
        tuple(values),
        words=2,
    )


def _caption(cards: Cards) -> str:
    names = join(name for name, card in cards.items() if card["variant"] != "unconfounded")
    return (
        f"Accuracy on unconfounded images at the end of training, in {names}. Filled, with its 95 % interval (over seeds, or "
        "over images where there is one seed): measured here. Cross: reported in the paper. Line: the measured ceiling; grey: "
        "within the margin below it; dotted: chance."
    )
