"""Stage 1: whether a model joins this run at all, decided before anything is collected.

It stays away where none is configured, after a crash, where it is not its turn yet, where it failed too often just
now, or where the budget has no room. Each is said in the run's record, and none changes what the detectors conclude.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from patrol.agent.breaker import STORED_AS, Breaker, fingerprint_of
from patrol.agent.budget import limits_of
from patrol.agent.charge import TokenPrice, configured_price
from patrol.agent.endpoint import parse_endpoint
from patrol.agent.failure import Cause, Failure, ModelError
from patrol.agent.metering import Meter
from patrol.agent.model import Prompt, Provider, ToolSpec, UserMessage
from patrol.agent.price import price_of, window_of
from patrol.agent.privacy import Shroud, ShroudedProvider, privacy_in_force
from patrol.agent.prompts import DETECT
from patrol.agent.shown_prompt import shown_prompt
from patrol.run.analyst import Analyst, ModelPart, NoAnalyst, Situation
from patrol.run.cancel import Cancel
from patrol.run.follower import Follower, NoFollower
from patrol.run.model_analyst import BUDGET, Compared, Equipment, ModelAnalyst
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.record_model import ModelState, RunRecord
from patrol.run.seed import SeedFacts, SeedOpening, build_seed, changes_of, run_shroud
from patrol.run.seed.limits_line import limits_line
from patrol.run.unchanged import REMEMBERED_AS, fingerprint, remembered_fingerprint, what_changed
from patrol.settings.model import ModelSection, Settings
from patrol.settings.values import Privacy
from patrol.tools.finding_desk import FindingDesk

LAST_CALLED = "last_called"
NOT_DUE = "not_due"
_LEAST_INPUT = 2_000
_LEAST_OUTPUT = 500
"""What the smallest useful request needs: with less room than this the model is not even begun with."""


Opener = Callable[[ModelSection, Callable[[], float]], Provider]
"""Opens the model of the settings, told how many seconds are left for it. Raises ModelError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAccess:
    """The model that the settings name. `follower` is told what it says and does; `cancel` ends it early."""

    settings: Settings
    store: ModelWorkStore
    clock: Callable[[], datetime]
    opener: Opener
    follower: Follower = NoFollower()  # noqa: RUF009 - it has no state that could be shared
    cancel: Cancel = field(default_factory=Cancel)

    def join(self, run: RunRecord, *, after_crash: bool) -> Analyst:
        """The analyst of this run: one that works, or one that says why there is none."""
        model = self.settings.model
        now = self.clock()
        if not model.name:
            return NoAnalyst()
        away = self._stays_away(now, after_crash=after_crash)
        if away is not None:
            return away
        try:
            price = self._price(now)
        except ModelError as error:
            return self._away(ModelState.FAILED, str(error.failure.cause), error.failure.summary)
        meter = Meter(
            ledger=self.store,
            limits=limits_of(self.settings.budget),
            price=price,
            run_id=run.id,
            model=model.name,
            clock=self.clock,
        )
        refusal = meter.refusal(meter.expected(_LEAST_INPUT, _LEAST_OUTPUT))
        if refusal is not None:
            return self._away(ModelState.SKIPPED_BUDGET, BUDGET, refusal.sentence)
        self._remember_breaker(self._breaker().began(now), now)
        return ModelAnalyst(ModelPart(model=model.name), self._equipment(meter))

    def _stays_away(self, now: datetime, *, after_crash: bool) -> Analyst | None:
        """For what no budget is asked."""
        if after_crash:
            return self._away(
                ModelState.SKIPPED_AFTER_CRASH,
                "after_crash",
                "the run before this one crashed: the checks run alone, the model joins the next run",
            )
        due = self._due_at()
        if due is not None and now < due:
            return self._away(ModelState.NONE, NOT_DUE, f"[model] every: its turn is after {due:%Y-%m-%d %H:%M} UTC")
        closed_off = self._breaker().refusal(now)
        if closed_off is not None:
            return self._away(ModelState.FAILED, str(closed_off.cause), closed_off.summary)
        return None

    def _price(self, now: datetime) -> TokenPrice | None:
        """What the operator says that it costs, else what the tables say; None: nobody knows."""
        model = self.settings.model
        return configured_price(model) or price_of(parse_endpoint(model.name, model.base_url), now)

    def _away(self, state: ModelState, cause: str, said: str) -> Analyst:
        return NoAnalyst(ModelPart(state=state, model=self.settings.model.name, cause=cause, said=said))

    def _equipment(self, meter: Meter) -> Equipment:
        seconds = min(self.settings.model.phase_timeout, self.settings.patrol.run_deadline).total_seconds()
        return Equipment(
            meter=meter,
            autonomy=self.settings.patrol.autonomy,
            seconds=seconds,
            open_provider=self.shrouded_provider,
            opening=self.opening,
            compared=self._compared,
            closed=self._closed,
            follower=self.follower,
            cancel=self.cancel,
        )

    def shrouded_provider(self, situation: Situation, remaining: Callable[[], float]) -> Provider:
        """The provider, behind the privacy that is in force for it."""
        provider = self.opener(self.settings.model, remaining)
        shroud = self._shroud(situation)
        return provider if shroud is None else ShroudedProvider(provider, shroud)

    def shown_prompt(self, situation: Situation) -> str:
        """The first request of a run in this situation, as it would leave the house. Nothing is sent.

        Raises ModelError for a model that cannot be meant.
        """
        window = window_of(self.settings.model)
        prompt = Prompt(
            system=DETECT[self.settings.patrol.autonomy].system,
            messages=(UserMessage(text=self.opening(situation, window).text()),),
            tools=_all_tools(situation),
        )
        return shown_prompt(prompt, self._shroud(situation))

    def _shroud(self, situation: Situation) -> Shroud | None:
        privacy = privacy_in_force(self.settings.model)
        if privacy is Privacy.FULL:
            return None
        return run_shroud(
            situation.estate,
            privacy,
            _all_tools(situation),
            findings=[*situation.findings, *situation.closed()],
            silences=situation.silences,
            # Also what was removed in an earlier run: a finding that was closed since may still name it.
            new=[*situation.recognition.memory.resources.values(), *situation.recognition.new],
            changed=situation.recognition.changed,
        )

    def opening(self, situation: Situation, window: int | None) -> SeedOpening:
        """What the model starts from."""
        findings = [*situation.findings, *situation.closed()]
        facts = SeedFacts(
            now=situation.judged_at,
            estate=situation.estate,
            scope=situation.scope,
            flags=situation.flags,
            gaps=situation.gaps,
            findings=findings,
            silences=situation.silences,
            changes=changes_of(situation.recognition, findings, situation.since),
            limits=limits_line(situation.thresholds, situation.resources),
            reason=str(situation.request.reason),
            alert_id=situation.request.alert_id,
            alert_type=situation.request.alert_type,
        )
        return SeedOpening(seed=build_seed(facts), window=window)

    # --- what one run remembers for the next ---

    def _due_at(self) -> datetime | None:
        every = self.settings.model.every
        last = self.store.remembered(LAST_CALLED)
        if not every or not isinstance(last, str):
            return None
        try:
            called = datetime.fromisoformat(last)
        except ValueError:
            return None
        # A clock that was set back must not keep the model away.
        return called + every if called.tzinfo is not None and called - self.clock() < timedelta(minutes=5) else None

    def _breaker(self) -> Breaker:
        stored = self.store.remembered(STORED_AS)
        return Breaker.from_json(stored if isinstance(stored, str) else "").about(fingerprint_of(self.settings.model))

    def _remember_breaker(self, breaker: Breaker, now: datetime) -> None:
        self.store.remember(STORED_AS, breaker.to_json(), now)

    def _compared(self, situation: Situation) -> Compared:
        """The estate as it is held against the one that a model saw last."""
        if not self.settings.model.skip_unchanged or not situation.scope.is_full or situation.request.alert_id:
            return Compared()
        judging = [
            situation.run.alert_settings_hash,
            fingerprint_of(self.settings.model),
            self.settings.patrol.autonomy,
        ]
        # By the clock of the run: the time of a document stands still, and a day must pass for it too.
        now = fingerprint(situation.estate, situation.flags, situation.gaps, judging, situation.run.started_at)
        before = remembered_fingerprint(self.store.remembered(REMEMBERED_AS))
        if before is None or what_changed(now, before):
            return Compared(seen=now)
        return Compared(same_since=f"nothing changed since a model looked at {before.at:%Y-%m-%d %H:%M} UTC")

    def _closed(self, analyst: ModelAnalyst) -> None:
        """A run is over: how its model did is remembered for the next."""
        now, breaker = self.clock(), self._breaker()
        failure, part = analyst.failure, analyst.part
        if part.worked:
            breaker = breaker.succeeded()
        else:
            # Neither a budget that was used up nor a person who stopped the run says anything about the model.
            breaker = breaker.failed(failure or Failure(cause=Cause.INTERRUPTED, summary=""), now)
        self._remember_breaker(breaker, now)
        if analyst.has_asked:
            self.store.remember(LAST_CALLED, now.isoformat(), now)
        if part.worked and analyst.seen is not None:
            self.store.remember(REMEMBERED_AS, msgspec.to_builtins(analyst.seen), now)


def _all_tools(situation: Situation) -> list[ToolSpec]:
    return [*situation.toolbox.specs(), *FindingDesk.specs()]
