"""``probe``: probes of a study's stored nets, and of trained image classifiers."""

from __future__ import annotations

from pathlib import Path

import click

from einstellung.arguments import names
from einstellung.cli.groups import DefaultGroup
from einstellung.cli.output import JSON, echo, print_json, show_reported
from einstellung.cli.parameters import PATH


@click.group(cls=DefaultGroup, default="nets", subcommand_metavar="[nets] FOLDER | VERB [ARGS]...")
def probe() -> None:
    """Probe trained nets: those that a study stored, or image classifiers.

    'probe FOLDER' is short for 'probe nets FOLDER'.
    """


@probe.command("nets")
@click.argument("folder", type=PATH)
@click.option(
    "--probes", "probes", metavar="NAME,NAME,...", help="cka, calibration, plasticity, flips.  [default: all]"
)
@click.option(
    "--out", type=PATH, help="Write the probes and the report here and leave FOLDER unchanged.  [default: FOLDER]"
)
@JSON
def nets(folder: Path, probes: str | None, out: Path | None, as_json: bool) -> None:
    """Probe the stored nets of a finished study: do they corroborate its verdicts?"""
    from einstellung.cli.probing import check_output_folder
    from einstellung.diagnoses.reporting import report_study
    from einstellung.experiments.probing import probe_folder, require_study
    from einstellung.results.folder import ResultsFolder
    from einstellung.results.probe_names import known_probes

    asked = known_probes(names("--probes", probes)) if probes is not None else ()
    check_output_folder(out)
    results = ResultsFolder(folder)
    require_study(results)
    with results.in_use():
        found = probe_folder(results, asked, out or folder, lambda line: echo(line, err=True))
        reported = report_study(results, out=out)
    if as_json:
        print_json(
            {
                "probes": {name: file.model_dump(mode="json") for name, file in found.items()},
                "corroboration": reported.scored.card.to_json()["corroboration"],
                "report": str(reported.page),
            }
        )
    else:
        show_reported(reported, as_json)
