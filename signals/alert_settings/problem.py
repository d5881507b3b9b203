"""What is wrong with an alert settings file, in words that say where and how to mend it."""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

TOP = "the whole document"


class AlertSettingsError(ValueError):
    """The alert settings cannot be used as they are.

    `source`: the file. `path`: the place inside it as a JSON path (`guestDefaults.cpu.trigger`,
    `overrides[vm:lab:101].memory`), "" where the text is no JSON at all; then `line` and `column` (from 1) say
    where. `problem` is what is wrong, `fix` what to write instead.
    """

    def __init__(
        self, source: str, problem: str, fix: str, *, path: str = "", line: int | None = None, column: int | None = None
    ) -> None:
        self.source = source
        self.path = path
        self.problem = problem
        self.fix = fix
        self.line = line
        self.column = column
        place = path or (f"line {line}, column {column}" if line is not None else "")
        super().__init__(f"{source}: {place + ': ' if place else ''}{problem}. {fix}")


def json_path(location: Sequence[int | str]) -> str:
    """`("overrides", "vm:lab:101", "cpu")` -> `overrides[vm:lab:101].cpu`."""
    path = ""
    for step in location:
        if isinstance(step, str) and step.isidentifier():
            path += f".{step}" if path else step
        else:
            path += f"[{step}]"
    return path


_WANTED = {
    "float_type": ("a number", "Write a number without quotes, such as 80; 0 switches a limit off"),
    "finite_number": ("a finite number", "Write a plain number, such as 80"),
    "int_type": ("a whole number", "Write a whole number without quotes, such as 7"),
    "bool_type": ("true or false", "Write true or false, without quotes"),
    "string_type": ("text", "Put the value in double quotes"),
    "list_type": ("a list", "Write the values in square brackets: [...]"),
    "dict_type": ("an object", "Write an object with its keys: {...}"),
    "model_type": ("an object", "Write an object with its keys: {...}"),
    "missing": ("a value here", 'Write it: {"trigger": 80, "clear": 75}; a trigger of 0 switches the limit off'),
}


def from_validation(error: ValidationError, source: str, written_as: Mapping[str, str]) -> AlertSettingsError:
    """The first problem of a refused document, under the key that the file has; the others are counted."""
    problems = error.errors(include_url=False, include_context=False)
    first = problems[0]
    wanted, fix = _WANTED.get(first["type"], ("", ""))
    if not wanted:
        problem, _, fix = first["msg"].removeprefix("Value error, ").partition(". ")
    elif first["type"] == "missing":
        problem = f"needs {wanted}"
    else:
        problem = f"must be {wanted}, not {_described(first['input'])}"
    if len(problems) > 1:
        problem += f" (and {len(problems) - 1} more)"
    path = json_path([written_as.get(str(step), step) if at == 0 else step for at, step in enumerate(first["loc"])])
    return AlertSettingsError(source, problem, fix or "Correct this value or remove its key", path=path or TOP)


def _described(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "text"
    return str(value)[:40]
