"""Numbers and lists as a sentence says them, for checks, verdicts and answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from einstellung.timeline import Run


def listed_seeds(seeds: Sequence[int], most: int = 8) -> str:
    """Seeds as a reader wants them.

    >>> listed_seeds([42]), listed_seeds([1, 2, 3], most=2)
    ('seed 42', 'seeds 1, 2 and 1 more')
    """
    listed = ", ".join(map(str, seeds[:most])) + (f" and {len(seeds) - most} more" if len(seeds) > most else "")
    return f"seed {listed}" if len(seeds) == 1 else f"seeds {listed}"


def counted(number: float, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "run"), counted(1.5, "epoch"), counted(0, "run")
    ('1 run', '1.5 epochs', '0 runs')
    """
    shown = str(number) if isinstance(number, int) else f"{number:g}"
    return f"{shown} {noun}" if number == 1 else f"{shown} {noun}s"


def listed(items: Iterable[str], most: int = 6) -> str:
    """The first few findings of a check.

    >>> listed(["a", "b", "c"], most=2)
    'a; b and 1 more'
    """
    items = list(items)
    return "; ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")


def run_name(run: Run) -> str:
    """
    >>> run_name(("sgd", 42))
    'sgd seed 42'
    """
    return f"{run[0]} seed {run[1]}"


def percent(share: float) -> str:
    """A share in per cent.

    >>> percent(0.7264)
    '72.6 %'
    """
    return f"{100 * share:.1f} %"


def points(difference: float) -> str:
    """A difference of shares in percentage points.

    >>> points(0.2), points(-0.031)
    ('20.0', '-3.1')
    """
    text = f"{100 * difference:.1f}"
    return "0.0" if text == "-0.0" else text
