"""Every command with its options, from the program itself: ``<!-- commands -->`` in a page."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click


def commands_section() -> str:
    from einstellung.cli.main import cli

    top = click.Context(cli, info_name="einstellung", color=False)
    return "\n\n".join(part for name in cli.list_commands(top) for part in _command(cli, name, top, level=2))


def _command(group: click.Group, name: str, parent: click.Context, level: int) -> Iterator[str]:
    """The text of a command and of the commands below it; hidden ones, such as old names, are left out."""
    command = group.get_command(parent, name)
    if command is None or command.hidden:
        return
    context = click.Context(command, info_name=name, parent=parent, color=False)
    yield f"{'#' * level} {context.command_path}"
    yield from _paragraphs(command.help or "")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```"
    records = [option.get_help_record(context) for option in command.get_params(context)]
    if rows := [
        f"| `{_cell(record[0], plain=False)}` | {_cell(record[1])} |" for record in records if record and record[1]
    ]:
        yield "\n".join(["| option | meaning |", "| --- | --- |", *rows])
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _command(command, below, context, level + 1)


def _paragraphs(text: str) -> Iterator[str]:
    r"""The paragraphs of a help text; one that begins with \b keeps its lines."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            yield f"```text\n{paragraph.removeprefix(chr(8)).strip(chr(10))}\n```"
        elif paragraph:
            yield _escaped(paragraph)


def _escaped(text: str) -> str:
    """Help texts are plain text: stars, underscores and angle brackets stand for themselves."""
    for character in "\\*_`<[":
        text = text.replace(character, f"\\{character}" if character != "<" else "&lt;")
    return text


def _cell(text: str, *, plain: bool = True) -> str:
    """Text in a table, where a bar would end the cell; code needs no other escapes."""
    text = " ".join(text.split())
    return (_escaped(text) if plain else text).replace("|", "\\|")
