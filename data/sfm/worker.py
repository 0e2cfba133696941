"""The child process: pycolmap from photos to models. Run as a file, imports nothing of the package.

    python worker.py JOB.json      (keys: see `sfm/run.py`)

Prints one JSON object per line: {"stage", "done", "total"} while it works, at the end {"models": [...]} or {"error":
"..."}.
pycolmap's own log goes to stderr, where its counters are read by the parent. When the parent dies, stdin closes, and
so does this.
"""

import json
import os
import sys
import threading
from pathlib import Path


def say(**what):
    print(json.dumps(what), flush=True)


def _end_with_parent():
    while os.read(0, 4096):  # not sys.stdin: its lock, held here, would hold up the interpreter's end
        pass
    os._exit(3)


def load_pycolmap():
    """The right pycolmap or SystemExit with an error line."""
    try:
        import pycolmap
    except ImportError as e:
        say(error=f"photos without poses need pycolmap, which cannot be imported ({e}); pip install 'pycolmap>=4'")
        raise SystemExit(0) from None
    wanted = ("extract_features", "match_image_pairs", "incremental_mapping", "FeatureExtractionOptions", "Database")
    missing = [n for n in wanted if not hasattr(pycolmap, n)]
    if missing:
        version = getattr(pycolmap, "__version__", "of unknown version")
        where = getattr(pycolmap, "__file__", "?")
        say(
            error=f"the pycolmap found at {where} ({version}) lacks {missing[0]}: too old or another package of "
            "that name; pip install --force-reinstall 'pycolmap>=4'"
        )
        raise SystemExit(0)
    return pycolmap


def extract(pycolmap, job):
    """SIFT features, one camera per group of photos that share a lens."""
    before, total = 0, sum(len(g["names"]) for g in job["groups"])
    for group in job["groups"]:
        say(stage="features", done=before, total=total)
        reader = pycolmap.ImageReaderOptions()
        reader.camera_model = "PINHOLE" if "pinhole" in group else "SIMPLE_RADIAL"
        if "pinhole" in group:
            reader.camera_params = ",".join(map(str, group["pinhole"]))
        elif group["focal"]:
            reader.camera_params = f"{group['focal']},{group['width'] / 2},{group['height'] / 2},0"
        options = pycolmap.FeatureExtractionOptions()
        options.num_threads = job["threads"]
        options.use_gpu = False
        options.sift.max_num_features = job["features"]
        pycolmap.extract_features(
            job["database"],
            job["images"],
            image_names=group["names"],
            camera_mode=pycolmap.CameraMode.SINGLE,
            reader_options=reader,
            extraction_options=options,
            device=pycolmap.Device.cpu,
        )
        before += len(group["names"])


def choose_pairs(pycolmap, job):
    """Names to be matched: all pairs of a small capture; else neighbours in order and look-alikes."""
    names = sorted(n for g in job["groups"] for n in g["names"])
    if job["matcher"] == "exhaustive":
        return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    pairs = set()
    for i in range(len(names)):
        for step in [*range(1, job["overlap"] + 1), *(2**k for k in range(4, 9))]:
            if i + step < len(names):
                pairs.add((i, i + step))
    if job["matcher"] == "retrieval":
        pairs |= look_alikes(pycolmap, job, names)
    return [(names[a], names[b]) for a, b in sorted(pairs)]


