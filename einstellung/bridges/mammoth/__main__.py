"""``python -m einstellung.bridges.mammoth --mammoth FOLDER -- MAMMOTH'S OWN ARGUMENTS``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import click

from einstellung.bridges.mammoth.checkout import open_checkout
from einstellung.bridges.mammoth.datasets import register_datasets
from einstellung.bridges.mammoth.evaluator import FINAL_METRICS
from einstellung.bridges.mammoth.integration import RESULTS, enable_einstellung_integration
from einstellung.errors import InputError


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--mammoth", "folder", required=True, type=click.Path(path_type=Path), help="A checkout of Mammoth.")
@click.option(
    "--results", default=RESULTS, type=click.Path(path_type=Path), show_default=True, help="Folder for the timelines."
)
@click.option("--method", help="The run's name in the timeline  [default: Mammoth's --model].")
@click.option("--seed", default=0, show_default=True, help="For Mammoth and the timeline.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def launch(folder: Path, results: Path, method: str | None, seed: int, words: tuple[str, ...]) -> None:
    """Train with Mammoth and record a timeline.

    Mammoth's own arguments follow after --: --model, --dataset (one of seq-cifar100-einstellung, seq-cifar100-einstellung-224,
    seq-shapes-einstellung), --lr and so on. The baseline is --model sgd --start_from 1.
    """
    results = results.absolute()  # importing Mammoth changes the working directory
    if any(word.partition("=")[0] == "--seed" for word in words):
        raise InputError("give --seed before the --, so that Mammoth and the timeline have the same one")
    open_checkout(folder)
    register_datasets()
    main = import_module("main")
    sys.argv = ["main.py", *words, "--seed", str(seed)]
    args = main.parse_args(verbose=True)
    evaluator = enable_einstellung_integration(args, results=results, method=method)
    main.main(args)
    if evaluator.open_phase is not None:
        raise InputError(
            f"training was interrupted in {evaluator.open_phase}: {evaluator.recorder.path} is incomplete and cannot be scored; "
            "remove it and train again"
        )
    metrics = evaluator.get_final_metrics()
    click.echo(f"\n{evaluator.recorder.path}")
    for name in FINAL_METRICS:
        value = getattr(metrics, name)
        click.echo(f"  {name:26} {'undefined' if value is None else f'{value:.3f}'}")
    if metrics.why_undefined:
        click.echo(f"  undefined: {metrics.why_undefined}")
    click.echo(f"next: einstellung score {results}")


def main() -> None:
    """Entry point: wrong input becomes one line on standard error and exit code 2."""
    try:
        launch.main(prog_name="python -m einstellung.bridges.mammoth", standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"einstellung: {' '.join(error.format_message().split())}", err=True)
        sys.exit(2)
    except InputError as error:
        click.echo(f"einstellung: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
