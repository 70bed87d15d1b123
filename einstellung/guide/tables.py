"""Tables of the guide's composite score with its parts, and of the guide's claims with the measurements."""

from __future__ import annotations

from typing import Any

from einstellung.guide.card import GuideCard, GuideEstimate, GuideMethod
from einstellung.guide.claims import Claim, guide_claims
from einstellung.report.notation import DASH, MINUS, epochs, number
from einstellung.report.tables import Cell, Table

PARTS = {
    "adaptation_delay": "adaptation delay",
    "performance_deficit": "performance deficit",
    "shortcut_feature_reliance": "feature reliance",
    "eri_score": "score",
}
_NOTE = (
    "Mean ± standard deviation over seeds. Delay: first epoch of phase 1 with T1_all at or above {threshold:g}. "
    "Deficit: (patched − masked) / patched, not below 0. Reliance: patched / (patched + NSC). "
    "Score: 0.4 min(delay / 50, 1) + 0.4 deficit + 0.2 reliance. Bands: low below 0.3, moderate to 0.6, high above."
)


_CLAIMS_NOTE = (
    "Holds: the whole 95 % interval of the mean over seeds agrees with the claim (yes) or disagrees with it (no); otherwise it "
    "cannot be told, and a footnote says why. Scores with delays at T1_all at or above {threshold:g}; accuracies of T2 at the "
    "final checkpoint. Only numbers are compared, not the causes that the guide names."
)
_CLAIMS_HEAD = ("method", "claim", "compared", "measured", "holds")


def guide_table(card: GuideCard) -> Table:
    """One row per method: the three parts, the score, its band."""
    rows, values = [], []
    for method, record in card.methods.items():
        cells = []
        numbers: dict[str, Any] = {"method": method, "n_seeds": record.n_seeds}
        for part in PARTS:
            own: GuideEstimate = getattr(record, part)
            cells.append(Cell(_text(part, own), _why(record, part) if own.mean is None else None))
            numbers |= {f"{part}_{name}": getattr(own, name) for name in ("mean", "sd", "n")}
        rows.append((Cell(method), Cell(str(record.n_seeds)), *cells, Cell(record.band or DASH)))
        values.append({**numbers, "band": record.band})
    head = ("method", "seeds", *PARTS.values(), "band")
    note = _NOTE.format(threshold=card.threshold)
    return Table("The guide's score", note, head, tuple(rows), tuple(values))


def _why(record: GuideMethod, part: str) -> str:
    return record.why_undefined or f"{PARTS[part]} was not measured"


def _text(part: str, estimate: GuideEstimate) -> str:
    write = epochs if part == "adaptation_delay" else number
    if estimate.mean is None or estimate.sd is None:
        return write(estimate.mean)
    return f"{write(estimate.mean)} ± {write(estimate.sd)}"


def claims_table(card: GuideCard) -> Table:
    """One row per claim and method of a guide card: the comparison, its result, and whether the claim holds."""
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
    note = " ".join([_CLAIMS_NOTE.format(threshold=card.threshold), *notes])
    return Table(
        "The guide's claims", note, _CLAIMS_HEAD, tuple(rows), tuple(map(_numbers, claims)), words=len(_CLAIMS_HEAD)
    )


def _numbers(claim: Claim) -> dict[str, Any]:
    low, high = claim.ci95 or (None, None)
    values = claim.to_dict()
    del values["ci95"]
    return {**values, "low95": low, "high95": high}
