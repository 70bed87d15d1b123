"""Tables of a study of several shortcuts at its end: the paper's Table 3, and every gap beside the baseline's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.diagnoses.shortcuts.continual_tables import continual_tables
from einstellung.diagnoses.shortcuts.gaps import SMALLEST_GAP, amplification
from einstellung.diagnoses.shortcuts.images import both
from einstellung.diagnoses.shortcuts.measure_tables import (
    end_of,
    group_table,
    preference_table,
    reliance_table,
    seed_table,
)
from einstellung.diagnoses.shortcuts.notation import (
    NOT_MEASURED,
    both_cell,
    bounds_cell,
    gap_cell,
    gap_head,
    images_cell,
    intervals_in_words,
    pts,
    ratio_cell,
    spread_cell,
    turned_in_words,
)
from einstellung.report.notation import DASH, join, number, per_cent
from einstellung.report.tables import Cell, Table

Card = Mapping[str, Any]
NO_BASELINE = "no baseline with the same seeds"
_SIDES = ((0, "low"), (1, "high"))
THE_BASELINE = "the baseline is what the others are compared with"


def gap_verdict(record: Card, gap: str) -> str | None:
    """The word for one gap; None for the baseline and the fresh net, which are not judged."""
    found = record["verdict"]["gaps"].get(gap)
    return None if found is None else str(found["name"])


def gap_table(card: Card) -> Table:
    """The paper's Table 3: ID accuracy and every gap, amplification marked; below a method, what the paper reports."""
    rows, values = [], []
    for method, record in card["methods"].items():
        end = end_of(card, method)
        own = end["own"]
        ratios = {
            gap: own["amplification"][gap]["value"] if method != card["baseline"] else None for gap in card["gaps"]
        }
        cells = [gap_cell(own["gaps"][gap]["mean"], ratios[gap], gap_verdict(record, gap)) for gap in card["gaps"]]
        worst = Cell(per_cent(end["worst_group"], spread=False))
        whole = Cell(per_cent(own["ID"], spread=False), None if own["ID"]["mean"] is not None else NOT_MEASURED)
        verdict = Cell(record["verdict"]["name"])
        rows.append((Cell(method), Cell("measured"), whole, *cells, worst, Cell(str(record["n_seeds"])), verdict))
        numbers = {f"{gap} gap": own["gaps"][gap]["mean"] for gap in card["gaps"]}
        numbers |= {f"{gap} amplification": ratios[gap] for gap in card["gaps"]}
        values.append(
            {"method": method, "source": "measured", "ID": own["ID"]["mean"], **numbers}
            | {"worst_group": end["worst_group"]["mean"], "n_seeds": record["n_seeds"]}
            | {"verdict": record["verdict"]["name"]}
        )
        if printed := card["reported"]["methods"].get(method):
            rows.append(_reported_row(card, method, printed))
            values.append({**dict.fromkeys(values[-1]), "method": method, "source": "reported", "ID": printed["ID"]})
            values[-1] |= {f"{gap} gap": printed["gaps"].get(gap) for gap in card["gaps"]}
    head = ("method", "source", "ID acc", *map(gap_head, card["gaps"]), "worst group", "seeds", "verdict")
    return Table("Table 3: ID accuracy and gaps", _gap_note(card), head, tuple(rows), tuple(values), words=2)


def _reported_row(card: Card, method: str, printed: Card) -> tuple[Cell, ...]:
    base = card["reported"]["methods"].get(card["baseline"])
    cells = []
    for gap in card["gaps"]:
        value = printed["gaps"].get(gap)
        ratio = amplification(value, base["gaps"].get(gap)) if base and method != card["baseline"] else None
        cells.append(gap_cell(value, ratio, None, "not in the paper"))
    blank = Cell(DASH, "not in the paper")
    return (Cell(method), Cell("reported"), Cell(number(100 * printed["ID"], digits=1)), *cells, blank, blank, Cell(""))


def _gap_note(card: Card) -> str:
    last, images = card["phases"][-1], card["images"]
    of = f"{images['pattern']:,} test images a pattern" if images["pattern"] else "number of test images not recorded"
    words = [
        f"Per cent and points, mean over seeds, at the end of {last} ({final_in_words(card)}); {of}. ID: accuracy on patterns "
        "weighted as in training. Gap: accuracy where just these cues are uncommon, minus ID. "
        f"×: the gap is so many times that of {card['baseline']} (shown above 1); ↑: amplified, and the 95 % interval "
        f"{intervals_in_words(card)} agrees.",
        turned_in_words(card, last),
        _selection(card),
    ]
    if card["reported"]["methods"]:
        words.append(f"Reported: {card['reported']['source']}.")
        if differences := card["reported"]["differences"]:
            words.append(f"The protocols differ: {'; '.join(differences)}.")
    return " ".join(word for word in words if word)


def _selection(card: Card) -> str:
    """What it means for methods that are told some cues only that all are selected in the same way."""
    told = [
        method
        for method in card.get("told_some", {})
        if method in card["methods"] and any((count or 0) > 1 for count in end_of(card, method)["choices"].values())
    ]
    if card["final"] != "worst-group" or not told:
        return ""
    return (
        f"The epoch of every method is chosen by the worst of all groups, that of {join(told)} too: these are told some cues "
        "only and would by themselves go by the worst group of those; here validation tells them of the other cues as well, "
        "which flatters them."
    )


