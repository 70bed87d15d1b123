"""``concon logic`` and ``concon audit``: which predicates solve which task, and unintended rules in a set of scenes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from einstellung.cli.output import JSON, print_json
from einstellung.cli.parameters import PATH

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from einstellung.scenes.audit_files import AuditedFile
    from einstellung.scenes.cue_probe import CueProbe
    from einstellung.scenes.findings import Finding
    from einstellung.scenes.logic import Logic, PredicateAccuracy

_PLAIN_WIDTH = 120  # columns, if the output is not a terminal
_MAX_SHOWN = 10  # unintended rules shown; the JSON has all of them


@click.command()
@click.argument("rules", required=False, type=PATH, metavar="[RULES]")
@JSON
def logic(rules: Path | None, as_json: bool) -> None:
    """Show which rules solve which task, before any training.

    Evaluates every predicate on each task, on all tasks together and on the unconfounded set. RULES is a JSON or YAML file, or
    the folder of a published pair of files.  [default: the paper's rules]
    """
    from einstellung.scenes.logic import analyse
    from einstellung.scenes.logic_report import logic_record
    from einstellung.scenes.rules import read_rules

    found = analyse(read_rules(rules))
    if as_json:
        print_json(logic_record(found))
    else:
        _show_logic(found)


@click.command()
@click.argument("path", type=PATH, metavar="FOLDER_OR_SCENES.JSONL")
@click.option(
    "--rules",
    type=PATH,
    help="The rules of the scenes.  [default: those that they were generated with]",
)
@click.option(
    "--variant",
    type=click.Choice(["strict", "disjoint", "unconfounded"]),
    help="Variant of the scenes.  [default: from the folder's name, else the one that they obey]",
)
@JSON
def audit(path: Path, rules: Path | None, variant: str | None, as_json: bool) -> None:
    """Search scenes for unintended rules.

    Finds predicates that separate the classes better than the rules explain. A linear probe also tests positions, counts and
    visible areas against shuffled labels.
    """
    from einstellung.scenes.audit_files import audit_files
    from einstellung.scenes.rules import read_rules

    files = audit_files(None if rules is None else read_rules(rules), path, variant)
    if as_json:
        print_json({"passed": all(one.audit.passed for one in files), "sets": [one.to_dict() for one in files]})
        return
    for one in files:
        _show_audit(one)


def _show_logic(logic: Logic) -> None:
    from rich.markup import escape

    from einstellung.scenes.logic_report import percent, sentences

    console = _console()
    book = logic.book
    console.print(f"g  = {escape(book.ground_truth_words())}: {percent(logic.ground_truth_share)} % of all scenes")
    for task, share in enumerate(logic.confounder_shares):
        console.print(
            f"c{task + 1} = {escape(book.confounder_words(task))} (T{task + 1}): {percent(share)} % of all scenes"
        )
    console.print(f"{logic.scenes:,} scenes of {book.objects} objects, counted, not sampled.")
    for one in logic.variants:
        console.print(f"\n[bold]{one.variant}[/bold]", highlight=False)
        if one.results:
            tasks = [f"T{task + 1}" for task in range(book.tasks)]
            table = _table(
                console, "predicate", "that is", *tasks, "all tasks", "unconfounded\npos / neg", "unconfounded"
            )
            for result in one.results:
                unconfounded = result.unconfounded
                table.add_row(
                    escape(result.predicate.formula),
                    escape(result.predicate.words),
                    *(_cell(accuracy) for accuracy in (*result.tasks, result.joint)),
                    f"{percent(unconfounded.positive)} / {percent(unconfounded.negative)}",
                    _cell(unconfounded),
                )
            console.print(table)
        for sentence in sentences(logic, one.variant):
            console.print(f"- {escape(sentence)}", highlight=False)
    console.print("\nBalanced accuracy in per cent; 'solved' is exactly 100.", style="dim")


def _cell(accuracy: PredicateAccuracy) -> str:
    from einstellung.scenes.logic_report import percent

    return "[green]solved[/green]" if accuracy.solves else percent(accuracy.accuracy)


def _show_audit(file: AuditedFile) -> None:
    from rich.markup import escape

    console = _console()
    found = file.audit
    console.print(f"[bold]{escape(str(file.path))}[/bold]: {found.scenes:,} scenes, {found.variant}", highlight=False)
    for (task, label), number in found.broken.items():
        which = "positives" if label else "negatives"
        console.print(f"[bold red]{number:,} {which} of t{task} break the rule of their class[/bold red]")
    if not found.predicates:
        console.print("nothing was compared: the rules have none of these tasks\n", style="yellow")
        return
    console.print("predicates that separate the classes best:")
    console.print(_findings(console, found.strongest))
    if found.not_compared:
        console.print(f"not compared: {', '.join(found.not_compared)}", style="yellow")
    if found.unintended:
        console.print(
            f"[bold red]{len(found.unintended)} unintended rules[/bold red] among {found.predicates} predicates:"
        )
        console.print(_findings(console, found.unintended[:_MAX_SHOWN]))
    else:
        console.print(f"no unintended rule found among {found.predicates} predicates")
    if found.probes:
        console.print("cross-validated accuracy of a linear probe on the layouts alone:")
        console.print(_probes(console, found.probes))
    for one in found.probes:
        if one.found:
            console.print(f"[bold red]{one.cue} alone predict the label of t{one.task}[/bold red]")
    console.print()


def _findings(console: Console, findings: tuple[Finding, ...]) -> Table:
    table = _table(
        console, "task", "predicate", "accuracy", "expected", "positives", "expected", "negatives", "expected"
    )
    for one in findings:
        shares = (one.found[0], one.expected[0], one.found[1], one.expected[1])
        accuracies = (one.accuracy, one.expected_accuracy)
        table.add_row(f"t{one.task}", one.words, *(f"{100 * share:.1f}" for share in (*accuracies, *shares)))
    return table


def _probes(console: Console, probes: tuple[CueProbe, ...]) -> Table:
    """AUC: of the set, the bound from shuffled labels, and that of fresh scenes where the rules explain the cue."""
    table = _table(console, "task", "cue", "accuracy", "AUC", "shuffled labels", "p", "fresh scenes", "found")
    for one in probes:
        expected = "" if one.expected_auc is None else f"{one.expected_auc:.3f}"
        numbers = (
            f"{100 * one.accuracy:.1f}",
            f"{one.auc:.3f}",
            f"< {one.null_auc:.3f}",
            f"{one.p_value:.3f}",
            expected,
        )
        table.add_row(f"t{one.task}", one.cue, *numbers, "yes" if one.found else "no")
    return table


def _table(console: Console, *heads: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        box=None if console.options.ascii_only else SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False
    )
    for head in heads:
        words = head in ("predicate", "that is", "cue")
        table.add_column(head, justify="left" if words else "right", overflow="fold" if words else "ellipsis")
    return table


def _console() -> Console:
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, _PLAIN_WIDTH)
    return console
