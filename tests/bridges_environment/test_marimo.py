"""Results show themselves in marimo: what a cell ends in is what the reader sees."""

from __future__ import annotations

import subprocess
import sys

from tests.faults.material import timeline

NOTEBOOK = """
import marimo

app = marimo.App()


@app.cell
def _():
    import einstellung as e

    result = e.score("timeline.csv")
    result
    return e, result


@app.cell
def _(result):
    result.plot("accuracy")
    return


if __name__ == "__main__":
    app.run()
"""


def test_a_notebook_shows_the_answer_the_table_and_a_figure(tmp_path):
    (tmp_path / "timeline.csv").write_text(timeline())
    (tmp_path / "notebook.py").write_text(NOTEBOOK)
    command = [sys.executable, "-m", "marimo", "export", "html", "notebook.py", "--output", "notebook.html"]
    done = subprocess.run([*command, "--no-include-code"], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "notebook.html").read_text(encoding="utf-8")
    assert "sgd is faster than scratch_t2, no worse with the cue present" in page
    assert page.count("scratch_t2") > 1  # in the sentence and in the table
    assert "image/png" in page
