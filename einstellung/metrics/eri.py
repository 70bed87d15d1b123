"""The facets of the Einstellung Rigidity Index.

Each is a difference between the continual model (CL) and the model trained from scratch on the new task (S), on the
images that bear the cue. Undefined parts (None) make an undefined facet; nothing is put in their place.
"""

from __future__ import annotations

from einstellung.metrics.arithmetic import difference


def adaptation_delay(E_CL: float | None, E_S: float | None) -> float | None:
    r"""Effective epochs by which the continual model reaches the threshold later than scratch.

    .. math:: AD = E_{CL}(\tau) - E_S(\tau)

    None if either never reached it. Negative: the continual model is faster.

    >>> adaptation_delay(4.0, 20.0)
    -16.0
    >>> adaptation_delay(4.0, None) is None
    True
    """
    return difference(E_CL, E_S)


def censored_side(E_CL: float | None, E_S: float | None, method: str, baseline: str) -> str | None:
    """Who never reached the threshold: the method's name, the baseline's, 'both', or None if both did.

    >>> censored_side(4.0, None, "sgd", "scratch_t2")
    'scratch_t2'
    """
    if E_CL is None and E_S is None:
        return "both"
    if E_CL is None:
        return method
    return baseline if E_S is None else None


def performance_deficit(final_S: float | None, final_CL: float | None) -> float | None:
    r"""How much worse the continual model ends on patched images.

    .. math:: PD = A^*_S - A^*_{CL}

    >>> round(performance_deficit(0.75, 0.80), 3)
    -0.05
    """
    return difference(final_S, final_CL)


def cue_delta(patched: float | None, masked: float | None) -> float | None:
    r"""What the cue is worth to one model: accuracy with it minus accuracy with it covered.

    .. math:: \Delta_M = Acc(M, D_{patch}) - Acc(M, D_{mask})

    >>> round(cue_delta(0.81, 0.33), 3)
    0.48
    """
    return difference(patched, masked)


def relative_reliance(delta_CL: float | None, delta_S: float | None) -> float | None:
    r"""How much more the continual model relies on the cue than scratch does.

    .. math:: SFR_{rel} = \Delta_{CL} - \Delta_S

    >>> round(relative_reliance(0.48, 0.57), 3)
    -0.09
    """
    return difference(delta_CL, delta_S)


def relative_sensitivity(delta_CL: float | None, delta_S: float | None) -> float | None:
    r"""How much more the cue moves the continual model than scratch, whichever way.

    .. math:: CSR_{rel} = |\Delta_{CL}| - |\Delta_S|

    >>> round(relative_sensitivity(-0.10, 0.02), 3)
    0.08
    """
    if delta_CL is None or delta_S is None:
        return None
    return abs(delta_CL) - abs(delta_S)


def share_lost(patched: float | None, masked: float | None) -> float | None:
    r"""The share of the accuracy with the cue that covering the cue takes away; undefined where there is none to lose.

    .. math:: 1 - Acc(M, D_{mask}) / Acc(M, D_{patch})

    Delta cannot exceed the accuracy with the cue; this says how much of it the cue carries.

    >>> share_lost(0.8, 0.2), share_lost(0.0, 0.0)
    (0.75, None)
    """
    return None if masked is None or not patched else 1 - masked / patched
