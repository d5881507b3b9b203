"""The model's part of `patrol doctor`: tried as a run would use it, what is missing told with what mends it."""

import asyncio
import os
from datetime import UTC, datetime

from patrol.agent.breaker import STORED_AS, Breaker, BreakerState
from patrol.agent.probe import Aspect, Probe, probe
from patrol.cli.checks import Check, Health
from patrol.cli.model_work import usd_text
from patrol.cli.progress import told_progress
from patrol.database import StorageError, open_database, owner_refusal
from patrol.database.place import file_of, parse_url
from patrol.run.model_work.store import ModelWorkStore
from patrol.settings.model import ModelSection

_NAMES = {
    Aspect.REACHABLE: "model reachable",
    Aspect.KEY: "model key",
    Aspect.ANSWERS: "model answers",
    Aspect.TOOLS: "model tools",
    Aspect.WINDOW: "model window",
    Aspect.PRICE: "model price",
}


def model_checks(settings: ModelSection, database_url: str, *, try_it: bool) -> list[Check]:
    """What the settings name, and with `try_it` how it works: that sends a few hundred tokens to it.

    A model that works is no longer left alone for what failed before.
    """
    if not settings.name:
        return [_fine("none: the checks run alone")]
    if not try_it:
        return [_fine(f"{settings.name}, not tried")]
    with told_progress() as tell:
        tell("trying the model", settings.name)
        found = asyncio.run(probe(settings, now=datetime.now(UTC)))
    forgiven = "; runs ask it again at once" if found.works and _forgive(database_url) else ""
    return [_fine(_name(settings, found) + forgiven), *_trials(found)]


def _forgive(database_url: str) -> bool:
    """Ends the time for which runs leave the model alone; whether there was one."""
    try:
        path = file_of(parse_url(database_url))
        if path is not None and (not path.exists() or owner_refusal(path, os.geteuid()) is not None):
            return False
        database = open_database(database_url)
    except StorageError:
        return False  # the check of the database tells it
    try:
        store = ModelWorkStore(database)
        stored = store.remembered(STORED_AS)
        breaker = Breaker.from_json(stored if isinstance(stored, str) else "")
        if breaker.state is BreakerState.CLOSED:
            return False
        store.remember(STORED_AS, breaker.succeeded().to_json(), datetime.now(UTC))
        return True
    finally:
        database.close()


def _trials(found: Probe) -> list[Check]:
    return [
        Check(
            name=_NAMES[trial.aspect],
            health=Health.OK if trial.cause is None else Health.PROBLEM,
            detail=trial.said,
        )
        for trial in found.trials
    ]


def _fine(detail: str) -> Check:
    return Check(name="model", health=Health.OK, detail=detail)


def _name(settings: ModelSection, found: Probe) -> str:
    if not found.spent.total:
        return settings.name
    assumed = found.charged.cost_usd is None
    cost = "free" if found.charged.usd == 0 else usd_text(found.charged.usd, assumed=assumed)
    return f"{settings.name}; trying it took {found.spent.total:,} tokens, {cost}"
