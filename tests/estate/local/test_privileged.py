"""What root reads for Patrol: only what is on the list, kept whole, believed only from root, and only while new."""

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from patrol.estate.sources.local.host import ProgramMissingError, ProgramTimedOutError
from patrol.estate.sources.local.privileged import (
    OLD,
    Answer,
    AnsweredHost,
    Answers,
    RecordingHost,
    collect_answers,
    is_allowed,
)
from patrol.estate.sources.local.privileged_file import find_answers, write_answers
from patrol.estate.sources.local.source import LocalSource
from patrol.estate.sources.model import CollectRequest
from tests.estate.local.tree import TreeHost, said

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
BOOT = {"/proc/sys/kernel/random/boot_id": "one\n"}
SMARTCTL = ["smartctl", "--json", "-x", "-n", "standby", "/dev/sda"]
MINE = frozenset({os.geteuid()})


@pytest.mark.parametrize(
    "argv",
    [
        SMARTCTL,
        ["smartctl", "--scan", "--json"],
        ["smartctl", "--json", "-x", "-n", "standby", "-d", "megaraid,3", "/dev/bus/0"],
        ["smartctl", "--json", "-x", "-n", "standby", "-d", "sat+megaraid,3", "/dev/sda"],
        ["btrfs", "device", "stats", "/mnt/my data"],
        ["btrfs", "filesystem", "usage", "--raw", "/"],
        ["zpool", "status", "-j", "-p"],
        ["zpool", "status", "tank", "rpool"],
        ["zpool", "list", "-Hp", "-o", "name,size", "tank"],
        ["zfs", "list", "-Hp", "-d", "0", "-o", "name,used", "tank"],
    ],
)
def test_what_only_reads_is_on_the_list(argv):
    assert is_allowed(argv)


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["smartctl"],
        ["smartctl", "-t", "long", "/dev/sda"],
        ["smartctl", "--json", "-x", "-n", "standby", "/dev/../etc/shadow"],
        ["smartctl", "--json", "-x", "-n", "standby", "/etc/shadow"],
        ["smartctl", "--json", "-x", "-n", "standby", "-s", "off"],
        ["smartctl", "--json", "-x", "-n", "standby", "/dev/sda", "/dev/sdb"],
        ["btrfs", "device", "stats", "-z"],
        ["btrfs", "device", "stats", "/mnt/../../etc"],
        ["btrfs", "device", "remove", "/dev/sda", "/mnt"],
        ["zpool", "destroy", "tank"],
        ["zpool", "status", "-c", "upath"],
        ["zpool", "list", "-Hp", "-o", "name", "-f"],
        ["zfs", "destroy", "tank"],
        ["sh", "-c", "smartctl --scan --json"],
        ["/tmp/smartctl", "--scan", "--json"],
    ],
)
def test_what_writes_or_could_reach_elsewhere_is_not(argv, tmp_path):
    assert not is_allowed(argv)
    if argv:
        host = TreeHost(tmp_path, {}, {" ".join(argv[:2]): said("")})
        with pytest.raises(ProgramMissingError):
            RecordingHost(host).run(argv)
        assert host.calls == []


def answers(*given: Answer, at: datetime = NOW, boot: str = "one") -> Answers:
    return Answers(collected_at=at, boot=boot, answers=list(given))


def test_what_was_said_comes_through_the_file_as_it_was(tmp_path):
    asked = RecordingHost(TreeHost(tmp_path, {}, {"smartctl --json": said('{"a": "ü"}', returncode=4, stderr="x")}))
    heard = asked.run(SMARTCTL)
    file = tmp_path / "local.json"
    write_answers(file, answers(*asked.answers))
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["local.json"]
    found = find_answers(file, TreeHost(tmp_path, BOOT), NOW + timedelta(minutes=4), owners=MINE)
    assert found.answers is not None
    assert "4 min" in found.said
    silent = TreeHost(tmp_path, {}, {"smartctl --json": PermissionError()})
    assert AnsweredHost(silent, found.answers).run(SMARTCTL) == heard
    assert silent.calls == []


