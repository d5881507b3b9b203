"""What the daemon says of itself: a line an event, JSON for machines, readable on a terminal, without secrets."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from patrol.agent.redact import MARK, is_secret_name, redact

LONGEST_TEXT = 8_000
"""Bytes of one value in a line; a longer one is cut."""
_DEEPEST = 6
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


class Redaction:
    """The last thing that happens to a line before it is written. `secrets`: values that are configured.

    What stands under the name of a secret goes whole, what looks like one goes wherever it stands, and characters
    that could steer a terminal are shown as what they are.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.secrets: Sequence[str] = tuple(secrets)

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        """The event without secrets."""
        return {key: self._under(key, value, 0) for key, value in event.items() if not key.startswith("_")}

    def _under(self, name: str, value: object, depth: int) -> object:
        if is_secret_name(name) and not isinstance(value, bool | int | float | None):
            return MARK
        return self._clean(value, depth)

    def _clean(self, value: object, depth: int) -> object:
        if value is None or isinstance(value, bool | int | float):
            return value
        if depth >= _DEEPEST:
            return "..."
        if isinstance(value, Mapping):
            return {str(key): self._under(str(key), each, depth + 1) for key, each in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._clean(each, depth + 1) for each in value]
        return redact(str(value), self.secrets, max_bytes=LONGEST_TEXT).translate(_CONTROLS)


def writes_json(environment: Mapping[str, str], stream: TextIO) -> bool:
    """Whether lines are for a machine: systemd's journal reads them, or no person at a terminal does."""
    return bool(environment.get("JOURNAL_STREAM")) or not stream.isatty()


def configure_logs(stream: TextIO, *, as_json: bool, redaction: Redaction, level: int = logging.INFO) -> None:
    """Sends everything that this process logs to `stream`: Patrol's own events and those of its libraries.

    A traceback is text, without the values of variables: they hold keys and prompts.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer: Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if as_json
        else structlog.dev.ConsoleRenderer(colors=stream.isatty(), pad_event_to=0)
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, redaction, renderer],
    )
    lines = logging.StreamHandler(stream)
    lines.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [lines]
    root.setLevel(level)
    logging.captureWarnings(capture=True)
    for name in ("apscheduler", "httpx", "httpx2", "httpcore", "openai", "anthropic", "google_genai", "uvicorn"):
        logging.getLogger(name).setLevel(logging.WARNING)  # a line a request would bury everything else
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
