"""The command line: verbs only. What a verb needs is imported when it is called, so that ``--help`` answers at once."""

from einstellung.cli.main import cli, main

__all__ = ["cli", "main"]
