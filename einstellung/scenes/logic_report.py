"""The analysis of a rule book as sentences and as JSON."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from einstellung.scenes.logic import Logic, VariantLogic
from einstellung.scenes.predicates import any_of, confounders
from einstellung.scenes.rule_book import rules_digest


def percent(share: Fraction) -> str:
    """A share in per cent with one digit; 100 and 0 only if exact.

    >>> percent(Fraction(1)), percent(Fraction(99999, 100000)), percent(Fraction(1, 3)), percent(Fraction(1, 10**6))
    ('100', '>99.9', '33.3', '<0.1')
    """
    if share in (0, 1):
        return str(int(share * 100))
    if share > Fraction(999, 1000):
        return ">99.9"
    return "<0.1" if share < Fraction(1, 1000) else f"{float(share) * 100:.1f}"


def sentences(logic: Logic, variant: str) -> list[str]:
    """What to know about a variant before training on it."""
    found = logic.variant(variant)
    if found.impossible is not None:
        return [f"The {variant} sets cannot be made: {found.impossible}."]
    return [*_single_tasks(logic, found), _all_confounders(logic, found), _uniqueness(logic, found)]


def _single_tasks(logic: Logic, found: VariantLogic) -> list[str]:
    truth, lines = logic.book.ground_truth_words(), []
    for task, predicate in enumerate(confounders(logic.book)):
        unconfounded = found.result(predicate.formula).unconfounded
        if unconfounded.solves:
            lines.append(f"T{task + 1} is not confounded: '{predicate.words}' is the ground truth itself.")
            continue
        lines.append(
            f"T{task + 1} alone cannot distinguish '{predicate.words}' from '{truth}': both solve it. A learner of "
            f"'{predicate.words}' is right on {percent(unconfounded.positive)} % of unconfounded positives and "
            f"{percent(unconfounded.negative)} % of unconfounded negatives."
        )
    return lines


def _all_confounders(logic: Logic, found: VariantLogic) -> str:
    assert found.best_confounder_rule is not None
    some = any_of(confounders(logic.book))
    result = found.result(some.formula)
    if result.joint.solves:
        return (
            f"All tasks together are also solved by '{some.words}', which ignores the ground truth: even joint "
            f"training may learn it, with {percent(result.unconfounded.accuracy)} % accuracy on the unconfounded set."
        )
    if found.best_confounder_rule == 1:
        return "All tasks together are solved by a rule over the confounders alone, though not by their disjunction."
    return (
        f"No rule over the confounders alone solves all tasks together: the best is right on "
        f"{percent(found.best_confounder_rule)} % of their scenes, '{some.words}' on {percent(result.joint.accuracy)} %. A "
        "learner that sees the tasks one after the other can still learn each confounder in turn."
    )


def _uniqueness(logic: Logic, found: VariantLogic) -> str:
    end = found.undetermined[-1]
    if end.only_g:
        return f"'{logic.book.ground_truth_words()}' is the only predicate that solves all tasks together."
    return (
        f"All tasks together leave {percent(end.positive)} % of the unconfounded positives and {percent(end.negative)} % "
        f"of the negatives undetermined: a predicate that solves every task may reach only {percent(end.worst)} % on the "
        "unconfounded set."
    )


def logic_record(logic: Logic) -> dict[str, Any]:
    """The analysis as JSON, sentences included."""
    return {
        "rules": logic.book.to_dict(),
        "rules_digest": rules_digest(logic.book),
        "scenes": logic.scenes,
        "ground_truth": {
            "words": logic.book.ground_truth_words(),
            "share": float(logic.ground_truth_share),
        },
        "confounders": [
            {"task": task, "words": logic.book.confounder_words(task), "share": float(share)}
            for task, share in enumerate(logic.confounder_shares)
        ],
        "confounders_exhaustive": logic.exhaustive,
        "confounders_together_impossible": logic.together_impossible,
        "variants": {
            one.variant: {
                "impossible": one.impossible,
                "predicates": [result.to_dict() for result in one.results],
                "left_open_after": [share.to_dict() for share in one.undetermined],
                "best_rule_over_confounders_alone": None
                if one.best_confounder_rule is None
                else float(one.best_confounder_rule),
                "sentences": sentences(logic, one.variant),
            }
            for one in logic.variants
        },
    }
