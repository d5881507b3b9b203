"""A house whose model is behind a real server, and all that can be asked of one run in it."""

import io
import logging
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import groupby
from pathlib import Path

from pydantic import SecretStr

from findings.model import Basis, Finding, FindingState
from findings.store import FindingStore
from patrol.agent.budget import RUN_TOKENS
from patrol.agent.metering import ModelCall
from patrol.agent.model import Provider
from patrol.agent.wire.opening import open_provider
from patrol.database import open_database
from patrol.run import RunReport, RunRequest
from patrol.run.model_access import ModelAccess
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.record_model import RunRecord
from patrol.run.store import RunStore
from patrol.settings.model import BudgetSection, ModelSection, Settings
from patrol.settings.values import Privacy
from tests.acceptance.estates import Parts
from tests.acceptance.wire_faults import KEY
from tests.agent.asking import Pauses
from tests.agent.wire_server import Answer, Ask, ModelServer, Status
from tests.run.builders import GivenSource, House
from tests.run.model_house import Heard

SHORT, LONG = timedelta(seconds=0.3), timedelta(seconds=20)
"""How long a model may be silent: where it will be, and where only a busy machine could make it so."""
_REFUSED_FOR_NOW = frozenset({429, 500, 502, 503, 504, 529})


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How the model is spoken to."""

    wire: str = "openai"
    streaming: bool = True
    privacy: Privacy | None = None
    run_tokens: int | None = None
    silence: timedelta = LONG

    def settings(self, server: ModelServer | str) -> Settings:
        """With a silence that may be shorter than settings may name."""
        url = server if isinstance(server, str) else server.anthropic_url
        url = server.openai_url if isinstance(server, ModelServer) and self.wire == "openai" else url
        model = ModelSection(
            name=f"{self.wire}:test-model",
            base_url=url,
            api_key=SecretStr(KEY),
            streaming=self.streaming,
            privacy=self.privacy,
            input_price=2.0,
            output_price=8.0,
        )
        short = model.model_copy(update={"request_timeout": self.silence})
        return Settings().model_copy(update={"model": short, "budget": BudgetSection(run_tokens=self.run_tokens)})


@dataclass(slots=True, kw_only=True)
class Told:
    """All that came of one run. `written`: logs and progress. `log`: requests at the server with their answers."""

    report: RunReport
    record: RunRecord
    calls: list[ModelCall]
    findings: list[Finding]
    streamed: str
    written: str
    pauses: list[float]
    log: list[tuple[Ask, Answer]] = field(default_factory=list)

    @property
    def claims(self) -> list[Finding]:
        return [each for each in self.findings if each.basis is Basis.MODEL]

    @property
    def requests(self) -> list[list[tuple[Ask, Answer]]]:
        """The requests at the server, with the tries of each."""
        return [list(tries) for _, tries in groupby(self.log, key=lambda each: each[0].text)]


@contextmanager
def wire_house(folder: Path) -> Iterator[House]:
    """A house with its database in a file."""
    database = open_database(f"sqlite:///{folder}/patrol.db")
    try:
        yield House(database)
    finally:
        database.close()


def run(
    house: House,
    parts: Parts,
    settings: Settings,
    log: list[tuple[Ask, Answer]] | None = None,
    *,
    after_seconds: float = 60,
) -> Told:
    """One run over these sources, so many seconds later."""
    house.clock.advance(seconds=after_seconds)
    house.settings = settings
    house.said.clear()
    pauses, heard, written = Pauses(), Heard(), io.StringIO()

    def opener(model: ModelSection, remaining: object) -> Provider:
        return open_provider(model, sleep=pauses.sleep, remaining=remaining)  # type: ignore[arg-type]

    store = ModelWorkStore(house.database)
    access = ModelAccess(settings=settings, store=store, clock=house.clock, opener=opener, follower=heard)
    patrol = house.patrol(*(GivenSource([part], name=name) for name, part in parts.items()))
    with _all_logs(written):
        report = replace(patrol, analysts=access).run(RunRequest())
    with house.database.read() as connection:
        findings = FindingStore(connection, "default").list_findings(state=FindingState.OPEN)
    return Told(
        report=report,
        record=RunStore(house.database).get(report.run.id),
        calls=store.calls(report.run.id),
        findings=findings,
        streamed="".join(heard.texts),
        written=f"{written.getvalue()}{house.said}",
        pauses=pauses.slept,
        log=log if log is not None else [],
    )


@contextmanager
def _all_logs(into: io.StringIO) -> Iterator[None]:
    """Everything that any library logs, however little it matters."""
    root, handler = logging.getLogger(), logging.StreamHandler(into)
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


# --- what holds of every run ------------------------------------------------------------------------------------------


def hold(told: Told, *, budget: int | None = None) -> None:
    """What is true of every run with a model, whatever the model and the wire did."""
    hold_record(told, budget=budget)
    _every_request_is_written_down_and_none_is_charged_twice(told)


def hold_record(told: Told, *, budget: int | None = None) -> None:
    """The part of it for which nobody has to know what the server was asked."""
    _the_record_is_whole(told)
    _what_was_spent_is_told_and_within_the_budget(told, budget or RUN_TOKENS)
    assert told.record.analysis == told.streamed.replace("\0", "\ufffd")  # which no database can hold
    assert KEY not in f"{told.report}{told.record}{told.findings}{told.streamed}{told.written}"


def _the_record_is_whole(told: Told) -> None:
    record = told.record
    assert record.completed_at is not None
    assert record.status_text
    assert (record.model_cause == "") == (record.model_said == "")
    if record.model_state != "used":
        assert record.model_cause
    assert "all clear" not in record.status_text or record.status == "healthy"


def _every_request_is_written_down_and_none_is_charged_twice(told: Told) -> None:
    """Tries of one request are one row: each but the last was turned down before anything was produced."""
    requests = told.requests
    assert len(told.calls) == len(requests)
    assert [call.seq for call in told.calls] == [*range(1, len(requests) + 1)]
    for call, tries in zip(told.calls, requests, strict=True):
        assert len(tries) <= 3
        assert all(isinstance(answer, Status) and answer.code in _REFUSED_FOR_NOW for _, answer in tries[:-1])
        assert call.outcome in {"answered", "failed"}
        assert (call.cause == "") == (call.outcome == "answered")
        assert abs(call.charge.usd - (call.usage.input_tokens * 2 + call.usage.output_tokens * 8) / 1e6) < 1e-9
        if isinstance(tries[-1][1], Status):
            assert call.outcome == "failed"
        if call.outcome == "answered" and call.usage.reported:
            assert call.usage.input_tokens in {len(tries[-1][0].text.encode()) // 4, 300}


def _what_was_spent_is_told_and_within_the_budget(told: Told, budget: int) -> None:
    record, calls = told.record, told.calls
    assert record.input_tokens == sum(call.usage.input_tokens for call in calls)
    assert record.output_tokens == sum(call.usage.output_tokens for call in calls)
    assert abs(record.cost_usd - sum(call.charge.usd for call in calls)) < 1e-9
    largest = max((call.usage.total for call in calls), default=0)
    assert record.input_tokens + record.output_tokens <= budget + largest


def everything_stored(database: Path) -> str:
    """Every value of every table, with the pages of evidence unpacked, and the file as it lies there."""
    said = [path.read_bytes().decode("latin-1") for path in database.parent.glob(f"{database.name}*")]
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as known:
        tables = [name for (name,) in known.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in known.execute(f'SELECT * FROM "{table}"'):
                said += [_plain(value) for value in row if isinstance(value, bytes)]
                said.append(repr([value for value in row if not isinstance(value, bytes)]))
    return "\n".join(said)


def _plain(data: bytes) -> str:
    try:
        return zlib.decompress(data).decode("latin-1")
    except zlib.error:
        return data.decode("latin-1")
