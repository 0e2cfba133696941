"""How long the CPU kernels take: python tests/benchmarks/splat_kernels.py [--repeat 11] [--threads 1 2]

Prints forward + backward with spherical harmonics of degree 3 on fixed random scenes S(N, W, H) (means uniform in the
frustum, projected standard deviations about sqrt(W H / N), opacities U[0.05, 0.95]), the image loss, and Adam.
With SPLAT_YARDSTICK naming a folder whose `proto.py` has `step(scene, width, height, threads)`, that implementation
runs in turn with ours and the ratio is printed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from sceneloom.renderers.images.photometric import photometric_loss
from sceneloom.renderers.kernels import pool
from sceneloom.renderers.kernels.adam import adam_step
from sceneloom.renderers.kernels.warmup import compile_all
from sceneloom.renderers.splats.cpu import rasterization

SCENES = ((10_000, 270, 480), (50_000, 270, 480), (100_000, 270, 480), (100_000, 540, 960))


def scene(n: int, width: int, height: int, seed: int = 0) -> dict[str, np.ndarray]:
    """S(n, width, height): float32 arrays."""
    r = np.random.default_rng(seed)
    focal = 343.88 * width / 270
    u, v, z = r.uniform(0, width, n), r.uniform(0, height, n), r.uniform(2, 6, n)
    means = np.stack([(u - width / 2) / focal * z, (v - height / 2) / focal * z, z], 1)
    scales = (np.sqrt(width * height / n) * z / focal)[:, None] * np.exp(0.5 * r.standard_normal((n, 3)))
    quats = r.standard_normal((n, 4))
    opacities, rgb = r.uniform(0.05, 0.95, n), r.uniform(0, 1, (n, 3))
    sh = 0.1 * r.standard_normal((n, 16, 3))
    sh[:, 0] = (rgb - 0.5) / 0.28209479177387814
    arrays = dict(
        means=means, scales=scales, quats=quats, opacities=opacities, sh=sh, wt=r.standard_normal((height, width, 3)),
        K=np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]]), viewmat=np.eye(4),
    )  # fmt: skip
    return {k: np.ascontiguousarray(a, np.float32) for k, a in arrays.items()}


def splat_step(data: dict[str, np.ndarray], width: int, height: int) -> Callable[[], None]:
    """Forward and backward once."""
    t = {k: torch.from_numpy(a) for k, a in data.items()}
    leaves = [t[k].requires_grad_() for k in ("means", "quats", "scales", "opacities", "sh")]
    gradient = (t["wt"] / t["wt"].numel())[None]

    def step() -> None:
        image, _, _ = rasterization(*leaves, t["viewmat"][None], t["K"][None], width, height, sh_degree=3)
        torch.autograd.backward([image], [gradient])
        for leaf in leaves:
            leaf.grad = None

    return step


def loss_step(width: int, height: int) -> Callable[[], None]:
    """L1 + SSIM with its gradient."""
    pred = torch.rand(height, width, 3, requires_grad=True)
    target = torch.randint(0, 256, (height, width, 3)).to(torch.uint8)

    def step() -> None:
        photometric_loss(pred, target).backward()
        pred.grad = None

    return step


def adam(n: int) -> Callable[[], None]:
    """One step on n Gaussians of 59 parameters."""
    arrays = [np.random.default_rng(k).normal(size=(n, 59)).astype(np.float32) for k in range(3)]
    v = np.abs(arrays[2])
    return lambda: adam_step(arrays[0], arrays[1], arrays[2], v, [1e-9] * 59, step=10)


def measure(steps: list[Callable[[], None]], repeat: int) -> list[float]:
    """Median milliseconds of each, taken in turn."""
    times: list[list[float]] = [[] for _ in steps]
    for step in steps * 2:
        step()
    for _ in range(repeat):
        for step, record in zip(steps, times, strict=True):
            begin = time.perf_counter()
            step()
            record.append(1e3 * (time.perf_counter() - begin))
    return [statistics.median(record) for record in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=11)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    warm = compile_all()
    print(f"kernels ready after {warm.seconds:.1f} s: {warm.compiled} compiled, {warm.loaded} loaded from the cache")
    other = None
    if folder := os.environ.get("SPLAT_YARDSTICK"):
        sys.path.insert(0, folder)
        other = importlib.import_module("proto")
    heads = "".join(f"{t:>7d} thread{'s' if t > 1 else ' '}" for t in options.threads)
    print(f"{'median ms':34s}{heads}   (ratio to the yardstick, if any)")
    rows: list[tuple[str, Callable[[int], list[Callable[[], None]]]]] = []
    for n, width, height in SCENES:
        data = scene(n, width, height)

        def build(threads: int, data=data, width=width, height=height) -> list[Callable[[], None]]:
            return [splat_step(data, width, height)] + ([other.step(data, width, height, threads)] if other else [])

        rows.append((f"S({n}) {width}x{height} forward+backward", build))
    for width, height in ((270, 480), (540, 960)):
        rows.append((f"L1 + SSIM {width}x{height}", lambda _, w=width, h=height: [loss_step(w, h)]))
    rows.append(("Adam, 100000 x 59", lambda _: [adam(100_000)]))
    for name, make in rows:
        cells = []
        for threads in options.threads:
            pool.set_threads(threads)
            torch.set_num_threads(threads)
            ours, *theirs = measure(make(threads), options.repeat)
            cells.append(f"{ours:8.1f}" + (f" ({ours / theirs[0]:.2f})" if theirs else "       "))
        print(f"{name:34s}" + "".join(cells))


if __name__ == "__main__":
    main()