_RULES = {"last": "the last epoch", "worst-group": "the epoch with the highest worst-group validation accuracy"}


def final_in_words(card: Card) -> str:
    """Which epoch of the last phase counts."""
    return _RULES[card["final"]]


def finals_in_words(card: Card) -> str:
    """Which epoch counts, of every phase.

    >>> finals_in_words({"final": "worst-group", "final_by_phase": {"T1": "last", "T2": "worst-group"}})
    'T1: the last epoch, which the next phase begins with; T2: the epoch with the highest worst-group validation accuracy'
    """
    *earlier, last = card["final_by_phase"]
    if not earlier or card["final"] == "last":
        return f"{final_in_words(card)}{' of every phase' if earlier else ''}"
    return f"{', '.join(earlier)}: the last epoch, which the next phase begins with; {last}: {final_in_words(card)}"


def verdict_table(card: Card) -> Table:
    """Every gap beside the baseline's: difference with its interval, amplification, test, verdict."""
    rows, values = [], []
    for method, record in card["methods"].items():
        own = end_of(card, method)["own"]
        why = THE_BASELINE if method == card["baseline"] else NO_BASELINE
        for gap in card["gaps"]:
            compared = method != card["baseline"]
            difference = own["difference"][gap] if compared else None
            ratio = own["amplification"][gap]
            judged = record["verdict"]["gaps"].get(gap)
            p = judged["p_holm"] if judged else None
            rows.append(
                (
                    Cell(method),
                    Cell(gap_head(gap)),
                    spread_cell(own["gaps"][gap]),
                    bounds_cell(own["gaps"][gap]),
                    spread_cell(difference, why),
                    bounds_cell(difference, why),
                    images_cell(difference, why),
                    both_cell(difference, why),
                    ratio_cell(ratio, why) if compared else Cell(DASH, why),
                    Cell(DASH, "no test: fewer than two seeds, no spread, or several cues at once")
                    if p is None
                    else _p(p),
                    Cell(judged["name"] if judged else record["verdict"]["name"]),
                )
            )
            low, high = (difference or {}).get("ci95") or (None, None)
            least, most = ratio["ci95"] or (None, None)
            from_images, to_images = (difference or {}).get("images95") or (None, None)
            bounds = {
                "gap_both": both(own["gaps"][gap]) if own["gaps"][gap]["mean"] is not None else None,
                "both": both(difference) if difference and difference["mean"] is not None else None,
            }
            values.append(
                {"method": method, "gap": gap, "mean": own["gaps"][gap]["mean"], "sd": own["gaps"][gap]["sd"]}
                | {"difference": (difference or {}).get("mean"), "low95": low, "high95": high, "p_holm": p}
                | {"images_low95": from_images, "images_high95": to_images}
                | {
                    f"{name}_{side}95": (pair or (None, None))[place]
                    for name, pair in bounds.items()
                    for place, side in _SIDES
                }
                | {
                    "amplification": ratio["value"] if compared else None,
                    "amplification_low95": least if compared else None,
                }
                | {"amplification_high95": most if compared else None, "n": own["gaps"][gap]["n"]}
                | {"amplification_per_seed": ratio["per_seed"]["mean"] if compared else None}
                | {"verdict": judged["name"] if judged else record["verdict"]["name"]}
            )
    head = (
        "method",
        "gap",
        "mean ± sd",
        "95 %",
        f"minus {card['baseline']}",
        "seeds 95 %",
        "images 95 %",
        "both 95 %",
        "amplification",
        "p (Holm)",
        "verdict",
    )
    over_images = (
        f"Images: 95 % of {card['image_resamples']:,} draws of the test images with replacement within every group, the same for "
        "all runs. Both: allowing for seeds and images, by adding the squares of the half widths; by it verdicts go. "
        if card["image_resamples"]
        else "Predictions of single images are not known for all runs: verdicts go by seeds alone. "
    )
    note = (
        f"Points. Minus {card['baseline']}: paired by seed; above 0 the gap is smaller. Seeds: t interval. {over_images}"
        f"Amplification: ratio of the means over the same seeds, with Fieller's 95 % interval; null unless the gap of "
        f"{card['baseline']} is below {pts(-SMALLEST_GAP, digits=0)} point. p: paired t test over seeds, Holm's correction over "
        "all methods that are judged and single cues; intervals are not corrected. A verdict must be the same where the gap is "
        "measured from the pattern in which all cues are common."
    )
    return Table("Every gap beside the baseline's", note, head, tuple(rows), tuple(values), words=2)


def _p(p: float) -> Cell:
    return Cell(number(p, digits=3) if p >= 0.001 else "< 0.001")


def shortcut_tables(card: Card) -> dict[str, Table]:
    """Every table that the data allow, by its file name."""
    tables = {
        "table3": gap_table(card),
        "verdicts": verdict_table(card),
        "groups": group_table(card),
        "preference": preference_table(card),
        "reliance": reliance_table(card),
        **continual_tables(card),
        "seeds": seed_table(card),
    }
    return {name: table for name, table in tables.items() if table.rows}
