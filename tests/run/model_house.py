"""A house with a model: what it says is written by the test."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from patrol.agent.model import Prompt, Provider, Reply, ToolRequest, ToolResult, UserMessage
from patrol.estate.model import Estate
from patrol.run import RunReport, RunRequest
from patrol.run.follower import Follower, NoFollower
from patrol.run.model_access import ModelAccess, Opener
from patrol.run.model_work.store import ModelWorkStore
from patrol.settings.model import Settings
from tests.agent.scripted import ScriptedProvider, Step, wants
from tests.run.builders import GivenSource, House

MODEL = {"name": "ollama:test"}


def with_model(house: House, **sections: dict[str, Any]) -> House:
    """Sets a model, and whatever else is wanted of the settings."""
    house.settings = Settings.model_validate({"model": MODEL, **sections})
    return house


@dataclass
class Heard:
    """Follows a run, and keeps what it is told. `calls`: what went in and what came out, by the id of the call."""

    texts: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    calls: dict[str, list[object]] = field(default_factory=dict)

    def text(self, piece: str) -> None:
        self.texts.append(piece)

    def tool_started(self, call_id: str, name: str, arguments: object) -> None:
        self.started.append(call_id)
        self.calls[call_id] = [name, arguments]

    def tool_ended(self, call_id: str, name: str, output: object, *, success: bool) -> None:
        self.ended.append(call_id)
        self.calls[call_id] += [output, success]

    def finding_rejected(self, why: str) -> None:
        self.refused.append(why)


def opens(provider: Provider) -> Opener:
    return lambda model, remaining: provider


def run(
    house: House,
    provider: Provider | Opener,
    *estates: Estate | Exception,
    request: RunRequest | None = None,
    follower: Follower | None = None,
) -> RunReport:
    """One run a minute later, whose model is this."""
    house.clock.advance(minutes=1)
    patrol = replace(house.patrol(GivenSource(list(estates))), analysts=access(house, provider, follower))
    return patrol.run(request or RunRequest())


def access(house: House, provider: Provider | Opener, follower: Follower | None = None) -> ModelAccess:
    """The model of the house is this one."""
    opener = provider if callable(provider) else opens(provider)
    return ModelAccess(
        settings=house.settings,
        store=ModelWorkStore(house.database),
        clock=house.clock,
        opener=opener,
        follower=follower or NoFollower(),
    )


class Talk:
    """A model that makes these calls, one turn each, then ends. Arguments may be made from what it was shown."""

    def __init__(self, *turns: list[tuple[str, dict[str, object] | Callable[[Prompt], dict[str, object]]]]) -> None:
        self._turns = turns
        self._made = 0

    def steps(self, end: Reply) -> list[Step]:
        made: list[Step] = []
        first = 1
        for turn in self._turns:
            made.append(self._step(turn, first))
            first += len(turn)
        return [*made, end]

    def _step(
        self, turn: list[tuple[str, dict[str, object] | Callable[[Prompt], dict[str, object]]]], first: int
    ) -> Callable[[Prompt], Reply]:
        def step(prompt: Prompt) -> Reply:
            calls = [(name, said(prompt) if callable(said) else said) for name, said in turn]
            return wants(*calls, first=first)

        return step


def result(prompt: Prompt, call_id: str) -> Any:
    """What a call was answered."""
    return next(each.content for each in prompt.messages if isinstance(each, ToolResult) and each.call_id == call_id)


def opening(provider: ScriptedProvider, number: int = 0) -> str:
    """What a pass was opened with."""
    message = provider.prompts[number].messages[0]
    assert isinstance(message, UserMessage)
    return message.text


__all__ = ["MODEL", "Heard", "Talk", "ToolRequest", "access", "opening", "opens", "result", "run", "with_model"]
