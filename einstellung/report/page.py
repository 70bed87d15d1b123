"""The page: one shell for every diagnosis, filled from templates; one file that opens offline, without a script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from einstellung.checks import Check
from einstellung.report.markup import data_uri, plain, symbols, typeset
from einstellung.report.measured import MeasuredSplit
from einstellung.report.table_formats import footnotes
from einstellung.report.tables import Missing, Table

if TYPE_CHECKING:
    from einstellung.report.figures.plan import Drawn

DEFAULT_TEMPLATE = "default.html"
_FACT_WORDS = {
    "chance": "chance over the whole head",
    "chance_task": "chance within the last phase",
    "cue_alone": "what the cue alone can give",
}


@dataclass(frozen=True)
class PageOrigin:
    """Where the numbers of a page come from."""

    proof: Mapping[str, Any] | None = None
    provenance: Mapping[str, Any] | None = None
    configuration: str | None = None


@dataclass(frozen=True)
class Page:
    """All that the shell shows; ``own`` is what the diagnosis' own template needs besides."""

    title: str
    kicker: str
    answer: Sequence[str]
    fewest_seeds: int
    checks: Sequence[Check]
    warnings: Sequence[str]
    figures: Mapping[str, Drawn]
    tables: Mapping[str, Table]
    missing: Sequence[Missing] = ()
    conditions: Mapping[str, str] = field(default_factory=dict)
    splits: Sequence[MeasuredSplit] = ()
    origin: PageOrigin = PageOrigin()
    template: Path | None = None
    own: Mapping[str, Any] = field(default_factory=dict)


def render_page(page: Page) -> str:
    """The whole page as HTML text."""
    origin = page.origin
    proof_checks = [Check(**check) for check in (origin.proof or {}).get("checks", ())]
    return render_template(
        page.template or DEFAULT_TEMPLATE,
        title=page.title,
        kicker=page.kicker,
        answer=page.answer,
        failed=failed_checks([*proof_checks, *page.checks]),
        fewest_seeds=page.fewest_seeds,
        warnings=page.warnings,
        check_groups=check_groups(origin.proof, proof_checks, page.checks),
        figures=page.figures,
        tables=page.tables,
        missing={thing.name: thing for thing in page.missing},
        setting=page.conditions,
        splits=page.splits,
        facts=worded((origin.proof or {}).get("facts") or {}),
        stream=(origin.proof or {}).get("stream"),
        provenance=worded(origin.provenance or {}),
        configuration=origin.configuration,
        **page.own,
    )


def render_template(template: str | Path, **context: Any) -> str:
    """A page from one of our templates, or from a file that extends them; what is not given is an error."""
    loaders: list[jinja2.BaseLoader] = [jinja2.PackageLoader("einstellung.report")]
    if isinstance(template, Path):
        loaders.append(jinja2.FileSystemLoader(template.parent))
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
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
    if isinstance(template, Path):  # by its text: a file may extend one of ours that has the same name
        return environment.from_string(template.read_text(encoding="utf-8")).render(**context)
    return environment.get_template(template).render(**context)


def failed_checks(checks: Iterable[Check]) -> list[Check]:
    """Every check that did not pass."""
    return [check for check in checks if check.passed is False]


def check_groups(
    proof: Mapping[str, Any] | None, proof_checks: Sequence[Check], log_checks: Sequence[Check]
) -> dict[str, list[dict[str, Any]]]:
    """Both kinds of checks, the failed ones first, then those that could not be made."""
    order = {False: 0, None: 1, True: 2}
    groups = {f"Proof of the stream '{proof.get('stream')}', made before training": proof_checks} if proof else {}
    groups["Checks of the log"] = log_checks
    return {
        name: [asdict(check) for check in sorted(checks, key=lambda check: order[check.passed])]
        for name, checks in groups.items()
    }


def worded(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The names of facts as a reader would say them; what lies below them keeps its own names."""
    return {_FACT_WORDS.get(name, name.replace("_", " ")): value for name, value in facts.items()}
