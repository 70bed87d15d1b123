"""Minified code says the same: texts, patterns and templates untouched, names and signs never grown together."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import einstellung
from einstellung.report.minify import minify

SAMPLES = {
    "const a = \"x  // y\" + '/* z */';": "const a=\"x  // y\"+'/* z */';",
    "const b = c / d / e; // halves": "const b=c/d/e;",
    "return /[/'\"`] +/g.test(f) ? g : h;": "return/[/'\"`] +/g.test(f)?g:h;",
    "const k = `a  ${ b ? `c  ${ d } e` : '  ' }  f`;": "const k=`a  ${b?`c  ${d} e`:'  '}  f`;",
    "x = y + ++z - --w;": "x=y+ ++z- --w;",
    "if (a) {\n  /** what\n   * for */\n  b();\n}\n": "if(a){b();}",
    "const o = { in: 1, of : 2 }; for (const p of q) typeof p;": "const o={in:1,of:2};for(const p of q)typeof p;",
    "a = b\n(c)\n\nd++\ne": "a=b\n(c)\nd++\ne",
    'const s = "\\" // " ;': 'const s="\\" // ";',
}


@pytest.mark.parametrize(("code", "expected"), SAMPLES.items())
def test_only_what_readers_need_goes(code, expected):
    assert minify(code) == expected
    assert minify(expected) == expected


@pytest.mark.skipif(shutil.which("node") is None, reason="Node parses the code")
@pytest.mark.parametrize("file", sorted(Path(einstellung.__file__).parent.rglob("*.js")), ids=lambda file: file.name)
def test_every_script_stays_a_script(file, tmp_path):
    (tmp_path / "small.js").write_text(
        f"(() => {{\n{minify(file.read_text(encoding='utf-8'))}\n}})();", encoding="utf-8"
    )
    done = subprocess.run(["node", "--check", str(tmp_path / "small.js")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
