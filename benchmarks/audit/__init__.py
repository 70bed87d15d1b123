"""How often the audit accuses a clean net, and what it finds in nets with known cues.

Trains the zoo (kept in ``results/zoo``, or where EINSTELLUNG_ZOO points) and audits every net. The null that is shipped comes
from all clean nets; their own alarms are counted by the null of all others, and those of clean nets with a history by the shipped
one. Renews ``null.yaml`` and the rates that verdicts quote.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from scipy.stats import beta

import einstellung.diagnoses.audit
import einstellung.probes.audit
from benchmarks.audit.continual import clean_audits
from benchmarks.audit.cues import KINDS
from benchmarks.audit.judging import Located, TrueCue, judged, located, null_of, true_cues
from benchmarks.audit.peers import peer_rows
from benchmarks.audit.zoo import Member, members, net_of, normalised, truth
from benchmarks.measuring import row
from einstellung.files import write_text
from einstellung.probes.audit import AuditedModel, audit_model
from einstellung.probes.audit.audit import Null
from einstellung.results.audit_files import Finding, ModelAudit
from einstellung.training.acceleration import load_kernels

NULL_FILE = Path(einstellung.probes.audit.__file__).with_name("null.yaml")
RATES_FILE = Path(einstellung.diagnoses.audit.__file__).with_name("error_rates.yaml")
NETS_FILE = Path(__file__).parents[2] / "studies" / "unknown-cues" / "zoo.csv"
SMALLEST_DELTA = 0.2  # of accuracy: cues worth less are not counted in what every verdict says
_STRONG = 0.5  # share of the class's images from which a cue counts


@dataclass(frozen=True)
class Result:
    """A net of the zoo, what is true of it, and what the audit found."""

    member: Member
    cues: tuple[TrueCue, ...]
    audit: ModelAudit
    findings: tuple[Finding, ...] = ()

    @property
    def places(self) -> list[tuple[TrueCue, Finding, Located] | None]:
        """For every cue the finding of its class that points at it best; None where there is none."""
        found: list[tuple[TrueCue, Finding, Located] | None] = []
        for cue in self.cues:
            own = [
                (cue, one, located(one, cue))
                for one in self.findings
                if one.kind == "localised" and one.label == CUE_CLASS
            ]
            own = [one for one in own if one[2].pointing > 0.5]
            found.append(max(own, key=lambda one: one[2].pointing, default=None))
        return found


CUE_CLASS = 6


def folder() -> Path:
    return Path(os.environ.get("EINSTELLUNG_ZOO", "results/zoo"))


def audited(member: Member, where: Path) -> Result:
    """The audit of a net with all its candidates; from the folder if it is there."""
    file = where / "audits" / f"{member.name}.json"
    net = net_of(member, where)
    model, known = AuditedModel(member.name, net, normalised), truth(member)
    if file.exists():
        audit = ModelAudit.model_validate_json(file.read_text())
    else:
        audit = audit_model(model, known.images, known.labels, {}, everything=True)
        write_text(file, audit.model_dump_json(by_alias=True))
    return Result(member, tuple(true_cues(member, known, model)), audit)


def clean_alarms(clean: Sequence[Result]) -> list[bool]:
    """Whether each clean net is accused, by the null of all others."""
    audits = [one.audit for one in clean]
    return [bool(judged(one, null_of([*audits[:net], *audits[net + 1 :]]))[0]) for net, one in enumerate(audits)]


def measure(short: bool) -> dict[str, Any]:
    assert not short, "the zoo has one size"
    torch.set_num_threads(1)
    load_kernels()
    results = [audited(member, folder()) for member in members()]
    clean = [one for one in results if one.member.kind is None]
    null = null_of([one.audit for one in clean])
    write_null(null)
    results = [Result(one.member, one.cues, one.audit, tuple(judged(one.audit, null)[0])) for one in results]
    histories = [bool(judged(audit, null)[0]) for audit in clean_audits(folder()).values()]
    alarms = clean_alarms(clean)
    rows = [*rows_of(results, alarms, histories), *peer_rows(results, folder()), *timing_rows(folder())]
    write_rates(results, [*alarms, *histories])
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
    """What every verdict says about its own errors."""
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
            "share": _found(worth) / len(worth),
            "ci95": list(exact(_found(worth), len(worth))),
            "nets": len(worth),
            "smallest_delta": SMALLEST_DELTA,
        },
    }
    head = (
        "# How often an audit accuses a clean net, and finds a localised cue: made by 'python -m benchmarks audit'.\n"
    )
    write_text(RATES_FILE, head + yaml.safe_dump(content, sort_keys=False))


def exact(count: int, of: int) -> tuple[float, float]:
    """The exact 95 % interval of a share (Clopper and Pearson 1934)."""
    low = 0.0 if count == 0 else float(beta.ppf(0.025, count, of - count + 1))
    high = 1.0 if count == of else float(beta.ppf(0.975, count + 1, of - count))
    return low, high


def shown(count: int, of: int) -> str:
    low, high = exact(count, of)
    return f"{count} of {of}, {100 * count / of:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def rows_of(results: Sequence[Result], alarms: Sequence[bool], histories: Sequence[bool]) -> list[dict[str, Any]]:
    everyone = [*alarms, *histories]
    rows = [
        row(
            "clean nets accused (any finding) by a null that they did not make",
            shown(sum(everyone), len(everyone)),
            "at most 5 %",
            sum(everyone) <= 0.05 * len(everyone),
        ),
        row(
            "... of them nets with a history (scratch, sgd, derpp)",
            shown(sum(histories), len(histories)),
            "no target",
            None,
        ),
    ]
    strong = [one for one in results if one.member.localised and one.member.share >= _STRONG and not one.member.second]
    for name, kinds in (("held-out kinds", True), ("kinds it was built with", False)):
        own = [one for one in strong if one.member.kind and KINDS[one.member.kind].held_out == kinds]
        rows += _localised_rows(own, name)
    two = [one for one in results if one.member.second]
    both = sum(all(place is not None for place in one.places) for one in two)
    rows.append(
        row("two patches on one class: both found", shown(both, len(two)), "at least 80 %", both >= 0.8 * len(two))
    )
    using = [one for one in two if all(cue.used for cue in one.cues)]
    if using:
        both = sum(all(place is not None for place in one.places) for one in using)
        rows.append(row("... of nets that use both", shown(both, len(using)), "no target", None))
    weak = [one for one in results if one.member.localised and one.member.share < _STRONG]
    rows.append(
        row("localised cues on 20 % of the class's images: found", shown(_found(weak), len(weak)), "no target", None)
    )
    for kind in ("border", "tint", "blur"):
        own = [one for one in results if one.member.kind == kind and one.member.share >= _STRONG]
        hits = sum(any(found.label == CUE_CLASS for found in one.findings) for one in own)
        using = sum(one.cues[0].used for one in own)
        rows.append(
            row(
                f"global cue '{kind}' on 50 % and more: found",
                f"{shown(hits, len(own))}; {using} nets use it",
                "no target",
                None,
            )
        )
    return rows


def _found(results: Sequence[Result]) -> int:
    return sum(one.places[0] is not None for one in results)


def _localised_rows(own: Sequence[Result], name: str) -> list[dict[str, Any]]:
    using = [one for one in own if one.cues[0].used]
    target = name.startswith("held-out")
    places = [place for one in own if (place := one.places[0]) is not None]
    overlaps = [where.iou for _, _, where in places if where.iou is not None]
    rankings = [where.average_precision for _, _, where in places if where.average_precision is not None]
    errors = [abs(found.delta - cue.delta) for cue, found, _ in places]

    def goal(words: str) -> str:
        return words if target else "no target"

    def reached(good: bool | np.bool_) -> bool | None:
        return bool(good) if target else None

    return [
        row(
            f"localised cues on 50 % and more, {name}: found",
            shown(_found(own), len(own)),
            goal("at least 90 %"),
            reached(_found(own) >= 0.9 * len(own)),
        ),
        row(
            "... of nets whose accuracy depends on the cue",
            shown(_found(using), len(using)),
            goal("at least 90 %"),
            reached(_found(using) >= 0.9 * len(using)),
        ),
        row(
            "... pointing game, mean over found",
            f"{np.mean([where.pointing for _, _, where in places]):.3f}",
            goal("at least .9"),
            reached(np.mean([where.pointing for _, _, where in places]) >= 0.9),
        ),
        row(
            "... IoU of the box, mean over fixed",
            f"{np.mean(overlaps):.3f}",
            goal("at least .5"),
            reached(np.mean(overlaps) >= 0.5),
        ),
        row(
            "... average precision of the ranking of images, mean",
            f"{np.mean(rankings):.3f}",
            goal("at least .9"),
            reached(np.mean(rankings) >= 0.9),
        ),
        row(
            "... |proxy delta - true delta|, median",
            f"{np.median(errors):.3f}",
            goal("at most .1"),
            reached(np.median(errors) <= 0.1),
        ),
    ]


def timing_rows(where: Path) -> list[dict[str, Any]]:
    """1,000 images of 32x32 with the ResNet-18 of width 8, all cores; the data map on 10,000."""
    from einstellung.probes.audit.data_map import data_map

    member = members()[0]
    known, net = truth(member), net_of(member, where)
    rows = torch.arange(1000) % len(known.images)
    torch.set_num_threads(os.cpu_count() or 1)
    begin = time.perf_counter()
    audit_model(AuditedModel("timed", net, normalised), known.images[rows], known.labels[rows], {})
    took = time.perf_counter() - begin
    many = torch.arange(10_000) % len(known.images)
    begin = time.perf_counter()
    data_map(known.images[many], known.labels[many].numpy())
    mapped = time.perf_counter() - begin
    return [
        row(
            f"an audit of 1,000 images, {os.cpu_count()} cores",
            f"{took:.0f} s",
            "at most 60 s",
            took <= 60,
            seconds=took,
        ),
        row("the data map of 10,000 images", f"{mapped:.0f} s", "at most 20 s", mapped <= 20, seconds=mapped),
    ]
