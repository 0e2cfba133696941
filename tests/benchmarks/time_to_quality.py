"""Held-out quality against training time: one run per number of steps, a table at the end.

    python tests/benchmarks/time_to_quality.py CAPTURE --steps 500 1000 2000 [-- data.downscale=2 ...]

Seconds are training alone (metrics.jsonl): without structure from motion, kernel compilation and evaluation. "30 dB after" reads the
rows that the longest run wrote every `evaluate.every` steps.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", help="a capture, or 'demo' for the built-in one")
    parser.add_argument("--steps", type=int, nargs="+", default=[500, 1000, 2000])
    parser.add_argument("--every", type=int, default=250)
    parser.add_argument("--keep", help="folder for the runs (a temporary one by default)")
    words, overrides = sys.argv[1:], []  # what follows -- are Hydra overrides
    if "--" in words:
        words, overrides = words[: words.index("--")], words[words.index("--") + 1 :]
    arguments = parser.parse_args(words)
    root = Path(arguments.keep or tempfile.mkdtemp(prefix="time-to-quality-"))
    data = [] if arguments.capture == "demo" else [f"data.path={arguments.capture}"]
    lines = ["| steps | training s | ms a step | Gaussians | held-out PSNR | SSIM |", "|---|---|---|---|---|---|"]
    rows: list[dict] = []
    for steps in arguments.steps:
        out = root / f"{steps}_steps"
        command = [sys.executable, "-m", "sceneloom", "reconstruct", *data, f"out={out}", f"train.steps={steps}"]
        command += [
            f"evaluate.every={arguments.every}",
            "export.formats=[ply]",
            "log.wandb=disabled",
            *overrides,
        ]
        subprocess.run(command, check=True, stdout=sys.stderr)
        metrics = json.loads((out / "metrics.json").read_text())
        rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        seconds, test = metrics["train"]["seconds"], metrics["test"]
        lines.append(
            f"| {steps} | {seconds:.1f} | {1e3 * seconds / steps:.1f} | {metrics['gaussians']} "
            f"| {test['psnr']:.2f} dB | {test['ssim']:.4f} |"
        )
    print("\n".join(lines))
    curve = [(r["seconds"], r["step"], r["test/psnr"]) for r in rows if r.get("test/psnr") is not None]
    print(
        f"\nthe run of {arguments.steps[-1]} steps:",
        ", ".join(f"{p:.2f} dB at {t:.1f} s (step {s})" for t, s, p in curve),
    )


if __name__ == "__main__":
    main()
