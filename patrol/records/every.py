"""Every question that there is: what a daemon takes, by its name."""

from typing import TypeAlias

import msgspec

from patrol.records.findings import ListFindings, Saying, ShowFinding
from patrol.records.looks import ShowLastLook
from patrol.records.pauses import PauseRuns, ResumeRuns, ShowPause
from patrol.records.resources import ListResources, RemoveResource
from patrol.records.runs import ListRuns, ShowRun
from patrol.records.settings import ShowStored
from patrol.records.silences import AddSilence, EndSilence, ListSilences
from patrol.records.tokens import CreateToken, ListTokens, RevokeToken
from patrol.records.users import AddUser, AskForName, ListUsers, RemoveUser, SetPassword, SetRole, ShowUser

OfFindings: TypeAlias = ListFindings | ShowFinding | Saying | AddSilence | ListSilences | EndSilence
OfRuns: TypeAlias = ListRuns | ShowRun | ShowLastLook | ShowPause | PauseRuns | ResumeRuns
OfResources: TypeAlias = ListResources | RemoveResource
OfSettings: TypeAlias = ShowStored
OfTokens: TypeAlias = CreateToken | ListTokens | RevokeToken
OfUsers: TypeAlias = ListUsers | ShowUser | AskForName | AddUser | SetPassword | SetRole | RemoveUser
AnyQuestion: TypeAlias = OfFindings | OfRuns | OfResources | OfSettings | OfTokens | OfUsers


def parse_question(value: object) -> AnyQuestion:
    """The question that a JSON value is. Raises msgspec.ValidationError."""
    found: AnyQuestion = msgspec.convert(value, type=AnyQuestion)
    return found
