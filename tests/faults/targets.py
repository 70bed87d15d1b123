"""Commands that leave a folder, each with the bytes that it must end in whatever happens on the way.

They run in forked processes (see :mod:`tests.faults.commands`): a study takes a few seconds instead of twenty, so that a thousand
kills are affordable. Workers and the fork server are killed in real commands (:mod:`tests.faults.studies`).
"""

from __future__ import annotations

import copy
import hashlib
import http.server
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from einstellung.files import read_json, write_json
from einstellung.results.provenance import code_hash
from tests.faults.commands import CommandServer, Done, Kill
from tests.faults.studies import TINY, hashes

PATIENCE = 600.0  # seconds for one run, on a machine that does other things, too
_ENVIRONMENT = {"EINSTELLUNG_DATA": "", "EINSTELLUNG_CACHE": "off"}
_LEFT = (".writing", ".part", "-making-", ".making", "-unpacking-")


@dataclass
class Target:
    """``words`` make the command that fills a folder; ``counted`` is what one resumed folder counts as.

    ``agreeing``: names of files that two untouched runs must agree in, so that a comparison means something.
    """

    name: str
    counted: str
    words: Callable[[Path], Sequence[str | Path]]
    agreeing: Sequence[str]
    server: CommandServer
    scratch: Path
    archive: Path | None = None

    def run(self, out: Path, fault: Mapping[str, str] | None = None, kill: Kill | None = None) -> Done:
        """The command, perhaps under a fault or a kill."""
        out.parent.mkdir(parents=True, exist_ok=True)
        return self.server.run(
            self.words(out), self.scratch, _ENVIRONMENT, fault=fault, kill=kill, patience=PATIENCE, archive=self.archive
        )

    def report(self, out: Path) -> Done:
        return self.server.run(["report", out], self.scratch, _ENVIRONMENT, patience=PATIENCE)

    @cached_property
    def reference(self) -> dict[str, str]:
        """The hash of every file that two untouched runs agree in."""
        found = []
        for number in (1, 2):
            out = self.scratch / self.name / f"reference-{number}" / "out"
            if self._facts() is None:
                shutil.rmtree(out.parent, ignore_errors=True)
                done = self.run(out)
                if done.code:
                    raise RuntimeError(f"the untouched command fails: {done.err}")
            found.append(hashes(out))
        agreed = {name: value for name, value in found[0].items() if found[1].get(name) == value}
        for kind in self.agreeing:
            assert any(name.endswith(kind) for name in agreed), kind
        return agreed

    @property
    def whole(self) -> Path:
        """An untouched result."""
        _ = self.reference
        return self.scratch / self.name / "reference-1" / "out"

    @cached_property
    def effort(self) -> tuple[int, float]:
        """How often an untouched run writes, and how many seconds it takes."""
        _ = self.reference
        if (facts := self._facts()) is None:
            out = self.scratch / self.name / "counted" / "out"
            shutil.rmtree(out.parent, ignore_errors=True)
            done = self.run(out, self.fault(out, "count", 0))
            facts = {"code": code_hash(), "writes": self.count_file(out).stat().st_size, "seconds": done.seconds}
            write_json(self._facts_file, facts)
        return facts["writes"], facts["seconds"]

    @property
    def _facts_file(self) -> Path:
        return self.scratch / self.name / "facts.json"

    def _facts(self) -> dict[str, Any] | None:
        """What an earlier campaign in the same scratch folder found with the same code: its results are still there."""
        facts: dict[str, Any] = read_json(self._facts_file) if self._facts_file.exists() else {}
        return facts if facts.get("code") == code_hash() else None

    def count_file(self, out: Path) -> Path:
        return self.scratch / f"count-{self.name}-{out.parent.name}"

    def fault(self, out: Path, kind: str, at: int) -> dict[str, str]:
        """A fault at the ``at``-th write below the folder's parent, counted from now on."""
        count = self.count_file(out)
        count.unlink(missing_ok=True)
        return {"FAULT_BELOW": str(out.parent), "FAULT_COUNT": str(count), "FAULT_AT": str(at), "FAULT_KIND": kind}

    def differences(self, out: Path) -> list[str]:
        """Files that are not as in the reference, and what was left half-made in the folder or next to it."""
        found = hashes(out)
        wrong = [name for name, value in self.reference.items() if found.get(name) != value]
        lost = [path.name for path in self.whole.rglob("*") if not (out / path.relative_to(self.whole)).exists()]
        left = [path.name for path in out.parent.rglob("*") if any(mark in path.name for mark in _LEFT)]
        if (page := out / "report.html").exists() and not page.read_text().rstrip().endswith("</html>"):
            wrong.append(page.name)
        wrong += [name for name in lost if name not in wrong]
        return [*(f"{name} differs" for name in wrong[:3]), *(f"{name} was left behind" for name in left[:3])]


def make_targets(server: CommandServer, scratch: Path) -> dict[str, Target]:
    """The study and the makers of pictures; the download needs its server (:class:`Downloads`)."""
    scratch.mkdir(parents=True, exist_ok=True)
    small = ("--train", "4", "--val", "4", "--test", "4", "--size", "16", "--seed", "1")
    one = ("--train", "2", "--val", "1", "--test", "1", "--size", "16", "--variant", "strict", "--workers", "1")
    made = [
        study_target("study", server, scratch, {**TINY, "seeds": [1]}),
        Target(
            "composites",
            "pictures made again",
            lambda out: ("data", "composites", "make", "--out", out, *small),
            (".jpg",),
            server,
            scratch,
        ),
        Target(
            "concon",
            "pictures made again",
            lambda out: ("concon", "make", "--out", out, *one, "--backend", "torch"),
            (".png", "scenes.jsonl"),
            server,
            scratch,
        ),
    ]
    return {target.name: target for target in made}


def study_target(name: str, server: CommandServer, scratch: Path, values: Mapping[str, Any]) -> Target:
    """A study in one process, with its report."""
    scratch.mkdir(parents=True, exist_ok=True)
    config = scratch / f"{name}.yaml"
    config.write_text(yaml.safe_dump(copy.deepcopy(dict(values))))
    agreeing = ("timeline.csv", "model.safetensors", "predictions.csv", ".png", ".svg")
    words = ("--launcher", "in_process", "--workers", "1")
    return Target(name, "studies resumed", lambda out: ("run", config, "--out", out, *words), agreeing, server, scratch)


class Downloads:
    """A server of this machine that sends an archive of a few megabytes, in parts where it is asked for them."""

    def __init__(self, server: CommandServer, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self.archive = scratch / "cifar-100-python.tar.gz"
        content = np.random.default_rng(0).bytes(6_000_000)
        self.archive.write_bytes(content)
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(content))
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{self._http.server_port}/{self.archive.name}"
        words = ("data", "get", "cifar100", "--url", url, "--to")
        self.target = Target(
            "download", "downloads resumed", lambda out: (*words, out), (".tar.gz",), server, scratch, self.archive
        )
        assert hashlib.sha256(content).hexdigest() == hashlib.sha256(self.archive.read_bytes()).hexdigest()

    def close(self) -> None:
        self._http.shutdown()


def _handler(content: bytes) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
            if start > len(content):
                self.send_error(416)
                return
            self.send_response(206 if wanted else 200)
            if wanted:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            try:
                for place in range(start, len(content), 2**16):
                    self.wfile.write(content[place : place + 2**16])
            except OSError:  # the command was killed
                return

        def log_message(self, *_: object) -> None:
            return

    return Handler
