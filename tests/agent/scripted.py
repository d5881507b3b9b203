"""A model that says what a test wrote down, and tools that answer at once."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from patrol.agent.model import AssistantMessage, Finish, Prompt, Reply, ToolRequest, Usage
from patrol.agent.tokens import prompt_tokens
from patrol.agent.toolset import Answer, Purpose


@dataclass(frozen=True)
class Spec:
    name: str
    description: str = "a tool"
    input_schema: dict[str, object] = field(default_factory=lambda: {"type": "object"})


def says(text: str, finish: Finish = Finish.STOP, **usage: int) -> Reply:
    used = Usage(input_tokens=usage.get("sent", 0), output_tokens=usage.get("got", 10))
    return Reply(message=AssistantMessage(text=text), usage=used, finish=finish)


def wants(*calls: tuple[str, Mapping[str, object] | None], text: str = "", first: int = 1) -> Reply:
    requests = tuple(
        ToolRequest(
            id=f"call{number:05}", name=name, arguments=arguments, problem="" if arguments is not None else "no JSON"
        )
        for number, (name, arguments) in enumerate(calls, start=first)
    )
    return Reply(
        message=AssistantMessage(text=text, calls=requests),
        usage=Usage(output_tokens=10),
        finish=Finish.TOOL_CALLS,
    )


Step = Reply | Exception | Callable[[Prompt], Reply]


class ScriptedProvider:
    """Gives one step after the other, the last one again and again. `prompts`: what it was asked."""

    name = "test:model"

    def __init__(self, *steps: Step, window: int | None = None, seconds: float = 0.0) -> None:
        self.window = window
        self.prompts: list[Prompt] = []
        self.closed = False
        self._steps = list(steps)
        self._seconds = seconds

    async def ask(self, prompt: Prompt, *, on_text: Callable[[str], None] = lambda _text: None) -> Reply:
        self.prompts.append(prompt)
        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        if self._seconds:
            await asyncio.sleep(self._seconds)
        if isinstance(step, Exception):
            raise step
        reply = step if isinstance(step, Reply) else step(prompt)
        if not reply.usage.input_tokens:
            reply = replace(reply, usage=replace(reply.usage, input_tokens=prompt_tokens(prompt)))
        for position in range(0, len(reply.message.text), 7):
            on_text(reply.message.text[position : position + 7])
        return reply

    async def close(self) -> None:
        self.closed = True


class Tools:
    """Tools whose answers are functions. `log`: what was called, in the order of beginning and of ending."""

    PURPOSES: Mapping[str, Purpose] = {
        "look": Purpose.EVIDENCE,
        "slow": Purpose.EVIDENCE,
        "broken": Purpose.EVIDENCE,
        "get_findings": Purpose.FINDINGS_READ,
        "report": Purpose.FINDINGS_WRITE,
    }

    def __init__(self, **answers: Callable[[Mapping[str, object]], object]) -> None:
        self._answers = answers
        self._lock = threading.Lock()
        self.log: list[tuple[str, str]] = []
        self.began_calls: list[str] = []
        self.finished_calls: list[tuple[str, Answer]] = []
        self.at_once = 0
        self.most_at_once = 0

    def specs(self) -> Sequence[Spec]:
        return [Spec(name) for name in self.PURPOSES]

    def names(self) -> Sequence[str]:
        return [*self.PURPOSES, "not_offered_here"]

    def purpose(self, name: str) -> Purpose:
        return self.PURPOSES.get(name, Purpose.EVIDENCE)

    def call(self, request: ToolRequest) -> Answer:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self.log.append(("begin", request.id))
        try:
            assert request.arguments is not None
            if request.name == "slow":
                time.sleep(0.05)
            if request.name == "broken":
                raise RuntimeError("a fault of the tool")
            made = self._answers.get(request.name, lambda arguments: {"ok": True})(request.arguments)
            return made if isinstance(made, Answer) else Answer(content=made)
        finally:
            with self._lock:
                self.at_once -= 1
                self.log.append(("end", request.id))

    def began(self, request: ToolRequest) -> None:
        self.began_calls.append(request.id)

    def finished(self, request: ToolRequest, answer: Answer, seconds: float) -> None:
        self.finished_calls.append((request.id, answer))
