"""Findings: which there are, what is known of one, and what an operator says of some."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from findings.model import Finding, Severity, Transition, TransitionReason
from findings.silence import Silence
from findings.silence_store import SilenceStore
from findings.store import FindingConflictError, FindingStore
from findings.units import unit_of
from findings.verbs import Acknowledge, Dismiss, Note, Resolve, Snooze, Suppress, Undo, Verb
from findings.wanted import Wanted
from patrol.operators.ids import AmbiguousIdError, UnknownIdError, find_finding
from patrol.operators.verbs import RefusedError, carry_out
from patrol.records.desk import NOT_THERE, WRONG, Desk, Question, QuestionRefusedError
from patrol.run.explanation import Explanation, explain
from patrol.run.model_work.model import EscalationRecord, ModelReport, VerdictRecord
from patrol.run.model_work.store import ModelWorkStore

WORDS_SHOWN = 10
"""Reports, verdicts and escalations of a finding, each."""


class FindingList(msgspec.Struct, frozen=True, kw_only=True):
    """Findings, and the silences by which they were quiet at that moment."""

    findings: list[Finding]
    silences: list[Silence]
    at: datetime


class ListFindings(Question, frozen=True, kw_only=True):
    """Those in a state, of a severity and worse: the worst first."""

    state: Wanted
    severity: Severity | None = None

    def answer(self, desk: Desk, /) -> FindingList:
        """Which there are."""
        worst = self.severity
        wanted = None if worst is None else [each for each in Severity if each.rank >= worst.rank]
        now = desk.clock()
        with desk.database.read() as connection:
            store = FindingStore(connection, desk.org_id)
            found = store.list_findings(state=self.state.state, severities=wanted)
            silences = SilenceStore(connection, desk.org_id).list_silences(not_over_at=now)
        fitting = [each for each in found if self.state.fits(each, silences, now)]
        return FindingList(findings=fitting, silences=silences, at=now)


class FindingWords(msgspec.Struct, frozen=True, kw_only=True):
    """What models said of one finding, the newest first, and whether it is to be looked into."""

    reports: Sequence[ModelReport]
    verdicts: Sequence[VerdictRecord]
    escalations: Sequence[EscalationRecord]


class OneFinding(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of a finding."""

    finding: Finding
    transitions: list[Transition]
    silences: list[Silence]
    explanation: Explanation
    words: FindingWords
    at: datetime


class ShowFinding(Question, frozen=True, kw_only=True):
    """One finding, by its id or the beginning of it."""

    finding_id: str

    def answer(self, desk: Desk, /) -> OneFinding:
        """What is known of it."""
        now, org_id, database = desk.clock(), desk.org_id, desk.database
        with database.read() as connection:
            store = FindingStore(connection, org_id)
            finding = self._find(store)
            changes = store.transitions(finding.id)
            silences = SilenceStore(connection, org_id).list_silences(not_over_at=now)
        return OneFinding(
            finding=finding,
            transitions=list(changes),
            silences=silences,
            explanation=explain(database, finding, now, unit=unit_of(finding.kind), org_id=org_id),
            words=_words_of(ModelWorkStore(database, org_id), finding),
            at=now,
        )

    def _find(self, store: FindingStore) -> Finding:
        try:
            return find_finding(store, self.finding_id)
        except UnknownIdError as error:
            raise _unknown(error) from error
        except AmbiguousIdError as error:
            raise QuestionRefusedError(str(error), WRONG) from error


def _words_of(store: ModelWorkStore, finding: Finding) -> FindingWords:
    return FindingWords(
        reports=store.reports_of(finding, WORDS_SHOWN),
        verdicts=store.verdicts_of(finding, WORDS_SHOWN),
        escalations=store.escalations(finding_id=finding.id, limit=WORDS_SHOWN),
    )


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """The findings as they are now, in the order in which they were named. `changed`: what became of the others."""

    findings: list[Finding]
    changed: dict[str, TransitionReason]
    silences: list[Silence]
    at: datetime


class _Say(Question, frozen=True, kw_only=True):
    """Something is said of these findings: of all of them or of none."""

    ids: list[str]
    verb: Verb

    def answer(self, desk: Desk, /) -> Said:
        """What became of them."""
        now = desk.clock()
        try:
            done = carry_out(desk.database, desk.org_id, self.ids, self.verb, now=now, author=desk.author)
        except UnknownIdError as error:
            raise _unknown(error) from error
        except (AmbiguousIdError, RefusedError) as error:
            nothing = "\nnothing was changed" if len(self.ids) > 1 else ""
            raise QuestionRefusedError(f"{error}{nothing}", WRONG) from error
        except FindingConflictError as error:
            text = "others change these findings all the time: nothing was changed, try again"
            raise QuestionRefusedError(text, NOT_THERE) from error
        with desk.database.read() as connection:
            silences = SilenceStore(connection, desk.org_id).list_silences(not_over_at=now)
        return Said(findings=list(done.findings), changed=dict(done.changed), silences=silences, at=now)


def _unknown(error: UnknownIdError) -> QuestionRefusedError:
    return QuestionRefusedError(f"{error}; `patrol findings list --state all`", NOT_THERE)


# One class for each verb: by its name the verb is told from the others where it is sent.


class SayAcknowledged(_Say, frozen=True, kw_only=True):
    """I know."""

    verb: Acknowledge


class SaySnoozed(_Say, frozen=True, kw_only=True):
    """Not now."""

    verb: Snooze


class SayDismissed(_Say, frozen=True, kw_only=True):
    """Nothing to do."""

    verb: Dismiss


class SaySuppressed(_Say, frozen=True, kw_only=True):
    """Never again."""

    verb: Suppress


class SayResolved(_Say, frozen=True, kw_only=True):
    """It is done."""

    verb: Resolve


class SayNoted(_Say, frozen=True, kw_only=True):
    """Words for whoever reads it next."""

    verb: Note


class SayUndone(_Say, frozen=True, kw_only=True):
    """What was said before is taken back."""

    verb: Undo


Saying = SayAcknowledged | SaySnoozed | SayDismissed | SaySuppressed | SayResolved | SayNoted | SayUndone
