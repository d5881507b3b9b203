"""One run, from trigger to record. This file is the order of its stages; each stage is a file beside it."""

from collections import Counter as Count
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain

import msgspec

from findings.model import DEFAULT_ORG, Observation, ResourceId
from patrol.alerts.estate_alerts import add_alerts
from patrol.database import Database, StorageError
from patrol.estate.inventory import inventory_of
from patrol.estate.memory.follow import follow
from patrol.estate.memory.model import Recognition
from patrol.estate.memory.recognise import recognise
from patrol.estate.memory.store import ResourceMemory
from patrol.estate.model import Estate
from patrol.history.downsample import tidy_history
from patrol.history.model import Sample
from patrol.history.sampling import samples_of
from patrol.history.view import History, keeps_history
from patrol.run.analyst import Analyst, Analysts, ModelWork, NoAnalyst, NoModel, Situation
from patrol.run.averages import average_cpu
from patrol.run.blindness import blindness_counters, observe_sources
from patrol.run.cancel import Cancel, RunCancelledError
from patrol.run.collect import BoundedSource, Collection, collect
from patrol.run.current_limits import CurrentLimits
from patrol.run.dialogue import Dialogue, dialogue
from patrol.run.escalating import Escalating, escalating
from patrol.run.evidence import DetectionStore, output_page, recorded_call
from patrol.run.known import StoredFindings
from patrol.run.lease import LEASE, kept_alive, lease_owner, owner_is_gone
from patrol.run.limits import LimitsInForce, limits_in_force, overrides_note
from patrol.run.lineage import lineage
from patrol.run.memory import RunMemory
from patrol.run.model_sight import ModelSight, model_counters, observe_model, sight_of
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.observations import observation_of
from patrol.run.observer import NoObserver, Observer, StageTimes
from patrol.run.outlook import outlook
from patrol.run.record import Conclusions, record
from patrol.run.record_model import RunRecord, RunStatus, RunType
from patrol.run.reporting import past_note, report_of
from patrol.run.request import Ids, Progress, RunReport, RunRequest, ScopeError
from patrol.run.retention import prune_evidence
from patrol.run.scope import ScopedExamination, resolve_scope
from patrol.run.sight import classify, readings
from patrol.run.store import RunEndedError, RunStore
from patrol.run.sweep import sweep
from patrol.run.triage import triage
from patrol.settings.model import Settings
from patrol.tools.registry import Toolbox
from patrol.triggers.model import TriggerReason
from signals.detect import detect
from signals.garbage import paused_garbage_collection
from signals.inventory import Inventory
from signals.model import Detection, ToolCall

CATCHES_UP = "The run before this one crashed; this one looked at everything again."

