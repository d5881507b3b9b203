"""A model that does not work is a fault of its own: what the run itself observes about it.

The checks go on without it, so nobody would notice. It is a warning after the second run in a row that had no working
model, or where the first such run is half an hour ago; the next run whose model works clears it, and so does taking
the model out of the configuration. A run that did not ask its model (the budget is used up, nothing changed, the run
before crashed) says nothing about it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from findings.identity import canonical_id
from findings.kinds import KINDS, Kind
from findings.model import Look, Observation, Severity
from patrol.estate.sources.model import Counter
from patrol.run.record_model import ModelState
from signals.model import Examined

MODEL_ID = canonical_id("patrol", "local", "model")
"""The id under which the finding about the model is kept, whichever model is configured."""

FAILURES = 2
AFTER = timedelta(minutes=30)
_NAME = "model"
_KEY = (MODEL_ID, _NAME)


class ModelSight(StrEnum):
    """What a run knows of its model."""

    WORKED = "worked"
    FAILED = "failed"
    NOT_ASKED = "not_asked"  # one is configured, and was left alone
    NONE = "none"  # none is configured


def sight_of(state: ModelState, *, configured: bool) -> ModelSight:
    """What the state of a run says of the model itself."""
    if state is ModelState.USED:
        return ModelSight.WORKED
    if state is ModelState.FAILED:
        return ModelSight.FAILED
    return ModelSight.NOT_ASKED if configured else ModelSight.NONE


def model_counters(
    sight: ModelSight, previous: Mapping[tuple[str, str], Counter], now: datetime
) -> dict[tuple[str, str], Counter]:
    """How many runs in a row failed, and since when, to be remembered until one works. A memory of nothing is none."""
    known = _failing(previous)
    if sight is ModelSight.FAILED:
        failures = known.values["failures"] if known is not None else 0
        return {_KEY: Counter(at=known.at if known is not None else now, values={"failures": failures + 1})}
    if known is None or sight is ModelSight.NOT_ASKED:
        return {}
    return {_KEY: Counter(at=now, values={"failures": 0})}


def observe_model(
    sight: ModelSight,
    detail: str,
    examined: Examined,
    previous: Mapping[tuple[str, str], Counter],
    now: datetime,
    *,
    model: str = "",
) -> list[Observation]:
    """The observation of a run whose model fails, if it is time for it; its look is marked in `examined`.

    `detail`: the sentence for the operator. `model`: as it is configured.
    """
    known = _failing(previous)
    if sight is ModelSight.WORKED or (sight is ModelSight.NONE and known is not None):
        examined.mark(Kind.MODEL_UNAVAILABLE, MODEL_ID, Look.CLEAR)
    if sight is not ModelSight.FAILED:
        return []
    since = known.at if known is not None else now
    failures = 1 + int(known.values["failures"] if known is not None else 0)
    if failures < FAILURES and now - since < AFTER:
        # The first run without it: one bad minute of a provider must not wake anybody.
        examined.mark(Kind.MODEL_UNAVAILABLE, MODEL_ID, Look.HELD)
        return []
    examined.mark(Kind.MODEL_UNAVAILABLE, MODEL_ID, Look.PRESENT)
    return [_observation(detail, failures, now - since, model)]


def _failing(previous: Mapping[tuple[str, str], Counter]) -> Counter | None:
    known = previous.get(_KEY)
    return known if known is not None and known.values.get("failures") else None


def _observation(detail: str, failures: int, failing: timedelta, model: str) -> Observation:
    failing_text = f"{failing / timedelta(minutes=1):.0f} minutes"
    return Observation(
        resource_id=MODEL_ID,
        resource_name=model or "model",
        resource_type="model",
        kind=Kind.MODEL_UNAVAILABLE,
        severity=Severity.WARNING,
        category=KINDS[Kind.MODEL_UNAVAILABLE].category,
        summary=f"The model does not work, the checks run alone: {detail}",
        limit_source="built-in: two runs in a row, or half an hour",
        evidence=f"{failures} run{'' if failures == 1 else 's'} in a row without a working model, for {failing_text}",
    )
