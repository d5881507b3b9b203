"""Patrol's own words: they name fields, tools, kinds and states everywhere, so that hiding them would hide nothing."""

import dataclasses
import inspect
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache

import msgspec

import findings.model
from findings import investigation, silence
from findings.kinds import Kind
from patrol.agent.model import ToolSpec
from patrol.estate import model as estate_model
from signals import (
    backup_evidence,
    ceph_evidence,
    evidence,
    pages,
    protection_evidence,
    storage_evidence,
    traffic_evidence,
)
from signals.alert_settings.section import Section
from signals.thresholds import Limited

_ENUMS = (Kind, Limited)
_MODULES = (
    *(findings.model, investigation, silence, estate_model, pages),
    *(evidence, storage_evidence, backup_evidence, ceph_evidence, protection_evidence, traffic_evidence),
)

# Words of everyday sentences. A guest that is called like one of them tells nobody anything.
_EVERYDAY = """
a about above after again ago all also an and any are as at away back be because been before below between both but by
can cannot could day days did do does done down each else every few first for found from gone had has have here how
i if in into is it its itself last least less longer many may minutes month more most much must my nearly never newest
next no none nor not nothing now of off oldest on once one only or other out over own per place same seconds see seen
several she should since so some still such than that the their them then there these they thing this those through to
today too two under until up was way we week well were what when where which while who why will with without worst
would year yes yet you your
"""

# Words that platforms write themselves, the same in every house.
_PLATFORM = """
active alerts available backup backups btrfs cache cephfs ceph cifs clean cluster container containers content core
critical ct data datastore debian degraded device devices dir disabled disk disks docker enabled error errors exit-code
ext4 failed false file filesystem firmware free full garbage group guest guests healthy host hosts icmp idle images
inactive information instance internet ip iso job jobs kubernetes kvm linux local localhost log logs lost lvm lvm-thin
lvmthin lxc main mdadm memory metrics mirror mount name network nfs node nodes null offline online pam passed pbs peer
podman pool pools prod production proxmox prune public pve qemu raid raidz raidz1 raidz2 raidz3 removed resource
resources root rootdir running sas sata scrub security serial server servers service source sources spare special ssd
standby state status stopped storage storages sync system target task tasks tcp template test timeout timer true type
udp unavail unhealthy unit units unknown update usage user users utc ve verify version vm vms volume volumes vzdump
warning warnings xfs zfs zfspool
c h min ms s gb gib kb kib mb mib tb tib utc z
"""


@cache
def base_words() -> frozenset[str]:
    """The names of all fields, and all words that are a choice of few, in the shapes that tools answer in."""
    words = {*_EVERYDAY.split(), *_PLATFORM.split()}
    for enum in _ENUMS:
        words.update(enum)
    for module in _MODULES:
        for value in vars(module).values():
            words.update(_words_of_class(value))
    words.update(_words_of_settings(Section))
    return frozenset(words)


def words_of(specs: Iterable[ToolSpec]) -> frozenset[str]:
    """The words of tools: their names, their arguments, and every value that an argument can be chosen from."""
    words: set[str] = set()
    for spec in specs:
        words.add(spec.name)
        words.update(_words_of_schema(spec.input_schema))
    return frozenset(words)


def _words_of_class(value: object) -> Iterator[str]:
    if not inspect.isclass(value):
        return
    if issubclass(value, StrEnum):
        yield from value
    elif issubclass(value, msgspec.Struct):
        yield from value.__struct_fields__
        yield from value.__struct_encode_fields__
    elif dataclasses.is_dataclass(value):
        yield from (field.name for field in dataclasses.fields(value))


def _words_of_settings(section: type[Section]) -> Iterator[str]:
    """The keys of the alert settings: where a limit came from is told by them."""
    yield from section.wire_names()
    for part in section.__subclasses__():
        yield from _words_of_settings(part)


def _words_of_schema(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            yield from (str(name) for name in properties)
        choices = schema.get("enum")
        if isinstance(choices, list | tuple):
            yield from (each for each in choices if isinstance(each, str))
        for each in schema.values():
            yield from _words_of_schema(each)
    elif isinstance(schema, list | tuple):
        for each in schema:
            yield from _words_of_schema(each)
