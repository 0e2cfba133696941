"""What lies in a PLY: splats, compressed splats, a mesh or a point cloud. The suffix does not tell."""

from __future__ import annotations

from enum import Enum

from .ply_elements import Header

XYZ = ("x", "y", "z")
DC = ("f_dc_0", "f_dc_1", "f_dc_2")
SCALES = ("scale_0", "scale_1", "scale_2")
QUATS = ("rot_0", "rot_1", "rot_2", "rot_3")
REQUIRED = (*XYZ, *DC, "opacity", *SCALES, *QUATS)


class PlyKind(Enum):
    SPLATS = "Gaussian splats"
    COMPRESSED = "compressed Gaussian splats (SuperSplat)"
    MESH = "a mesh"
    POINTS = "a point cloud"
    OTHER = "neither splats, nor points, nor a mesh"


def kind_of(header: Header) -> PlyKind:
    """By the properties that are there, never by the file's name."""
    vertex = header.element("vertex")
    names = set(vertex.names) if vertex else set()
    if header.element("chunk") is not None and "packed_position" in names:
        return PlyKind.COMPRESSED
    if set(REQUIRED) <= names:
        return PlyKind.SPLATS
    if not set(XYZ) <= names:
        return PlyKind.OTHER
    faces = header.element("face")
    return PlyKind.MESH if faces is not None and faces.rows > 0 else PlyKind.POINTS


def missing_of(header: Header) -> tuple[str, ...]:
    """The splat properties that the vertices lack."""
    vertex = header.element("vertex")
    names = set(vertex.names) if vertex else set()
    return tuple(name for name in REQUIRED if name not in names)
