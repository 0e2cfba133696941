"""The shape of the house: packages as listed, floors that import downwards only, relative imports inside, pins that fit."""

import ast
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FLOORS = {"data": 1, "renderers": 2, "distributed": 3, "viewer": 3, "pipelines": 4}
ROOMS = (*FLOORS, "conf")
SOURCES = [f for room in ROOMS for f in sorted((ROOT / room).rglob("*.py"))]


def test_every_folder_with_files_is_a_listed_package():
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    kept = (".py", ".yaml", ".html", ".js", ".css", ".glsl")
    folders = {f.parent for room in ROOMS for f in (ROOT / room).rglob("*") if f.suffix in kept and "__pycache__" not in f.parts}
    assert {".".join(("sceneloom", *f.relative_to(ROOT).parts)) for f in folders} == listed - {"sceneloom"}


def test_the_root_holds_three_files_of_code():
    assert {f.name for f in ROOT.glob("*.py")} == {"__init__.py", "__main__.py", "_version.py"}


def imported(file: Path) -> list[tuple[str, ...]]:
    """Modules that a file imports, as parts; relative ones from the root of the package, others in full."""
    package = file.relative_to(ROOT).parent.parts
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [tuple(a.name.split(".")) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = ("sceneloom", *package[: len(package) - node.level + 1]) if node.level else ()
            inside = tuple(node.module.split(".")) if node.module else ()
            found += [above + inside + (a.name,) for a in node.names]
    return found


@pytest.mark.parametrize("room", FLOORS)
def test_a_room_imports_from_floors_below_only(room):
    for file in (f for f in SOURCES if f.relative_to(ROOT).parts[0] == room):
        for parts in imported(file):
            if parts[0] == "sceneloom" and parts[1] in FLOORS and parts[1] != room:
                assert FLOORS[parts[1]] < FLOORS[room], f"{file.relative_to(ROOT)} imports {'.'.join(parts)}"


def test_imports_inside_are_relative():
    for file in [*SOURCES, *ROOT.glob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            own = [n for n in names if n.split(".")[0] in ("sceneloom", *ROOMS)]
            assert not own, f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)} imports {own[0]}"


def pins() -> dict[str, str]:
    lines = (line.split("#")[0].split(";")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines())
    return dict(line.split("==") for line in lines if line)


def test_constraints_pin_what_the_project_and_its_tests_need():
    project = PROJECT["project"]
    needed = [Requirement(text) for text in project["dependencies"] + project["optional-dependencies"]["test"]]
    for requirement in needed:
        assert requirement.name in pins(), f"constraints.txt does not pin {requirement.name}"
        assert SpecifierSet(str(requirement.specifier)).contains(pins()[requirement.name])
    assert not [v for v in pins().values() if "+" in v], "a local version (+cpu) exists on one index only"


@pytest.mark.slow
def test_the_wheel_holds_code_configuration_and_page(tmp_path):
    import subprocess
    import sys
    import zipfile

    build = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "-q", "-w", str(tmp_path)]
    subprocess.run(build, check=True, timeout=600)
    (wheel,) = tmp_path.glob("sceneloom-*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    static = [f for f in (ROOT / "viewer" / "static").iterdir() if f.is_file()]
    wanted = [f for room in ROOMS for f in [*(ROOT / room).rglob("*.py"), *(ROOT / room).rglob("*.yaml")]] + static
    missing = {f"sceneloom/{f.relative_to(ROOT).as_posix()}" for f in wanted} - inside
    assert not missing
    assert not [name for name in inside if name.startswith("sceneloom/tests/") or "/tests/" in name]
