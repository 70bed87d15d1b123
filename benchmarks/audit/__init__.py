"""False-alarm rate of the audit on clean nets, and detection rate on nets with known cues.

Trains the zoo (kept in ``results/zoo``, or in $EINSTELLUNG_ZOO) and audits every net. The shipped null comes from all clean nets;
their own alarms are counted with the null of all others, and those of clean nets with a history with the shipped null.
Updates ``null.yaml`` and the rates that verdicts quote.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import yaml

import einstellung.diagnoses.audit
import einstellung.probes.audit
from benchmarks.audit.backgrounds import background_rows
from benchmarks.audit.cleanlab_properties import cleanlab_rows
from benchmarks.audit.continual import clean_audits
from benchmarks.audit.images_alone import data_map_rows
from benchmarks.audit.intervals import exact
from benchmarks.audit.judging import judged, null_of
from benchmarks.audit.peers import peer_rows
from benchmarks.audit.pictures import pictured_results, pictured_rows
from benchmarks.audit.results import Result, audited
from benchmarks.audit.rows import alarm_rows, found, found_rows, suspicion_rows
from benchmarks.audit.timing import timing_rows
from benchmarks.audit.zoo import members
from einstellung.files import write_text
from einstellung.probes.audit.audit import Null
from einstellung.results.audit_files import ModelAudit
from einstellung.training.acceleration import load_kernels

NULL_FILE = Path(einstellung.probes.audit.__file__).with_name("null.yaml")
RATES_FILE = Path(einstellung.diagnoses.audit.__file__).with_name("error_rates.yaml")
NETS_FILE = Path(__file__).parents[2] / "studies" / "unknown-cues" / "zoo.csv"
SMALLEST_DELTA = 0.2  # of accuracy: weaker cues are excluded from the rates that verdicts quote


def folder() -> Path:
    return Path(os.environ.get("EINSTELLUNG_ZOO", "results/zoo"))


def judged_clean(clean: Sequence[Result]) -> list[tuple[bool, bool]]:
    """Whether each clean net has a finding, and a suspicion, by the null of all others."""
    audits = [one.audit for one in clean]
    return [accused(one, null_of([*audits[:net], *audits[net + 1 :]])) for net, one in enumerate(audits)]


def accused(audit: ModelAudit, null: Null) -> tuple[bool, bool]:
    findings, suspicions = judged(audit, null)
    return bool(findings), bool(suspicions)


def measure(short: bool) -> dict[str, Any]:
    assert not short, "the zoo has one size"
    torch.set_num_threads(1)
    load_kernels()
    where = folder()
    results = [audited(member, where) for member in members()]
    clean = [one for one in results if one.member.kind is None]
    null = null_of([one.audit for one in clean])
    write_null(null)
    results = [Result(one.member, one.cues, one.audit, tuple(judged(one.audit, null)[0])) for one in results]
    histories = [accused(audit, null) for audit in clean_audits(where).values()]
    of_clean = dict(zip((one.member for one in clean), judged_clean(clean), strict=True))
    alarms, suspected = ({member: one[which] for member, one in of_clean.items()} for which in (0, 1))
    zoo = [one.member for one in results]
    rows = [
        *alarm_rows(alarms, [finding for finding, _ in histories]),
        *suspicion_rows(suspected, [suspicion for _, suspicion in histories]),
        *found_rows(results),
        *pictured_rows(pictured_results(where), null),
        *background_rows(where),
        *peer_rows(results, where),
        *cleanlab_rows(zoo),
        *data_map_rows(zoo),
        *timing_rows(where),
    ]
    write_rates(results, [*of_clean.values(), *histories])
    write_nets(results)
    return {"rows": rows}


def write_null(null: Null) -> None:
    content = {"scale": dict(null.scale), "largest": list(null.largest)}
    head = "# The strongest candidates of clean nets that beat all controls: made by 'python -m benchmarks audit'.\n"
    write_text(NULL_FILE, head + yaml.safe_dump(content, default_flow_style=None, sort_keys=False, width=120))


def write_nets(results: Sequence[Result]) -> None:
    """A row for every cue of every net, and for every clean net."""
    lines = ["net,cue,share,true_delta,used,found,box,strength,p,delta,pointing,iou,average_precision,other_findings"]
    for one in results:
        own = [None] if not one.cues else list(zip(one.cues, one.places, strict=True))
        for number, pair in enumerate(own):
            cue, place = pair if pair is not None else (None, None)
            found, where = (None, None) if place is None else place[1:]
            taken = [other[1] for other in one.places if other is not None]
            values = [
                one.member.name,
                "" if cue is None else f"{one.member.kind}{' (second)' if number else ''}",
                one.member.share,
                None if cue is None else cue.delta,
                None if cue is None else cue.used,
                None if cue is None else place is not None,
                "" if found is None or found.box is None else " ".join(map(str, found.box)),
                *((None, None, None) if found is None else (found.strength, found.p, found.delta)),
                *((None, None, None) if where is None else (where.pointing, where.iou, where.average_precision)),
                sum(other not in taken for other in one.findings),
            ]
            lines.append(
                ",".join(
                    "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
                    for value in values
                )
            )
    write_text(NETS_FILE, "\n".join(lines) + "\n")


def write_rates(results: Sequence[Result], clean: Sequence[tuple[bool, bool]]) -> None:
    """The error rates that verdicts quote; ``clean``: of every clean net, whether it has a finding, and a suspicion."""
    worth = [
        one for one in results if one.member.localised and not one.member.second and one.cues[0].delta >= SMALLEST_DELTA
    ]
    content = {
        "alarm_rate": _rate([finding for finding, _ in clean]),
        "suspicion_rate": _rate([suspicion for _, suspicion in clean]),
        "found": {
            "share": found(worth) / len(worth),
            "ci95": list(exact(found(worth), len(worth))),
            "nets": len(worth),
            "smallest_delta": SMALLEST_DELTA,
        },
    }
    head = (
        "# How often an audit accuses or suspects a clean net, and finds a cue: made by 'python -m benchmarks audit'.\n"
    )
    write_text(RATES_FILE, head + yaml.safe_dump(content, sort_keys=False))


def _rate(accused: Sequence[bool]) -> dict[str, Any]:
    return {"value": sum(accused) / len(accused), "ci95": list(exact(sum(accused), len(accused))), "nets": len(accused)}
