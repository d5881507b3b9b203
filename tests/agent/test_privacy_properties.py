"""Whatever an estate is called: nothing of it goes out, and everything comes back."""

import re
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from patrol.agent.privacy import Shroud
from patrol.agent.privacy.lexicon import PSEUDONYM, key_of
from patrol.agent.privacy.vocabulary import base_words
from patrol.estate.model import Estate, Resource, ResourceType
from patrol.settings.values import Privacy
from signals.evidence import DiskRow

OWN_WORDS = {key_of(word) for word in base_words()} | {key_of(word) for word in ("addr", "origin", "tag", "domain")}
LETTERS = st.sampled_from("abcdefghijklmnopqrstuvwxyzABCäßçЖ中")
NAMES = st.one_of(
    st.builds(
        lambda parts, joints: "".join(f"{part}{joint}" for part, joint in zip(parts, joints, strict=True)),
        st.lists(st.text(LETTERS, min_size=2, max_size=7), min_size=3, max_size=3),
        st.tuples(*[st.sampled_from(["", "-", "_", ".", " ", "/", "-7", "|", "\n", "\\", "~"])] * 3),
    ),
    st.sampled_from(["web", "db-01", "nas", "host-1", "guest-2", "PVE1", "pve1", "the", "running", "disk-3x", "zz~2"]),
)
ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str)
SERIALS = st.text("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", min_size=8, max_size=14).filter(str.isalnum)


@st.composite
def estates(draw: st.DrawFn) -> Estate:
    resources = []
    for number, name in enumerate(draw(st.lists(NAMES, min_size=1, max_size=5))):
        kind = draw(st.sampled_from([ResourceType.VM, ResourceType.NODE, ResourceType.STORAGE, ResourceType.POD]))
        resources.append(
            Resource(
                id=f"{kind}:{draw(st.sampled_from(['lab', 'acme-1', 'acme-2']))}:{number}",
                type=kind,
                name=name,
                addresses=draw(st.lists(ADDRESSES, max_size=2)),
            )
        )
    resources.extend(
        Resource(id=f"disk:serial:{serial}", type=ResourceType.DISK, name="sda", disk=DiskRow(serial=serial))
        for serial in draw(st.lists(SERIALS, max_size=2))
    )
    return Estate(resources=resources)


def secrets(estate: Estate) -> Iterator[str]:
    for resource in estate.resources:
        yield resource.id
        yield resource.name
        yield from resource.addresses
        if resource.disk is not None and resource.disk.serial:
            yield resource.disk.serial


OWN_PARTS = {part for word in OWN_WORDS for part in word.split()}


def hidden(text: str) -> bool:
    """Whether it is a name at all: not a word of Patrol's own, a number, or an address of everybody's host."""
    key = key_of(text)
    if key in OWN_WORDS or key.isdigit() or text in {"sda", "0.0.0.0", "127.0.0.1", "::", "::1"}:
        return False
    # An id that is made of such words alone names nothing either.
    return not (":" in text and all(part in OWN_PARTS or part.isdigit() for part in key.split()))


def occurs(name: str, text: str) -> bool:
    return name in text and re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text) is not None


PIECES = st.sampled_from([" ", ", ", ":", "/", "-", ".example.com ", "\n| ", " is at 93.5 % since 06:00 ", "@", "_"])


@settings(max_examples=50, deadline=None)
@given(estate=estates(), data=st.data())
def test_no_name_address_or_serial_goes_out_and_everything_comes_back(estate: Estate, data: st.DataObject) -> None:
    shroud = Shroud.of(estate, Privacy.PSEUDONYMS)
    names = list(secrets(estate))
    text = "".join(
        data.draw(PIECES) + data.draw(st.sampled_from(names)) + data.draw(PIECES)
        for _ in range(data.draw(st.integers(1, 6)))
    )
    told = shroud.text_out(text)
    for name in filter(hidden, names):
        # A thing that is itself called like a pseudonym may meet one that was given to another.
        assert PSEUDONYM.fullmatch(name.strip()) or not occurs(name, told), (name, text, told)
    assert shroud.text_in(told) == text
    assert shroud.text_out(told) == told


@settings(max_examples=50, deadline=None)
@given(estate=estates(), data=st.data())
def test_values_hide_what_texts_hide_and_come_back_equal(estate: Estate, data: st.DataObject) -> None:
    shroud = Shroud.of(estate, Privacy.PSEUDONYMS)
    names = st.sampled_from(list(secrets(estate)))
    leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), names)
    values = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.sampled_from(["name", "resource_id", "cpu"]) | names, inner, max_size=3),
        ),
        max_leaves=8,
    )
    value = data.draw(values)
    told = shroud.value_out(value)
    for name in filter(hidden, secrets(estate)):
        assert PSEUDONYM.fullmatch(name.strip()) or f"'{name}'" not in repr(told)
    assert shroud.value_in(told) == value


@settings(max_examples=50, deadline=None)
@given(text=st.text(max_size=300), privacy=st.sampled_from(list(Privacy)), estate=estates())
def test_nothing_throws_whatever_the_text(text: str, privacy: Privacy, estate: Estate) -> None:
    shroud = Shroud.of(estate, privacy)
    told = shroud.text_out(text)
    if privacy is not Privacy.METRICS_ONLY:
        assert shroud.text_in(told) == text
    shroud.value_out({text: [text]})
    shroud.value_in({text: [text]})


@settings(max_examples=50, deadline=None)
@given(estate=estates(), data=st.data())
def test_metrics_only_says_no_word_that_is_not_patrols_own(estate: Estate, data: st.DataObject) -> None:
    shroud = Shroud.of(estate, Privacy.METRICS_ONLY)
    text = f"{data.draw(st.sampled_from(list(secrets(estate))))} {data.draw(st.text(max_size=60))}"
    for told in (shroud.text_out(text), shroud.value_out(text)):
        assert isinstance(told, str)
        left = PSEUDONYM.sub(" ", told)
        single = {part for word in OWN_WORDS for part in word.split()} | {"withheld"}
        strange = [word for word in key_of(left).split() if word not in single and not re.match(r"\d", word)]
        assert [word for word in strange if not re.fullmatch(r"[0-9a-f]{16}|[0-9a-f]{32}", word)] == []
