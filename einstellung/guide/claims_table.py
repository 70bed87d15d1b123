"""The implementation guide's claims beside what was measured, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.guide.claims import Claim, guide_claims
from einstellung.report.notation import DASH, MINUS
from einstellung.report.tables import Cell, Table

_NOTE = (
    "Holds: the whole 95 % interval of the mean over seeds agrees with the claim (yes) or disagrees with it (no); otherwise it "
    "cannot be told, and a footnote says why. Scores with delays at T1_all at or above {threshold:g}; accuracies of T2 at the "
    "final checkpoint. Only numbers are compared, not the causes that the guide names."
)
_HEAD = ("method", "claim", "compared", "measured", "holds")


def claims_table(card: Mapping[str, Any]) -> Table:
    """One row per claim and method of a guide card: what was compared, what came out, whether the claim holds."""
    claims = guide_claims(card)
    rows = [
        (
            Cell(claim.method),
            Cell(claim.claim),
            Cell(claim.compared),
            Cell(DASH if claim.mean is None else claim.measured.replace("-", MINUS)),
            Cell(claim.holds, claim.why),
        )
        for claim in claims
    ]
    notes = dict.fromkeys(f"'{claim.claim}': {claim.note}." for claim in claims if claim.note is not None)
    note = " ".join([_NOTE.format(threshold=card["threshold"]), *notes])
    return Table("The guide's claims", note, _HEAD, tuple(rows), tuple(map(_numbers, claims)), words=len(_HEAD))


def _numbers(claim: Claim) -> dict[str, Any]:
    low, high = claim.ci95 or (None, None)
    values = claim.to_dict()
    del values["ci95"]
    return {**values, "low95": low, "high95": high}
