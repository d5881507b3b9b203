"""What the tree is made of, read from the sources: modules, imports, and the map for docs/architecture.md.

`python -m tests.architecture` writes the map anew.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("findings", "signals", "patrol")
DOCUMENT = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- map: make map -->\n```\n", "```\n<!-- end of map -->"


@dataclass(frozen=True, slots=True)
class Module:
    """One source file. `imports`: every module it names, and whether inside a function."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def about(self) -> str:
        """The first line of its docstring."""
        return (ast.get_docstring(self.tree) or "").partition("\n")[0]


@cache
def modules() -> dict[str, Module]:
    """Every module of the product by its dotted name."""
    found: dict[str, Module] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = Module(name, path, ast.parse(path.read_text(encoding="utf-8")))
    return found


def imports_of(module: Module) -> Iterator[tuple[str, bool]]:
    """The modules that one names, and whether it does so inside a function."""
    functions = [node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(module.tree):
        for name in _named(node):
            yield name, id(node) in inside


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute here"
        assert node.module is not None
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            yield inner if inner in modules() else node.module


def graph() -> dict[str, set[str]]:
    """Which modules of the product each module names."""
    return {
        module.name: {name for name, _ in imports_of(module) if name in modules() and name != module.name}
        for module in modules().values()
    }


def reached_from(package: str) -> set[str]:
    """Every module, of the product or not, that a package can reach by imports."""
    todo = [name for name in modules() if name.partition(".")[0] == package]
    seen = set(todo)
    while todo:
        module = modules().get(todo.pop())
        for name, _ in imports_of(module) if module else ():
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return seen


def map_text() -> str:
    """The tree with one line for each file: the first line of its docstring."""
    lines: list[str] = []
    for module in sorted(modules().values(), key=lambda found: found.path.relative_to(ROOT).parts):
        relative = module.path.relative_to(ROOT)
        depth = len(relative.parts) - (2 if module.is_package else 1)
        label = f"{relative.parts[-2]}/" if module.is_package else relative.name
        lines.append(f"{'  ' * depth}{label}".ljust(30) + f" {module.about}".rstrip())
    return "\n".join(lines) + "\n"


def written_map() -> str:
    """The map as it stands in the document."""
    return DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def write_map() -> None:
    """Puts the map of the tree into the document."""
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    DOCUMENT.write_text(before + BEGIN + map_text() + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    write_map()
    sys.exit(0)
