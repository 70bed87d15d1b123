"""The page: one shell for every diagnosis, filled from templates; one file that opens offline and asks for nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from einstellung.checks import Check
from einstellung.input_words import words_for
from einstellung.report.forest import Forest
from einstellung.report.markup import data_uri, plain, symbols, typeset
from einstellung.report.measured import MeasuredSplit
from einstellung.report.pictures import PictureRow, strip
from einstellung.report.scripts import json_data, page_script, script_hash
from einstellung.report.table_formats import footnotes
from einstellung.report.tables import Missing, Table
from einstellung.visible import visible, visible_data

if TYPE_CHECKING:
    from einstellung.report.figures.plan import Drawn

DEFAULT_TEMPLATE = "default.html"
_FACT_WORDS = {
    "chance": "chance over the whole head",
    "chance_task": "chance within the last phase",
    "cue_alone": "accuracy reachable from the cue alone",
}


@dataclass(frozen=True)
class PageOrigin:
    """Where the numbers of a page come from."""

    proof: Mapping[str, Any] | None = None
    provenance: Mapping[str, Any] | None = None
    configuration: str | None = None


@dataclass(frozen=True)
class Page:
    """All that the shell shows; ``own`` is what the diagnosis' own template needs besides.

    ``forest`` and ``pictures``: the first screen. ``terms``: what the page explains on hover and focus. ``scripts``: files of the
    diagnosis' own code, ``data``: what this code reads.
    """

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
    forest: Forest | None = None
    pictures: Sequence[PictureRow] = ()
    terms: Mapping[str, str] = field(default_factory=dict)
    scripts: Sequence[Path | str] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


class Sections:
    """The sections of a page in the order in which it shows them, for its table of contents."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}

    def add(self, id_: str, title: str) -> str:
        """Note a section; the empty text, so that a template can call it where the section begins."""
        self._titles[id_] = title
        return ""

    def has(self, id_: str) -> bool:
        return id_ in self._titles

    def listed(self) -> list[tuple[str, str]]:
        """Ids and titles; the checks stand right after the first screen, whenever they were rendered."""
        order = {"methods": 0, "checks": 1}
        return sorted(self._titles.items(), key=lambda section: order.get(section[0], 2))


def render_page(page: Page) -> str:
    """The whole page as HTML text."""
    origin = page.origin
    proof_checks = [Check(**check) for check in (origin.proof or {}).get("checks", ())]
    columns = page.forest.columns if page.forest else ()
    words = words_for((origin.proof or {}).get("facts"))
    data = {
        "forest": page.forest.to_json() if page.forest else None,
        "terms": words.say_data({**{column.key: column.meaning for column in columns}, **page.terms}),
        **page.data,
    }
    made = render_template(
        page.template or DEFAULT_TEMPLATE,
        page.scripts,
        data,
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
        forest=page.forest,
        pictures=strip(page.pictures),
        **page.own,
    )
    return words.say_html(made)


def render_template(
    template: str | Path, scripts: Sequence[Path | str] = (), data: Mapping[str, Any] | None = None, **context: Any
) -> str:
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
    environment.globals["sections"] = Sections()
    code = page_script(scripts)
    context |= {"script": code, "script_hash": script_hash(code), "data": json_data(visible_data(data or {}))}
    if isinstance(template, Path):  # by its text: a file may extend one of ours that has the same name
        made = environment.from_string(template.read_text(encoding="utf-8"))
    else:
        made = environment.get_template(template)
    return visible(made.render(**context))


def failed_checks(checks: Iterable[Check]) -> list[Check]:
    """Every check that did not pass."""
    return [check for check in checks if check.passed is False]


def check_groups(
    proof: Mapping[str, Any] | None, proof_checks: Sequence[Check], log_checks: Sequence[Check]
) -> dict[str, list[dict[str, Any]]]:
    """Both kinds of checks, the failed ones first, then those that could not be made."""
    order = {False: 0, None: 1, True: 2}
    groups = {f"Verification of the stream '{proof.get('stream')}', before training": proof_checks} if proof else {}
    groups["Checks of the timeline"] = log_checks
    return {
        name: [asdict(check) for check in sorted(checks, key=lambda check: order[check.passed])]
        for name, checks in groups.items()
    }


def worded(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The names of facts as a reader would say them; what lies below them keeps its own names."""
    return {_FACT_WORDS.get(name, name.replace("_", " ")): value for name, value in facts.items()}
