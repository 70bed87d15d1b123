"""The page: everything a reader needs in one file that opens without a network and without a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
import pandas as pd

from einstellung.report import measured
from einstellung.report.answer import answer, failed_checks
from einstellung.report.attention_tables import NOT_PROOF
from einstellung.report.figures.attention_plans import ATTENTION
from einstellung.report.figures.catalogue import Drawn
from einstellung.report.markup import data_uri, plain, symbols, typeset
from einstellung.report.notation import CERTAINTIES, FACETS, PATTERNS, continual_methods, number
from einstellung.report.statistics_tables import statistics_tables
from einstellung.report.table_formats import footnotes
from einstellung.report.tables import Table
from einstellung.report.undefined import Missing
from einstellung.report.verdict_cards import baseline_card, verdict_card

_FACT_WORDS = {
    "chance": "chance over the whole head",
    "chance_task": "chance within the last phase",
    "cue_alone": "what the cue alone can give",
}


def report_page(
    frame: pd.DataFrame,
    card: Mapping[str, Any],
    figures: Sequence[Drawn],
    tables: Mapping[str, Table],
    *,
    no_figure: Sequence[Missing],
    no_table: Sequence[Missing],
    proof: Mapping[str, Any] | None,
    provenance: Mapping[str, Any] | None,
    configuration: str | None,
    title: str,
) -> str:
    """The whole page as HTML text."""
    proof_checks, log_checks = list((proof or {}).get("checks", ())), list(card.get("checks", ()))
    return render_template(
        "report.html",
        title=title,
        answer=answer(card),
        failed=failed_checks(proof_checks, log_checks),
        fewest_seeds=measured.fewest_seeds(card),
        warnings=card.get("warnings", ()),
        cards=[verdict_card(card, method) for method in continual_methods(card)],
        baseline=baseline_card(card),
        check_groups=check_groups(proof, proof_checks, log_checks),
        verdict_figure=next((figure for figure in figures if figure.name == "verdict"), None),
        figures=[
            figure for figure in figures if figure.name != "verdict" and not figure.is_sheet and not figure.is_attention
        ],
        attention=[figure for figure in figures if figure.is_attention],
        not_proof=NOT_PROOF,
        samples=[figure for figure in figures if figure.is_sheet],
        tables=tables,
        no_figure=[figure for figure in no_figure if not figure.name.startswith(ATTENTION)],
        no_attention=[figure for figure in no_figure if figure.name.startswith(ATTENTION)],
        no_table={thing.name: thing for thing in no_table},
        statistics=statistics_tables(card),
        splits=measured.splits(frame),
        setting=_setting(card),
        facts=worded((proof or {}).get("facts") or {}),
        stream=(proof or {}).get("stream"),
        facets=[FACETS[key] for key in ("AD", "PD", "SFR_rel", "CSR_rel", "delta", "delta_S")],
        patterns=list(PATTERNS.values()),
        certainties=CERTAINTIES,
        provenance=worded(provenance or {}),
        configuration=configuration,
    )


def guide_page(
    card: Mapping[str, Any],
    tables: Sequence[Table],
    *,
    provenance: Mapping[str, Any] | None,
    title: str,
) -> str:
    """The page of the guide's variant."""
    return render_template(
        "guide.html",
        title=title,
        tables=tables,
        warnings=card.get("warnings", ()),
        failed=failed_checks(card.get("checks", ())),
        fewest_seeds=measured.fewest_seeds(card),
        provenance=worded(provenance or {}),
        configuration=None,
    )


def sweep_page(
    *,
    title: str,
    answer: str,
    figure: Drawn,
    table: Table,
    links: Mapping[str, str],
    failed: Sequence[Mapping[str, Any]],
    warnings: Sequence[str],
    fewest_seeds: int,
) -> str:
    """The page of a sweep: one figure, one table, a link to the report of every value."""
    return render_template(
        "sweep.html",
        title=title,
        answer=answer,
        figure=figure,
        table=table,
        links=links,
        failed=failed,
        warnings=warnings,
        fewest_seeds=fewest_seeds,
    )


def render_template(template: str, **context: Any) -> str:
    """A page from one of our templates; what is not given is an error."""
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


def check_groups(
    proof: Mapping[str, Any] | None, proof_checks: list[Mapping[str, Any]], log_checks: list[Mapping[str, Any]]
) -> dict[str, list[Mapping[str, Any]]]:
    """Both kinds of checks, the failed ones first, then those that could not be made."""
    order = {False: 0, None: 1, True: 2}
    groups = {f"Proof of the stream '{proof.get('stream')}', made before training": proof_checks} if proof else {}
    groups["Checks of the log"] = log_checks
    return {name: sorted(checks, key=lambda check: order[check["passed"]]) for name, checks in groups.items()}


def worded(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The names of facts as a reader would say them; what lies below them keeps its own names."""
    return {_FACT_WORDS.get(name, name.replace("_", " ")): value for name, value in facts.items()}


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
