"""Makes an estate speak in minted ids, before anything else looks at it."""

import dataclasses

from patrol.estate.memory.model import Recognition
from patrol.estate.merging import merge_resources
from patrol.estate.model import Estate, Resource, lists_about_resources


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
    _follow_references(estate, recognition)


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


def _follow_references(estate: Estate, recognition: Recognition) -> None:
    renamed = {**{merge.retired: merge.kept for merge in recognition.merges}, **recognition.ids}
    # One that was renamed may bear an id that is another's now: then the collected meaning holds.
    settled = {"", *(resource.id for resource in estate.resources)} - renamed.keys()

    def now_called(text: str) -> str:
        return text if text in settled else renamed.get(text) or recognition.memory.find_id(text) or text

    for resource in estate.resources:
        if resource.parent not in settled:
            resource.parent = now_called(resource.parent)
    for rows in lists_about_resources(estate):
        for row in rows:
            if row.resource_id not in settled:
                row.resource_id = now_called(row.resource_id)
    for store in estate.backup_stores:
        store.id = renamed.get(store.id, store.id)
    estate.gaps = [
        gap if gap.resource_id is None else dataclasses.replace(gap, resource_id=now_called(gap.resource_id))
        for gap in estate.gaps
    ]
