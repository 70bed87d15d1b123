"""The page: everything a reader needs in one file that opens without a network and without a script."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup, escape

from einstellung.metrics.patterns import FEWEST_SEEDS
from einstellung.report import measured
from einstellung.report.answer import answer, failed_checks
from einstellung.report.figures.catalogue import Drawn, Missing
from einstellung.report.figures.style import styles_of
from einstellung.report.notation import (
    CERTAINTIES,
    FACETS,
    MINUS,
    PATTERNS,
    certainty_beside,
    continual_methods,
    interval,
    mean_sd,
    number,
    write,
)
from einstellung.report.statistics_tables import statistics_tables
from einstellung.report.table_formats import footnotes
from einstellung.report.tables import Table, delay_table, facet_table, seed_table, table_one
from einstellung.report.undefined import why_undefined

_CARD_FACETS = ("AD", "PD", "SFR_rel", "delta", "delta_S")
_SUBSCRIPTS = {
    "SFR_rel": "SFR<sub>rel</sub>",
    "CSR_rel": "CSR<sub>rel</sub>",
    "Δ_S": "Δ<sub>S</sub>",
    "d_z": "d<sub>z</sub>",
}
_RELATIONS = {"<=": "≤", ">=": "≥", "<": "<", ">": ">"}


def report_page(
    frame: pd.DataFrame,
    card: Mapping[str, Any],
    figures: Sequence[Drawn],
    missing: Sequence[Missing],
    *,
    proof: Mapping[str, Any] | None,
    provenance: Mapping[str, Any] | None,
    configuration: str | None,
    title: str,
) -> str:
    """The whole page as HTML text."""
    proof_checks, log_checks = list((proof or {}).get("checks", ())), list(card.get("checks", ()))
    by_name = {figure.name: figure for figure in figures}
    sheets = ("fig1_samples", "fig2_augmentation")
    return _render(
        "report.html",
        title=title,
        answer=answer(card),
        failed=failed_checks(proof_checks, log_checks),
        fewest_seeds=measured.fewest_seeds(card),
        warnings=card.get("warnings", ()),
        cards=[_verdict_card(card, method) for method in continual_methods(card)],
        baseline=_baseline_card(card),
        check_groups=_check_groups(proof, proof_checks, log_checks),
        verdict_figure=by_name.get("verdict"),
        figures=[figure for figure in figures if figure.name not in ("verdict", *sheets)],
        samples=[by_name[name] for name in sheets if name in by_name],
        missing=missing,
        table_one=table_one(card),
        delay_table=delay_table(card),
        facet_table=facet_table(card),
        seed_table=seed_table(card),
        statistics=statistics_tables(card),
        splits=measured.splits(frame),
        setting=_setting(card),
        facts=(proof or {}).get("facts") or {},
        stream=(proof or {}).get("stream"),
        facets=[FACETS[key] for key in ("AD", "PD", "SFR_rel", "CSR_rel", "delta", "delta_S")],
        patterns=list(PATTERNS.values()),
        certainties=CERTAINTIES,
        provenance=provenance,
        configuration=configuration,
    )


def guide_page(
    card: Mapping[str, Any],
    table: Table,
    *,
    provenance: Mapping[str, Any] | None,
    configuration: str | None,
    title: str,
) -> str:
    """The page of the guide's variant."""
    return _render(
        "guide.html",
        title=title,
        table=table,
        warnings=card.get("warnings", ()),
        failed=failed_checks(card.get("checks", ())),
        fewest_seeds=measured.fewest_seeds(card),
        provenance=provenance,
        configuration=configuration,
    )


def _render(template: str, **context: Any) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("einstellung.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "symbols": symbols,
        "data_uri": data_uri,
        "footnotes": footnotes,
        "plain": plain,
        "typeset": typeset,
    }
    return environment.get_template(template).render(**context)


def symbols(text: str) -> Markup:
    """Escape a text and set the subscripts of our symbols.

    >>> symbols("SFR_rel < 0")
    Markup('SFR<sub>rel</sub> &lt; 0')
    """
    escaped = str(escape(text))
    for written, markup in _SUBSCRIPTS.items():
        escaped = escaped.replace(written, markup)
    return Markup(escaped)


