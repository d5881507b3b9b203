"""Whoever follows what a model does in a run, while it does it."""

from typing import Protocol


class Follower(Protocol):
    """Told from the threads of a run, so that it must be quick. It must not raise: what was done is done."""

    def text(self, piece: str) -> None:
        """A piece of what the model says, after the leak guard."""
        ...

    def tool_started(self, call_id: str, name: str, arguments: object) -> None:
        """It makes a call. Name and arguments are its words, in the names of the house."""
        ...

    def tool_ended(self, call_id: str, name: str, output: object, *, success: bool) -> None:
        """A call has its answer: what `json.dumps` takes."""
        ...

    def finding_rejected(self, why: str) -> None:
        """A report or a verdict is not taken: a word and a sentence."""
        ...


class NoFollower:
    """Nobody wants to know."""

    def text(self, piece: str) -> None:
        """Nothing."""

    def tool_started(self, call_id: str, name: str, arguments: object) -> None:
        """Nothing."""

    def tool_ended(self, call_id: str, name: str, output: object, *, success: bool) -> None:
        """Nothing."""

    def finding_rejected(self, why: str) -> None:
        """Nothing."""


class OnlyRefusals(NoFollower):
    """Follows the later passes: of their calls nobody is told, but of what they report and is not taken."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower

    def finding_rejected(self, why: str) -> None:
        """Is told on."""
        self._follower.finding_rejected(why)
