"""Seeds and answers of tools behind the shroud: nothing of a whole estate goes out, Patrol's own words stay."""

import re
from collections.abc import Iterator

import msgspec
import pytest

from findings.model import Finding
from patrol.agent.model import Prompt, ToolResult, UserMessage
from patrol.agent.privacy import Shroud, shrouded
from patrol.estate.collect import merge_estates
from patrol.estate.inventory import inventory_of
from patrol.estate.memory.model import Recognition
from patrol.estate.model import Estate
from patrol.run.scope import Scope
from patrol.run.seed import SeedFacts, build_seed, changes_of, run_shroud
from patrol.run.seed.limits_line import limits_line
from patrol.run.sweep import sweep
from patrol.run.triage import triage
from patrol.settings.values import Privacy
from patrol.tools.registry import Toolbox
from signals.inventory import Inventory
from signals.thresholds import AlertThresholds
from tests.bench.generate import NOW, RUN_ID, generate
from tests.run.test_seed import claim, finding, remembered

SIZE = 60


def estate() -> Estate:
    return merge_estates([generate(SIZE, faults=0.3).estate])


def secrets(of: Estate) -> Iterator[str]:
    for resource in of.resources:
        yield resource.id
        yield resource.source
        yield resource.instance
        yield from resource.addresses
        if resource.disk is not None:
            yield resource.disk.serial or ""
            yield resource.disk.wwn or ""
        else:
            yield resource.name  # disks are called after their device: sda is no secret


def seed_text(of: Estate, known: list[Finding]) -> str:
    thresholds = AlertThresholds().for_inventory(Inventory([inventory_of(of)]))
    facts = SeedFacts(
        now=NOW,
        estate=of,
        scope=Scope(None),
        flags=triage(of, thresholds, NOW),
        gaps=of.gaps,
        findings=known,
        changes=changes_of(Recognition(new=[remembered(9_000, name="brandnew")]), known, NOW),
        limits=limits_line(thresholds, {resource.type.value for resource in of.resources}),
        reason="scheduled",
    )
    return build_seed(facts).fitted(100_000)


def known_findings() -> list[Finding]:
    return [
        finding(1, resource_id="vm:lab-000:777", resource_name="longgone"),
        claim(2, resource_id="vm:lab-000:778", resource_name="alsogone", user_note="ask longgone"),
    ]


def shroud_over(of: Estate, privacy: Privacy) -> Shroud:
    new = [remembered(9_000, name="brandnew")]
    return run_shroud(of, privacy, Toolbox.specs(), findings=known_findings(), new=new)


@pytest.mark.parametrize("privacy", [Privacy.PSEUDONYMS, Privacy.METRICS_ONLY])
def test_no_name_of_the_house_leaves_it_in_a_seed_or_an_answer(privacy: Privacy) -> None:
    of = estate()
    hidden = {*secrets(of), "longgone", "alsogone", "brandnew", "vm:lab-000:777"} - {""}
    messages = [UserMessage(text=seed_text(of, known_findings()))]
    answers = [
        ToolResult(call_id=call.id, name=call.tool_name, content=msgspec.to_builtins(call.output))
        for call in sweep(Toolbox(of, NOW), RUN_ID)
    ]
    sent = shrouded(Prompt(system="", messages=[*messages, *answers]), shroud_over(of, privacy))
    told = msgspec.json.encode([msgspec.to_builtins(message) for message in sent.messages]).decode()
    assert [
        name for name in hidden if name in told and re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", told)
    ] == []


def test_a_seed_comes_back_exactly() -> None:
    of = estate()
    text = seed_text(of, known_findings())
    shroud = shroud_over(of, Privacy.PSEUDONYMS)
    assert shroud.text_in(shroud.text_out(text)) == text


def test_patrols_own_sentences_stay_under_metrics_only() -> None:
    text = shroud_over(estate(), Privacy.METRICS_ONLY).text_out(seed_text(estate(), known_findings()))
    withheld = [line for line in text.splitlines() if "withheld" in line]
    # What is left out stands in cells of lists: devices, models, notes.
    assert [line for line in withheld if " | " not in line] == []
    assert len(withheld) < len(text.splitlines()) / 2
