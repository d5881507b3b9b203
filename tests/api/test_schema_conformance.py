"""The description is true: whatever is sent to any route, by anybody, the answer is one that the description tells."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from patrol.accounts.model import Scope
from patrol.api.guards import PUBLIC_PATHS
from tests.api.builders import bearer, house
from tests.api.examining import DESCRIPTION, EXPECTED, WRONG_NAME, Examined, examine
from tests.api.filled import Filled

CHECKS = {
    *("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance"),
    *("response_schema_conformance", "negative_data_rejection", "positive_data_acceptance", "missing_required_header"),
    *("unsupported_method", "allow_header_conformance", "ignored_auth", "object_level_authorization"),
    *("use_after_free", "ensure_resource_availability"),
}
SELDOM_TAKEN = {
    "POST /api/login": "nobody's password is told",
    "POST /api/ai/patrol/autonomy/acknowledgement": "takes one number, the version of the words",
    "POST /api/ai/patrol/snooze": "takes a finding that is active, and an end within a week",
    "POST /api/ai/patrol/unsnooze": "takes a finding that is snoozed",
    "POST /api/ai/patrol/undismiss": "takes a finding that is dismissed",
}
"""Operations of which a short examination may see refusals only; their own tests see the rest."""


@dataclass
class Crowded:
    """An installation with records of every kind, and the known ones by kind."""

    api: Filled
    known: dict[str, list[str]]

    @property
    def operations(self) -> set[str]:
        paths = self.api.house.app.openapi()["paths"]
        return {
            f"{method.upper()} {path}"
            for path, methods in paths.items()
            for method in methods
            if path != DESCRIPTION  # what is described here is not examined by itself; tests/api/test_envelope.py does
        }

    def examine(self, headers: dict[str, str], **how: Any) -> Examined:
        return examine(self.api.house, headers, describer=self.api.headers, known=self.known, **how)


@pytest.fixture
def crowded() -> Iterator[Crowded]:
    with house(organisations=["lab"]) as made:
        api = Filled.make(made)
        known = api.crowd()
        made.user(WRONG_NAME)  # checking a wrong password of somebody who is known costs what this one's own does
        made.stream.close()  # so that streams end, as they do when the daemon stops
        yield Crowded(api, known)


def is_public(operation: str) -> bool:
    return operation.partition(" ")[2] in PUBLIC_PATHS


# Two halves, so that they can run side by side.
@pytest.mark.parametrize("phases", [("coverage",), ("examples", "fuzzing", "stateful")], ids=["coverage", "fuzzing"])
def test_every_answer_to_an_administrator_is_as_it_is_described(crowded: Crowded, phases) -> None:
    found = crowded.examine(crowded.api.headers, phases=phases, examples=8)
    assert not found.failures, found.report
    assert set(found.answers) == crowded.operations
    assert set(found.checks) == CHECKS
    if "fuzzing" in phases:
        refused_only = {each for each, statuses in found.answers.items() if not any(200 <= s < 300 for s in statuses)}
        assert refused_only <= set(SELDOM_TAKEN)


@pytest.mark.parametrize(("scopes", "status"), [(None, 401), ((Scope.METRICS_READ,), 403)])
def test_every_answer_to_others_is_as_it_is_described(crowded: Crowded, scopes, status) -> None:
    headers = bearer(crowded.api.house.token(*scopes)) if scopes is not None else {}
    found = crowded.examine(headers, phases=("fuzzing",), examples=2)
    assert not found.failures, found.report
    assert set(found.answers) == crowded.operations
    opened = {
        operation
        for operation, statuses in found.answers.items()
        if not is_public(operation) and set(statuses) - {status, 401, 404}
    }
    assert opened == (set() if scopes is None else {"POST /api/logout", "GET /metrics"})


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
def test_no_answer_to_thousands_of_requests_is_another_one(crowded: Crowded, seed: int) -> None:
    found = crowded.examine(crowded.api.headers, phases=("fuzzing", "stateful"), examples=60, seed=seed)
    assert not found.failures, found.report
    assert set(found.expected) <= {" ".join(each) for each in EXPECTED}
