"""The options that say how logs are read, shared by the verbs that read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from einstellung.cli.parameters import PATH, FiniteFloat

if TYPE_CHECKING:
    from einstellung.timeline import ImportOptions

_FORMATS = ("csv", "tsv", "json", "jsonl", "parquet", "tensorboard", "mlflow", "wandb")
_OPTIONS = (
    click.option("--wide", is_flag=True, help="The table has one column a metric, as W&B and MLflow export it."),
    click.option(
        "--map",
        "mapped",
        multiple=True,
        metavar="THEIRS=OURS",
        help="A column by another name: accuracy=acc, '{split}/acc=acc', val_acc=T2_val/acc. May be repeated.",
    ),
    click.option("--mapping", type=PATH, help="A YAML file with 'map' and these options."),
    click.option("--method", metavar="NAME", help="Method of all rows, where the log does not name it."),
    click.option("--seed", type=int, metavar="NUMBER", help="Seed of all rows, where the log does not name it."),
    click.option(
        "--phase",
        metavar="PHASE",
        help="Phase of all rows (T1, T2), where the log does not name it. Where it names more than two, 'score' takes it as the "
        "phase that verdicts are about.",
    ),
    click.option(
        "--epoch", type=FiniteFloat(), metavar="NUMBER", help="Epoch of all rows, where the log does not name it."
    ),
    click.option(
        "--run", "run_names", metavar="PATTERN", help="What run names look like.  [default: {method}-seed{seed}]"
    ),
    click.option(
        "--steps-per-epoch", type=FiniteFloat(), metavar="NUMBER", help="Steps in an epoch, for logs without epochs."
    ),
    click.option("--format", "log_format", type=click.Choice(_FORMATS), help="[default: recognised by the file]"),
)
_NAMES = ("wide", "mapped", "mapping", "method", "seed", "phase", "epoch", "run_names", "steps_per_epoch", "log_format")
_TYPED = tuple(
    "--" + {"mapped": "map", "run_names": "run", "log_format": "format"}.get(n, n.replace("_", "-")) for n in _NAMES
)


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; it gets them as keyword arguments, for :func:`import_options`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def as_words(arguments: dict[str, Any]) -> list[str]:
    """The options that were given, as they are typed."""
    words: list[str] = []
    for name, option in zip(_NAMES, _TYPED, strict=True):
        value = arguments[name]
        if value is True:
            words.append(option)
        elif value not in (None, False):
            words += [word for one in (value if isinstance(value, tuple) else (value,)) for word in (option, str(one))]
    return words


def import_options(arguments: dict[str, Any]) -> ImportOptions:
    """Take the options out of a command's arguments."""
    from einstellung.timeline import ImportOptions
    from einstellung.timeline.importing.options import parse_assignments, read_mapping

    given = {name: arguments.pop(name) for name in _NAMES}
    mapping, mapped = given.pop("mapping"), given.pop("mapped")
    run, format = given.pop("run_names"), given.pop("log_format")
    options = ImportOptions(columns=parse_assignments(mapped), run=run, format=format, **given)
    return options if mapping is None else read_mapping(mapping, options)
