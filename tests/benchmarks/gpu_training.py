"""Training steps a second on CUDA: our loop against a plain loop on gsplat's own rasterization, Adam and DefaultStrategy.

python tests/benchmarks/gpu_training.py [--steps 500] [--width 800]
Both train the built-in demo from the same points; the ratio is what counts.
"""

import argparse
import sys
import time

import torch
from sceneloom.data.capture import load_capture
from sceneloom.data.demo import demo_capture
from sceneloom.data.images.cache import ImageCache
from sceneloom.pipelines.strategies.growth import Growth
from sceneloom.pipelines.targets import as_float, target
from sceneloom.pipelines.train import Trainer, TrainOptions, Watch
from sceneloom.pipelines.training_state import TrainingState
from sceneloom.renderers.images.photometric import photometric_loss
from sceneloom.renderers.splats.backends import choose, cuda_problem
from sceneloom.renderers.splats.initialise import from_points
from sceneloom.renderers.splats.model import Splats
from sceneloom.renderers.splats.render import SplatRenderer


def ours(scene, steps: int) -> tuple[float, int]:
    strategy, options = Growth(), TrainOptions(steps=steps)
    trainer = Trainer(scene, SplatRenderer(choose("cuda")), strategy, options, ImageCache(4 << 30), 0, False)
    g = from_points(scene.points, scene.extent, 3)
    state = TrainingState.fresh(Splats.from_gaussians(g, device="cuda"), strategy, {})
    trainer.run(state, Watch(lambda row: None, lambda line: None, lambda s: False))
    torch.cuda.synchronize()
    return state.seconds, len(state.model)


def plain(scene, steps: int) -> tuple[float, int]:
    from gsplat import DefaultStrategy, rasterization

    g = from_points(scene.points, scene.extent, 3)
    arrays = {
        "means": g.means,
        "quats": g.quats,
        "scales": g.log_scales,
        "opacities": g.logits,
        "sh0": g.sh[:, :1],
        "shN": g.sh[:, 1:],
    }
    params = torch.nn.ParameterDict({k: torch.nn.Parameter(torch.tensor(a, device="cuda")) for k, a in arrays.items()})
    rates = {
        "means": 1.6e-4 * scene.extent,
        "quats": 1e-3,
        "scales": 5e-3,
        "opacities": 5e-2,
        "sh0": 2.5e-3,
        "shN": 1.25e-4,
    }
    optimizers = {k: torch.optim.Adam([params[k]], lr=r, eps=1e-15, fused=True) for k, r in rates.items()}
    strategy = DefaultStrategy(refine_start_iter=steps // 20, refine_stop_iter=int(0.6 * steps))
    state = strategy.initialize_state(scene_scale=scene.extent)
    views = scene.train_views
    photos = [as_float(target(v.image.load(), (0.0, 0.0, 0.0))).cuda() for v in views]
    torch.cuda.synchronize()
    started = time.perf_counter()
    for step in range(steps):
        camera = views[step % len(views)].camera
        colors = torch.cat([params["sh0"], params["shN"]], 1)
        picture, _, info = rasterization(
            params["means"], params["quats"], params["scales"].exp(), params["opacities"].sigmoid(), colors,
            torch.tensor(camera.world_to_camera, dtype=torch.float32, device="cuda")[None],
            torch.tensor(camera.K, dtype=torch.float32, device="cuda")[None],
            camera.width, camera.height, sh_degree=min(3, step // max(1, steps // 10)), packed=False,
        )  # fmt: skip
        strategy.step_pre_backward(params, optimizers, state, step, info)
        photometric_loss(picture[0], photos[step % len(views)]).backward()
        strategy.step_post_backward(params, optimizers, state, step, info, packed=False)
        for optimizer in optimizers.values():
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    return time.perf_counter() - started, len(params["means"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--width", type=int, default=800)
    arguments = parser.parse_args()
    if problem := cuda_problem():
        sys.exit(f"this benchmark needs the CUDA back end: {problem}")
    scene = load_capture(demo_capture(width=arguments.width))
    for warm in (True, False):
        steps = 50 if warm else arguments.steps
        results = {"sceneloom": ours(scene, steps), "gsplat loop": plain(scene, steps)}
    print(
        f"{arguments.steps} steps at {arguments.width} pixels\n| loop | seconds | Gaussians at the end |\n|---|---|---|"
    )
    for name, (seconds, count) in results.items():
        print(f"| {name} | {seconds:.2f} | {count} |")
    print(f"ratio: {results['sceneloom'][0] / results['gsplat loop'][0]:.2f}")


if __name__ == "__main__":
    main()
