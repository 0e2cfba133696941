"""The ray tracer: charts against their inverses, threads against one another."""

import numpy as np
import pytest
from sceneloom.data.demo import shapes, tracer
from sceneloom.data.demo.capture import write_capture
from sceneloom.data.demo.kinds import BOX, ELLIPSOID, HANDLE, LATHE
from sceneloom.data.demo.still_life import still_life


@pytest.fixture(scope="module")
def scene():
    return still_life(0.15)


def nearest(solid, segments, o, d):
    """Distance to one solid within reach of 1, by the function for its kind."""
    if solid["kind"] == ELLIPSOID:
        return shapes.hit_ellipsoid(solid, o, d, 1e-6, 1.0)
    if solid["kind"] == BOX:
        return shapes.hit_box(solid, o, d, 1e-6, 1.0)[0]
    if solid["kind"] == LATHE:
        return shapes.hit_lathe(solid, segments, o, d, 1e-6, 1.0)[0]
    return shapes.hit_handle(solid, o, d, 1e-6, 1.0)


@pytest.mark.parametrize("kind", [ELLIPSOID, BOX, LATHE, HANDLE])
def test_chart_and_its_inverse_agree_and_the_point_is_hit(scene, kind):
    rng = np.random.default_rng(0)
    for solid in scene.solids[scene.solids["kind"] == kind][:4]:
        for u, v in rng.uniform(0.1, 0.9, (20, 2)):
            face = int(rng.integers(6))
            p, part = shapes.unchart(solid, scene.segments, u, v, face)
            np.testing.assert_allclose(shapes.chart(solid, scene.segments, p, part), (u, v), atol=1e-6)
            n = np.array(shapes.normal_at(solid, scene.segments, p, part))
            assert np.linalg.norm(n) == pytest.approx(1)
            o, d = tuple(np.array(p) + 0.003 * n), tuple(-n)
            hit = nearest(solid, scene.segments, o, d)
            inside_mug = kind == HANDLE and np.hypot(p[0] + solid["size"][2], p[1]) < solid["size"][3] + 0.005
            if not inside_mug:
                assert 0.0005 < hit < 0.006  # smoothed normals of a coarse lathe may slant


def test_bounding_spheres_hide_nothing(scene):
    """The same rays, with and without the two levels of spheres."""
    open_solids, open_groups = scene.solids.copy(), scene.groups.copy()
    open_solids["radius"] = open_groups["radius"] = 1e6
    opened = scene._replace(solids=open_solids, groups=open_groups)
    rng = np.random.default_rng(1)
    hits = set()
    for _ in range(1500):
        o, to = rng.uniform([-1.5, -1.5, 0.1], [1.5, 1.5, 1.5]), rng.uniform([-0.9, -0.9, 0], [0.9, 0.9, 0.6])
        d = tuple((to - o) / np.linalg.norm(to - o))
        a, b = (tracer.trace(s, tuple(o), d, 1e9, False) for s in (scene, opened))
        assert a == b
        hits.add(a[1])
    assert len(hits) > 40


def test_a_sphere_under_an_open_sky_gets_the_sky():
    """The top of a lone ellipsoid gets the cosine-weighted mean of the upper half of the sky, plus the lamp."""
    full = still_life(0.15)
    solids = full.solids[full.solids["kind"] == ELLIPSOID][:1].copy()
    solids["turn"], solids["texel"], solids["wide"], solids["high"] = np.eye(3), 0, 8, 40
    groups = full.groups[:1].copy()
    groups["centre"], groups["radius"], groups["start"], groups["stop"] = solids["centre"], solids["radius"], 0, 1
    lone = full._replace(solids=solids, groups=groups)
    before, after = np.zeros((lone.texels, 5)), np.zeros((lone.texels, 5))
    tracer.bake(lone, before, after, 0, 0, 4096, 8)
    z = np.sqrt(1 - (np.arange(20000) + 0.5) / 20000)  # cosine-weighted heights
    sky = np.array([tracer.sky((0.0, 0.0, c)) for c in z]).mean(0)
    lamp = np.array(tracer._LAMP) / np.linalg.norm(tracer._LAMP)
    expected = sky + lamp[2] * np.array(tracer._LAMP_LIGHT)
    np.testing.assert_allclose(after[:8, :3].mean(0), expected, rtol=0.02)
    assert (after[:8, 3] == 1).all()
    assert (after[:8, 4] == 0).all()


def test_same_bytes_for_any_number_of_threads(tmp_path):
    contents = []
    for threads in (1, 3):
        folder = tmp_path / str(threads)
        folder.mkdir()
        write_capture(folder, 48, 4, threads)
        contents.append({p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()})
    assert len(contents[0]) == 10
    assert contents[0] == contents[1]
