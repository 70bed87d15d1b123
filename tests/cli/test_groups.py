"""The verbs of the command line: where they are listed, older names, a default verb, empty paths."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from einstellung.cli import cli
from einstellung.cli.groups import DefaultGroup, SectionedGroup

MOVED = {("probe", "last-layer"): ("last-layer",), ("probe", "shifts"): ("shifts",)}
MOVED |= {("probe", "watermark"): ("watermark",), ("data", "composites"): ("composites",)}
MOVED |= {("data", "composites", "make"): ("composites", "make")}


def ran(*words):
    return CliRunner().invoke(cli, list(words))


def commands_in(text):
    rows = text.split("Studies:")[1].splitlines()
    return [row.split()[0] for row in rows if row.startswith("  ") and row[2] != " "]


def test_help_lists_every_verb_once_in_a_section_and_no_older_name():
    listed = commands_in(ran("--help").output)
    assert sorted(listed) == sorted(name for name, verb in cli.commands.items() if not verb.hidden)
    assert listed[:2] == ["demo", "run"]
    assert not {"last-layer", "shifts", "watermark", "composites"} & set(listed)


def test_help_never_cuts_a_text():
    for words in ((), ("probe",), ("data",), ("concon",)):
        text = "".join(ran(*words, "--help").output.split())  # wrapped anywhere
        assert "..." not in text.replace("[ARGS]...", "").replace("FILES...", "")
        group = cli if not words else cli.commands[words[0]]
        for verb in group.commands.values():
            sentence = " ".join((verb.help or "").split("\n\n")[0].split()).split(". ")[0]
            assert verb.hidden or "".join(sentence.split()) in text, verb.name


@pytest.mark.parametrize("new", MOVED, ids=" ".join)
def test_older_names_work_and_are_the_same(new):
    now, before = ran(*new, "--help"), ran(*MOVED[new], "--help")
    assert (now.exit_code, before.exit_code) == (0, 0)
    assert before.output.split("\n", 1)[1] == now.output.split("\n", 1)[1]  # but for the line of usage


@click.group(cls=DefaultGroup, default="nets")
def group():
    """A group."""


@group.command()
@click.argument("folder")
@click.option("--json", "as_json", is_flag=True)
def nets(folder, as_json):
    click.echo(f"nets {folder} {as_json}")


@group.command("last-layer")
def last_layer():
    click.echo("last layer")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["results/demo"], "nets results/demo False"),
        (["results/demo", "--json"], "nets results/demo True"),
        (["--json", "results/demo"], "nets results/demo True"),
        (["nets", "results/demo"], "nets results/demo False"),
        (["./last-layer"], "nets ./last-layer False"),
        (["last-layer"], "last layer"),
        (["last-layr"], "did you mean 'group last-layer'?"),
        ([], "Usage: group"),
        (["--help"], "Usage: group"),
    ],
)
def test_a_default_verb(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in CliRunner().invoke(group, words, prog_name="group").output


def test_a_folder_that_exists_wins_over_a_verb_of_a_similar_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "last-layr").mkdir()
    assert "nets last-layr False" in CliRunner().invoke(group, ["last-layr"]).output


def test_a_verb_without_a_section_is_listed_last():
    some = SectionedGroup("some")
    some.add_section("First", [click.Command("b", help="B does this. And more.")])
    some.add_command(click.Command("a", help="A."))
    text = CliRunner().invoke(some, ["--help"]).output
    assert text.index("First:") < text.index("B does this.") < text.index("Other:") < text.index("A.")
    assert "And more" not in text


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--preset", "demo", "--dry-run", "--out", ""),
        ("demo", "--out", " "),
        ("report", ""),
        ("score", "", "--out", "x"),
        ("data", "get", "cifar100", "--to", ""),
        ("data", "composites", "make", "--out", ""),
        ("probe", "results", "--out", ""),
    ],
)
def test_an_empty_path_is_not_the_current_folder(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = ran(*words)
    assert done.exit_code == 2
    assert "the path is empty; '.' is the current folder" in done.output
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_lists_are_wrapped_to_the_terminal_and_keep_every_word():
    whole = ran("ls", "presets").output
    parent, child = os.openpty()
    environment = {**os.environ, "COLUMNS": "60"}
    code = "from einstellung.cli import cli; cli(['ls', 'presets'])"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=child, stderr=subprocess.PIPE, env=environment)
    os.close(child)
    shown = b""
    try:
        while part := os.read(parent, 65536):
            shown += part
    except OSError:  # the other side is closed
        pass
    assert process.wait(timeout=60) == 0
    process.stderr.close()
    os.close(parent)
    lines = shown.decode().replace("\r\n", "\n")
    assert max(map(len, lines.split("\n"))) <= 60
    assert lines.split() == whole.split()
