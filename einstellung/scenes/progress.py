"""Progress of long work as log lines with the remaining time."""

from __future__ import annotations

import time
from collections.abc import Callable

Log = Callable[[str], object]
OnProgress = Callable[[int, int], object]  # (done, total)


def progress_logger(what: str, log: Log, interval: float = 10.0, unit: str = "images") -> OnProgress:
    """Log a line every ``interval`` seconds, and one at the end. Work that was done before the first call took no time.

    >>> on_progress = progress_logger("strict train", print, interval=0.0)
    >>> on_progress(500, 2000)
    strict train: 500 of 2,000 images
    """
    started = last_logged = time.monotonic()
    first: int | None = None

    def on_progress(done: int, total: int) -> None:
        nonlocal last_logged, first
        first = done if first is None else first
        now = time.monotonic()
        if now - last_logged < interval and done < total:
            return
        last_logged = now
        gained, elapsed = done - first, now - started
        left = f", about {_duration(elapsed * (total - done) / gained)} left" if gained and done < total else ""
        log(f"{what}: {done:,} of {total:,} {unit}{left}")

    return on_progress


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
