"""Makes an estate speak in minted ids, before anything else looks at it."""

import dataclasses
from collections.abc import Callable

from patrol.estate.memory.model import Recognition
from patrol.estate.merging import merge_resources
from patrol.estate.model import Estate, Resource


def follow(estate: Estate, recognition: Recognition) -> None:
    """Rewrites ids and every reference to them, in place; rows that are one thing become one.

    The collected id and every id given up stay as aliases. Guests whose source does not say since when they exist
    get the time of their first sight, where they came while their source was already watched.
    """
    if recognition.ids:
        _rename(estate, recognition)
    for resource in estate.resources:
        for text in recognition.also_called.get(resource.id, ()):
            if text not in resource.aliases and text != resource.id:
                resource.aliases.append(text)
        if resource.first_seen is None:
            resource.first_seen = recognition.known_since.get(resource.id)
    _follow_references(estate, _now_called(estate, recognition))


def _rename(estate: Estate, recognition: Recognition) -> None:
    rows: dict[str, list[Resource]] = {}
    for resource in estate.resources:
        minted = recognition.ids.get(resource.id, resource.id)
        if minted != resource.id:
            if resource.id not in resource.aliases:
                resource.aliases.append(resource.id)
            resource.aliases = [text for text in resource.aliases if text != minted]
            resource.id = minted
        rows.setdefault(minted, []).append(resource)
    estate.resources = [
        same[0] if len(same) == 1 else merge_resources(same, resource_id) for resource_id, same in rows.items()
    ]


def _now_called(estate: Estate, recognition: Recognition) -> Callable[[str], str]:
    known = {resource.id for resource in estate.resources}
    given_up = {merge.retired: merge.kept for merge in recognition.merges}

    def now_called(text: str) -> str:
        # First the collected ids: one of them may be the minted id of another resource.
        found = recognition.ids.get(text) or given_up.get(text)
        if found is not None or text in known:
            return found or text
        return recognition.memory.find_id(text) or text

    return now_called


def _follow_references(estate: Estate, now_called: Callable[[str], str]) -> None:
    for resource in estate.resources:
        if resource.parent:
            resource.parent = now_called(resource.parent)
    for rows in (estate.alerts, estate.backup_tasks, estate.pbs_backups, estate.pve_backups, estate.pbs_jobs):
        for row in rows:
            if row.resource_id:
                row.resource_id = now_called(row.resource_id)
    for store in estate.backup_stores:
        store.id = now_called(store.id)
    estate.gaps = [
        gap if gap.resource_id is None else dataclasses.replace(gap, resource_id=now_called(gap.resource_id))
        for gap in estate.gaps
    ]
