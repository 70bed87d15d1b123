"""A study whose masks an audit found: its numbers are marked as a proxy wherever they are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from einstellung.cli import main
from einstellung.diagnoses.reporting import report_study
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.results.config import build_config, merged
from einstellung.results.folder import ResultsFolder
from tests.streams.test_found import audit_file, finding

from .test_probing import TINY, run


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("found")
    stream = build_stream(resolve(build_config(merged(TINY, {"seeds": [1]}))))
    names = dict(enumerate(stream.class_names))
    side = stream.phases[0].train.images.shape[-1]
    findings = [finding(label, [0, 0, 4, 4]) for label in names]
    audit = audit_file(root / "audit", findings, class_names=names, image_size=[side, side], settings={})
    return run(root / "study", cover="from-audit", audit=audit, methods=["scratch_t2", "sgd"], seeds=[1])


def test_card_tables_page_and_terminal_say_proxy(study, monkeypatch, capsys):
    report = report_study(ResultsFolder(study))
    card = json.loads((study / "score.json").read_text())
    assert card["proxy"].startswith("proxy: the covered boxes were found by an audit")
    assert card["proxy"] in card["warnings"]
    tables = sorted((study / "tables").glob("*.md")) + sorted((study / "tables").glob("*.tex"))
    assert tables
    for file in tables:
        assert "proxy" in file.read_text(), file.name
    page = report.page.read_text()
    assert page.count("(proxy)") >= 2
    assert card["proxy"] in page
    monkeypatch.setattr("sys.argv", ["einstellung", "score", str(study)])
    with pytest.raises(SystemExit):
        main()
    said = " ".join(capsys.readouterr().out.split())
    assert "warning proxy: the covered boxes were found by an audit" in said


def test_a_study_with_a_known_cue_says_nothing_of_a_proxy(tmp_path):
    known = run(tmp_path / "known", methods=["scratch_t2", "sgd"], seeds=[1])
    page = report_study(ResultsFolder(known)).page.read_text()
    assert json.loads((known / "score.json").read_text())["proxy"] is None
    assert "(proxy)" not in page
