"""Shell completion of the installed command: the scripts, what they are answered, and bash for real."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

COMMAND = "import sys; sys.argv[0] = 'einstellung'; from einstellung.cli import main; main()"


def answered(instruction: str, **environment: str) -> str:
    given = {**os.environ, "_EINSTELLUNG_COMPLETE": instruction, **environment}
    return subprocess.run(
        [sys.executable, "-c", COMMAND], env=given, capture_output=True, text=True, check=True, timeout=60
    ).stdout


def words(line: str) -> dict[str, str]:
    """What a shell sends for a line whose last word is being typed."""
    return {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}


@pytest.mark.parametrize(("line", "expected"), [("einstellung sc", "score"), ("einstellung score --js", "--json")])
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_verbs_and_options_are_completed(shell, line, expected):
    assert expected in answered(f"{shell}_complete", **words(line)).replace(",", "\n").splitlines()


def test_fish_is_answered_with_the_help_of_a_verb():
    found = answered("fish_complete", COMP_WORDS="einstellung", COMP_CWORD="sc")
    assert "score" in found
    assert "demo" not in found


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_asks_our_command(shell):
    script = answered(f"{shell}_source")
    assert f"_EINSTELLUNG_COMPLETE={shell}_complete" in script
    if (program := shutil.which(shell)) is not None:
        subprocess.run([program, "-n"], input=script, text=True, check=True)


def test_bash_completes_a_verb(tmp_path):
    """Source the script in a real bash, and call its function as bash does on Tab."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    command = tmp_path / "einstellung"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{COMMAND}" "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    script = (
        "source <(_EINSTELLUNG_COMPLETE=bash_source einstellung)\nCOMP_WORDS=(einstellung val)\nCOMP_CWORD=1\n"
        '_einstellung_completion einstellung\necho "${COMPREPLY[@]}"\ncomplete -p einstellung\n'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([bash, "-c", script], env=environment, capture_output=True, text=True, check=True, timeout=60)
    reply, registered = done.stdout.splitlines()
    assert reply == "validate"
    assert "_einstellung_completion" in registered
