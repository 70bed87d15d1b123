"""The error for wrong user input."""

from __future__ import annotations


class InputError(Exception):
    """The user's input (a file, a key, a folder) is wrong.

    The message is one line: what is wrong, where, and what to do. The command line prints it after ``einstellung:`` and exits
    with code 2.
    """

    def __str__(self) -> str:
        return " ".join(super().__str__().split())
