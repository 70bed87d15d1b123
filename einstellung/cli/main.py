"""The command group and the entry point."""

from __future__ import annotations

import os
import sys

import click

from einstellung.boundary import guarded
from einstellung.cli.audit import audit
from einstellung.cli.composites import composites
from einstellung.cli.concon import concon
from einstellung.cli.data import data
from einstellung.cli.gate import gate
from einstellung.cli.groups import SectionedGroup, hidden_alias
from einstellung.cli.import_ import import_
from einstellung.cli.last_layer import last_layer
from einstellung.cli.output import echo
from einstellung.cli.probe import probe
from einstellung.cli.results import list_, report
from einstellung.cli.score import score
from einstellung.cli.shifts import shifts
from einstellung.cli.study import demo, run, validate
from einstellung.cli.view import view
from einstellung.cli.watermark import watermark
from einstellung.errors import InputError
from einstellung.version import __version__


@click.group(cls=SectionedGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="einstellung")
def cli() -> None:
    """Does a continual learner adapt for the right reason?

    Start with 'einstellung demo', or with 'einstellung score FILES...' if you have logs of your own. 'einstellung COMMAND --help'
    shows the options of a command.
    """


for _title, _verbs in {
    "Studies": (demo, run, validate, report, view),
    "Your own logs": (score, import_),
    "Trained models": (audit, gate, probe),
    "Data and names": (data, concon, list_),
}.items():
    cli.add_section(_title, _verbs)
probe.add_command(last_layer)
probe.add_command(shifts)
probe.add_command(watermark)
data.add_command(composites)
for _verb in (last_layer, shifts, watermark, composites):  # their names before they belonged to groups
    cli.add_command(hidden_alias(_verb))

RESUMABLE = (["concon", "make"], ["concon", "perceive"], ["data", "get"])  # and studies: they go on where they stopped


def main() -> None:
    """Entry point: wrong input becomes one line on standard error and exit code 2."""
    words = sys.argv[1:]
    resumable = words[:1] in (["run"], ["demo"]) or words[:2] in RESUMABLE
    stopped = f"stopped{'; rerun the command to resume' if resumable else ''}"
    sys.exit(guarded(_run, "einstellung", words, stopped))


def _run() -> int:
    try:
        code = cli.main(standalone_mode=False)
    except getattr(click.exceptions, "NoArgsIsHelpError", ()) as error:  # click 8.2; before, it was no error
        echo(error.format_message())
        return 0
    except click.ClickException as error:
        raise InputError(error.format_message()) from None
    except click.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as end:
        if "_EINSTELLUNG_COMPLETE" not in os.environ:
            raise
        code = end.code  # so click ends what a shell asked for completion
    return code if isinstance(code, int) else 0
