"""The error for wrong user input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from einstellung.visible import shortened, visible

MOST_CHARACTERS = 286  # of a message; a command's line begins with its name, and stays under 300
MOST_PROBLEMS = 20


class InputError(Exception):
    """The user's input (a file, a key, a folder) is wrong.

    The message is one line, of at most 286 characters: what is wrong, where, and what to do; what it quotes is shortened to fit.
    The command line prints it after ``einstellung:`` and exits with code 2.
    """

    def __str__(self) -> str:
        return shortened(visible(" ".join(super().__str__().split())), MOST_CHARACTERS)

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows instead of a traceback."""
        return [f"{type(self).__name__}: {self}"]

    @property
    def problems(self) -> tuple[str, ...]:
        """A line for every problem: several independent ones may be reported together."""
        return (str(self),)


class CombinedInputError(InputError):
    """Several problems, found together; as text, in one line.

    >>> error = CombinedInputError(["lr is -1", "epochs is 0"])
    >>> str(error), error.problems
    ('lr is -1; epochs is 0', ('lr is -1', 'epochs is 0'))
    """

    def __init__(self, problems: Iterable[str]) -> None:
        every = tuple(dict.fromkeys(str(InputError(problem)) for problem in problems))
        more = len(every) - MOST_PROBLEMS
        self._problems = (*every[:MOST_PROBLEMS], f"and {more:,} more such problems") if more > 0 else every
        super().__init__("; ".join(self._problems))

    def __str__(self) -> str:
        return "; ".join(self._problems)

    @property
    def problems(self) -> tuple[str, ...]:
        return self._problems


class ProblemList:
    """Collects the problems of checks that do not depend on each other, so that the user can fix all of them at once.

    >>> found = ProblemList("mine.yaml: ")
    >>> with found.collecting():
    ...     raise InputError("lr is -1")
    >>> found.add("epochs is 0")
    >>> found.raise_any()
    Traceback (most recent call last):
    einstellung.errors.CombinedInputError: mine.yaml: lr is -1; mine.yaml: epochs is 0
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._problems: list[str] = []

    def add(self, problem: str) -> None:
        self._problems.append(self._prefix + problem)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Note an :class:`InputError` that is raised in this block, and go on after it."""
        try:
            yield
        except InputError as error:
            for problem in error.problems:
                self.add(problem)

    def raise_any(self) -> None:
        """Raise what was found: one problem as itself, several together."""
        if len(self._problems) == 1:
            raise InputError(self._problems[0])
        if self._problems:
            raise CombinedInputError(self._problems)