__all__ = ["Patrol", "RunReport", "RunRequest", "ScopeError", "TriggerReason"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patrol:
    """What runs need of the world. `progress` may be told from several threads.

    `cancel`: how a run is ended early. `beat`: told at each stage and each call, that the run goes on. `observer`: is
    told how runs go.
    """

    database: Database
    settings: Settings
    sources: Sequence[BoundedSource]
    clock: Callable[[], datetime]
    ids: Ids
    progress: Progress
    analysts: Analysts = NoModel()  # noqa: RUF009 - it has no state that could be shared
    cancel: Cancel = field(default_factory=Cancel)
    beat: Callable[[], None] = lambda: None
    observer: Observer = NoObserver()  # noqa: RUF009 - likewise

    def run(self, request: RunRequest) -> RunReport:
        """One pass, recorded whatever happens.

        Raises AlertSettingsError before anything is begun, RunInProgressError while another run is in its slot,
        ScopeError for a name that means nothing or too much, RunCancelledError, StorageError where nothing can be
        written.
        """
        limits = limits_in_force(self.settings, self.database, self.clock())
        runs = RunStore(self.database)
        for crashed in runs.close_crashed(self.clock(), owner_is_gone):
            self.observer.run_ended(crashed, None)
        after_crash = runs.follows_crash(self.clock(), RunType.FULL if request.is_full else RunType.SCOPED)
        run = self._begin(request, limits, runs)
        with kept_alive(runs, run.id, self.clock), paused_garbage_collection():
            try:
                report = self._go(run, request, runs, limits, after_crash=after_crash)
            except BaseException as error:
                self._end_early(run, runs, error)
                raise
        self.observer.run_ended(report.run, report)
        tidy_history(self.database, self.clock())
        self._prune()
        return report

    def look(self, request: RunRequest) -> Situation:
        """What a run would know before its model looks around. Nothing is recorded, nobody is asked.

        Raises what `run` raises.
        """
        limits = limits_in_force(self.settings, self.database, self.clock())
        run = self._new_run(request, limits)
        runs = RunStore(self.database)
        return _Pass(self, run, runs, limits, NoAnalyst(), after_crash=False).look(request)

    def _go(
        self, run: RunRecord, request: RunRequest, runs: RunStore, limits: LimitsInForce, *, after_crash: bool
    ) -> RunReport:
        # What a crash left unsaid is said first, by the checks alone: the model may be what it crashed in.
        analyst = self.analysts.join(run, after_crash=after_crash)
        try:
            return _Pass(self, run, runs, limits, analyst, after_crash=after_crash).go(request)
        finally:
            analyst.close()

    def _prune(self) -> None:
        """Deletes what is old enough. The run is recorded already: where this fails, the next one does it."""
        try:
            prune_evidence(self.database, self.settings, self.clock(), progress=self.progress)
        except StorageError as error:
            self.progress("retention", f"left to the next run: {error}")

    def _begin(self, request: RunRequest, limits: LimitsInForce, runs: RunStore) -> RunRecord:
        run = self._new_run(request, limits)
        runs.begin(run)
        self.observer.run_began(run)
        return run

    def _new_run(self, request: RunRequest, limits: LimitsInForce) -> RunRecord:
        now = self.clock()
        return RunRecord(
            org_id=DEFAULT_ORG,
            id=request.run_id or self.ids(),
            type=RunType.FULL if request.is_full else RunType.SCOPED,
            trigger_reason=request.reason,
            finding_id=request.finding_id,
            started_at=now,
            lease_owner=lease_owner(),
            lease_expires_at=now + LEASE,
            alert_settings_source=limits.source,
            alert_settings_hash=limits.hash,
        )

    def _end_early(self, run: RunRecord, runs: RunStore, error: BaseException) -> None:
        status, said = _early_end(error)
        ended = replace(run, status=status, completed_at=max(self.clock(), run.started_at), error_summary=said)
        try:
            runs.end_early(ended)
        except (StorageError, RunEndedError) as unwritten:
            # What ended the run says more than that this could not be written either: the next run closes it.
            error.add_note(str(unwritten))
        else:
            self.observer.run_ended(ended, None)


def _early_end(error: BaseException) -> tuple[RunStatus, str]:
    if isinstance(error, RunCancelledError):
        return RunStatus.CANCELLED, str(error)
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        return RunStatus.CANCELLED, "stopped before it was done"
    return RunStatus.ERROR, f"{type(error).__name__}: {error}"


class _Pass:
    """One run under way: its stages in their order, and what they hand on."""

    def __init__(
        self,
        patrol: Patrol,
        run: RunRecord,
        runs: RunStore,
        limits: LimitsInForce,
        analyst: Analyst,
        *,
        after_crash: bool,
    ) -> None:
        self._patrol = patrol
        self._analyst = analyst
        self._run = run
        self._stages = StageTimes(run, patrol.observer)
        self._after_crash = after_crash
        self._runs = runs
        self._calls = 0
        self._samples: tuple[Sample, ...] = ()
        self._limits = limits
        self._idle_overrides = ""
        self._judged_at = run.started_at
        with patrol.database.read() as connection:
            self._previous = RunMemory(connection).counters()

    def go(self, request: RunRequest) -> RunReport:
        """THE ORDER."""
        collection, recognition = self._collect(counts_absence=request.is_full)
        situation = self._understand(collection.estate, recognition, request)
        scope = situation.scope

        self._tell("analyse", self._analyst.part.said or self._analyst.part.model)
        work = self._analyst.analyse(situation)
        detection = self._detect(situation, work)
        own = self._observe_itself(situation, detection)
        signals = [signal for signal in detection.signals if signal.resource_id in scope]
        above = lineage(situation.estate)
        said = dialogue(self._analyst, work, situation, signals, detection.examined, above, tell=self._tell)

        conclusions = self._conclude(
            situation, collection, detection, [*map(observation_of, signals), *own], said, above
        )
        resources, reads = situation.resources, collection.reads
        # Nobody reads them any more, and they are most of what a run holds.
        del collection, situation
        # From here on it is done: who asks it to end now gets all of it.
        self._stages.begin("record")
        self._patrol.progress("record", f"observations: {len(conclusions.observations)}")
        database, now = self._patrol.database, self._patrol.clock()
        recorded = record(self._run, conclusions, scope, database=database, runs=self._runs, now=now)
        self._stages.end()
        catches_up = CATCHES_UP if self._after_crash else ""
        past = past_note(self._judged_at, self._run.started_at)
        notes = [note for note in (self._limits.note, self._idle_overrides, catches_up, past) if note]
        return report_of(
            recorded, conclusions, detection, signals, scope, resources=resources, reads=reads, notes=notes
        )

    def look(self, request: RunRequest) -> Situation:
        """The stages before the model, alone."""
        collection, recognition = self._collect(counts_absence=False)
        return self._understand(collection.estate, recognition, request)

    def _understand(self, estate: Estate, recognition: Recognition, request: RunRequest) -> Situation:
        """What there is, held against its limits, its past and what is known of it already."""
        scope = resolve_scope(request, estate)
        inventory = Inventory([inventory_of(estate)])
        thresholds = self._limits.thresholds.for_inventory(inventory)
        self._idle_overrides = overrides_note(self._limits, thresholds)
        # A document is judged by its own time: what was fresh when it was collected is no fault of today.
        self._judged_at = min(estate.collected_at or self._run.started_at, self._run.started_at)
        history = History(now=self._judged_at, database=self._patrol.database)
        if keeps_history(self._patrol.database):
            self._samples = tuple(samples_of(estate, self._judged_at))
        average_cpu(estate.resources, thresholds, history)
        known = StoredFindings(database=self._patrol.database, now=self._run.started_at)
        since = self._runs.started_before(self._run)
        self._tell("triage", "what looks interesting")
        flags = triage(estate, thresholds, self._judged_at, outlook(estate, history), inventory.rows)
        return Situation(
            run=self._run,
            request=request,
            judged_at=self._judged_at,
            scope=scope,
            estate=estate,
            inventory=inventory,
            recognition=recognition,
            resources=Count(resource.type.value for resource in estate.resources if resource.id in scope),
            flags=[flag for flag in flags if flag.resource_id in scope or scope.is_full],
            gaps=estate.gaps,
            thresholds=thresholds,
            toolbox=Toolbox(estate, self._judged_at, history, known),
            findings=known.open_findings(),
            known=known.active_in(scope),
            silences=known.silences(),
            closed=lambda: known.closed_since(since) if since is not None else [],
            since=since,
            record=self._store_call,
        )

    def _observe_itself(self, situation: Situation, detection: Detection) -> list[Observation]:
        """Faults of Patrol's own sight: sources that it lost, a model that does not work."""
        now, part, examined = self._run.started_at, self._analyst.part, detection.examined
        blind = observe_sources(situation.estate, examined, self._previous, now)
        model = observe_model(self._model_sight(), part.said, examined, self._previous, now, model=part.model)
        return [*blind, *model] if situation.scope.is_full else []

    def _model_sight(self) -> ModelSight:
        return sight_of(self._analyst.part.state, configured=bool(self._patrol.settings.model.name))

    def _conclude(
        self,
        situation: Situation,
        collection: Collection,
        detection: Detection,
        seen: Sequence[Observation],
        said: Dialogue,
        above: Mapping[ResourceId, tuple[ResourceId, ...]],
    ) -> Conclusions:
        estate, scope, now, part = situation.estate, situation.scope, self._run.started_at, self._analyst.part
        # A look at one thing reads its sources and asks its model as any other run: what it saw of them counts.
        blind = blindness_counters(estate, self._previous, now)
        counters = {**collection.counters, **blind, **model_counters(self._model_sight(), self._previous, now)}
        return Conclusions(
            observations=[*seen, *said.observations],
            examined=ScopedExamination(detection.examined, scope),
            limit_now=CurrentLimits(situation.thresholds, situation.inventory, estate),
            gaps=[gap for gap in estate.gaps if gap.resource_id is None or gap.resource_id in scope],
            timed_out=collection.was_cut_off,
            problems=detection.problems,
            checks_off=detection.checks_off,
            readings=readings(estate),
            counters=counters,
            resources_checked=sum(situation.resources.values()),
            samples=self._samples,
            lives_on=above,
            recognition=situation.recognition,
            part=part,
            dialogue=said,
            model_looked=scope if part.worked else frozenset(),
            flags=len(situation.flags),
            escalating=self._escalating() if said.untold or part.model else None,
        )

    def _escalating(self) -> Escalating:
        settings = self._patrol.settings
        return escalating(
            ModelWorkStore(self._patrol.database),
            settings.patrol.autonomy,
            settings.investigation,
            self._run.started_at,
            has_model=bool(settings.model.name),
        )

    def _collect(self, *, counts_absence: bool) -> tuple[Collection, Recognition]:
        """What there is, in the ids that it was first remembered under."""
        names = ", ".join(each.source.name for each in self._patrol.sources) or "no source"
        self._tell("collect", names)
        now = self._run.started_at
        collection = collect(
            self._patrol.sources,
            now=now,
            previous=self._previous,
            progress=lambda text: self._patrol.progress("collect", text),
            deadline_seconds=self._patrol.settings.patrol.run_deadline.total_seconds(),
            cancel=self._patrol.cancel,
        )
        estate = collection.estate
        with self._patrol.database.read() as connection:
            add_alerts(connection, DEFAULT_ORG, estate, now)
            recognition = recognise(estate, ResourceMemory(connection).load(), now, counts_absence=counts_absence)
            follow(estate, recognition)
            last_read = RunMemory(connection).last_read(
                (gap.source, gap.topic, gap.resource_id or "") for gap in estate.gaps
            )
        estate.gaps = classify(estate.gaps, last_read.get, self._patrol.settings.accept_gap, now)
        return collection, recognition

    def _detect(self, situation: Situation, work: ModelWork) -> Detection:
        """The sweep, each call recorded as it is made, judged as it was recorded, and let go."""
        self._tell("sweep", "reading and judging")
        evidence = DetectionStore(self._patrol.database)
        evidence.begin(self._run.id, self._judged_at, self._limits)
        calls = chain(work.tool_calls, map(self._store_call, sweep(situation.toolbox, self._run.id)))
        thresholds, known = self._limits.thresholds, situation.inventory.rows
        detection = detect(calls, thresholds, self._judged_at, inventory_first=True, known=known)
        self._tell("detect", f"signals: {len(detection.signals)}")
        evidence.conclude(self._run.id, detection)
        return detection

    def _store_call(self, call: ToolCall, seconds: float = 0.0) -> ToolCall:
        """The call as it is recorded: what the detectors judge is what a replay will read."""
        self._patrol.beat()
        self._calls += 1
        output = output_page(call.output)
        recorded = self._runs.add_tool_call(
            self._run.id,
            seq=self._calls,
            call_id=call.id,
            tool_name=call.tool_name,
            input_json=msgspec.json.encode(call.input).decode(),
            output=output,
            success=call.success,
            origin=call.origin,
            started_at=self._run.started_at,
            duration_seconds=round(seconds, 6),
        )
        return recorded_call(recorded, output)

    def _tell(self, stage: str, detail: str) -> None:
        """A stage begins, unless somebody asked the run to end."""
        self._patrol.cancel.check()
        self._patrol.beat()
        self._stages.begin(stage)
        self._patrol.progress(stage, detail)
