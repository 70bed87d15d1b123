"""What is said about jobs that did not end well, and the exit code that goes with it."""

from __future__ import annotations

from collections.abc import Iterable

from einstellung.experiments.local import Failure


def failures_in_words(failures: Iterable[Failure]) -> tuple[list[str], int]:
    """A line for each failure and the exit code: 0 without any, 2 where the user can mend them all, 1 otherwise.

    What the user can mend (a full disk) has one cause and needs one line; other failures each have their own.
    """
    failures = list(failures)
    lines = [f"{failure.job.label} failed: {failure.reason}" for failure in failures]
    if not failures:
        return [], 0
    if not all(failure.by_input for failure in failures):
        return lines, 1
    more = f" (and {len(lines) - 1} more like it)" if len(lines) > 1 else ""
    return [lines[0] + more], 2
