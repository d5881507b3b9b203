"""Recorded calls become pages: exact, tolerant per row, and honest about what was lost."""

import json
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signals.backup_evidence import BackupsOutput, BackupTasksOutput
from signals.evidence import DiskRow, DisksOutput, InventoryOutput, PerformanceOutput, TemperaturesOutput
from signals.model import Origin, ToolCall
from signals.pages import Page
from signals.storage_evidence import DiskHealthOutput, PoolRow, PoolsOutput
from signals.transcript import Transcript, parse_arguments, parse_tool_call


def pages(call: ToolCall) -> tuple[list[Page], list[tuple[str, str]]]:
    transcript = Transcript([call])
    outputs = [page.output for page in (*transcript.inventory(), *transcript.pages())]
    return outputs, [(problem.place, problem.message) for problem in transcript.problems]


def storage(output: object, selector: str = "pools", *, success: bool = True) -> ToolCall:
    arguments: dict[str, object] = {"type": selector} if selector else {}
    return ToolCall(id="c1", tool_name="pulse_storage", input=arguments, output=output, success=success)


def test_a_page_that_fits_is_taken_as_it_is() -> None:
    output = {"pools": [{"id": "tank", "usage_percent": 80.5}], "complete": True}
    for form in (json.dumps(output), json.dumps(output).encode()):
        (page,), problems = pages(storage(form))
        assert page == PoolsOutput(pools=[PoolRow(id="tank", usage_percent=80.5)], complete=True)
        assert problems == []


def test_a_struct_needs_no_decoding() -> None:
    page = PoolsOutput(complete=True)
    assert pages(storage(page)) == ([page], [])


def test_a_bad_value_costs_that_value_says_so_and_leaves_the_page_incomplete() -> None:
    rows = [{"id": "a", "usage_percent": "full"}, {"id": 7, "usage_percent": "81.5"}, {"id": "c", "usage_percent": 3}]
    (page,), problems = pages(storage(json.dumps({"pools": rows, "complete": True})))
    assert isinstance(page, PoolsOutput)
    assert [(row.id, row.usage_percent) for row in page.pools] == [("a", None), (7, 81.5), ("c", 3)]
    assert not page.complete
    assert [place for place, _ in problems] == ["pools[0].usage_percent"]


@pytest.mark.parametrize("row", ['"x"', "null", "[1]", '{"id": {"a": 1}, "usage_percent": 99}', '{"node": [1]}'])
def test_a_row_that_does_not_say_whose_it_is_is_lost_and_no_other(row: str) -> None:
    (page,), problems = pages(storage(f'{{"pools": [{{"id": "a"}}, {row}, {{"id": "c"}}], "complete": true}}'))
    assert isinstance(page, PoolsOutput)
    assert [pool.id for pool in page.pools] == ["a", "c"]
    assert not page.complete
    assert problems[0][0].startswith("pools[1]")


@pytest.mark.parametrize("number", [str(2**63), "9" * 41, "9" * 400, "1e999", "-1e999"])
@pytest.mark.parametrize("field", ["data_errors", "read_errors"])
def test_a_number_beyond_every_counter_costs_its_value_and_is_not_taken_for_one_that_was_not_read(
    number, field
) -> None:
    output = f'{{"complete": true, "pools": [{{"id": "tank", "zfs": {{"name": "tank", "{field}": {number}}}}}]}}'
    (page,), told = pages(storage(output))
    assert isinstance(page, PoolsOutput)
    assert [pool.id for pool in page.pools] == ["tank"]
    assert [place for place, _message in told] == [f"pools[0].zfs.{field}"]
    assert not page.complete


def test_a_bad_row_inside_a_row_costs_only_itself() -> None:
    host = {"hostname": "pve1", "smart": [{"device": "sda", "health": "FAILED"}, 5]}
    (page,), problems = pages(storage(json.dumps({"hosts": [host]}), "disk_health"))
    assert isinstance(page, DiskHealthOutput)
    assert [disk.device for disk in page.hosts[0].smart] == ["sda"]
    assert problems == [("hosts[0].smart[1]", "expected an object, got int")]


