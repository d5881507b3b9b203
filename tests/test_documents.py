"""Documents that must not drift from what they speak of: examples, commands, the lock, and what may be named at all."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from patrol.cli.app import COMMANDS
from patrol.settings.sample import sample_text

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def tracked_files() -> list[Path]:
    """The files of the project; of a copy without git: every file outside of what is made."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    except (OSError, subprocess.CalledProcessError):
        made = {".venv", ".git", "build", "dist", "__pycache__", ".mypy_cache", ".ruff_cache", ".hypothesis"}
        return [path for path in ROOT.rglob("*") if path.is_file() and not made & set(path.relative_to(ROOT).parts)]
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_the_example_settings_are_what_the_command_prints() -> None:
    assert (ROOT / "config/patrol.example.toml").read_text(encoding="utf-8") == sample_text(), "run `make sample`"


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    spans = [*re.findall(r"`([^`\n]+)`", text), *re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]
    code = "\n".join(spans)
    assert set(re.findall(r"^(?:sudo )?make ([a-z-]+)", code, re.MULTILINE)) <= make_targets()
    assert set(re.findall(r"^patrol ([a-z][a-z-]*)\b(?!:)", code, re.MULTILINE)) <= set(COMMANDS)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", [ROOT / "README.md", ROOT / "docs/architecture.md"], ids=lambda path: path.name)
def test_every_file_of_the_code_that_a_document_names_exists(document: Path) -> None:
    named = re.findall(
        r"`((?:findings|signals|patrol|tests|docs|config)/[\w./-]*)`", document.read_text(encoding="utf-8")
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_readme_names_every_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"patrol {name}" not in text] == []


# --- the lock --------------------------------------------------------------------------------------------------------

LOCK = ROOT / "requirements.lock"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==\S+", re.MULTILINE)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_everything_that_the_project_needs_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["dev"], *extras["build"]]
    names = {normal(re.split(r"[<>=!~\[ ;]", each, maxsplit=1)[0]) for each in wanted}
    assert names - {normal(name) for name in _PIN.findall(LOCK.read_text(encoding="utf-8"))} == set()


def test_every_locked_package_has_its_hashes() -> None:
    blocks = re.split(r"^(?=[A-Za-z0-9._-]+==)", LOCK.read_text(encoding="utf-8"), flags=re.MULTILINE)
    without = [block.splitlines()[0] for block in blocks if "==" in block and "--hash=sha256:" not in block]
    assert without == []


def test_the_lock_names_no_place_to_fetch_from() -> None:
    text = LOCK.read_text(encoding="utf-8")
    assert [
        word for word in ("://", "--index-url", "--extra-index-url", "--find-links", "--trusted-host") if word in text
    ] == []


# --- what no file may name --------------------------------------------------------------------------------------------

# With a letter in brackets each, so that this file does not name them either.
FORBIDDEN = {
    "a registry's host": re.compile(r"p[y]pi\.org|p[y]thonhosted\.org|registry\.n[p]mjs"),
    "a path of a machine": re.compile(r"/w[o]rk/(?:main|shared)\b|/r[o]ot/\.p[y]env\b"),
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_names(what: str) -> None:
    found: list[str] = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", "replace")
        found += [f"{path.relative_to(ROOT)}: {match.group()}" for match in FORBIDDEN[what].finditer(text)]
    assert found == []
