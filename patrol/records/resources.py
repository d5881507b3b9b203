"""Resources: what is remembered of them, and an operator's word that one does not exist any more."""

import msgspec

from findings.model import ResourceId
from patrol.estate.memory.model import Alias, Remembered
from patrol.estate.memory.store import ResourceMemory
from patrol.operators.resources import (
    AlreadyRemovedError,
    AmbiguousResourceError,
    UnknownResourceError,
    remove_resource,
)
from patrol.records.desk import NOT_THERE, WRONG, Desk, Question, QuestionRefusedError


class ResourceList(msgspec.Struct, frozen=True, kw_only=True):
    """Resources by their id, and the aliases of each."""

    resources: list[Remembered]
    aliases: dict[ResourceId, list[Alias]]


class ListResources(Question, frozen=True, kw_only=True):
    """Those that are there, or only those that were `removed`."""

    removed: bool = False

    def answer(self, desk: Desk, /) -> ResourceList:
        """Which are remembered."""
        with desk.database.read() as connection:
            memory = ResourceMemory(connection, desk.org_id).load()
        found = [memory.resources[each] for each in sorted(memory.resources)]
        wanted = [each for each in found if each.is_there is not self.removed]
        aliases = {each.id: list(memory.aliases_of(each.id).values()) for each in wanted}
        return ResourceList(resources=wanted, aliases=aliases)


class ResourceRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """A resource that does not exist any more. `closed`: ids of its findings. `lives_on_it`: how many it leaves."""

    resource: Remembered
    closed: list[str]
    lives_on_it: int


class RemoveResource(Question, frozen=True, kw_only=True):
    """One does not exist any more: an id or alias of it, or its name."""

    name: str

    def answer(self, desk: Desk, /) -> ResourceRemoved:
        """Removes it."""
        try:
            removal = remove_resource(desk.database, desk.org_id, self.name, now=desk.clock(), author=desk.author)
        except UnknownResourceError as error:
            raise QuestionRefusedError(f"{error}; `patrol resources list`", NOT_THERE) from error
        except AmbiguousResourceError as error:
            raise QuestionRefusedError(str(error), WRONG) from error
        except AlreadyRemovedError as error:
            raise QuestionRefusedError(f"{error}; `patrol resources list --removed`", NOT_THERE) from error
        return ResourceRemoved(
            resource=removal.resource,
            closed=[each.id for each in removal.closed],
            lives_on_it=len(removal.lives_on_it),
        )
