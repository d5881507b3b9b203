"""Any sequence of runs with any looks keeps the promises of the life of a finding."""

from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from findings.claims import LONGEST, MOST_RUNS
from findings.identity import finding_key
from findings.kinds import KINDS, Kind
from findings.lifecycle import advance
from findings.model import Basis, DismissedReason, Finding, FindingState, Look, ResolveReason, Severity
from tests.findings.builders import NOW, ORG, Looks, applied, observation

PLACES = [
    (kind, f"agent:local:{host}", subject)
    for kind in (Kind.HIGH_DISK, Kind.SMART_FAILURE, Kind.BACKUP_FAILED, "odd_latency")
    for host in ("web1", "web2")
    for subject in ("", "/var")
]
hosts = st.frozensets(st.sampled_from(["agent:local:web1", "agent:local:web2"]))
claims = st.frozensets(st.sampled_from([finding_key(host, kind, subject) for kind, host, subject in PLACES]))
looks = st.dictionaries(st.sampled_from(PLACES), st.sampled_from(Look))
seen = st.lists(
    st.builds(
        lambda place, severity, basis, facts: observation(
            place[0], severity, resource_id=place[1], subject=place[2], basis=basis, facts=facts
        ),
        st.sampled_from(PLACES),
        st.sampled_from(Severity),
        st.sampled_from(Basis),
        st.dictionaries(st.sampled_from(["pending_sectors", "reallocated_sectors"]), st.integers(0, 3)),
    ),
    max_size=6,
)


def key_of(observation):
    return finding_key(observation.resource_id, observation.kind, observation.subject)


def contradicted(observation, answers):
    """Whether a model alone says so, of something that a detector knows and saw clear."""
    look = answers.get((observation.kind, observation.resource_id, observation.subject))
    return observation.basis is Basis.MODEL and observation.kind in list(Kind) and look is Look.CLEAR


class Lives(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, Finding] = {}
        self.now = NOW
        self.runs = 0
        self.clear_in_a_row: dict[str, int] = {}

    @rule(observations=seen, answers=looks, minutes=st.integers(-120, 600), looked=hosts, gone=claims)
    def run(self, observations, answers, minutes, looked, gone):
        self.now += timedelta(minutes=minutes)
        self.runs += 1
        run_id, before, examined = f"run-{self.runs}", self.known, Looks(answers)
        more = {"run_id": run_id, "org_id": ORG, "model_looked": looked, "resolved_claims": gone}
        result = advance(before, observations, examined, self.now, **more)
        assert result == advance(before, list(observations), examined, self.now, **more)
        self.known = applied(before, result)
        again = advance(self.known, observations, examined, self.now, **more)
        assert not again.changes
        assert not again.transitions
        assert set(result.outcomes) == {key_of(each) for each in observations}
        observed = {key_of(each) for each in observations if not contradicted(each, answers)}
        measured = {key_of(each) for each in observations if each.basis is not Basis.MODEL}
        # A model's word does not break a row of clear looks at what somebody else holds.
        claims_before = {key for key, finding in before.items() if finding.basis is Basis.MODEL}
        seen_again = observed & (measured | claims_before)
        self.count_clear_looks(before, answers, seen_again)
        self.check_changes(result, answers, looked, gone)
        self.check_nothing_healthy_stays_open(before, observed)

    def count_clear_looks(self, before, answers, observed):
        for key, finding in before.items():
            look = answers.get((finding.kind, finding.resource_id, finding.subject))
            if key in observed or look in (Look.HELD, Look.PRESENT) or not finding.is_open:
                self.clear_in_a_row[key] = 0
            elif look is Look.CLEAR:
                self.clear_in_a_row[key] = self.clear_in_a_row.get(key, 0) + 1

    def check_changes(self, result, answers, looked, gone):
        told = {transition.finding_id: transition for transition in result.transitions}
        assert len(told) == len(result.transitions)
        for before, after in result.changes:
            assert after.first_seen_at <= after.last_seen_at <= self.now
            assert after.version == (before.version + 1 if before else 1)
            if before is None:
                assert after.id in told
                continue
            if before.is_open and after.is_open:
                assert after.severity.rank >= before.severity.rank
            if before.state is not after.state or before.severity is not after.severity:
                assert told[after.id].new_state is after.state
            if before.is_open and not after.is_open:
                if after.resolve_reason is ResolveReason.EXPIRED_CLAIM:
                    runs = before.unconfirmed_runs + (before.resource_id in looked)
                    assert before.is_unconfirmed
                    assert runs >= MOST_RUNS or self.now - before.last_seen_at >= LONGEST
                    continue
                if after.kind not in list(Kind):
                    assert before.basis is Basis.MODEL
                    assert after.key in gone
                    continue
                look = answers.get((after.kind, after.resource_id, after.subject))
                assert look is Look.CLEAR, "closed without having been seen clear"
                assert self.clear_in_a_row[after.key] >= KINDS[after.kind].clears_after

    def check_nothing_healthy_stays_open(self, before, observed):
        for key in before.keys() - observed:
            finding = self.known[key]
            if not before[key].is_open or finding.kind not in list(Kind):
                continue
            record = KINDS[finding.kind]
            damaged = any(finding.facts.get(name, 0) > 0 for name in record.sticky_facts)
            if self.clear_in_a_row.get(key, 0) >= record.clears_after and not damaged:
                assert not finding.is_open

    @rule(number=st.integers(0, 20), quiet=st.sampled_from(["ack", "snooze", "dismiss", "suppress", "speak"]))
    def operator(self, number, quiet):
        if not self.known:
            return
        key = sorted(self.known)[number % len(self.known)]
        changes = {
            "ack": {"acknowledged_at": self.now, "acknowledged_facts": self.known[key].facts},
            "snooze": {"snoozed_until": self.now + timedelta(hours=3)},
            "dismiss": {"dismissed_reason": DismissedReason.EXPECTED_BEHAVIOR},
            "suppress": {"suppressed": True},
            "speak": {"suppressed": False, "dismissed_reason": None, "snoozed_until": None},
        }[quiet]
        finding = self.known[key]
        fields = {name: getattr(finding, name) for name in Finding.__slots__}
        self.known = {**self.known, key: Finding(**{**fields, **changes, "version": finding.version + 1})}

    @invariant()
    def each_key_has_one_finding_and_no_mixed_state(self):
        assert len({finding.id for finding in self.known.values()}) == len(self.known)
        for finding in self.known.values():
            resolved = finding.state is FindingState.RESOLVED
            assert (finding.resolved_at is not None) is resolved
            assert (finding.resolve_reason is not None) is resolved
            if finding.is_open and finding.is_unconfirmed:
                assert finding.severity.rank <= Severity.WARNING.rank
                assert finding.unconfirmed_runs < MOST_RUNS


TestLives = Lives.TestCase
TestLives.settings = settings(deadline=None, max_examples=50, stateful_step_count=20)
