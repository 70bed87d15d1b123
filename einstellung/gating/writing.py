"""The gate's files: JSON, Markdown, JUnit XML, the page."""

from __future__ import annotations

from pathlib import Path

from einstellung.files import require_writable, write_json, write_text
from einstellung.gating.junit import to_junit
from einstellung.gating.markdown import to_pull_request
from einstellung.gating.page import render
from einstellung.gating.result import GATE_FILE, PAGE_FILE, GateResult, OnInconclusive


def write_gate(folder: Path, result: GateResult, inconclusive: OnInconclusive = "report") -> Path:
    """Write all files and return the page."""
    require_writable(folder)
    write_json(folder / GATE_FILE, result.to_json())
    write_text(folder / "gate.md", to_pull_request(result))
    write_text(folder / "gate.xml", to_junit(result, inconclusive))
    return write_text(folder / PAGE_FILE, render(result))
