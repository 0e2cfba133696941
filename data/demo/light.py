"""Runs the kernels over a few threads. Every texel and pixel is computed alone, so the thread count changes no bit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np

from . import tracer
from .cameras import Orbit
from .solids import Packed

Progress = Callable[[str], None]


def light_map(scene: Packed, rays: int, lamp_rays: int, pool: ThreadPoolExecutor, progress: Progress) -> np.ndarray:
    """Diffuse light and lamp share of every texel, [texels, 5], after the sky, the lamp and two bounces."""
    texels = scene.texels
    light = np.zeros((texels, 5))
    bounces = 3
    for bounce in range(bounces):
        baked = np.zeros_like(light)
        # early bounces only feed later ones through averages over many texels: a few rays will do
        few = bounce + 1 < bounces
        jobs = [
            pool.submit(tracer.bake, scene, light, baked, i, row, rays // 4 if few else rays, lamp_rays)
            for i, rows in enumerate(scene.rows)
            for row in range(rows)
        ]
        for job in as_completed(jobs):
            job.result()
        progress(f"demo: light baked, bounce {bounce + 1} of {bounces}")
        for _ in range(1 if few else 3):  # each pass also reaches one texel further under things
            light = np.zeros_like(baked)
            for i in range(len(scene.solids)):
                tracer.smooth(scene, baked, light, i)
            baked = light
    return light


def pictures(
    scene: Packed, light: np.ndarray, orbit: Orbit, pool: ThreadPoolExecutor
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """(index, rgb [H, W, 3] uint8, depth [H, W] float32) of every view, in any order."""

    def one(i: int) -> tuple[int, np.ndarray, np.ndarray]:
        rgb = np.zeros((orbit.height, orbit.width, 3), np.uint8)
        depth = np.zeros((orbit.height, orbit.width), np.float32)
        tracer.render(scene, light, np.ascontiguousarray(orbit.poses[i, :3]), float(orbit.focal), rgb, depth)
        return i, rgb, depth

    for job in as_completed([pool.submit(one, i) for i in range(len(orbit.poses))]):
        yield job.result()


def workers(threads: int | None = None) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads or os.cpu_count() or 1, thread_name_prefix="demo")