def test_a_row_of_the_inventory_is_believed_whole_or_not_at_all() -> None:
    rows = [{"id": "vm:a:1", "template": "perhaps"}, {"id": "vm:a:2"}, {"name": "no id"}]
    call = ToolCall(
        id="c1", tool_name="pulse_query", input={"action": "inventory"}, output=json.dumps({"resources": rows})
    )
    (page,), problems = pages(call)
    assert isinstance(page, InventoryOutput)
    assert [row.id for row in page.resources] == ["vm:a:2"]
    assert len(problems) == 2


def test_rows_in_a_map_are_salvaged_by_name() -> None:
    call = ToolCall(
        id="c1",
        tool_name="pulse_metrics",
        input='{"type": "performance"}',
        output='{"summary": {"n1": {"avg_cpu": 99}, "n2": 4, "n3": {"avg_cpu": true}}}',
    )
    (page,), problems = pages(call)
    assert isinstance(page, PerformanceOutput)
    assert page.summary["n1"].avg_cpu == 99
    assert page.summary["n3"].avg_cpu is None
    assert [place for place, _ in problems] == ["summary.n2", "summary.n3.avg_cpu"]


def test_a_cut_document_gives_its_complete_rows_and_is_never_complete() -> None:
    text = '{"complete": true, "pools": [{"id": "a", "usage_percent": 97}, {"id": "b", "usage_per'
    (page,), problems = pages(storage(text))
    assert isinstance(page, PoolsOutput)
    assert [pool.id for pool in page.pools] == ["a"]
    assert not page.complete
    assert problems == [("output", "ends in the middle of its document")]


def test_text_without_a_document_is_no_page_and_says_so() -> None:
    assert pages(storage("No storage data available")) == ([], [("output", "holds no JSON document")])


@pytest.mark.parametrize(
    "call",
    [
        storage('{"pools": [{"id": "a"}]}', success=False),
        storage('{"pools": []}', "unheard_of"),
        ToolCall(id="c", tool_name="pulse_alerts", input={"action": "list"}, output='{"alerts": []}'),
        ToolCall(id="c", tool_name="pulse_query", input={"action": "list"}, output='{"nodes": []}'),
    ],
)
def test_what_holds_no_evidence_gives_nothing(call: ToolCall) -> None:
    assert pages(call) == ([], [])


@pytest.mark.parametrize("output", ["", "  ", None, b"null", 5])
def test_a_call_that_succeeded_without_an_output_is_told(output: object) -> None:
    found, told = pages(storage(output))
    assert found == []
    assert told == [("output", "there is none: nothing of this call was judged")]


def test_a_call_without_its_selector_is_tried_as_each_type() -> None:
    found, problems = pages(storage('{"tasks": [{"vmid": 101, "status": "failed"}]}', ""))
    assert [type(page) for page in found] == [DiskHealthOutput, PoolsOutput, BackupTasksOutput, BackupsOutput]
    assert isinstance(found[2], BackupTasksOutput)
    assert found[2].tasks[0].vmid == 101
    assert problems == []


def test_a_bare_array_stands_for_the_list_of_its_page() -> None:
    call = ToolCall(id="c1", tool_name="pulse_metrics", input={"type": "temperatures"}, output='[{"hostname": "pve1"}]')
    (page,), _ = pages(call)
    assert isinstance(page, TemperaturesOutput)
    assert page.hosts[0].hostname == "pve1"
    assert pages(storage("[1, 2]", "backups"))[0] == []


def test_an_output_given_as_an_object_is_read_like_its_text() -> None:
    (page,), _ = pages(storage({"pools": [{"id": 1}]}))
    assert page == PoolsOutput(pools=[PoolRow(id=1)])


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ('{"type": "pools"}', {"type": "pools"}),
        ({"type": "pools"}, {"type": "pools"}),
        ("", {}),
        (None, {}),
        ("[1]", {}),
        ("not json", {}),
        ("[" * 100_000, {}),
    ],
)
def test_arguments_are_an_object_or_none_at_all(value: str | dict[str, object] | None, arguments: object) -> None:
    assert parse_arguments(value) == arguments


