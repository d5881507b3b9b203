"""Reasons to stay quiet: what they cover, how long, and that each ends by itself."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findings.investigation import Autonomy, Refusal
from findings.kinds import VERDICT_FAILED, Kind
from findings.model import DismissedReason
from findings.silence import (
    PATROLS_OWN,
    Quiet,
    QuietReason,
    Silence,
    SilenceError,
    SilenceKind,
    SilenceState,
    own_quiet,
    quiet,
)
from tests.findings.builders import HOST, NOW, ORG, finding

HOUR = timedelta(hours=1)
MOMENT = timedelta(microseconds=1)


def silence(kind=SilenceKind.MAINTENANCE, **changes) -> Silence:
    base = {
        "org_id": ORG,
        "id": "s1",
        "kind": kind,
        "resource_id": HOST,
        "starts_at": NOW,
        "ends_at": NOW + HOUR if kind is SilenceKind.MAINTENANCE else None,
        "reason": "new disks",
        "author": "ann",
        "created_at": NOW,
    }
    return Silence(**{**base, **changes})


# --- what cannot be


@pytest.mark.parametrize(
    ("kind", "changes", "field"),
    [
        (SilenceKind.SUPPRESSION, {"resource_id": ""}, "resource"),  # would hide everything
        (SilenceKind.SUPPRESSION, {"finding_kind": Kind.SOURCE_BLIND}, "kind"),
        (SilenceKind.SUPPRESSION, {"resource_id": "", "finding_kind": Kind.SOURCE_BLIND}, "kind"),
        (SilenceKind.MAINTENANCE, {"resource_id": ""}, "resource"),
        (SilenceKind.MAINTENANCE, {"ends_at": None}, "until"),
        (SilenceKind.MAINTENANCE, {"finding_kind": Kind.HIGH_CPU}, "kind"),
        (SilenceKind.MAINTENANCE, {"ends_at": NOW}, "until"),
        (SilenceKind.MAINTENANCE, {"ends_at": NOW - HOUR}, "until"),
        (SilenceKind.OFFLINE, {"resource_id": ""}, "resource"),
        (SilenceKind.OFFLINE, {"finding_kind": Kind.HIGH_CPU}, "kind"),
        (SilenceKind.OFFLINE, {"reason": "  "}, "reason"),
        (SilenceKind.OFFLINE, {"author": ""}, "author"),
        (SilenceKind.OFFLINE, {"ended_at": NOW}, "ended_by"),
        (SilenceKind.OFFLINE, {"ended_by": "ben"}, "ended_by"),
        (SilenceKind.OFFLINE, {"starts_at": datetime(2026, 1, 1)}, "starts_at"),  # noqa: DTZ001 - the case itself
    ],
)
def test_a_silence_that_cannot_be_is_refused_with_the_field_that_is_wrong(kind, changes, field):
    with pytest.raises(SilenceError) as caught:
        silence(kind, **changes)
    assert caught.value.field == field


# --- how long


def test_a_silence_is_scheduled_then_in_force_then_over():
    window = silence()
    assert window.state(NOW - MOMENT) is SilenceState.SCHEDULED
    assert window.state(NOW) is SilenceState.IN_FORCE
    assert window.state(NOW + HOUR - MOMENT) is SilenceState.IN_FORCE
    assert window.state(NOW + HOUR) is SilenceState.ENDED


def test_a_silence_without_an_end_lasts_until_it_is_ended_by_hand():
    endless = silence(SilenceKind.OFFLINE)
    assert endless.state(NOW + timedelta(days=4000)) is SilenceState.IN_FORCE
    ended = replace(endless, ended_at=NOW + HOUR, ended_by="ben")
    assert ended.state(NOW + HOUR - MOMENT) is SilenceState.IN_FORCE
    assert ended.state(NOW + HOUR) is SilenceState.ENDED


def test_of_two_ends_the_first_one_counts():
    assert silence(ended_at=NOW + 2 * HOUR, ended_by="ben").end == NOW + HOUR
    assert silence(ended_at=NOW + HOUR / 2, ended_by="ben").end == NOW + HOUR / 2
    assert silence(SilenceKind.OFFLINE).end is None


# --- what it covers

GUEST = "vm:lab:101"
ON_HOST = finding(resource_id=GUEST, lives_on=(HOST, "cluster:lab"))
BLIND = finding(Kind.SOURCE_BLIND, resource_id="source:patrol:local", lives_on=(HOST,))


@pytest.mark.parametrize(
    ("one", "about", "covered"),
    [
        (silence(), finding(), True),
        (silence(), finding(resource_id="agent:local:web2"), False),
        (silence(), ON_HOST, True),  # a node under maintenance: its guests are quiet too
        (silence(resource_id="cluster:lab"), ON_HOST, True),
        (silence(resource_id=GUEST), finding(), False),  # not the other way round
        (silence(SilenceKind.OFFLINE), ON_HOST, True),
        (silence(SilenceKind.SUPPRESSION), finding(), True),
        (silence(SilenceKind.SUPPRESSION), ON_HOST, False),  # a rule is about the resource itself
        (silence(SilenceKind.SUPPRESSION, finding_kind=Kind.HIGH_DISK), finding(), True),
        (silence(SilenceKind.SUPPRESSION, finding_kind=Kind.HIGH_CPU), finding(), False),
        (silence(SilenceKind.SUPPRESSION, resource_id="", finding_kind=Kind.HIGH_DISK), ON_HOST, True),
        (silence(SilenceKind.SUPPRESSION, resource_id=BLIND.resource_id), BLIND, False),
        (silence(SilenceKind.OFFLINE), BLIND, False),  # never without an end
        (silence(SilenceKind.OFFLINE, ends_at=NOW + HOUR), BLIND, True),
        (silence(), BLIND, True),
    ],
)
def test_what_a_silence_covers(one, about, covered):
    assert one.covers(about) is covered
    assert (quiet(about, [one], NOW) is not None) is covered


# --- why and until when


@pytest.mark.parametrize(
    ("changes", "reason", "until"),
    [
        ({}, None, None),
        ({"suppressed": True}, QuietReason.SUPPRESSED, None),
        ({"dismissed_reason": DismissedReason.NOT_AN_ISSUE}, QuietReason.DISMISSED, None),
        (
            {"dismissed_reason": DismissedReason.WILL_FIX_LATER, "remind_at": NOW + HOUR},
            QuietReason.DISMISSED,
            NOW + HOUR,
        ),
        ({"dismissed_reason": DismissedReason.WILL_FIX_LATER, "remind_at": NOW}, None, None),
        ({"snoozed_until": NOW + MOMENT}, QuietReason.SNOOZED, NOW + MOMENT),
        ({"snoozed_until": NOW}, None, None),
        ({"acknowledged_at": NOW}, None, None),  # what can be seen to end stays active
        ({"acknowledged_at": NOW, "acknowledged_facts": {"media_errors": 1}}, QuietReason.ACKNOWLEDGED, None),
        (
            {"acknowledged_at": NOW, "acknowledged_facts": {VERDICT_FAILED: 1}, "facts": {VERDICT_FAILED: 1}},
            None,  # a disk that says FAILED is no count of old damage
            None,
        ),
    ],
)
def test_what_an_operator_said_of_one_finding(changes, reason, until):
    one = finding(**changes)
    said = own_quiet(one, NOW)
    assert (said.reason if said else None) is reason
    assert (said.until if said else None) == until
    assert one.is_silenced(NOW) is (reason is not None)
    assert one.is_active(NOW) is (reason is None)


def test_an_answer_names_author_words_and_silence():
    one = finding(snoozed_until=NOW + HOUR, silenced_by="ann", silence_note="on Monday")
    assert quiet(one, [], NOW) == Quiet(QuietReason.SNOOZED, NOW + HOUR, "ann", "on Monday")
    assert quiet(finding(), [silence()], NOW) == Quiet(QuietReason.MAINTENANCE, NOW + HOUR, "ann", "new disks", "s1")


def test_of_several_reasons_the_one_that_lasts_longest_is_told():
    snoozed = finding(snoozed_until=NOW + 2 * HOUR)
    assert quiet(snoozed, [silence()], NOW).reason is QuietReason.SNOOZED
    assert quiet(snoozed, [silence(ends_at=NOW + 3 * HOUR)], NOW).reason is QuietReason.MAINTENANCE
    assert quiet(snoozed, [silence(), silence(SilenceKind.OFFLINE, id="s2")], NOW).reason is QuietReason.OFFLINE
    rule = silence(SilenceKind.SUPPRESSION, id="s3")
    assert quiet(finding(suppressed=True), [rule, silence(SilenceKind.OFFLINE)], NOW).reason is QuietReason.SUPPRESSED
    assert quiet(finding(), [silence(SilenceKind.OFFLINE), rule], NOW).reason is QuietReason.RULE


def test_a_quiet_finding_is_not_looked_into():
    serious = finding()
    assert serious.should_investigate(Autonomy.FULL, NOW)
    assert not serious.should_investigate(Autonomy.FULL, NOW, silences=[silence()])
    assert serious.investigation_refusal(Autonomy.FULL, NOW, silences=[silence()]) is Refusal.SILENCED


# --- for any silences at any time

minutes = st.integers(-200, 200).map(lambda count: NOW + timedelta(minutes=count))
places = st.sampled_from([HOST, GUEST, "cluster:lab", "agent:local:web2"])


@st.composite
def silences(draw) -> Silence:
    kind = draw(st.sampled_from(SilenceKind))
    starts_at = draw(minutes)
    length = st.integers(1, 300).map(lambda count: starts_at + timedelta(minutes=count))
    by_hand = draw(st.none() | minutes)
    return silence(
        kind,
        id=draw(st.text("ab", min_size=1, max_size=8)),
        resource_id=draw(places),
        starts_at=starts_at,
        ends_at=draw(length if kind is SilenceKind.MAINTENANCE else st.none() | length),
        ended_at=by_hand,
        ended_by="ben" if by_hand else "",
    )


findings = st.builds(
    finding,
    kind=st.sampled_from([Kind.HIGH_DISK, Kind.SOURCE_BLIND]),
    resource_id=places,
    lives_on=st.lists(places, max_size=2).map(tuple),
    snoozed_until=st.none() | minutes,
    suppressed=st.booleans(),
)


@settings(deadline=None, max_examples=50)
@given(findings, st.lists(silences(), max_size=4, unique_by=lambda each: each.id), minutes)
def test_quiet_holds_exactly_while_a_reason_is_in_force(one, known, now):
    said = quiet(one, known, now)
    in_force = [each for each in known if each.covers(one) and each.state(now) is SilenceState.IN_FORCE]
    assert (said is not None) is bool(in_force or own_quiet(one, now))
    assert said == quiet(one, reversed(known), now)  # their order does not matter
    if said is not None and said.until is not None:
        assert said.until > now
        at_the_end = quiet(one, known, said.until)  # only what began meanwhile may go on
        assert at_the_end is None or at_the_end.silence_id != said.silence_id or at_the_end.reason is not said.reason
    if one.kind in PATROLS_OWN and not one.suppressed:
        assert said is None or said.until is not None, "Patrol's own findings are never quiet without an end"
