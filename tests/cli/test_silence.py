"""What operators type about findings, and what they read back."""

import json
import os
import pwd
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from patrol.__main__ import main
from patrol.cli.author import author
from patrol.cli.ends import parse_end, parse_time
from patrol.cli.exit_codes import CommandError

NOW = datetime(2026, 12, 1, 8, tzinfo=UTC)
Answer = tuple[int, str, str]
Patrol = Callable[..., Answer]


@pytest.fixture
def patrol(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Answer]:
    """A command on a database in which a host has two full file systems."""
    for name in ("PATROL_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "240")
    monkeypatch.chdir(tmp_path)
    mounts = [
        {"device": f"/dev/sd{mount}", "mountpoint": f"/{mount}", "type": "ext4", "usage_percent": 97}
        for mount in ("a", "b")
    ]
    host = {"id": "agent:lab:web", "type": "agent", "name": "web", "status": "online", "filesystems": mounts}
    (tmp_path / "estate.json").write_text(json.dumps({"version": 1, "resources": [host]}), encoding="utf-8")

    def run(*arguments: str) -> Answer:
        code = main([*arguments, "--storage", f"sqlite:///{tmp_path}/patrol.db"])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    run("run", "--snapshot", "estate.json")
    return run


def listed(patrol: Patrol, state: str) -> list[dict[str, Any]]:
    code, out, _ = patrol("findings", "list", "--state", state, "--json")
    assert code == 0
    found: list[dict[str, Any]] = json.loads(out)["findings"]
    return found


@pytest.fixture
def ids(patrol: Patrol) -> list[str]:
    return [finding["id"] for finding in listed(patrol, "open")]


@pytest.mark.parametrize(
    ("arguments", "reason", "said"),
    [
        (("snooze", "--for", "2h", "--note", "at night"), "snoozed", "at night"),
        (("snooze", "--until", "2999-01-01"), "snoozed", "until 299"),
        (("dismiss", "--reason", "expected_behavior"), "dismissed", "dismissed (expected_behavior)"),
        (("dismiss", "--reason", "will_fix_later", "--for", "3d"), "dismissed", "dismissed (will_fix_later) until 20"),
        (("suppress", "--note", "test host"), "suppressed", "until undone"),
    ],
)
def test_a_finding_says_why_it_is_quiet_until_when_and_who_wanted_it(
    patrol: Patrol, ids: list[str], arguments: tuple[str, ...], reason: str, said: str
) -> None:
    verb, *options = arguments
    code, out, _ = patrol("findings", verb, ids[0][:8], *options)
    assert code == 0
    assert said in out
    [quiet] = listed(patrol, "silenced")
    assert (quiet["id"], quiet["quiet"]["reason"], quiet["quiet"]["by"]) == (ids[0], reason, author())
    assert [finding["id"] for finding in listed(patrol, "active")] == [ids[1]]
    assert len(listed(patrol, "open")) == len(listed(patrol, "all")) == 2
    for command in (("findings", "list"), ("findings", "show", ids[0]), ("silence", "list")):
        _, out, _ = patrol(*command)
        assert author() in out
        assert reason in out
    assert patrol("findings", "undo", ids[0])[0] == 0
    assert listed(patrol, "silenced") == []


def test_resolving_and_taking_it_back(patrol: Patrol, ids: list[str]) -> None:
    code, out, _ = patrol("findings", "resolve", *ids, "--note", "cleaned up", "--json")
    assert (code, sorted(json.loads(out)["changed"])) == (0, sorted(ids))
    assert len(listed(patrol, "resolved")) == 2
    assert "(it was so already)" in patrol("findings", "resolve", ids[0])[1]
    patrol("findings", "undo", ids[0], "--what", "resolve")
    assert len(listed(patrol, "resolved")) == 1
    _, out, _ = patrol("findings", "show", ids[0])
    assert "cleaned up" in out
    assert "reopened" in out


@pytest.mark.parametrize(
    ("say", "told", "taken_back"),
    [
        (("ack",), "acknowledged, still active", "the acknowledgement is taken back; open"),
        (("snooze", "--for", "2h"), "snoozed until", "the snooze is taken back; open"),
        (("dismiss", "--reason", "not_an_issue"), "dismissed (not_an_issue)", "the dismissal is taken back; open"),
        (("suppress",), "suppressed until undone", "the suppression is taken back; open"),
        (("resolve",), "resolved", "it is not resolved after all; open"),
        (("note", "--note", "x"), "noted; open", "the note is taken back; open"),
    ],
)
def test_each_word_is_answered_with_what_it_did_and_undo_with_what_it_took_back(
    patrol: Patrol, ids: list[str], say: tuple[str, ...], told: str, taken_back: str
) -> None:
    verb, *options = say
    assert told in patrol("findings", verb, ids[0], *options)[1]
    assert patrol("findings", "undo", ids[0])[1].rstrip().endswith(taken_back)


def test_damage_that_is_acknowledged_is_quiet_until_it_grows(patrol: Patrol) -> None:
    worn = {"device": "/dev/sda", "serial": "S1", "health": "PASSED", "attributes": {"reallocatedSectors": 40}}
    host = {"id": "agent:lab:nas", "type": "agent", "name": "nas", "status": "online"}
    disk = {"id": "disk:serial:S1", "type": "disk", "name": "sda", "parent": host["id"], "disk": worn}
    Path("estate.json").write_text(json.dumps({"version": 1, "resources": [host, disk]}), encoding="utf-8")
    patrol("run", "--snapshot", "estate.json")
    (damage,) = [each["id"] for each in listed(patrol, "open") if each["resource_name"] == "sda"]
    assert "acknowledged until it grows" in patrol("findings", "ack", damage)[1]


def test_acknowledging_and_notes_are_shown(patrol: Patrol, ids: list[str]) -> None:
    patrol("findings", "ack", ids[0], "--note", "I know")
    patrol("findings", "note", ids[0], "--note", "ask \x1b[31mben")
    _, out, _ = patrol("findings", "show", ids[0])
    assert f"by {author()}" in out
    assert r"ask \x1b[31mben" in out
    assert len(listed(patrol, "active")) == 2  # a full file system can be seen to end: known, and still there


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("snooze", "ID"), 2, '--for "2h" or --until TIME'),
        (("snooze", "ID", "--for", "7"), 2, "--for: 7: not a duration: it has no unit"),
        (("snooze", "ID", "--for", "0"), 2, "--for: it lasts no time"),
        (("snooze", "ID", "--for", "2h", "--until", "2999-01-01"), 2, "--for and --until exclude each other"),
        (("snooze", "ID", "--until", "tomorrow"), 2, "--until: tomorrow is no time"),
        (("snooze", "ID", "--until", "2001-01-01"), 2, "ID: a snooze that is over already"),
        (("dismiss", "ID"), 2, "Missing option '--reason'"),
        (("dismiss", "ID", "--reason", "odd"), 2, "'odd' is not one of"),
        (("dismiss", "ID", "--reason", "not_an_issue", "--for", "2d"), 2, "use will_fix_later, or snooze it"),
        (("suppress", "abc"), 1, "a beginning needs at least 8 hex digits"),
        (("suppress", "ID", "00000000"), 1, "no finding has the id 00000000"),
        (("undo", "ID"), 2, "ID: nothing in force that could be taken back"),
        (("undo", "ID", "ID2"), 2, "nothing was changed"),
        (("note", "ID"), 2, "Missing option '--note'"),
    ],
)
def test_what_is_wrong_is_named_with_the_way_out(
    patrol: Patrol, ids: list[str], arguments: tuple[str, ...], code: int, said: str
) -> None:
    given = [{"ID": ids[0], "ID2": ids[1]}.get(argument, argument) for argument in arguments]
    ended, out, err = patrol("findings", *given)
    assert (ended, out) == (code, "")
    assert said.replace("ID", ids[0]) in err
    assert listed(patrol, "silenced") == []


