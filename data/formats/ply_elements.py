"""The PLY container: header, elements, properties, in ASCII or binary of either byte order (Turk, 1994).

Knows nothing of splats, points or meshes. Every size that a header claims is held against the size of the file before
anything is allocated, so that a header claiming 10^12 rows costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..errors import InputError

MAX_HEADER_BYTES = 1 << 20

TYPES = {
    **dict.fromkeys(("char", "int8"), "i1"),
    **dict.fromkeys(("uchar", "uint8"), "u1"),
    **dict.fromkeys(("short", "int16"), "i2"),
    **dict.fromkeys(("ushort", "uint16"), "u2"),
    **dict.fromkeys(("int", "int32"), "i4"),
    **dict.fromkeys(("uint", "uint32"), "u4"),
    **dict.fromkeys(("float", "float32"), "f4"),
    **dict.fromkeys(("double", "float64"), "f8"),
}
ORDERS = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}


@dataclass(frozen=True)
class Property:
    """A scalar column, or with `count` set a list whose length has that type. Types are numpy codes like 'f4'."""

    name: str
    type: str
    count: str | None = None


@dataclass(frozen=True)
class Element:
    name: str
    rows: int
    properties: tuple[Property, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.properties)

    @property
    def has_lists(self) -> bool:
        return any(p.count for p in self.properties)

    def dtype(self, order: str) -> np.dtype:
        """Row layout of the scalar columns (lists hold no fixed place in a row)."""
        return np.dtype([(p.name, order + p.type) for p in self.properties if p.count is None])


@dataclass(frozen=True)
class Header:
    """`order` is '<', '>' or '=' (ASCII); the first row begins `offset` bytes into the file."""

    path: Path
    order: str
    elements: tuple[Element, ...]
    offset: int

    @property
    def is_ascii(self) -> bool:
        return self.order == "="

    def element(self, name: str) -> Element | None:
        return next((e for e in self.elements if e.name == name), None)


def read_header(path: Path) -> Header:
    """Parse the header. Accepts CRLF line ends, comment and obj_info lines. InputError when it is no PLY header."""
    order: str | None = None
    elements: list[Element] = []
    try:
        with path.open("rb") as file:
            if file.read(3) != b"ply":
                raise InputError(f"{path} is not a PLY file: it does not begin with 'ply'")
            file.readline(64)
            for line in _header_lines(path, file):
                words = line.split()
                match words:
                    case [] | ["comment" | "obj_info", *_]:
                        pass
                    case ["format", kind, _] if kind in ORDERS:
                        order = ORDERS[kind]
                    case ["element", name, count]:
                        elements.append(Element(name, _whole_number(path, name, count), ()))
                    case ["property", "list", count, kind, name] if elements and count in TYPES and kind in TYPES:
                        elements[-1] = _with(path, elements[-1], Property(name, TYPES[kind], TYPES[count]))
                    case ["property", kind, name] if elements and kind in TYPES:
                        elements[-1] = _with(path, elements[-1], Property(name, TYPES[kind]))
                    case _:
                        raise InputError(f"{path}: PLY header line not understood: {line[:80]!r}")
            offset = file.tell()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if order is None:
        raise InputError(f"{path}: the PLY header has no 'format' line")
    if len({e.name for e in elements}) != len(elements):
        raise InputError(f"{path}: the PLY header names an element twice")
    return Header(path, order, tuple(elements), offset)


def read_element(header: Header, name: str) -> np.ndarray:
    """The scalar columns of one element as a structured array [rows] (lists are stepped over)."""
    target = header.element(name)
    if target is None:
        raise InputError(f"{header.path}: the PLY has no element '{name}'")
    with header.path.open("rb") as file:
        file.seek(header.offset)
        for element in header.elements:
            rows = _read_rows(header, file, element, keep=element is target)
            if element is target:
                return rows
    raise AssertionError("unreachable")


def columns(rows: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """[rows, len(names)] float32, native byte order, of the named columns."""
    out = np.empty((len(rows), len(names)), np.float32)
    with np.errstate(over="ignore"):
        for i, name in enumerate(names):
            out[:, i] = rows[name]
    return out


def _header_lines(path: Path, file: BinaryIO) -> Iterator[str]:
    while file.tell() < MAX_HEADER_BYTES:
        line = file.readline(4096)
        if not line.endswith(b"\n"):
            break
        text = line.decode("latin-1").strip()
        if text == "end_header":
            return
        yield text
    raise InputError(f"{path}: the PLY header has no 'end_header' line")


def _whole_number(path: Path, element: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InputError(f"{path}: element '{element}' of the PLY claims {text[:30]!r} rows, wanted a whole number")
    return int(text)


def _with(path: Path, element: Element, prop: Property) -> Element:
    if prop.name in element.names:
        raise InputError(f"{path}: element '{element.name}' of the PLY has the property '{prop.name}' twice")
    return Element(element.name, element.rows, (*element.properties, prop))


def _read_rows(header: Header, file: BinaryIO, element: Element, keep: bool) -> np.ndarray:
    left = header.path.stat().st_size - file.tell()
    # The least a row can take: ASCII needs a character and a separator per value, a binary list its count.
    least = sum(2 if header.is_ascii else np.dtype(p.count or p.type).itemsize for p in element.properties)
    needed = element.rows * max(least, 1) - (1 if header.is_ascii else 0)
    if needed > left:
        raise InputError(
            f"{header.path} is cut short: {element.rows} rows of '{element.name}' need {needed} bytes, {left} are there"
        )
    if header.is_ascii:
        return _ascii_rows(header, file, element)
    if element.has_lists:
        return _rows_with_lists(header, file, element)
    dtype = element.dtype(header.order)
    if not keep:
        file.seek(element.rows * dtype.itemsize, 1)
        return np.empty(0, dtype)
    return np.fromfile(file, dtype, element.rows)


def _ascii_rows(header: Header, file: BinaryIO, element: Element) -> np.ndarray:
    rows = np.zeros(element.rows, element.dtype("="))
    taken = 0
    for line in islice((text for text in file if text.strip()), element.rows):
        words, values = line.split(), []
        at = 0
        try:
            for prop in element.properties:
                if prop.count is not None:
                    at += 1 + int(words[at])
                else:
                    values.append(float(words[at]))
                    at += 1
            if at != len(words):
                raise IndexError
            rows[taken] = tuple(values)
        except (ValueError, IndexError, OverflowError):
            raise InputError(
                f"{header.path}: row {taken} of '{element.name}' does not fit its {len(element.names)} properties: "
                f"{line[:60].decode('latin-1').strip()!r}"
            ) from None
        taken += 1
    if taken < element.rows:
        raise InputError(
            f"{header.path} is cut short: {element.rows} rows of '{element.name}' claimed, {taken} are there"
        )
    return rows


def _rows_with_lists(header: Header, file: BinaryIO, element: Element) -> np.ndarray:
    """Rows of unequal length, walked one value at a time (rare: vertices with lists, faces before vertices)."""
    rows = np.zeros(element.rows, element.dtype(header.order))
    for row in range(element.rows):
        for prop in element.properties:
            value = np.frombuffer(
                _take(header, file, element, prop.count or prop.type), header.order + (prop.count or prop.type)
            )
            if prop.count is None:
                rows[row][prop.name] = value[0]
            else:
                _skip(header, file, element, int(value[0]) * np.dtype(prop.type).itemsize)
    return rows


def _take(header: Header, file: BinaryIO, element: Element, kind: str) -> bytes:
    size = np.dtype(kind).itemsize
    data = file.read(size)
    if len(data) < size:
        raise InputError(f"{header.path} is cut short within '{element.name}'")
    return data


def _skip(header: Header, file: BinaryIO, element: Element, size: int) -> None:
    if size < 0 or file.tell() + size > header.path.stat().st_size:
        raise InputError(f"{header.path}: a list in '{element.name}' runs past the end of the file")
    file.seek(size, 1)
