"""The one error that a user's input can cause."""

from __future__ import annotations


class InputError(Exception):
    """Something the user gave (a file, a key, a folder) is wrong.

    The message is one line: what is wrong, where, what to do. The command line prints it after ``einstellung:`` and
    exits with code 2; library users catch it like any other exception.
    """

    def __str__(self) -> str:
        return " ".join(super().__str__().split())
