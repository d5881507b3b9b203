"""Foreign text on a terminal: everything is shown, nothing is obeyed."""

import io
import json
import subprocess
import sys
import unicodedata
from collections import Counter as Count
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from patrol.cli.display import cell, instant, number, severity_cell, table
from patrol.cli.output import visible, write_json, write_json_lines

FULL = Path("/dev/full")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Größe 日本", "Größe 日本"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b31m", r"\x9b31m"),
        ("bell\x07", r"bell\x07"),
        ("abc\u202edef", r"abc\u202edef"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("zero\u200bwidth", r"zero\u200bwidth"),
        ("line\u2028break", r"line\u2028break"),
        ("\ud800", r"\ud800"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("non\u00a0breaking", "non breaking"),
        ("", ""),
    ],
)
def test_what_a_terminal_would_act_on_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_nothing_that_a_terminal_acts_on_is_left(text: str) -> None:
    assert all(
        unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} for character in visible(text)
    )


@given(st.text(), st.integers(min_value=1, max_value=20))
def test_a_long_name_ends_in_an_ellipsis_and_keeps_its_bound(text: str, longest: int) -> None:
    shown = visible(text, longest)
    assert len(shown) <= longest
    assert shown == visible(text) or shown.endswith("…")


def printed(text: str, *, style: str = "") -> str:
    output = io.StringIO()
    made = table(("Name",))
    made.add_row(cell(text, style))
    Console(file=output, width=100, force_terminal=True, color_system="standard", highlight=False).print(made)
    return output.getvalue()


@pytest.mark.parametrize(
    "text", ["[bold]x[/bold]", "disk [sda] failing", "[link=http://x]y[/link]", ":warning:", "[/]"]
)
def test_markup_in_a_name_is_shown_as_it_is(text: str) -> None:
    assert text in printed(text)


@given(st.text(alphabet=st.characters(max_codepoint=0x1F), min_size=1, max_size=5))
def test_a_cell_holds_no_control_character_of_its_text(text: str) -> None:
    # Rich itself writes escapes for the heading; those of the text would stand beside them, unescaped.
    assert printed(f"<{text}>").count("\x1b") == printed("<>").count("\x1b")


WORDS = st.text(alphabet="abc.-/ 1", min_size=1, max_size=30).map(str.strip)


def at_width(width: int, rows: list[list[str]]) -> str:
    output = io.StringIO()
    made = table(("#", "Severity", "Resource", "What"), right=("#",), whole=("#", "Severity"))
    for row in rows:
        made.add_row(*map(cell, row))
    Console(file=output, width=width, highlight=False).print(made)
    return output.getvalue()


@given(st.lists(st.lists(WORDS, min_size=4, max_size=4), min_size=1, max_size=3), st.integers(20, 120))
def test_a_table_of_any_width_loses_no_character_and_keeps_to_its_width(rows: list[list[str]], width: int) -> None:
    shown = at_width(width, rows)
    assert all(len(line) <= width for line in shown.splitlines())
    for text in (text for row in rows for text in row):
        assert Count("".join(text.split())) <= Count("".join(shown.split()))


def test_a_short_word_is_whole_and_the_room_is_used_however_much_text_stands_beside_it() -> None:
    rows = [["1", "critical", "maintenance", "at the same time " * 10]]
    for width in range(31, 160):
        shown = at_width(width, rows).splitlines()
        assert shown[0].split() == ["#", "Severity", "Resource", "What"]
        assert "maintenance" in shown[1]
        assert max(map(len, shown)) == width


def test_on_a_terminal_too_narrow_for_columns_each_row_is_a_paragraph_that_names_them() -> None:
    rows = [["1", "critical", "backup-server.example.net", "Space is running out: /srv"]]
    assert at_width(60, rows).splitlines()[0].split() == ["#", "Severity", "Resource", "What"]
    narrow = " ".join(at_width(32, rows * 2).split())
    assert narrow == " ".join(
        ["#: 1 Severity: critical Resource: backup-server.example.net What: Space is running out: /srv"] * 2
    )


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (None, " %", "-"),
        (0.0, " %", "0 %"),
        (95.0, " %", "95 %"),
        (93.46, " %", "93.46 %"),
        (1e20, "", "1e+20"),
        (8, "", "8"),
    ],
)
def test_a_number_that_was_not_measured_is_a_dash_and_never_zero(value: float | None, unit: str, shown: str) -> None:
    assert number(value, unit) == shown


def test_instants_are_shown_in_utc() -> None:
    at = datetime(2026, 3, 1, 13, 0, 5, 999, tzinfo=timezone(timedelta(hours=1)))
    assert instant(at) == "2026-03-01 12:00:05Z"
    assert instant(None) == "-"
    assert instant(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01 00:00:00Z"


def test_severities_are_words_first_and_colours_second() -> None:
    assert severity_cell("critical").plain == "critical"
    assert severity_cell("[odd]").plain == "[odd]"


def test_json_escapes_all_but_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    from_display = {"name": "Größe \u202e \x1b \ud800"}
    write_json(from_display)
    text = capsys.readouterr().out
    assert text.isascii()
    assert json.loads(text) == from_display


def test_json_lines_are_ascii_and_keep_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    write_json_lines([b'{"b":1}', '{"ä":"ö"}'.encode()])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ['{"b":1}', '{"\\u00e4": "\\u00f6"}']


def test_no_json_lines_are_no_output(capsys: pytest.CaptureFixture[str]) -> None:
    write_json_lines([])
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("command", [["schema", "estate"], ["detect", "--tool-calls", "/dev/null"], ["version"]])
def test_output_that_finds_no_room_is_told_and_never_taken_for_nothing(command: list[str]) -> None:
    with FULL.open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "patrol", *command], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == "patrol: the output could not be written: No space left on device"


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_remark_that_finds_no_room_costs_only_itself() -> None:
    with FULL.open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "patrol", "detect", "--tool-calls", "/dev/null"],
            stdout=subprocess.PIPE,
            stderr=full,
            check=False,
        )
    assert (ended.returncode, bool(ended.stdout)) == (0, True)
