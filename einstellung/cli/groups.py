"""Groups of verbs: sections in the help, a default verb, and older names that still work."""

from __future__ import annotations

import copy
import difflib
import os
from collections.abc import Sequence
from pathlib import Path

import click


class SectionedGroup(click.Group):
    """Lists its verbs in sections, in the order in which they were added; without any, in the order of the alphabet."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self._sections: dict[str, list[str]] = {}

    def add_section(self, title: str, verbs: Sequence[click.Command]) -> None:
        """Add verbs, listed below ``title``."""
        for verb in verbs:
            self.add_command(verb)
            self._sections.setdefault(title, []).append(str(verb.name))

    def list_commands(self, ctx: click.Context) -> list[str]:
        listed = [name for names in self._sections.values() for name in names]
        return [*listed, *sorted(name for name in self.commands if name not in listed)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listed = {name for names in self._sections.values() for name in names}
        others = [name for name in self.list_commands(ctx) if name not in listed]
        width = max(map(len, self.commands))
        for title, names in {**self._sections, "Other" if listed else "Commands": others}.items():
            shown = [self.commands[name] for name in names if not self.commands[name].hidden]
            rows = [(f"{verb.name:<{width}}", summary(verb)) for verb in shown]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class DefaultGroup(SectionedGroup):
    """A group with a default verb: ``probe FOLDER`` is short for ``probe nets FOLDER``.

    A folder with the name of a verb is given as a path, ``./shifts``.
    """

    def __init__(self, *arguments: object, default: str = "", **options: object) -> None:
        super().__init__(*arguments, **options)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = args[0] if args else ""
        if args and first not in self.commands and first not in ctx.help_option_names:
            close = difflib.get_close_matches(first, self.commands, n=1, cutoff=0.7)
            if close and os.sep not in first and not Path(first).exists():
                raise click.UsageError(f"there is no folder '{first}': did you mean '{ctx.info_name} {close[0]}'?", ctx)
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def summary(verb: click.Command) -> str:
    """The first sentence of a verb's help, however long: the help page wraps it."""
    return verb.get_short_help_str(limit=1000)


def hidden_alias(verb: click.Command) -> click.Command:
    """The same verb for another place, where it works and is not listed."""
    alias = copy.copy(verb)
    alias.hidden = True
    return alias
