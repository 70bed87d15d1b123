"""How far drawing scenes has come, told in lines with the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable

Tell = Callable[[str], object]
Heard = Callable[[int, int], object]  # so many of so many are done


def in_lines(what: str, tell: Tell, pause: float = 10.0) -> Heard:
    """Hears numbers and tells a line every ``pause`` seconds, and one at the end; what was there at the start took no time.

    >>> heard = in_lines("strict train", print, pause=0.0)
    >>> heard(500, 2000)
    strict train: 500 of 2,000 images
    """
    begun = said = time.monotonic()
    first: int | None = None

    def heard(done: int, total: int) -> None:
        nonlocal said, first
        first = done if first is None else first
        now = time.monotonic()
        if now - said < pause and done < total:
            return
        said = now
        gained, elapsed = done - first, now - begun
        left = f", about {_duration(elapsed * (total - done) / gained)} left" if gained and done < total else ""
        tell(f"{what}: {done:,} of {total:,} images{left}")

    return heard


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
