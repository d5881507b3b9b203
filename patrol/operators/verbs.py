"""Verbs on findings, carried out: all of them or none, on the findings as they are at that moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from findings.decision import VerbRefusedError, decide
from findings.model import Finding, TransitionReason
from findings.store import FindingStore
from findings.verbs import Undo, Verb
from patrol.database import Database
from patrol.operators.ids import find_finding


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedOut:
    """The findings as they are now, in the order they were asked for; `changed`: what became of some, by their ids."""

    findings: Sequence[Finding]
    changed: Mapping[str, TransitionReason]


class RefusedError(Exception):
    """At least one finding could not take the verb, so none did. `refusals`: each with its finding and its reason."""

    def __init__(self, refusals: Sequence[VerbRefusedError]) -> None:
        super().__init__("\n".join(f"{each.finding_id}: {each}" for each in refusals))
        self.refusals = tuple(refusals)


def carry_out(
    database: Database, org_id: str, finding_ids: Sequence[str], verb: Verb, *, now: datetime, author: str
) -> CarriedOut:
    """Says `verb` of these findings, in one transaction. Whoever changed one of them meanwhile came first.

    An id is whole, or an unambiguous beginning (`patrol.operators.ids`). Raises UnknownIdError, AmbiguousIdError,
    RefusedError, StorageError.
    """

    def work(connection: Connection) -> CarriedOut:
        store = FindingStore(connection, org_id)
        found = {finding.id: finding for finding in (find_finding(store, text) for text in finding_ids)}
        after: dict[str, Finding] = {}
        changed: dict[str, TransitionReason] = {}
        refusals = []
        for finding in found.values():
            history = store.transitions(finding.id) if isinstance(verb, Undo) else ()
            try:
                decision = decide(finding, verb, now, author=author, history=history)
            except VerbRefusedError as refusal:
                refusals.append(refusal)
                continue
            if decision is not None:
                store.apply(decision.as_advance())
                after[finding.id] = decision.change.after
                changed[finding.id] = decision.transition.reason
        if refusals:
            raise RefusedError(refusals)
        return CarriedOut(findings=list({**found, **after}.values()), changed=changed)

    return database.transact(work)