def test_a_line_of_a_recording_is_one_call() -> None:
    call = parse_tool_call('{"id": 5, "tool_name": "pulse_storage", "output": "{}", "origin": "patrol"}')
    assert (call.id, call.output, call.origin, call.success) == ("5", "{}", Origin.PATROL, True)
    assert parse_tool_call('{"id": "a", "tool_name": "t", "output": {"pools": []}}').output == b'{"pools": []}'
    assert parse_tool_call('{"id": "a", "tool_name": "t"}').output == b"null"


@pytest.mark.parametrize(
    "line",
    ["", "[]", "{", '{"tool_name": "t"}', '{"id": 1, "tool_name": 2}', '{"id": "a", "tool_name": "t", "origin": "x"}',
     '{"id": "a", "tool_name": "t", "success": "yes"}', b'{"id": "\xff"}'],
)  # fmt: skip
def test_a_line_that_is_no_call_is_refused_with_the_reason(line: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_tool_call(line)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.text() | st.sampled_from(["id", "pools", "disks", "hosts", "smart", "attributes", "summary", "zfs", "vdevs",
                         "gaps", "complete", "pagination", "usage_percent", "health", "resources", "tasks", "vmid"]),
        inner, max_size=6,
    ),
    max_leaves=40,
)  # fmt: skip


@given(JUNK, st.sampled_from(["pools", "disk_health", "backups", "backup_tasks", "raid", "resource_disks", ""]))
def test_no_document_can_crash_the_reading(document: object, selector: str) -> None:
    for output in (document, json.dumps(document)):
        pages(storage(output, selector))


@pytest.mark.parametrize(
    ("output", "intact"),
    [
        ('{"pools": [{"id": "a"}]}', True),
        ('as text: {"pools": [{"id": "a"}]}', True),
        ('{"pools": [{"id": "a"}, 3]}', False),
        ('{"pools": [{"id": "a", "usage_percent": "x"}]}', False),
        ('{"pools": [{"id": "a"}, {"id', False),
    ],
)
def test_a_page_that_lost_something_is_not_intact(output: str, intact: bool) -> None:
    (page,) = Transcript([storage(output)]).pages()
    assert page.intact is intact


@given(JUNK)
def test_a_page_with_a_loss_is_never_complete(document: object) -> None:
    found, problems = pages(storage({"pools": [document], "complete": True}))
    for page in found:
        assert page.complete == (not problems)


@given(st.lists(st.floats(0, 100) | st.none(), max_size=8), st.booleans())
def test_structs_and_their_recorded_text_are_the_same_page(usages: list[float | None], complete: bool) -> None:
    page = PoolsOutput(
        pools=[PoolRow(id=f"p{number}", usage_percent=usage) for number, usage in enumerate(usages)], complete=complete
    )
    assert pages(storage(msgspec.json.encode(page).decode())) == pages(storage(page)) == ([page], [])
    assert pages(storage(DisksOutput())) == ([DisksOutput()], [])


def disks_of(row: str) -> tuple[list[DiskRow], list[tuple[str, str]]]:
    call = ToolCall(
        id="c1",
        tool_name="pulse_metrics",
        input={"type": "disks"},
        output='{"complete": true, "disks": [' + row + "]}",
        success=True,
    )
    (page,), problems = pages(call)
    assert isinstance(page, DisksOutput)
    assert not page.complete
    return page.disks, problems


def test_an_identity_that_is_a_number_is_its_digits() -> None:
    (row,), problems = disks_of('{"node": 3, "serial": 12345, "health": "FAILED"}')
    assert (row.node, row.serial, row.health) == ("3", "12345", "FAILED")
    assert [place for place, _ in problems] == ["disks[0].node", "disks[0].serial"]


