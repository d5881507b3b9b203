"""What `patrol run --show-prompt` prints is what is sent."""

from patrol.agent.model import AssistantMessage, Prompt, ToolRequest, ToolResult, UserMessage
from patrol.agent.privacy import Shroud
from patrol.agent.shown_prompt import shown_prompt
from patrol.estate.model import Estate, Resource, ResourceType
from patrol.settings.values import Privacy
from patrol.tools.registry import Toolbox

ESTATE = Estate(resources=[Resource(id="vm:pve-lab:101", type=ResourceType.VM, name="nextcloud")])
PROMPT = Prompt(
    system="You read; you change nothing.",
    messages=[
        UserMessage(text="nextcloud is slow"),
        AssistantMessage(
            text="I look",
            calls=(
                ToolRequest(id="a" * 9, name="pulse_query", arguments={"resource_id": "vm:pve-lab:101"}),
                ToolRequest(id="b" * 9, name="pulse_query", arguments=None, problem="no object"),
            ),
        ),
        ToolResult(call_id="a" * 9, name="pulse_query", content={"name": "nextcloud"}),
        ToolResult(call_id="b" * 9, name="pulse_query", content="try again", is_error=True),
    ],
    tools=Toolbox.specs(),
)


def test_everything_is_shown_as_it_is_sent() -> None:
    text = shown_prompt(PROMPT, Shroud.of(ESTATE, Privacy.PSEUDONYMS))
    assert "nextcloud" not in text
    assert "pve-lab" not in text
    for shown in (
        "=== system ===\nYou read; you change nothing.",
        "=== user ===\nguest-1 is slow",
        'call aaaaaaaaa: pulse_query {\n  "resource_id": "vm:origin-1:guest-1"\n}',
        "call bbbbbbbbb: pulse_query no object",
        "=== result of pulse_query, bbbbbbbbb, an error ===\ntry again",
    ):
        assert shown in text
    for tool in PROMPT.tools:
        assert f"=== tool {tool.name} ===\n{tool.description}" in text


def test_without_a_shroud_it_is_shown_in_the_words_of_the_house() -> None:
    assert "=== user ===\nnextcloud is slow" in shown_prompt(PROMPT)
    assert shown_prompt(PROMPT).endswith("Tool choice: auto.\n")
