"""The data report: what was read, what was done to it and what is doubtful, as Facts and as plain lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from .fitting import Fitted, implausible
from .images.probe import Probe, in_threads
from .images.source import PhotoSource
from .images.undistort import MOST_LOST, describe, rectify
from .lenses import Lens
from .normalise import share_in_front
from .readers.stated import some
from .scene import Fact, Frame, Points, Scene, View

_MASK_SAMPLE = 64


def lines(scene: Scene) -> list[str]:
    """Plain text, one fact a line, warnings marked: for a terminal or a log."""
    head = f"{scene.name}: {scene.kind} capture, {len(scene.views)} views, {len(scene.points)} points"
    width = max((len(f.key) for f in scene.facts), default=0)
    return [head, *(f"{'!' if f.level == 'warning' else ' '} {f.key:<{width}}  {f.text}" for f in scene.facts)]


def warnings(scene: Scene) -> tuple[Fact, ...]:
    return tuple(f for f in scene.facts if f.level == "warning")


def exif_facts(probes: Sequence[Probe], fitted: Sequence[Fitted]) -> list[Fact]:
    tagged = sum(p.orientation != 1 for p in probes)
    if not tagged:
        return []
    turned = sum(f.orientation != 1 for f in fitted)
    facts = [
        Fact(
            "exif",
            f"{tagged} photos carry an EXIF orientation; {turned} turned upright, {tagged - turned} taken as stored",
        )
    ]
    if unclear := sum(f.ambiguous and f.orientation == 1 for f in fitted):
        text = f"{unclear} photos match their camera with and without the EXIF turn; taken as stored, as COLMAP does"
        facts.append(Fact("exif", text, "warning"))
    return facts


def camera_facts(lenses: Sequence[Lens]) -> list[Fact]:
    """Models and focal lengths, and what undistortion does."""
    counts = Counter(lenses)
    facts = []
    if len(counts) <= 3:
        facts += [Fact("cameras", f"{n} x {describe(lens)}") for lens, n in counts.items()]
    else:
        models = ", ".join(f"{n} {m}" for m, n in Counter(x.model for x in lenses).items())
        focal = [x.focal[0] for x in lenses]
        facts.append(Fact("cameras", f"{len(counts)} different ({models}), f {min(focal):.6g}..{max(focal):.6g} px"))
    bent = {x: n for x, n in counts.items() if not x.is_pinhole}
    if bent:
        kept = [rectify(x) for x in bent]
        share = min(r.kept for r in kept)
        text = f"{sum(bent.values())} images undistorted at their own size, at least {share:.1%} of each photo is shown"
        facts.append(Fact("lens", text))
        if partial := sum(n for x, n in bent.items() if not rectify(x).full):
            facts.append(Fact("lens", f"{partial} of them have a border without photo, masked out of loss and metrics"))
        if share < 1.0 - MOST_LOST:
            text = f"a pinhole picture shows only {share:.0%} of the widest-angle photos; the rest of them is not used"
            facts.append(Fact("lens", text, "warning"))
    odd = [x for x in counts if implausible(x)]
    if odd:
        focal = [x.focal[0] for x in odd]
        number = sum(counts[x] for x in odd)
        text = (
            f"{number} cameras have implausible focal lengths ({min(focal):.6g}..{max(focal):.6g} px for "
            f"{odd[0].width} px wide images): the reconstruction behind them has probably failed"
        )
        facts.append(Fact("cameras", text, "warning"))
    return facts


def resolution_facts(lenses: Sequence[Lens], views: Sequence[View], downscale: float, rescaled: int) -> list[Fact]:
    """The resolution that training and evaluation really use; nothing is ever shrunk silently."""
    sizes = Counter(
        ((x.width, x.height), (v.camera.width, v.camera.height)) for x, v in zip(lenses, views, strict=True)
    )
    shown = [f"{n} images {a[0]}x{a[1]} -> {b[0]}x{b[1]}" for (a, b), n in sizes.most_common(4)]
    if len(sizes) > 4:
        shown.append(f"{len(sizes) - 4} other sizes")
    facts = [Fact("resolution", f"{'; '.join(shown)} (data.downscale={downscale:g})")]
    if rescaled:
        text = f"{rescaled} images are of another size than their cameras state; intrinsics scaled to the images"
        facts.append(Fact("resolution", text, "warning"))
    return facts


def alpha_facts(probes: Sequence[Probe]) -> list[Fact]:
    count = sum(p.alpha for p in probes)
    return (
        [Fact("alpha", f"{count} of {len(probes)} images have transparency; their colour is premultiplied")]
        if count
        else []
    )


def mask_facts(views: Sequence[View], files: int, inverted: bool) -> list[Fact]:
    """How many views have masks and what share of their pixels counts (over a sample of at most 64 masks)."""
    sources = [v.image for v in views]
    masked = [
        (v.name, s) for v, s in zip(views, sources, strict=True) if isinstance(s, PhotoSource) and s.mask is not None
    ]
    if not masked:
        return [Fact("masks", f"{files} mask files, none named like an image", "warning")] if files else []
    sample = masked[:: -(-len(masked) // _MASK_SAMPLE)]
    shares = in_threads(lambda m: m[1].mask_share(), sample)
    level = "info" if len(masked) == len(views) else "warning"
    meaning = "white drops" if inverted else "white keeps"
    text = f"masks matched {len(masked)}/{len(views)} ({meaning}), {np.mean(shares):.1%} of their pixels count"
    facts = [Fact("masks", text, level)]
    if empty := [n for (n, _), share in zip(sample, shares, strict=True) if share == 0.0]:
        swap = f"data.invert_masks={str(not inverted).lower()} swaps their meaning"
        text = f"{len(empty)} masks keep nothing: {some(empty)}; {swap}"
        facts.append(Fact("masks", text, "warning"))
    return facts


def point_facts(points: Points, views: Sequence[View], frame: Frame) -> list[Fact]:
    facts = [
        Fact(
            "frame",
            f"world = (input - {np.array2string(frame.origin, precision=6, separator=', ')}) / {frame.scale:.6g}",
        )
    ]
    if len(points) == 0:
        text = "no sparse points: training finds its own start (train.triangulate, train.init)"
        return [*facts, Fact("points", text, "warning")]
    median = np.median(frame.to_input(points.xyz), axis=0)
    error = "" if points.error is None else f", mean error {float(np.mean(points.error)):.3f} px"
    facts.append(Fact("points", f"{len(points)} sparse points, median {np.array2string(median, precision=3)}{error}"))
    if len(points) < 100:
        facts.append(Fact("points", f"only {len(points)} sparse points", "warning"))
    seen = share_in_front(np.stack([v.camera.world_to_camera for v in views]), points.xyz)
    if seen < 0.5:
        facts.append(
            Fact("points", f"only {seen:.0%} of the points lie before any camera: check the poses' axes", "warning")
        )
    return facts


def split_facts(views: int, test: tuple[int, ...], how: str) -> list[Fact]:
    if not test:
        return [
            Fact("split", f"{views} views train, none held out ({how}): there will be no held-out metrics", "warning")
        ]
    return [Fact("split", f"{views - len(test)} views train, {len(test)} held out ({how})")]
