"""What became of the signals of a run, one by one: told by a model or filed, escalated or put off. Pure."""

from collections import Counter as Count
from collections.abc import Container, Iterable, Mapping
from enum import StrEnum

from findings.lifecycle import Outcome
from patrol.run.model_questions import key_of
from patrol.run.model_work.model import EscalationState
from signals.model import Signal, SignalType


class SignalOutcome(StrEnum):
    """What became of a signal. Each has one of the first three; the last two stand beside it."""

    MATCHED = "matched"  # a model told of it, or its finding was open already
    FILED = "filed"  # nobody had told of it: Patrol filed it
    SILENCED = "silenced"  # recorded, but an operator asked for quiet
    ESCALATED = "escalated"  # its finding is to be looked into
    DEFERRED = "deferred"  # the same, once there is room


_BESIDE = {EscalationState.QUEUED: SignalOutcome.ESCALATED, EscalationState.DEFERRED: SignalOutcome.DEFERRED}


def signal_outcomes(
    signals: Iterable[Signal],
    outcomes: Mapping[str, Outcome],
    untold: Container[str],
    escalated: Mapping[str, EscalationState],
) -> Count[tuple[SignalType, SignalOutcome]]:
    """How many signals of each type had each outcome.

    All by finding key. `outcomes`: what became of what was observed. `untold`: what no model had told of and no open
    finding either. `escalated`: what this run decided about looking into findings.
    """
    counted: Count[tuple[SignalType, SignalOutcome]] = Count()
    for signal in signals:
        key = key_of(signal)
        if outcomes.get(key) is Outcome.SILENCED:
            outcome = SignalOutcome.SILENCED
        else:
            outcome = SignalOutcome.FILED if key in untold else SignalOutcome.MATCHED
        counted[signal.signal_type, outcome] += 1
        beside = _BESIDE.get(escalated[key]) if key in escalated else None
        if beside is not None:
            counted[signal.signal_type, beside] += 1
    return counted
