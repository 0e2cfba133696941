"""Puts ES modules, shaders and styles into one inline script and one inline style: the page is a single file.

The sources in static/ are ordinary modules with `import … from "./x.js"` lines, so that editors understand them. The
bundle is their concatenation in dependency order without import lines and `export` words; top-level names must
therefore be unique, which a test holds. `import TEXT from "./x.glsl"` makes the file's text a string constant; so does
`.js?text` (workers).
"""

from __future__ import annotations

import json
import re
from importlib.resources import files

IMPORT = re.compile(r'^import (?:(\w+)|\{[^}]*\}) from "\./([\w.]+)(\?text)?";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=const|let|function|class|async)", re.MULTILINE)


def static_text(name: str) -> str:
    """A file of viewer/static as text."""
    return files(f"{__package__}.static").joinpath(name).read_text(encoding="utf-8")


def bundle_script(entry: str) -> str:
    """One script that holds `entry` and all it imports, each once, dependencies first."""
    parts: dict[str, str] = {}
    _add(entry, parts)
    return "\n".join(parts.values())


def _add(name: str, parts: dict[str, str]) -> None:
    text = static_text(name)
    parts_key = f"module {name}"
    for match in IMPORT.finditer(text):
        constant, imported = match.group(1), match.group(2)
        if constant and f"text {imported}" not in parts:
            parts[f"text {imported}"] = f"const {constant} = {script_json(static_text(imported))};"
        elif not constant and f"module {imported}" not in parts:
            _add(imported, parts)
    parts[parts_key] = EXPORT.sub("", IMPORT.sub("", text)).strip() + "\n"


def script_json(value: object) -> str:
    """JSON that is safe inside <script>: no '<' (so no '</script>' and no '<!--'), no U+2028/2029."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
