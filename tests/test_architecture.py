"""The shape of the tree: which way imports point, what may be imported where, how files are called."""

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture import Module, graph, imports_of, map_text, modules, reached_from, written_map

LAYERS = (
    {"settings", "clock", "database"},
    {"estate", "overrides"},
    {"history", "triggers"},
    {"work", "alerts"},
    {"tools", "agent"},
    {"run", "investigate", "actions", "operators", "logs", "accounts"},
    {"schedule"},
    {"metrics", "records"},
    {"api", "mcp"},
    {"daemon"},
    {"cli", "__main__"},
)
"""Parts of `patrol`: each may import what stands in an earlier line, and itself."""

# The steps of the database's schema, loaded by the database alone.
PARTS = {"migrations": "database"}

THIRD_PARTY = {
    "findings": {"pydantic", "pydantic_core", "sqlmodel", "sqlalchemy"},
    "signals": {"msgspec", "pydantic", "pydantic_core"},
}

ON_DEMAND = {
    *("patrol.__main__", "patrol.cli.app", "patrol.cli.detect", "patrol.cli.records"),
    *("patrol.database.schema", "patrol.database.inserts"),
    *("patrol.agent.wire.opening", "patrol.agent.price", "patrol.agent.probe"),
}
"""Modules that load others when they are needed, each with its reason in its text."""

FORBIDDEN_WORDS = {
    *("util", "utils", "helper", "helpers", "common", "core", "base", "misc"),
    *("manager", "managers", "handler", "handlers", "service"),
}


def part(name: str) -> str:
    """`patrol.estate.model` -> `estate`."""
    found = name.split(".")[1] if "." in name else ""
    return PARTS.get(found, found)


def layer(name: str) -> int:
    return next(number for number, parts in enumerate(LAYERS) if part(name) in parts)


def test_findings_know_nothing_of_signals_and_signals_nothing_of_patrol() -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, named in graph().items()
        for imported in named
        if ("findings", "signals", "patrol").index(imported.partition(".")[0])
        > ("findings", "signals", "patrol").index(name.partition(".")[0])
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ["findings", "signals"])
def test_the_inner_packages_import_only_what_they_are_allowed_to(package: str) -> None:
    allowed = {*THIRD_PARTY[package], *sys.stdlib_module_names, "findings", package}
    wrong = [
        f"{name} imports {imported}"
        for name, module in modules().items()
        if name.partition(".")[0] == package
        for imported, _ in imports_of(module)
        if imported.partition(".")[0] not in allowed
    ]
    assert wrong == []


def test_a_detection_can_be_made_without_a_database() -> None:
    reached = reached_from("signals")
    assert {name for name in reached if name.partition(".")[0] in {"sqlmodel", "sqlalchemy", "sqlite3"}} == set()


@pytest.mark.parametrize("name", ["socket", "urllib.request", "http.client", "subprocess", "asyncio", "random"])
def test_findings_and_signals_touch_no_network_and_no_program(name: str) -> None:
    assert name not in reached_from("signals") | reached_from("findings")


def test_every_part_of_patrol_has_its_layer() -> None:
    placed = {name for parts in LAYERS for name in parts}
    assert {part(name) for name in modules() if name.startswith("patrol.")} - placed == set()


def test_inside_patrol_imports_point_to_earlier_layers() -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, named in graph().items()
        if name.startswith("patrol.")
        for imported in named
        if imported.startswith("patrol.") and part(imported) != part(name) and layer(imported) >= layer(name)
    ]
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    list(graphlib.TopologicalSorter(graph()).static_order())  # raises CycleError and names the circle


def test_nothing_is_imported_for_type_checkers_alone() -> None:
    wrong = [
        name
        for name, module in modules().items()
        for node in ast.walk(module.tree)
        if getattr(node, "id", getattr(node, "attr", "")) == "TYPE_CHECKING"
    ]
    assert wrong == []


def test_nothing_is_imported_inside_functions_except_on_demand() -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, module in modules().items()
        for imported, inside in imports_of(module)
        if inside and name not in ON_DEMAND
    ]
    assert wrong == []


def test_only_the_named_modules_load_others_by_name() -> None:
    loading = {name for name, module in modules().items() if "import_module" in module.path.read_text(encoding="utf-8")}
    assert loading <= ON_DEMAND


def test_files_are_called_by_words_of_the_field() -> None:
    wrong = [
        name for name in modules() for step in name.split(".") if FORBIDDEN_WORDS & set(step.strip("_").split("_"))
    ]
    assert wrong == []


def test_every_module_says_in_one_line_what_it_is() -> None:
    silent = [name for name, module in modules().items() if not module.about]
    assert silent == []


def test_the_map_in_the_documentation_is_the_tree() -> None:
    assert written_map() == map_text(), "run `make map`"


def lines_of_functions(module: Module) -> list[tuple[str, int]]:
    return [
        (f"{module.name}.{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_no_function_is_longer_than_sixty_lines() -> None:
    too_long = [found for module in modules().values() for found in lines_of_functions(module) if found[1] > 60]
    assert too_long == []


# Longer than 400 lines, because it is one list that is read from top to bottom.
LONG_FILES = {"findings.model"}


def test_no_file_is_longer_than_four_hundred_lines_without_a_reason() -> None:
    lengths = {name: module.path.read_text(encoding="utf-8").count("\n") for name, module in modules().items()}
    assert {name: lines for name, lines in lengths.items() if lines > 400 and name not in LONG_FILES} == {}


PRODUCT_PATTERN = re.compile(r"^(findings|signals|patrol)(\.|$)")


def loaded_by(statement: str) -> set[str]:
    """The modules in memory after a statement, in a fresh interpreter."""
    code = f"{statement}\nimport sys\nprint('\\n' + '\\n'.join(sys.modules))"
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    return set(done.stdout.split())


HEAVY = {"sqlmodel", "sqlalchemy", "alembic", "pydantic_settings", "asyncio"}


MODEL_LIBRARIES = {"pydantic_ai", "openai", "anthropic", "google", "genai_prices", "httpx2", "tenacity"}


def test_only_the_wire_knows_the_libraries_of_models() -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, module in modules().items()
        if not name.startswith("patrol.agent.wire.")
        for imported, _ in imports_of(module)
        if imported.partition(".")[0] in MODEL_LIBRARIES
    ]
    assert wrong == []


def test_only_the_timetable_knows_the_library_that_wakes_it() -> None:
    knowing = {
        name
        for name, module in modules().items()
        for imported, _ in imports_of(module)
        if imported.partition(".")[0] == "apscheduler"
    }
    assert knowing == {"patrol.schedule.timetable"}
    assert "apscheduler" not in loaded_by("import patrol.cli.pause, patrol.cli.resume")


def test_a_run_without_a_model_loads_no_library_of_one() -> None:
    loaded = loaded_by("import patrol.run, patrol.agent.wire.opening, patrol.cli.doctor")
    assert loaded & MODEL_LIBRARIES == set()


def test_the_version_is_told_without_any_library() -> None:
    loaded = loaded_by("from patrol.__main__ import main; main(['version'])")
    assert loaded & {*HEAVY, "typer", "rich", "pydantic", "msgspec"} == set()


def test_help_loads_no_command() -> None:
    loaded = loaded_by("from patrol.__main__ import main; main(['--help'])")
    assert loaded & {*HEAVY, "pydantic", "msgspec"} == set()


def test_detection_starts_without_database_and_settings() -> None:
    loaded = loaded_by("import patrol.cli.detect")
    assert loaded & {*HEAVY, "rich.console"} == set()