@pytest.mark.parametrize(("id_", "kept"), [('"disk:serial:A"', 1), ("7", 1), ("[]", 0), ('""', 0), ("null", 0)])
def test_a_row_with_an_id_of_its_own_outlives_its_other_names(id_: str, kept: int) -> None:
    rows, _ = disks_of(f'{{"id": {id_}, "node": {{}}, "health": "FAILED"}}')
    assert len(rows) == kept


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("97%", 97),
        (" 97.5 % ", 97.5),
        ("-3 %", -3),
        ("97,5 %", None),
        ("% 97", None),
        ("1e3 %", None),
    ],
)
def test_a_percentage_with_its_sign_is_a_number(text: str, value: float | None) -> None:
    (page,), problems = pages(storage({"complete": True, "pools": [{"id": "a", "usage_percent": text}]}))
    assert isinstance(page, PoolsOutput)
    assert page.pools[0].usage_percent == value
    assert problems


def own(number: int, action: str = "") -> ToolCall:
    tool_name, arguments = ("pulse_query", {"action": action}) if action else ("pulse_storage", {"type": "pools"})
    output = json.dumps({"complete": True}).encode()
    return ToolCall(id=f"c{number}", tool_name=tool_name, input=dict(arguments), output=output, origin=Origin.PATROL)


def test_behind_the_inventory_calls_are_taken_one_at_a_time() -> None:
    taken: list[str] = []

    def made() -> Iterator[ToolCall]:
        for call in (storage('{"pools": []}'), own(2, "inventory"), own(3), own(4), own(5)):
            taken.append(call.id)
            yield call

    transcript = Transcript(made(), inventory_first=True)
    assert [page.call_id for page in transcript.inventory()] == ["c2"]
    assert taken == ["c1", "c2", "c3"]
    assert [(page.call_id, len(taken)) for page in transcript.pages()] == [("c1", 3), ("c3", 3), ("c4", 4), ("c5", 5)]


def test_an_inventory_that_was_not_first_is_refused_and_never_overlooked() -> None:
    calls = [own(1, "inventory"), own(2), own(3, "inventory")]
    transcript = Transcript(calls, inventory_first=True)
    assert [page.call_id for page in transcript.inventory()] == ["c1"]
    with pytest.raises(ValueError, match="c3 asks for the inventory"):
        list(transcript.pages())
    assert [page.call_id for page in Transcript(calls).inventory()] == ["c1", "c3"]


def test_what_a_model_called_after_the_judging_is_no_part_of_a_recording():
    output = '{"pools": [{"id": "tank", "node": "hosta", "usage_percent": 97}]}'
    for origin, pages in ((Origin.MODEL, 1), (Origin.LATER, 0)):
        transcript = Transcript(
            [ToolCall(id="c1", tool_name="pulse_storage", input={"type": "pools"}, output=output, origin=origin)]
        )
        assert list(transcript.inventory()) == []
        assert len(list(transcript.pages())) == pages


POOL = {"pools": [{"id": "tank", "usage_percent": 99}]}


