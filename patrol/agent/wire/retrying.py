"""Asking again: only where nothing was produced, a few times, with growing pauses, as late as the provider wants."""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from patrol.agent.failure import Failure, ModelError

MOST_TRIES = 3
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
"""A provider that wants more patience than this is left alone: the run goes on without the model."""


def _nobody(_failure: Failure, _seconds: float) -> None:
    """Nobody wants to know."""


def _endless() -> float:
    return math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How a request is asked again.

    `jitter` gives 0 to 1, `remaining` the seconds that are left for the model, `on_retry` is told of each pause.
    """

    sleep: Callable[[float], Awaitable[None]]
    jitter: Callable[[], float]
    remaining: Callable[[], float] = _endless
    on_retry: Callable[[Failure, float], None] = _nobody

    def retrying(self) -> AsyncRetrying:
        """The tries of one request. The last failure is raised as it is."""
        return AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, ModelError) and error.failure.asked_again),
            wait=self._pause,
            stop=self._enough,
            before_sleep=self._tell,
            sleep=self.sleep,
            reraise=True,
        )

    def _pause(self, state: RetryCallState) -> float:
        """Seconds: half fixed, half by chance, doubled with each try; never less than the provider asked for."""
        growing: float = FIRST_PAUSE_SECONDS * 2.0 ** (state.attempt_number - 1)
        by_chance = growing * (0.5 + self.jitter() / 2)
        failure = _failure(state)
        asked = failure.retry_after if failure is not None else None
        return by_chance if asked is None else max(by_chance, asked)

    def _enough(self, state: RetryCallState) -> bool:
        longest = min(LONGEST_PAUSE_SECONDS, self.remaining())
        return state.attempt_number >= MOST_TRIES or state.upcoming_sleep > longest

    def _tell(self, state: RetryCallState) -> None:
        failure = _failure(state)
        if failure is not None:
            self.on_retry(failure, state.upcoming_sleep)


def _failure(state: RetryCallState) -> Failure | None:
    error = state.outcome.exception() if state.outcome is not None else None
    return error.failure if isinstance(error, ModelError) else None
