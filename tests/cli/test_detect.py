"""`patrol detect`: a recording in, signals out; what could not be read is said, line by line."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from patrol.__main__ import main
from patrol.cli.detect import bounded_lines
from patrol.cli.exit_codes import CommandError

Answer = tuple[int, str, str]
NOW = ("--now", "2026-03-01T12:00:00Z")

FAILED_DISK = {
    "id": "call-1",
    "tool_name": "pulse_metrics",
    "input": {"type": "disks"},
    "output": {"disks": [{"id": "disk-1", "node": "pve1", "device": "/dev/sda", "health": "FAILED"}]},
    "success": True,
}
FULL_POOL = {
    "id": "call-2",
    "tool_name": "pulse_storage",
    "input": '{"type": "pools"}',
    "output": json.dumps({"pools": [{"id": "pool-1", "name": "[bold]tank\u001b[31m", "usage_percent": 97.5}]}),
    "success": True,
}


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def detect(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Answer]:
    def run(*calls: object, arguments: tuple[str, ...] = ("--json",)) -> Answer:
        recording = tmp_path / "calls.jsonl"
        lines = (call if isinstance(call, str) else json.dumps(call) for call in calls)
        recording.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        code = main(["detect", "--tool-calls", str(recording), *NOW, *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_each_signal_is_one_line_with_the_documented_keys(detect: Callable[..., Answer]) -> None:
    code, out, _ = detect(FAILED_DISK, FULL_POOL)
    signals = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [signal["signal_type"] for signal in signals] == ["smart_failure", "high_disk"]
    documented = {
        *("signal_type", "resource_id", "resource_name", "resource_type", "severity", "category", "summary"),
        *("value", "limit", "limit_source", "evidence", "tool_call_id"),
    }
    assert all(documented <= set(signal) for signal in signals)
    assert signals[1]["value"] == 97.5
    assert signals[1]["tool_call_id"] == "call-2"
    assert signals[0]["value"] is None or isinstance(signals[0]["value"], float | int)


def test_equal_input_gives_equal_output(detect: Callable[..., Answer]) -> None:
    assert detect(FAILED_DISK, FULL_POOL) == detect(FAILED_DISK, FULL_POOL)


def test_the_table_shows_foreign_text_and_obeys_none_of_it(detect: Callable[..., Answer]) -> None:
    code, out, _ = detect(FAILED_DISK, FULL_POOL, arguments=())
    assert code == 0
    assert r"[bold]tank\x1b[31m" in out
    assert "\x1b" not in out
    assert "97.5 %" in out


def test_a_bad_line_costs_that_line_and_is_named(detect: Callable[..., Answer]) -> None:
    code, out, err = detect(FAILED_DISK, "no json", "", FULL_POOL)
    assert (code, len(out.splitlines())) == (0, 2)
    assert "line 2 is left out" in err


def test_many_bad_lines_are_counted_after_the_first_twenty(detect: Callable[..., Answer]) -> None:
    _, _, err = detect(FAILED_DISK, *(["no json"] * 30))
    assert err.count("is left out") == 20
    assert "30 lines are left out in all" in err


def test_a_file_of_which_nothing_can_be_read_ends_with_two(detect: Callable[..., Answer]) -> None:
    code, out, err = detect("no json", "[]")
    assert (code, out) == (2, "")
    assert "holds no tool call" in err


def test_an_empty_recording_says_that_nothing_was_looked_at(detect: Callable[..., Answer]) -> None:
    code, out, err = detect()
    assert (code, out) == (0, "")
    assert "nothing was looked at" in err


def test_examined_adds_the_looks(detect: Callable[..., Answer]) -> None:
    swept = {**FAILED_DISK, "origin": "patrol"}
    _, out, _ = detect(swept, arguments=("--json", "--examined"))
    looks = [line for line in map(json.loads, out.splitlines()) if "look" in line]
    assert {"kind": "smart_failure", "look": "present"}.items() <= next(
        look for look in looks if look["kind"] == "smart_failure"
    ).items()
    _, out, _ = detect(swept, arguments=("--examined",))
    assert "Look" in out


def test_without_alert_settings_the_built_in_limits_hold_and_it_says_so(detect: Callable[..., Answer]) -> None:
    _, _, err = detect(FULL_POOL)
    assert "limits are the built-in ones" in err


def test_the_limits_come_from_the_alert_settings(detect: Callable[..., Answer], tmp_path: Path) -> None:
    alerts = tmp_path / "alerts.json"
    alerts.write_text(json.dumps({"storageDefault": {"trigger": 99, "clear": 95}}), encoding="utf-8")
    code, out, err = detect(FULL_POOL, arguments=("--json", "--alerts", str(alerts)))
    assert (code, out) == (0, "")
    assert "built-in" not in err


@pytest.mark.parametrize("option", ["--alerts", "--inventory"])
@pytest.mark.parametrize("content", [None, "[", "3"])
def test_an_input_that_cannot_be_used_ends_with_two(
    detect: Callable[..., Answer], tmp_path: Path, option: str, content: str | None
) -> None:
    file = tmp_path / "input.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    code, out, err = detect(FULL_POOL, arguments=("--json", option, str(file)))
    assert (code, out) == (2, "")
    assert str(file) in err


def test_an_inventory_gives_ids_their_meaning(detect: Callable[..., Answer], tmp_path: Path) -> None:
    estate = tmp_path / "estate.json"
    resource = {"id": "storage:pve1:tank", "type": "storage", "name": "tank", "aliases": ["pool-1"]}
    estate.write_text(json.dumps({"version": 1, "resources": [resource]}), encoding="utf-8")
    _, out, _ = detect(FULL_POOL, arguments=("--json", "--inventory", str(estate)))
    assert json.loads(out)["resource_id"] == "storage:pve1:tank"


@pytest.mark.parametrize(("now", "code"), [("2026-03-01", 0), ("2026-03-01T12:00:00+01:00", 0), ("yesterday", 2)])
def test_the_time_to_judge_by_is_iso(tmp_path: Path, capsys: pytest.CaptureFixture[str], now: str, code: int) -> None:
    recording = tmp_path / "calls.jsonl"
    recording.write_text(json.dumps(FAILED_DISK), encoding="utf-8")
    assert main(["detect", "--tool-calls", str(recording), "--now", now, "--json"]) == code
    assert ("2026-03-01T12:00:00Z" in capsys.readouterr().err) == (code == 2)


def test_a_recording_can_come_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(FAILED_DISK).encode())))
    assert main(["detect", "--tool-calls", "-", "--json"]) == 0
    assert "smart_failure" in capsys.readouterr().out


def test_a_recording_that_is_not_there_ends_with_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", "--tool-calls", str(tmp_path / "none.jsonl")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main(["detect", "--tool-calls", str(tmp_path)]) == 2


def test_samples_of_the_time_before_make_the_average_that_cpu_needs(
    detect: Callable[..., Answer], tmp_path: Path
) -> None:
    history = tmp_path / "history.jsonl"
    samples = [
        {"resource_id": "vm:lab:101", "metric": "cpu", "at": f"2026-03-01T11:{minute}:00Z", "value": 95}
        for minute in range(50, 60)
    ]
    history.write_text("".join(json.dumps(sample) + "\n" for sample in samples) + "no json\n", encoding="utf-8")
    code, out, err = detect(FAILED_DISK, arguments=("--json", "--history", str(history)))
    signals = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {(signal["signal_type"], signal["resource_id"]) for signal in signals} == {
        ("smart_failure", "disk-1"),
        ("high_cpu", "vm:lab:101"),
    }
    assert "history.jsonl, line 11 is left out" in err
    history.write_text("no json\n", encoding="utf-8")
    code, out, err = detect(FAILED_DISK, arguments=("--json", "--history", str(history)))
    assert (code, out) == (2, "")
    assert "holds no sample" in err


def test_a_byte_order_mark_costs_no_call(detect: Callable[..., Answer]) -> None:
    code, out, err = detect("\ufeff" + json.dumps(FAILED_DISK) + "\r", FULL_POOL)
    assert code == 0
    assert [json.loads(line)["resource_id"] for line in out.splitlines()] == ["disk-1", "pool-1"]
    assert "left out" not in err


@pytest.mark.parametrize("text", [b"0" * 200, b"short\n" + b"0" * 200 + b"\n"])
def test_a_line_without_an_end_is_refused_and_not_waited_for(text: bytes) -> None:
    with pytest.raises(CommandError, match="f is no recording: a line of it is longer than 100 bytes"):
        list(bounded_lines(io.BytesIO(text), "f", longest=100))


def test_lines_up_to_the_bound_are_read_whole() -> None:
    lines = [b"0" * 99 + b"\n", b"\n", b"last"]
    assert list(bounded_lines(io.BytesIO(b"".join(lines)), "f", longest=100)) == lines
