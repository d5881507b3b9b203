"""What the loop needs of tools: which there are, what each is for, and how a call is answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from patrol.agent.model import ToolRequest, ToolSpec


class Purpose(StrEnum):
    """What a tool is for, as far as the loop treats it differently."""

    EVIDENCE = "evidence"  # reads the estate: counted against the evidence budget
    FINDINGS_READ = "findings_read"
    FINDINGS_WRITE = "findings_write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a call. `content` is what `json.dumps` takes; `code` says why where it is an error."""

    content: object
    is_error: bool = False
    code: str = ""


class Toolset(Protocol):
    """The tools of one pass."""

    def specs(self) -> Sequence[ToolSpec]:
        """All tools, in a stable order."""
        ...

    def names(self) -> Sequence[str]:
        """Every tool that a model may know of in this run, whether this pass offers it or not."""
        ...

    def purpose(self, name: str) -> Purpose:
        """What a tool of this set is for."""
        ...

    def call(self, request: ToolRequest) -> Answer:
        """Answers a call whose arguments are an object. Called from several threads; a wrong call is an Answer."""
        ...

    def began(self, request: ToolRequest) -> None:
        """Told of each call of a turn before any of them is answered, in the order in which the model made them."""
        ...

    def finished(self, request: ToolRequest, answer: Answer, seconds: float) -> None:
        """Told of each call that ended, one after the other, in the order in which the model made them."""
        ...


class Gate(Protocol):
    """What may stop a call before it is made: the seam of the safety machine. None: go on."""

    def refuses(self, request: ToolRequest) -> Answer | None: ...

    def answered(self, request: ToolRequest, answer: Answer) -> None:
        """Told of each answer, in order."""
        ...


class OpenGate:
    """Stops nothing: for passes whose tools only read and file."""

    def refuses(self, request: ToolRequest) -> Answer | None:  # noqa: ARG002 - the protocol's argument
        """Never."""
        return None

    def answered(self, request: ToolRequest, answer: Answer) -> None:
        """Nothing to remember."""
