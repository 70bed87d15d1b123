"""``score``: a diagnosis from log files."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from einstellung.cli.log_options import as_words, import_options, log_options
from einstellung.cli.output import JSON, command_line, show_scored
from einstellung.cli.parameters import PATH
from einstellung.errors import InputError

if TYPE_CHECKING:
    from einstellung.diagnoses.reporting import Scored


class _ScoreCommand(click.Command):
    """Has an option for every setting of every diagnosis; they are looked up only when this verb is called."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        known = super().get_params(ctx)
        return [*known[:-1], *_setting_options({option for one in known for option in one.opts}), known[-1]]


def _setting_options(taken: set[str]) -> list[click.Parameter]:
    from einstellung.diagnoses import diagnoses

    kinds = {name: diagnoses[name].Settings for name in diagnoses}
    options: dict[str, dict[str, Any]] = {}
    for name, settings in kinds.items():
        for key, field in settings.model_fields.items():
            options.setdefault(key, {})[name] = field
    found: list[click.Parameter] = []
    for key, fields in options.items():
        option = "--" + key.replace("_", "-")
        if option in taken:
            continue
        found.append(click.Option([option, f"setting_{key}"], help=_describe(fields, len(kinds)), metavar="VALUE"))
    return found


def _describe(fields: dict[str, Any], kinds: int) -> str:
    """What a setting means and its default, by diagnosis where they differ."""
    by_text: dict[str, list[str]] = {}
    for name, field in fields.items():
        default = _default(field.get_default(call_default_factory=True))
        text = (field.description or "") + (f"  [default: {default}]" if default else "")
        by_text.setdefault(text, []).append(name)
    if len(fields) == kinds and len(by_text) == 1:
        return next(iter(by_text))
    return " ".join(f"{', '.join(names)}: {text}" for text, names in by_text.items())


def _default(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple | list):
        return ",".join(f"{one:g}" if isinstance(one, float) else str(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


@click.command(cls=_ScoreCommand)
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="FILE_OR_FOLDER...")
@click.option(
    "--as",
    "kind",
    metavar="DIAGNOSIS",
    help="Diagnosis; see 'einstellung ls diagnoses'.  [default: chosen by the splits]",
)
@click.option("--plugin", "plugins", multiple=True, type=PATH, help="Python file that adds diagnoses.")
@click.option("--methods", metavar="NAMES", help="Score only these methods, separated by commas; include the baseline.")
@click.option("--seeds", metavar="NUMBERS", help="Score only these seeds, separated by commas.")
@log_options
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Set any setting of the diagnosis.")
@click.option("--variant", hidden=True)  # the older name of --as
@JSON
@click.option("--out", type=PATH, help="Write figures, tables and the report into this folder.")
def score(
    paths: tuple[Path, ...],
    kind: str | None,
    plugins: tuple[Path, ...],
    methods: str | None,
    seeds: str | None,
    assignments: tuple[str, ...],
    variant: str | None,
    as_json: bool,
    out: Path | None,
    **options: Any,
) -> None:
    """Score training logs: does the learner rely on the cue?

    Reads timelines of this tool, the timeline_*.csv files of the public fork, tables (CSV, TSV, JSON, Parquet), TensorBoard event
    files, and MLflow and W&B folders and exports. 'einstellung import' shows what is understood of them.
    """
    from einstellung.arguments import names, whole_numbers
    from einstellung.diagnoses.registry import DEFAULT, applies, get_diagnosis, recognise
    from einstellung.diagnoses.reporting import evidence_and_phase, evidence_of_logs, score_evidence
    from einstellung.diagnoses.settings import parse_settings
    from einstellung.results.config import with_assignments
    from einstellung.timeline.reading import timeline_files

    typed = as_words(options)
    logs = import_options(options)
    if plugins:
        from einstellung.experiments.plugins import load_plugins
        from einstellung.results.config import PluginConfig

        load_plugins(PluginConfig(file=str(file)) for file in plugins)
    if variant is not None and kind is not None:
        raise InputError("--variant is the old name of --as: give only --as")
    kind = kind or (DEFAULT if variant == "paper" else variant)
    chosen = {"--methods": methods, "--seeds": seeds}
    words = [*map(str, paths), *(word for pair in chosen.items() if pair[1] is not None for word in pair), *typed]
    read, shown = evidence_and_phase(lambda chosen: evidence_of_logs(paths, chosen), logs)
    evidence = replace(read, source=shlex.join(words)).only(
        None if methods is None else names("--methods", methods),
        None if seeds is None else whole_numbers("--seeds", seeds),
    )
    found = recognise(evidence.timeline.splits)
    diagnosis = found if kind is None else get_diagnosis(kind)
    if not applies(diagnosis, evidence.timeline.splits):
        raise InputError(
            f"--as {diagnosis.name} does not fit timelines of {found.topic}: leave it out or give --as {found.name}"
        )
    given = {key.removeprefix("setting_"): value for key, value in options.items() if value is not None}
    settings = parse_settings(
        diagnosis.Settings,
        {**with_assignments({}, assignments), **given, **({} if shown is None else {"phase": shown})},
        diagnosis.name,
        lambda key: "--" + key.replace("_", "-"),
    )
    scored = score_evidence(diagnosis, evidence, settings.model_dump())
    page = _write_page(out, scored, timeline_files(paths, logs.format)) if out is not None else None
    show_scored(scored, as_json, page)


def _write_page(out: Path, scored: Scored, files: list[Path]) -> Path:
    """The page of foreign logs, with the hashes of the files it was made from."""
    from einstellung.diagnoses.reporting import write_report
    from einstellung.results.provenance import file_hashes, now, provenance

    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; choose a folder for --out")
    if (out / "config.yaml").exists():
        raise InputError(f"{out} is the results folder of a study: use 'einstellung report {out}', or another --out")
    record = {**provenance(command_line(), file_hashes(files)), "finished": now()}
    return write_report(out, scored, provenance=record)
