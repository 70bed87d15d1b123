"""Clean nets with a history: two phases of drawn shapes, from scratch, fine-tuned and with replay, without a visible cue."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from einstellung.experiments.audit_plans import Chosen, plan_folder
from einstellung.files import write_text
from einstellung.probes.audit import audit_model
from einstellung.results.audit_files import ModelAudit
from einstellung.results.folder import ResultsFolder

SEEDS = "1,2,3"
SETTINGS = (
    *("run", "--preset", "demo", "--methods", "scratch_t2,sgd,derpp"),
    *("--set", "stream.size=32", "--set", "stream.train_per_class=40", "--set", "stream.test_per_class=40"),
    *("--set", "stream.noise=0.2", "--set", "stream.validation=0.1", "--set", "stream.t1=[0,1,2,3]"),
    *("--set", "stream.t2=[8,9,10,11]", "--set", "stream.shortcut=[8]", "--set", "training.epochs=[8,12]"),
    *("--set", "training.batch_size=32", "--set", "training.lr=0.05"),
)
#: The patch changes a pixel by one level of grey at most: the study needs one, the nets do not see it.
INVISIBLE = ("--set", "cue.share=0.0", "--set", "cue.opacity=0.004")


def clean_audits(where: Path) -> dict[str, ModelAudit]:
    """The audits of clean nets with a history, with all candidates; missing ones are trained and audited."""
    out = where / "continual-clean"
    command = [sys.executable, "-m", "benchmarks.einstellung_command", *SETTINGS, *INVISIBLE, "--seeds", SEEDS]
    subprocess.run([*command, "--out", str(out)], check=True, stdout=subprocess.DEVNULL)
    plan = plan_folder(ResultsFolder(out), Chosen())
    found = {}
    for one in plan.models:
        file = where / "audits" / f"continual-{one.name}.json"
        if not file.exists():
            with plan.threads():
                audit = audit_model(
                    plan.loaders[one.name](), plan.images.images, plan.images.labels, {}, everything=True
                )
            write_text(file, audit.model_dump_json(by_alias=True))
        found[one.name] = ModelAudit.model_validate_json(file.read_text())
    return found
