"""What requests to a model add up to: of one run, for its record, and of a day and a month, for the budget."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, select
from sqlalchemy.sql import ColumnElement

from findings.model import DEFAULT_ORG
from findings.rows import Cell
from patrol.agent.budget import NOTHING, Limits, Spent, day_start, month_start
from patrol.database import Database
from patrol.run.model_work.tables import MODEL_CALLS

CHARGED = func.coalesce(MODEL_CALLS.c.cost_usd, MODEL_CALLS.c.assumed_usd)
"""What a request counts with: by its price, else by the assumed one."""


def cost_of_run(connection: Connection, run_id: str, org_id: str = DEFAULT_ORG) -> dict[str, Cell]:
    """The columns of a run that tell what its requests cost."""
    assumed = MODEL_CALLS.c.cost_usd.is_(None) & (MODEL_CALLS.c.assumed_usd > 0)
    statement = select(
        func.coalesce(func.sum(MODEL_CALLS.c.input_tokens), 0),
        func.coalesce(func.sum(MODEL_CALLS.c.output_tokens), 0),
        func.coalesce(func.sum(CHARGED), 0.0),
        func.count().filter(assumed),
    ).where(MODEL_CALLS.c.org_id == org_id, MODEL_CALLS.c.run_id == run_id)
    [(sent, got, usd, unpriced)] = connection.execute(statement).all()
    return {"input_tokens": int(sent), "output_tokens": int(got), "cost_usd": float(usd), "cost_assumed": unpriced > 0}


def spent_by(connection: Connection, org_id: str, *which: ColumnElement[bool]) -> Spent:
    """What the requests that all of these conditions hold for cost."""
    tokens = func.sum(MODEL_CALLS.c.input_tokens + MODEL_CALLS.c.output_tokens)
    statement = select(tokens, func.sum(CHARGED)).where(MODEL_CALLS.c.org_id == org_id, *which)
    [(tokens_sum, usd)] = connection.execute(statement).all()
    return Spent(tokens=int(tokens_sum or 0), usd=float(usd or 0.0))


class Used(NamedTuple):
    """What is spent of today and of this month."""

    day: Spent
    month: Spent

    def ratio(self, limits: Limits) -> dict[str, float]:
        """How much of the budget is used up, by window: 1 is all of it. Of tokens and money the fuller counts."""
        windows = (("day", self.day, limits.day), ("month", self.month, limits.month))
        return {name: max(_share(spent.tokens, cap.tokens), _share(spent.usd, cap.usd)) for name, spent, cap in windows}


NOTHING_USED = Used(day=NOTHING, month=NOTHING)


def _share(spent: float, limit: float | None) -> float:
    if limit is None:
        return 0.0
    return spent / limit if limit else 1.0


def used(database: Database, now: datetime, org_id: str = DEFAULT_ORG) -> Used:
    """What is spent now. Raises StorageError."""
    sent_at = MODEL_CALLS.c.started_at
    with database.read() as connection:
        return Used(
            day=spent_by(connection, org_id, sent_at >= day_start(now)),
            month=spent_by(connection, org_id, sent_at >= month_start(now)),
        )
