"""Progress of long operations, always on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def progress_bar(title: str, done: str) -> Iterator[Callable[[int, int], object]]:
    """Yield a callback ``(count, total)``: a bar called ``title`` on a terminal, lines with ``done`` elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from einstellung.scenes.progress import progress_logger

    console = Console(stderr=True)
    if not console.is_terminal:
        yield progress_logger(done, lambda line: click.echo(line, err=True))
        return
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda count, total: bar.update(task, completed=count, total=total)
