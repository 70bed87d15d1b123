"""``view`` and ``run --view`` as a user types them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import webbrowser

import pytest

from einstellung.cli import main
from einstellung.cli import study as study_verbs
from einstellung.diagnoses import reporting
from einstellung.view import server as server_module
from tests.experiments import in_process  # noqa: F401 (registers a launcher)
from tests.experiments.conftest import SMALL
from tests.view.studies import write_study

# a background job inherits that Ctrl-C is ignored
COMMAND = [
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from einstellung.cli import main; main()",
]


def fetch(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=20) as answer:
        return answer.read()


def test_it_serves_until_ctrl_c(tmp_path):
    write_study(tmp_path / "results" / "one", seeds=(1,))
    command = subprocess.Popen(
        [*COMMAND, "view"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        line = command.stdout.readline()
        address = re.fullmatch(r"studies: (http://127\.0\.0\.1:\d+/[\w-]{20,}/)\n", line)[1]
        (row,) = json.loads(fetch(f"{address}api/studies"))["studies"]
        assert row["label"] == "results/one"  # ./results is what is shown by default
        assert b"<!doctype html>" in fetch(address)
        command.send_signal(signal.SIGINT)
        assert command.wait(timeout=20) == 0
        assert (command.stdout.read(), command.stderr.read()) == ("", "")
    finally:
        command.kill()
        command.wait()


@pytest.fixture
def typed(monkeypatch):
    """Run ``view`` in this process, with a server that ends at once."""
    opened = []
    monkeypatch.setattr(server_module.ViewServer, "serve_forever", lambda self, poll_interval: None)
    monkeypatch.setattr(webbrowser, "open", opened.append)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["einstellung", "view", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code, opened

    return run


def test_open_opens_the_address(tmp_path, typed, capsys):
    code, opened = typed(tmp_path, "--open")
    assert code == 0
    assert capsys.readouterr().out == f"studies: {opened[0]}\n"


def test_another_interface_needs_a_flag_and_comes_with_a_warning(tmp_path, typed, capsys):
    assert typed(tmp_path)[0] == 0
    assert capsys.readouterr().err == ""
    assert typed(tmp_path, "--host", "0.0.0.0")[0] == 0
    told = capsys.readouterr()
    assert told.err.startswith(
        "warning: 0.0.0.0 may be reachable by others: anyone who learns the address below can read"
    )
    assert "http://0.0.0.0:" in told.out


def test_a_wrong_folder_or_port_is_one_line(tmp_path, typed, capsys):
    assert typed(tmp_path / "none")[0] == 2
    assert re.fullmatch(r"einstellung: no such folder: .*none; .*\n", capsys.readouterr().err)
    assert typed(tmp_path, "--port", "99999")[0] == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_run_with_view_serves_the_study_and_ends_with_it(tmp_path, monkeypatch, capsys):
    """Watched when its runs are finished and its report is due; the server is gone when the command is."""
    (tmp_path / "small.yaml").write_text(json.dumps({**SMALL, "methods": ["scratch_t2"], "learners": {}}))
    seen = []

    def report(results):
        address = re.search(r"^live: (http://127\.0\.0\.1:\S+)$", capsys.readouterr().err, re.MULTILINE)[1]
        seen.append((address, json.loads(fetch(f"{address}api/studies"))["studies"]))

    monkeypatch.setattr(reporting, "report_study", report)
    monkeypatch.setattr(study_verbs, "show_reported", lambda reported, as_json: None)
    words = ["run", tmp_path / "small.yaml", "--out", tmp_path / "out", "--view", "--launcher", "in_process"]
    monkeypatch.setattr(sys, "argv", ["einstellung", *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0
    ((address, (row,)),) = seen
    assert (row["key"], row["state"], row["finished_runs"]) == ("0", "finished", "1 of 1 run")
    assert capsys.readouterr().out == ""
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        fetch(f"{address}api/studies")