def test_a_window_is_made_listed_and_ended(patrol: Patrol, ids: list[str]) -> None:
    code, out, _ = patrol(
        "silence", "add", "--resource", "web", "--maintenance", "--for", "2h", "--reason", "new disks", "--json"
    )
    made = json.loads(out)["silence"]
    assert (code, made["resource_id"], made["state"], made["author"]) == (0, "agent:lab:web", "in_force", author())
    assert {finding["quiet"]["silence_id"] for finding in listed(patrol, "silenced")} == {made["id"]}
    assert "maintenance until 20" in patrol("findings", "list")[1]
    assert made["id"] in patrol("silence", "list")[1]
    assert patrol("silence", "end", made["id"][:8])[0] == 0
    assert listed(patrol, "silenced") == []
    assert json.loads(patrol("silence", "list", "--json")[1]) == {"silences": [], "findings": []}
    [kept] = json.loads(patrol("silence", "list", "--all", "--json")[1])["silences"]
    assert (kept["state"], kept["ended_by"]) == ("ended", author())
    code, _, err = patrol("silence", "end", made["id"])
    assert (code, "over already" in err) == (1, True)


def test_a_rule_for_a_kind_and_a_thing_that_is_off(patrol: Patrol, ids: list[str]) -> None:
    assert patrol("silence", "add", "--kind", "high_disk", "--suppress", "--reason", "scratch disks")[0] == 0
    assert patrol("silence", "add", "--resource", "web", "--offline", "--reason", "winter")[0] == 0
    _, out, _ = patrol("silence", "list")
    assert "high_disk" in out
    assert "ended by hand" in out
    assert {finding["quiet"]["reason"] for finding in listed(patrol, "silenced")} == {"rule"}
    to_come = ("silence", "add", "--resource", "web", "--maintenance", "--from", "2998-01-01", "--for", "1h")
    assert "scheduled" in patrol(*to_come, "--reason", "move")[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--resource", "web"), "one of --maintenance, --offline, --suppress"),
        (("--resource", "web", "--offline", "--suppress"), "one of --maintenance, --offline, --suppress"),
        (("--suppress",), "--resource: a rule for everything"),
        (("--resource", "wep", "--offline"), "--resource: no resource is called wep; nearest: web"),
        (("--kind", "high_dsk", "--suppress"), "--kind: no finding is of the kind high_dsk; nearest: high_disk"),
        (("--kind", "source_blind", "--suppress"), "--kind: source_blind is how Patrol says"),
        (("--resource", "web", "--maintenance"), 'a maintenance window needs its end: --for "2h" or --until TIME'),
        (("--resource", "web", "--maintenance", "--from", "x", "--for", "2h"), "--from: x is no time"),
        (("--resource", "web", "--maintenance", "--until", "2001-01-01"), "--until: it would be over already"),
    ],
)
def test_a_silence_that_cannot_be_names_the_option(patrol: Patrol, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = patrol("silence", "add", "--reason", "x", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert "No silences." in patrol("silence", "list", "--all")[1]


def test_a_finding_is_no_silence(patrol: Patrol, ids: list[str]) -> None:
    code, _, err = patrol("silence", "end", ids[0])
    assert (code, "patrol findings undo" in err) == (1, True)


# --- ends and authors


def test_an_end_is_a_duration_from_now_or_a_time() -> None:
    assert parse_end("", "", NOW) is None
    assert parse_end("1h30m", "", NOW) == NOW + timedelta(minutes=90)
    assert parse_end("", "2026-12-02T09:00+01:00", NOW) == NOW + timedelta(days=1)
    with pytest.raises(CommandError, match="--for"):
        parse_end("999999999d", "", NOW)


def test_a_time_without_a_zone_is_one_of_this_host() -> None:
    assert parse_time("--until", "2026-12-01T08:00") == datetime(2026, 12, 1, 8).astimezone()
    with pytest.raises(CommandError, match="--until: 9999"):
        parse_time("--until", "9999-12-31T23:59:59-23:00")  # beyond what UTC can hold


def test_the_author_is_the_user_of_the_process_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "somebody else")
    monkeypatch.setenv("USER", "somebody else")
    assert author() != "somebody else"
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    assert author() == "user 4000000000"
    monkeypatch.undo()
    assert author() in {each.pw_name for each in pwd.getpwall()} | {f"user {os.getuid()}"}
