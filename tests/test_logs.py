"""What is logged: JSON for machines, text for people, and no secret in any line, whatever path it came by."""

import io
import json
import logging
import warnings
from collections.abc import Iterator

import pytest
import structlog

from patrol.logs import Redaction, configure_logs, writes_json

KEY = "sk-planted-1234567890abcdef"
PASSWORD = "hunter2-Planted"
CONFIGURED = "an odd key, with blanks"
PLANTED = (KEY, PASSWORD, CONFIGURED)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(params=[True, False], ids=["json", "text"])
def log(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logs(stream, as_json=request.param, redaction=Redaction([CONFIGURED]))
    yield stream
    root.handlers[:] = before
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()


def fails() -> None:
    secret = KEY  # a value of a variable, which no traceback shows
    raise ValueError(f"the provider refused api_key={KEY} for postgresql://patrol:{PASSWORD}@db/patrol", len(secret))


def logged_in_a_message(logger: structlog.stdlib.BoundLogger) -> None:
    logger.info(f"asked with Authorization: Bearer {KEY}")  # noqa: G004 - what a careless line would be


def logged_as_a_value(logger: structlog.stdlib.BoundLogger) -> None:
    logger.info("asked", url=f"https://user:{PASSWORD}@host/", body={"nested": [f"token={KEY}", CONFIGURED]})


def logged_under_the_name_of_a_secret(logger: structlog.stdlib.BoundLogger) -> None:
    logger.info("asked", password=PASSWORD, api_key=[KEY], headers={"Cookie": PASSWORD})


def logged_with_a_traceback(logger: structlog.stdlib.BoundLogger) -> None:
    try:
        fails()
    except ValueError:
        logger.exception("it failed")


def logged_by_a_library(logger: structlog.stdlib.BoundLogger) -> None:
    logging.getLogger("some.library").warning("GET %s with %s", f"/?key={KEY}", {"password": PASSWORD})


def logged_by_a_library_with_a_traceback(logger: structlog.stdlib.BoundLogger) -> None:
    try:
        fails()
    except ValueError:
        logging.getLogger("some.library").exception("it failed")


def warned_of(logger: structlog.stdlib.BoundLogger) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(f"deprecated: api_key={KEY}", stacklevel=1)


def logged_by_a_task(logger: structlog.stdlib.BoundLogger) -> None:
    logging.getLogger("asyncio").error("Task exception was never retrieved", exc_info=ValueError(f"token: {KEY}"))


@pytest.mark.parametrize(
    "path",
    [
        logged_in_a_message,
        logged_as_a_value,
        logged_under_the_name_of_a_secret,
        logged_with_a_traceback,
        logged_by_a_library,
        logged_by_a_library_with_a_traceback,
        warned_of,
        logged_by_a_task,
    ],
)
def test_no_secret_is_in_any_line(log, path):
    logging.captureWarnings(capture=True)
    path(structlog.stdlib.get_logger("patrol.test"))
    text = log.getvalue()
    assert text.strip()
    assert [secret for secret in PLANTED if secret in text] == []


def test_secrets_that_come_with_new_settings_are_taken_out_from_then_on():
    redaction = Redaction()
    redaction.secrets = ("brand new",)
    assert redaction(None, "info", {"event": "asked with brand new"}) == {"event": "asked with [redacted]"}


def test_figures_about_tokens_are_no_secrets():
    event = {"event": "run", "input_tokens": 5, "cost_usd": 0.5, "key": 3, "model": None, "complete": True}
    assert Redaction()(None, "info", event) == event


def test_a_line_for_a_machine_is_one_json_object_with_its_time():
    stream = io.StringIO()
    configure_logs(stream, as_json=True, redaction=Redaction())
    structlog.stdlib.get_logger("patrol.test").info("a\nb", of="c\nd")
    [line] = stream.getvalue().splitlines()
    assert json.loads(line)["event"] == "a\nb"
    assert json.loads(line)["timestamp"].endswith("Z")


def test_what_could_steer_a_terminal_is_shown_as_what_it_is():
    stream = io.StringIO()
    configure_logs(stream, as_json=False, redaction=Redaction())
    logging.getLogger("some.library").warning("disk \x1b[31mred\x1b[0m \x9b2J")
    assert "\\x1b[31m" in stream.getvalue()
    assert not {"\x1b", "\x9b"} & set(stream.getvalue())


def test_who_reads_the_lines_decides_how_they_look():
    assert writes_json({}, io.StringIO())
    assert writes_json({"JOURNAL_STREAM": "8:1"}, Terminal())
    assert not writes_json({}, Terminal())
