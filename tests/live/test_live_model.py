"""A whole patrol through a real server with a real, very small model: `make test-live-model`."""

import asyncio
import json
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from patrol.agent.failure import Cause
from patrol.agent.model import Prompt, ToolChoice, UserMessage
from patrol.agent.wire.opening import open_provider
from patrol.run.record_model import ModelState, RunStatus
from patrol.settings.model import ModelSection, Settings
from tests.acceptance.test_wire_runs import HOUSE, conditions
from tests.acceptance.wire_faults import KEY
from tests.acceptance.wire_house import everything_stored, hold_record, run, wire_house
from tests.agent.asking import LOOK, converse
from tests.live.local_model import WINDOW, served

pytestmark = pytest.mark.live_model


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served() as url:
        yield url


def section(url: str, *, streaming: bool = True) -> ModelSection:
    """A slow model: its prompt takes a minute or more on a busy machine, and it does not know when to end."""
    return ModelSection(
        name="openai:gemma3-270m",
        base_url=url,
        api_key=SecretStr(KEY),
        streaming=streaming,
        context_window=WINDOW,
        request_timeout=timedelta(minutes=15),
        phase_timeout=timedelta(minutes=20),
    )


def tell(capsys: pytest.CaptureFixture[str], **seen: object) -> None:
    """Shows what was seen: it is what somebody who runs this wants to know."""
    with capsys.disabled():
        sys.stdout.write(f"\n{json.dumps(seen, indent=2, default=str, ensure_ascii=False)}\n")


@pytest.mark.parametrize("streaming", [True, False])
def test_a_real_server_answers_with_words_or_with_the_call_that_was_asked_for(
    url: str, capsys: pytest.CaptureFixture[str], *, streaming: bool
) -> None:
    question = Prompt(
        system="You watch over servers.",
        messages=(UserMessage(text="Look at the node pve1."),),
        tools=(LOOK,),
        choice=ToolChoice.REQUIRED,
        max_output_tokens=100,
    )
    reply = asyncio.run(converse(open_provider(section(url, streaming=streaming)), question))
    tell(capsys, streaming=streaming, text=reply.message.text, calls=reply.message.calls, usage=reply.usage)
    assert [call.name for call in reply.message.calls] == ["look"] or reply.message.text
    assert reply.usage.input_tokens
    assert reply.usage.output_tokens


def test_the_checks_carry_a_run_whose_model_is_real(
    url: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    settings = Settings().model_copy(update={"model": section(url)})
    with wire_house(tmp_path) as house:
        told = run(house, HOUSE.parts(), settings)
    record = told.record
    tell(
        capsys,
        status=record.status,
        status_text=record.status_text,
        findings=[each.summary for each in told.findings],
        model=record.model_state,
        cause=record.model_cause,
        said=record.model_said,
        analysis=record.analysis,
        requests=[(call.phase, call.outcome, call.cause, call.usage) for call in told.calls],
        rejected=record.rejected_findings,
    )
    hold_record(told)
    assert conditions(told) == HOUSE.faults
    assert record.status is RunStatus.ISSUES_FOUND
    assert told.calls
    assert (record.model_state, record.model_cause) == (ModelState.USED, "") or (
        record.model_state == ModelState.FAILED and record.model_cause in set(Cause)
    )
    assert KEY not in everything_stored(tmp_path / "patrol.db")
