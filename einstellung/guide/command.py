"""The guide's command, ``run_einstellung_experiment.py``: run and report a study from flags, and print the guide's table."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from einstellung.arguments import add_data_location
from einstellung.boundary import guarded
from einstellung.errors import CombinedInputError, InputError
from einstellung.guide.debug import describe_debug
from einstellung.guide.flags import configured, parsed
from einstellung.results.config import StudyConfig, to_yaml

if TYPE_CHECKING:
    from einstellung.diagnoses.reporting import Reported
    from einstellung.guide.card import GuideCard
    from einstellung.guide.experiment import Checkpoints, Performed, Request

_NAME = "run_einstellung_experiment"
_OUT_FLAG = re.compile(r"--out(?![\w-])")


def main(words: list[str] | None = None) -> None:
    """Entry point: a user's mistake is one line and exit code 2."""
    given = sys.argv[1:] if words is None else words

    def run() -> int:
        try:
            return _run(parsed(given), shlex.join([f"{_NAME}.py", *given]))
        except InputError as error:  # here the folder is chosen by another flag
            raise CombinedInputError(_OUT_FLAG.sub("--results_root", problem) for problem in error.problems) from error

    sys.exit(guarded(run, _NAME, given, "interrupted; rerun with --auto_checkpoint to resume"))


def _run(flags: argparse.Namespace, command: str) -> int:
    add_data_location(flags.data)
    _choose_cache(flags)
    config = configured(flags, _say)
    from einstellung.experiments.assembly import resolve
    from einstellung.experiments.launcher import describe_failures
    from einstellung.guide.experiment import perform

    resolved = resolve(config)  # report an unknown name before anything else
    request = _request(flags, config, command)
    if flags.debug:
        _say(describe_debug(resolved))
    if flags.verbose:
        _say(to_yaml(resolved).rstrip())
    performed = perform(request, _say)
    if performed.reported is not None:
        _show(performed, performed.reported, flags.comparative)
    lines, code = describe_failures(performed.failures)
    for line in lines:
        _say(f"{_NAME}: {line}")
    return code


def _request(flags: argparse.Namespace, config: StudyConfig, command: str) -> Request:
    from einstellung.guide.experiment import Request

    checkpoints: Checkpoints = "stop"
    if flags.skip_training:
        checkpoints = "skip_training"
    elif flags.force_retrain:
        checkpoints = "force_retrain"
    elif flags.auto_checkpoint:
        checkpoints = "auto_checkpoint"
    request = Request(config, flags.results_root, checkpoints, flags.workers, command)
    if not flags.verbose:
        return request
    from dataclasses import replace

    from einstellung.guide.verbose import MeasurementLines

    return replace(request, display=MeasurementLines)


def _choose_cache(flags: argparse.Namespace) -> None:
    """Set it in the environment, which worker processes inherit."""
    from einstellung.sources.cache import OFF, VARIABLE, is_off

    if flags.disable_cache:
        os.environ[VARIABLE] = OFF
    elif flags.enable_cache and is_off():
        del os.environ[VARIABLE]


def _show(performed: Performed, reported: Reported, comparative: bool) -> None:
    """The guide's table, then the triplet's verdicts (as a whole card where methods are compared), then the paths."""
    from rich.console import Console
    from rich.text import Text

    from einstellung.guide.comprehensive import guide_settings
    from einstellung.guide.score import guide_score
    from einstellung.guide.tables import guide_table
    from einstellung.report.terminal import Overview, print_overview

    scored, console = reported.scored, Console()
    guides = guide_score(scored.evidence.timeline, guide_settings(performed.results.config()))
    if not console.is_terminal:
        console.width = max(console.width, 120)  # for verdicts; tables are as wide
    print_overview(console, Overview(guide_table(guides)), guides.checks, guides.warnings)
    print()
    if comparative:
        for line in _comparison(guides):
            print(line)
        print()
    card = scored.card.baseline_first()
    if not card.has_baseline:
        print(f"no verdict: the triplet needs {card.baseline}; add it to --model, or use --comparative")
    elif comparative:
        print_overview(console, scored.diagnosis.overview(card), card.checks, card.warnings)
    else:
        for method, record in card.methods.items():
            if record.verdict:
                console.print(Text(f"{method}: {record.verdict}"))
    print(f"\nreport: {reported.page}\nresults: {performed.comprehensive}")


def _comparison(card: GuideCard) -> Iterator[str]:
    """Differences between methods in the guide's metrics, with their tests."""
    from einstellung.guide.significance import guide_tests
    from einstellung.guide.tables import PARTS

    for test in guide_tests(card):
        if test["mean_difference"] is None:
            continue
        sure = test["note"] or f"p = {test['p_holm']:.3g} after Holm's correction, n = {test['n']}"
        yield f"{test['method']} against {test['against']}: {PARTS[test['metric']]} {test['mean_difference']:+.3f} ({sure})"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
