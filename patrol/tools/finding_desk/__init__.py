"""The finding tools: what a model may read and say of findings. Every claim needs evidence from this run."""

from patrol.tools.finding_desk.desk import FindingDesk
from patrol.tools.finding_desk.model import (
    Answer,
    FindingsAnswer,
    GivenVerdict,
    Outputs,
    Refused,
    Report,
    ReportAnswer,
    VerdictAnswer,
)

__all__ = [
    "Answer",
    "FindingDesk",
    "FindingsAnswer",
    "GivenVerdict",
    "Outputs",
    "Refused",
    "Report",
    "ReportAnswer",
    "VerdictAnswer",
]