def look_alikes(pycolmap, job, names):
    """Index pairs of pictures that resemble: nearest by VLAD of SIFT descriptors (Jegou et al. 2010), 64 words."""
    import numpy as np

    database = pycolmap.Database.open(job["database"])
    ids = {image.name: image.image_id for image in database.read_all_images()}

    def descriptors(name):
        if name not in ids:
            return np.zeros((0, 128), np.float32)
        table = database.read_descriptors(ids[name])
        table = np.asarray(getattr(table, "data", table)).reshape(-1, 128).astype(np.float32)
        return table[:: max(1, len(table) // 1000)]

    rng = np.random.default_rng(0)
    sample = np.concatenate([descriptors(n)[:: max(1, len(names) // 20)] for n in names])
    sample = sample[rng.permutation(len(sample))[:50_000]]
    if len(sample) < 64:
        return set()
    words = sample[:64].copy()
    for _ in range(8):
        nearest = np.argmin((words**2).sum(1) - 2 * sample @ words.T, axis=1)
        for w in range(64):
            if (mine := nearest == w).any():
                words[w] = sample[mine].mean(0)
    signature = np.zeros((len(names), 64, 128), np.float32)
    for i, name in enumerate(names):
        table = descriptors(name)
        nearest = np.argmin((words**2).sum(1) - 2 * table @ words.T, axis=1)
        np.add.at(signature[i], nearest, table - words[nearest])
    database.close()
    signature /= np.maximum(np.linalg.norm(signature, axis=2, keepdims=True), 1e-9)
    flat = signature.reshape(len(names), -1)
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-9)
    likeness = flat @ flat.T
    np.fill_diagonal(likeness, -np.inf)
    best = np.argsort(-likeness, axis=1, kind="stable")[:, : job["neighbours"]]
    return {(min(i, int(j)), max(i, int(j))) for i in range(len(names)) for j in best[i]}


def match(pycolmap, job):
    pairs = choose_pairs(pycolmap, job)
    say(stage="matching", done=0, total=len(pairs))
    listing = Path(job["database"]).with_name("pairs.txt")
    listing.write_text("\n".join(f"{a} {b}" for a, b in pairs) + "\n", encoding="utf-8")
    matching = pycolmap.FeatureMatchingOptions()
    matching.num_threads = job["threads"]
    matching.use_gpu = False
    pairing = pycolmap.ImportedPairingOptions()
    pairing.match_list_path = str(listing)
    pairing.block_size = max(16, min(1225, -(-len(pairs) // 20)))
    pycolmap.match_image_pairs(
        job["database"], matching_options=matching, pairing_options=pairing, device=pycolmap.Device.cpu
    )


def build(pycolmap, job):
    total = sum(len(g["names"]) for g in job["groups"])
    done = 2
    say(stage="mapping", done=0, total=total)

    def next_image():
        nonlocal done
        done += 1
        say(stage="mapping", done=min(done, total), total=total)

    options = pycolmap.IncrementalPipelineOptions()
    options.num_threads = job["threads"]
    if hasattr(options, "random_seed"):
        options.random_seed = 0
    models = pycolmap.incremental_mapping(
        job["database"], job["images"], job["output"], options=options, next_image_callback=next_image
    )
    return [summary(model, str(number)) for number, model in models.items()]


def triangulate(pycolmap, job):
    """Points of photos whose poses are known: nothing is adjusted but the points."""
    model = pycolmap.Reconstruction()
    total = len(job["poses"])
    say(stage="triangulating", done=0, total=total)
    with pycolmap.Database.open(job["database"]) as database:
        for camera in database.read_all_cameras():
            model.add_camera_with_trivial_rig(camera)
        for image in database.read_all_images():
            model.add_image_with_trivial_frame(image, pycolmap.Rigid3d(job["poses"][image.name]))
    output = Path(job["output"]) / "0"
    output.mkdir()
    model = pycolmap.triangulate_points(model, job["database"], job["images"], output, refine_intrinsics=False)
    model.write(output)
    return [summary(model, "0")]


def summary(model, folder):
    return {
        "folder": folder,
        "registered": model.num_reg_images(),
        "points": model.num_points3D(),
        "error": model.compute_mean_reprojection_error(),
    }


def main():
    threading.Thread(target=_end_with_parent, daemon=True).start()
    pycolmap = load_pycolmap()
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    pycolmap.set_random_seed(0)
    say(version=pycolmap.__version__)
    extract(pycolmap, job)
    match(pycolmap, job)
    say(models=(triangulate if "poses" in job else build)(pycolmap, job))


if __name__ == "__main__":
    main()
