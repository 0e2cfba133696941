"""The house keeps its shape: floors, relative imports, the list of packages, and versions that fit together."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOORS = {"data": 1, "renderers": 2, "distributed": 3, "viewer": 3, "pipelines": 4, "__main__": 5}
ROOMS = [name for name in FLOORS if name != "__main__"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SOURCES = [*sorted(p for room in ROOMS for p in (ROOT / room).rglob("*.py")), ROOT / "__main__.py"]


def imports(path: Path) -> set[str]:
    """Relative imports as dotted paths from the root (`data.scene`), absolute ones behind a bar (`|numpy`)."""
    here = path.relative_to(ROOT).with_suffix("").parts
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {f"|{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0:
                found.add(f"|{node.module}")
                continue
            base = [*here[: len(here) - node.level], *(node.module.split(".") if node.module else [])]
            found |= {".".join([*base, alias.name]) for alias in node.names}
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_a_room_imports_only_floors_below_and_itself_and_always_relatively(path):
    room = path.relative_to(ROOT).with_suffix("").parts[0]
    for name in imports(path):
        first = name.lstrip("|").split(".")[0]
        if name.startswith("|"):
            assert first not in (*ROOMS, "sceneloom"), f"write a relative import instead of {name[1:]}"
        elif first in FLOORS and first != room:
            assert FLOORS[first] < FLOORS[room], f"{room} (floor {FLOORS[room]}) imports {name} (floor {FLOORS[first]})"


def test_the_floor_test_sees_what_it_forbids(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "data").mkdir()
    wrong = tmp_path / "data" / "wrong.py"
    for text in (
        "from ..renderers.x import y",
        "def f():\n    from .. import pipelines",
        "import sceneloom.data",
        "import data",
    ):
        wrong.write_text(text)
        with pytest.raises(AssertionError):
            test_a_room_imports_only_floors_below_and_itself_and_always_relatively(wrong)
    wrong.write_text("import numpy\nfrom .scene import View\nfrom . import errors")
    test_a_room_imports_only_floors_below_and_itself_and_always_relatively(wrong)


def test_root_files_are_the_face_only():
    assert {p.name for p in ROOT.glob("*.py")} == {"__init__.py", "__main__.py", "_version.py"}


def test_every_folder_with_content_is_a_package_and_no_other_is():
    shipped = {"sceneloom"}
    for room in (*ROOMS, "conf"):
        for path in (ROOT / room).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
                shipped.add(".".join(["sceneloom", *path.relative_to(ROOT).parent.parts]))
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == shipped


def test_every_file_of_a_package_is_shipped():
    """A file that is neither Python nor named in package-data would be missing from a wheel."""
    data = PROJECT["tool"]["setuptools"]["package-data"]
    for room in (*ROOMS, "conf"):
        for path in (ROOT / room).rglob("*"):
            if not path.is_file() or "__pycache__" in path.parts or path.name.startswith(".") or path.suffix == ".py":
                continue
            package = ".".join(["sceneloom", *path.relative_to(ROOT).parent.parts])
            patterns = data["*"] + data.get(package, [])
            assert any(path.match(p) for p in patterns), f"{path.relative_to(ROOT)} is in no wheel"


def pins() -> dict[str, str]:
    found = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, version = line.split("==")
            assert name not in found, f"{name} is pinned twice"
            found[name] = version
    return found


def test_constraints_pin_every_direct_dependency_within_its_range():
    from packaging.requirements import Requirement

    pinned = pins()
    wanted = PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["test"]
    for requirement in map(Requirement, wanted):
        assert requirement.name.lower() in pinned, f"{requirement.name} is not in constraints.txt"
        assert requirement.specifier.contains(pinned[requirement.name.lower()]), (
            f"{requirement} excludes the pinned version"
        )


def test_constraints_work_on_every_platform():
    for name, version in pins().items():
        assert re.fullmatch(r"[a-z0-9-]+", name), f"{name}: write it in lower case with hyphens"
        assert "+" not in version, f"{name}=={version}: a local version is to be had from one index only"


@pytest.mark.slow
def test_the_wheel_holds_code_configuration_and_page(tmp_path):
    build = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "-q", "-w", str(tmp_path)]
    subprocess.run(build, check=True, timeout=600)
    (wheel,) = tmp_path.glob("sceneloom-*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    files = [f for room in (*ROOMS, "conf") for f in (ROOT / room).rglob("*") if f.is_file() and f.suffix != ".pyc"]
    assert not {f"sceneloom/{f.relative_to(ROOT).as_posix()}" for f in files} - inside
    assert not [name for name in inside if "tests/" in name]
