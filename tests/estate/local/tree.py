"""A host made of files in a folder and of answers of programs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from patrol.estate.sources.local.host import CommandResult, Host, Where

WHERE = Where(source="local", host_id="agent:local:nas", hostname="nas")


class TreeHost(Host):
    def __init__(
        self, root: Path, files: Mapping[str, str], programs: Mapping[str, CommandResult | Exception] | None = None
    ) -> None:
        super().__init__(root)
        self.calls: list[list[str]] = []
        self._programs = dict(programs or {})
        for name, text in files.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(text)

    def run(self, argv: Sequence[str], *, timeout_seconds: float = 20) -> CommandResult:
        self.calls.append(list(argv))
        answer = self._programs[" ".join(argv[:2])]
        if isinstance(answer, Exception):
            raise answer
        return answer


class DeniedHost(Host):
    """A host whose files may not be read."""

    def read_text(self, absolute: str) -> str:
        raise PermissionError(13, "Permission denied", absolute)


def said(text: str, *, returncode: int = 0, stderr: str = "") -> CommandResult:
    return CommandResult(returncode=returncode, stdout=text, stderr=stderr)
