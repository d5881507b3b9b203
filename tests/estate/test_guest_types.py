"""Types of resources that the checks know to be no guests: a new one must not be taken for the guest of its number."""

from patrol.estate.model import ResourceType
from signals.backups.owners import GUEST_TYPES
from signals.guest_identity import NO_GUESTS


def test_every_type_of_resource_is_a_guest_or_known_to_be_none() -> None:
    types = {str(each.value) for each in ResourceType}
    assert types - GUEST_TYPES <= NO_GUESTS
    assert not GUEST_TYPES & NO_GUESTS
