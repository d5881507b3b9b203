"""Where the resources of findings are: as this run saw them, else as they were last seen."""

from functools import cached_property

from findings.model import Finding, ResourceId
from patrol.estate.memory.model import Recognition
from patrol.run.blindness import source_id


class KnownPlaces:
    """What each finding's resource lives on, and which source reports it. Made once the findings are advanced."""

    def __init__(self, recognition: Recognition) -> None:
        self._recognition = recognition

    def line_of(self, finding: Finding) -> tuple[ResourceId, ...]:
        """What the resource lives on or in, nearest first."""
        return finding.lives_on  # kept with each finding while it is open (`findings.lifecycle`)

    def source_of(self, finding: Finding) -> ResourceId:
        """Id of the source that reports it, "" for what no source ever did: a source itself, for one."""
        now = self._seen_now.get(finding.resource_id)
        if now is None:
            known = self._recognition.memory.resources.get(finding.resource_id)
            now = known.source if known is not None else ""
        return source_id(now) if now else ""

    @cached_property
    def _seen_now(self) -> dict[ResourceId, str]:
        changed = (each.after for each in self._recognition.changed)
        return {each.id: each.source for each in (*self._recognition.new, *changed)}
