"""The command group and the entry point."""

from __future__ import annotations

import os
import sys

import click

from einstellung import __version__
from einstellung.cli.audit import audit
from einstellung.cli.composites import composites
from einstellung.cli.concon import concon
from einstellung.cli.data import data
from einstellung.cli.last_layer import last_layer
from einstellung.cli.probe import probe
from einstellung.cli.results import list_, report
from einstellung.cli.score import score
from einstellung.cli.shifts import shifts
from einstellung.cli.study import demo, run, validate
from einstellung.cli.view import view
from einstellung.cli.watermark import watermark
from einstellung.errors import InputError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="einstellung")
def cli() -> None:
    """Does a continual learner adapt for the right reason?

    \b
    einstellung demo               a learner with and without a habit, drawn shapes, a report in minutes
    einstellung score FILES...     the Einstellung Rigidity Index from your own log files
    einstellung run CONFIG.yaml    a study of your own
    einstellung audit FOLDER       cues that nobody named, in the nets of a study or in any classifier
    einstellung view FOLDER...     studies in the browser, running ones live
    """


for verb in (
    *(score, run, demo, validate, report, view, probe, audit, list_, data),
    *(concon, composites, watermark, shifts, last_layer),
):
    cli.add_command(verb)


def main() -> None:
    """Entry point: wrong input becomes one line on standard error and exit code 2."""
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        code = 0
    except click.ClickException as error:
        click.echo(f"einstellung: {' '.join(error.format_message().split())}", err=True)
        code = 2
    except InputError as error:
        click.echo(f"einstellung: {error}", err=True)
        code = 2
    except (click.Abort, KeyboardInterrupt):
        resumable = sys.argv[1:2] in (["run"], ["demo"], ["concon"])
        hint = "; run the same command again to resume" if resumable else ""
        click.echo(f"einstellung: stopped{hint}", err=True)
        code = 130
    except BrokenPipeError:
        # the reader of our output (a pager, head) has closed it: not an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code if isinstance(code, int) else 0)
