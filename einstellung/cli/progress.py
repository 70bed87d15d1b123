"""Progress bars and lines, always on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def counting(title: str, done: str) -> Iterator[Callable[[int, int], object]]:
    """Yields ``on_progress(count, total)``: a bar titled ``title`` on a terminal, log lines starting with ``done`` elsewhere."""
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