@pytest.mark.parametrize(
    "output",
    [
        {"result": POOL},
        {"result": {"data": POOL}},
        {"output": POOL["pools"]},
        [{"type": "text", "text": json.dumps(POOL)}],
        [{"type": "text", "text": "The pools:"}, {"type": "text", "text": json.dumps(POOL)}],
        {"content": [{"type": "text", "text": json.dumps(POOL)}], "isError": False},
        {"result": json.dumps(POOL)},
        {"result": json.dumps(json.dumps(POOL))},
        {"result": json.dumps({"result": POOL})},
        {"result": {"content": [{"type": "text", "text": json.dumps(POOL)}]}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": json.dumps({"data": POOL})}]}},
        [{"type": "text", "text": json.dumps([{"type": "text", "text": json.dumps(POOL)}])}],
        [{"type": "image", "data": "", "mimeType": "image/png"}, {"type": "text", "text": json.dumps(POOL)}],
        [{"type": "resource", "resource": {"uri": "pools://all", "text": json.dumps(POOL)}}],
    ],
)
def test_what_others_put_around_a_page_is_taken_off(output: object) -> None:
    for recorded in (output, json.dumps(output), f"Here it is: {json.dumps(output)}"):
        (page,), told = pages(storage(recorded))
        assert isinstance(page, PoolsOutput)
        assert [(pool.id, pool.usage_percent) for pool in page.pools] == [("tank", 99)]
        assert told == []
        assert not page.complete


def test_a_text_that_was_encoded_twice_is_read() -> None:
    (page,), told = pages(storage(json.dumps(json.dumps(POOL))))
    assert isinstance(page, PoolsOutput)
    assert ([pool.id for pool in page.pools], told) == (["tank"], [])


@pytest.mark.parametrize(
    ("output", "selector"),
    [
        ('{"rows": [{"id": "tank", "usage_percent": 99}], "count": 1}', "pools"),
        ('{"error": {"code": 5}}', "pools"),
        ('{"result": {"items": [1]}}', "backups"),
        ('[{"vmid": 101}]', "backups"),
        ('[{"type": "text", "text": "{\\"x\\": 1}"}]', "disk_health"),
        ('{"data": [{"id": "tank", "usage_percent": 99}], "pagination": {"total": 1}, "complete": true}', "pools"),
        ('{"data": [{"health": "FAILED"}], "total": 1}', "raid"),
        ('{"id": 7, "jsonrpc": "2.0", "error": {"code": 5}}', "pools"),
        ('[{"pools": [{"id": "tank", "usage_percent": 99}]}]', "pools"),
    ],
)
def test_a_document_without_a_known_field_is_told_and_nothing_is_taken_from_it(output: str, selector: str) -> None:
    found, told = pages(storage(output, selector))
    assert found == []
    assert [(place, message.partition(":")[0]) for place, message in told] == [
        ("output", "has none of the fields of such a page")
    ]


def test_a_name_that_others_have_too_makes_no_page() -> None:
    row = {"resource_id": "vm:lab:101", "avg_cpu": 99}
    for answer, found in (
        ({"id": 1, "items": [row]}, 0),
        ({"id": 1, "jsonrpc": "2.0", "result": {"resources": [row]}}, 1),
    ):
        call = ToolCall(id="1", tool_name="pulse_metrics", input={"type": "performance"}, output=json.dumps(answer))
        read, told = pages(call)
        assert (len(read), len(told)) == (found, 1 - found)


@pytest.mark.parametrize(
    ("text", "message", "rows"),
    [
        ("permission denied", "holds no JSON document", []),
        ('{"poo', "holds no JSON document", []),
        ('{"pools": [{"id": "a"}, {"id": "b"', "ends in the middle of its document", ["a"]),
    ],
)
def test_a_text_inside_that_is_no_whole_document_is_told_like_one_by_itself(
    text: str, message: str, rows: list[str]
) -> None:
    for recorded in (text, {"content": [{"type": "text", "text": text}]}, json.dumps([{"type": "text", "text": text}])):
        found, told = pages(storage(recorded))
        assert told == [("output", message)]
        assert [pool.id for page in found if isinstance(page, PoolsOutput) for pool in page.pools] == rows


@pytest.mark.parametrize(
    "part", [{"type": []}, {"type": "text"}, {"type": "text", "text": 5}, {"type": "resource"}, 7, None]
)
def test_what_is_hardly_a_part_of_a_result_is_read_all_the_same(part: object) -> None:
    for found, told in (pages(storage({"content": [part]})), pages(storage([part]))):
        assert found or told


def test_small_documents_that_are_no_pages_are_told_once() -> None:
    found, told = pages(storage("[12.345678] sda: error\n" * 300 + '{"level": "info"}\n' * 300 + json.dumps(POOL)))
    assert (len(found), len(told)) == (1, 1)


@pytest.mark.parametrize("output", ["{}", '{"pools": []}', '{"gaps": [], "complete": true}'])
def test_a_page_without_rows_is_a_page(output: str) -> None:
    (page,), told = pages(storage(output))
    assert isinstance(page, PoolsOutput)
    assert (page.pools, told) == ([], [])


def test_a_bare_list_without_a_type_is_taken_for_pools_alone() -> None:
    found, told = pages(ToolCall(id="1", tool_name="pulse_storage", output='[{"vmid": 101, "status": "failed"}]'))
    assert [type(page) for page in found] == [PoolsOutput]
    assert told == []