def typeset(sentence: str) -> Markup:
    """A sentence of a verdict with the signs that plain text spells out.

    >>> typeset("Delta_S = -0.1 <= 0, not t-test")
    Markup('Δ<sub>S</sub> = −0.1 ≤ 0, not t-test')
    """
    spelled = sentence.replace("Delta", "Δ").replace(" <= ", " ≤ ").replace(" >= ", " ≥ ").replace("+-", "±")
    return symbols(re.sub(r"(?<![\w.])-(?=\d)", MINUS, spelled))


def data_uri(svg: bytes) -> str:
    """An image that is part of the page itself."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()


def plain(value: Any) -> str:
    """A fact of the proof or of the provenance as text.

    >>> plain(0.0166667), plain([1, 2]), plain(None), plain(True)
    ('0.0167', '1, 2', '–', 'yes')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(plain(item) for item in value)
    return str(value)


def _verdict_card(card: Mapping[str, Any], method: str) -> dict[str, Any]:
    record = card["methods"][method]
    return {
        "method": method,
        "colour": styles_of(card)[method].colour,
        "pattern": PATTERNS.get(record["pattern"]),
        "certainty": certainty_beside(record),
        "certainty_words": _certainty_words(record),
        "verdict": record["verdict"],
        "high_rigidity": record["high_rigidity"],
        "next_probe": record["next_probe"],
        "facets": [_facet_row(card, method, key) for key in _CARD_FACETS if record.get(key) is not None],
        "conditions": [_condition(condition) for condition in record["conditions"] or ()],
    }


def _certainty_words(record: Mapping[str, Any]) -> str:
    """What the certainty means; where seeds are too few, which facet has how many."""
    needed = dict.fromkeys(condition["facet"] for condition in record["conditions"])
    few = {FACETS[facet].head: record[facet]["n"] for facet in needed if 0 < record[facet]["n"] < FEWEST_SEEDS}
    if record["certainty"] == "too few seeds" and few:
        return ", ".join(f"{head} rests on n = {n}" for head, n in few.items()) + f"; {FEWEST_SEEDS} are needed to tell"
    return CERTAINTIES.get(record["certainty"], "")


def _facet_row(card: Mapping[str, Any], method: str, key: str) -> dict[str, Any]:
    estimate, facet = card["methods"][method][key], FACETS[key]
    return {
        "head": facet.head,
        "meaning": facet.meaning,
        "value": mean_sd(key, estimate),
        "interval": interval(key, estimate),
        "n": estimate["n"],
        "why": why_undefined(card, method, key) if estimate["mean"] is None else None,
    }


def _condition(condition: Mapping[str, Any]) -> dict[str, Any]:
    facet, value, bound = condition["facet"], condition["value"], condition["bound"]
    state = {True: "met", False: "not met", None: "undefined"}[condition["met"]]
    sure = {True: "interval agrees", False: "interval does not settle it", None: "no interval"}[condition["sure"]]
    within = condition["relation"] == "|.| <"
    relation = "within ±" + number(bound) if within else f"{_RELATIONS[condition['relation']]} {write(facet, bound)}"
    return {
        "text": f"{FACETS[facet].head} {write(facet, value)} {relation}",
        "state": state,
        "sure": sure if value is not None else "",
    }


def _baseline_card(card: Mapping[str, Any]) -> dict[str, Any] | None:
    if card["baseline"] not in card["methods"]:
        return None
    keys = ("delta", "SC_patch", "SC_mask", "NSC")
    return {"method": card["baseline"], "facets": [_facet_row(card, card["baseline"], key) for key in keys]}


def _check_groups(
    proof: Mapping[str, Any] | None, proof_checks: list[Mapping[str, Any]], log_checks: list[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Both kinds of checks, the failed ones first, then those that could not be made."""
    order = {False: 0, None: 1, True: 2}
    groups = []
    if proof is not None:
        name = f"Proof of the stream '{proof.get('stream')}', made before training"
        groups.append({"name": name, "checks": proof_checks})
    groups.append({"name": "Checks of the log", "checks": log_checks})
    for group in groups:
        group["checks"] = sorted(group["checks"], key=lambda check: order[check["passed"]])
    return groups


def _setting(card: Mapping[str, Any]) -> dict[str, str]:
    return {
        "baseline": card["baseline"] if card["baseline"] in card["methods"] else "none",
        "seeds": measured.seeds_in_words(card),
        "accuracy": "top-1, macro over the classes of the split",
        "threshold τ": number(card["tau"], digits=2),
        "curves": measured.smoothing_in_words(card),
        "final values": f"at {measured.rule_in_words(card)}",
        "margins": measured.margins_in_words(card),
    }
