"""Which signals no finding speaks of yet."""

from collections.abc import Container, Iterable

from findings.identity import finding_key
from signals.model import Signal


def unmatched_signals(signals: Iterable[Signal], reported: Container[str]) -> list[Signal]:
    """The signals whose condition is not among the reported finding keys, in their order.

    Matching goes by canonical resource, kind and subject: never by names, categories or text.
    """
    return [
        signal
        for signal in signals
        if finding_key(signal.resource_id, signal.signal_type, signal.subject) not in reported
    ]
