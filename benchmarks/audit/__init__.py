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
from benchmarks.audit.rows import alarm_rows, found, found_rows
from benchmarks.audit.timing import timing_rows
from benchmarks.audit.zoo import members
from einstellung.files import write_text
from einstellung.probes.audit.audit import Null
from einstellung.training.acceleration import load_kernels

NULL_FILE = Path(einstellung.probes.audit.__file__).with_name("null.yaml")
RATES_FILE = Path(einstellung.diagnoses.audit.__file__).with_name("error_rates.yaml")
NETS_FILE = Path(__file__).parents[2] / "studies" / "unknown-cues" / "zoo.csv"
SMALLEST_DELTA = 0.2  # of accuracy: weaker cues are excluded from the rates that verdicts quote


def folder() -> Path:
    return Path(os.environ.get("EINSTELLUNG_ZOO", "results/zoo"))


def clean_alarms(clean: Sequence[Result]) -> list[bool]:
    """Whether each clean net raises a false alarm, by the null of all others."""
    audits = [one.audit for one in clean]
    return [bool(judged(one, null_of([*audits[:net], *audits[net + 1 :]]))[0]) for net, one in enumerate(audits)]


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
    histories = [bool(judged(audit, null)[0]) for audit in clean_audits(where).values()]
    alarms = dict(zip((one.member for one in clean), clean_alarms(clean), strict=True))
    zoo = [one.member for one in results]
    rows = [
        *alarm_rows(alarms, histories),
        *found_rows(results),
        *pictured_rows(pictured_results(where), null),
        *background_rows(where),
        *peer_rows(results, where),
        *cleanlab_rows(zoo),
        *data_map_rows(zoo),
        *timing_rows(where),
    ]
    write_rates(results, [*alarms.values(), *histories])
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


def write_rates(results: Sequence[Result], alarms: Sequence[bool]) -> None:
    """The error rates that every verdict quotes."""
    worth = [
        one for one in results if one.member.localised and not one.member.second and one.cues[0].delta >= SMALLEST_DELTA
    ]
    content = {
        "alarm_rate": {
            "value": sum(alarms) / len(alarms),
            "ci95": list(exact(sum(alarms), len(alarms))),
            "nets": len(alarms),
        },
        "found": {
            "share": found(worth) / len(worth),
            "ci95": list(exact(found(worth), len(worth))),
            "nets": len(worth),
            "smallest_delta": SMALLEST_DELTA,
        },
    }
    head = (
        "# How often an audit accuses a clean net, and finds a localised cue: made by 'python -m benchmarks audit'.\n"
    )
    write_text(RATES_FILE, head + yaml.safe_dump(content, sort_keys=False))