def test_what_was_not_asked_is_asked_by_patrol_itself_and_what_hung_is_not_asked_again(tmp_path):
    host = TreeHost(tmp_path, {}, {"zpool status": said("no pools available")})
    hung = AnsweredHost(host, answers(Answer(argv=SMARTCTL, timed_out=True)))
    assert hung.run(["zpool", "status"]).stdout == "no pools available"
    with pytest.raises(ProgramTimedOutError):
        hung.run(SMARTCTL)
    assert host.calls == [["zpool", "status"]]


def test_an_answer_to_what_is_not_on_the_list_is_none(tmp_path):
    host = TreeHost(tmp_path, {}, {"systemctl list-units": said("mine")})
    lying = answers(Answer(argv=["systemctl", "list-units"], stdout="made up"))
    assert AnsweredHost(host, lying).run(["systemctl", "list-units"]).stdout == "mine"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (answers(at=NOW - OLD - timedelta(minutes=1)), "61 min old"),
        (answers(at=NOW - timedelta(days=2)), "48 h old"),
        (answers(at=NOW + timedelta(hours=1)), "from the future"),
        (answers(boot="another"), "before this host was started"),
        (Answers(version=2, collected_at=NOW, boot="one"), "of version 2"),
    ],
)
def test_answers_that_say_nothing_of_now_are_not_used_and_that_is_told(given, why, tmp_path):
    file = tmp_path / "local.json"
    write_answers(file, given)
    found = find_answers(file, TreeHost(tmp_path, BOOT), NOW, owners=MINE)
    assert found.answers is None
    assert why in found.said
    assert "patrol-collect" in found.said


def test_only_a_file_of_root_is_believed(tmp_path):
    file = tmp_path / "local.json"
    write_answers(file, answers())
    host = TreeHost(tmp_path, BOOT)
    assert "file of root" in find_answers(file, host, NOW, owners=frozenset({999_999})).said
    file.chmod(0o646)
    assert "file of root" in find_answers(file, host, NOW, owners=MINE).said
    link = tmp_path / "link.json"
    link.symlink_to(file)
    assert find_answers(link, host, NOW, owners=MINE).answers is None
    os.mkfifo(tmp_path / "pipe.json")
    assert "file of root" in find_answers(tmp_path / "pipe.json", host, NOW, owners=MINE).said


@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b"\xff", b'{"version": 1, "collected_at": "2026-03-01T12:00:00"}'])
def test_junk_is_told_and_not_used(junk, tmp_path):
    file = tmp_path / "local.json"
    file.write_bytes(junk)
    found = find_answers(file, TreeHost(tmp_path, BOOT), NOW, owners=MINE)
    assert found.answers is None
    assert "not used" in found.said


def test_without_a_file_nothing_is_said(tmp_path):
    found = find_answers(tmp_path / "local.json", TreeHost(tmp_path, BOOT), NOW)
    assert (found.answers, found.said) == (None, "")


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "local.json").mkdir()
    (tmp_path / "local.json" / "in the way").touch()
    with pytest.raises(OSError, match=r"."):
        write_answers(tmp_path / "local.json", answers())
    assert [each.name for each in tmp_path.iterdir()] == ["local.json"]


def test_a_collection_keeps_what_it_asked_and_the_source_says_how_old_that_is(tmp_path):
    files = {
        **BOOT,
        "/sys/block/sda/size": "1000",
        "/sys/block/sda/device/model": "DISK",
        "/sys/block/sda/queue/rotational": "1",
        "/etc/machine-id": "0123456789abcdef0123456789abcdef",
    }
    request = CollectRequest(now=NOW, deadline_seconds=10)
    collected = collect_answers(TreeHost(tmp_path / "root", files, {"smartctl --json": said("{}")}), request)
    assert (collected.collected_at, collected.boot) == (NOW, "one")
    assert all(is_allowed(each.argv) for each in collected.answers)
    file = tmp_path / "local.json"
    write_answers(file, collected)
    source = LocalSource(
        host=TreeHost(tmp_path / "root", files),
        readers=(),
        answers=lambda host, now: find_answers(Path(file), host, now, owners=MINE),
    )
    (state,) = source.collect(CollectRequest(now=NOW + timedelta(minutes=9), deadline_seconds=10)).estate.sources
    assert "privileged reads 9 min old" in state.detail
