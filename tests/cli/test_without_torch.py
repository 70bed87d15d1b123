"""An environment without torch: importing, help and scoring work all the same."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.packaging.contents import timeline_text

BLOCKED = "import sys; sys.modules['torch'] = None; sys.argv[0] = 'einstellung'\n"
COMMAND = f"{BLOCKED}from einstellung.cli import main\nmain()"


def without_torch(*arguments: str, code: str = COMMAND) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_block_works():
    with pytest.raises(AssertionError, match="import of torch halted"):
        without_torch(code=f"{BLOCKED}import einstellung.randomness")


def test_the_package_is_imported_and_lists_its_names():
    assert without_torch(code=f"{BLOCKED}import einstellung\nprint(einstellung.__version__, len(dir(einstellung)))")


def test_every_verb_has_help():
    code = (
        f"{BLOCKED}from click.testing import CliRunner\nfrom einstellung.cli import cli\n"
        "for words in [[], *([name] for name in cli.commands)]:\n"
        "    done = CliRunner().invoke(cli, [*words, '--help'])\n"
        "    assert done.exit_code == 0, (words, done.exception)\n"
    )
    without_torch(code=code)


def test_a_timeline_is_scored(tmp_path):
    file = tmp_path / "timeline.csv"
    file.write_text(timeline_text(), encoding="utf-8")
    card = json.loads(without_torch("score", str(file), "--json", "--out", str(tmp_path / "report")))
    assert card["methods"]["sgd"]["AD"]["mean"] == -2
    assert (tmp_path / "report/report.html").exists()
