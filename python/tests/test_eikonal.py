"""Arrival times on meshes in arrays."""

import numpy as np
import pytest

import pogo
from conftest import assert_same_bytes, tetrahedra, triangles

EVERYWHERE = 1e9


def exact(points, start, D):
    """In a homogeneous convex body."""
    away = points - points[start]
    return np.sqrt(np.einsum("ni,ij,nj->n", away, np.linalg.inv(D), away))


def test_exact_times_in_the_plane_and_in_space():
    for (points, cells), D in [
        (triangles(12, 7), np.array([[4.0, 1.0], [1.0, 2.0]])),
        (tetrahedra(5), np.array([[4.0, 1.0, 0.2], [1.0, 2.0, -0.3], [0.2, -0.3, 1.0]])),
    ]:
        times = pogo.eikonal.solve(points, cells, D, 3, exact_radius=EVERYWHERE)
        assert np.allclose(times, exact(points, 3, D), rtol=1e-12, atol=1e-12)
        swept = pogo.eikonal.solve(points, cells, D, 3)
        assert np.all(swept >= times * (1 - 1e-12)) and np.abs(swept - times).max() < 0.15 * times.max()


def test_all_forms_of_D():
    points, cells = triangles(6, 5)
    n = len(cells)
    one = pogo.eikonal.solve(points, cells, 4.0, 0)
    for D in (np.full(n, 4.0), 4.0 * np.eye(2), np.broadcast_to(4.0 * np.eye(2), (n, 2, 2))):
        assert np.array_equal(pogo.eikonal.solve(points, cells, D, 0), one)
    batch = np.stack([np.broadcast_to(c * np.eye(2), (n, 2, 2)) for c in (1.0, 4.0)])
    several = pogo.eikonal.solve(points, cells, batch, 0)
    assert np.array_equal(several[1], one) and np.allclose(several[0], 2 * one, rtol=1e-14)
    both = pogo.eikonal.solve(points, cells, batch, [[0], [3, 5]])
    assert both.shape == (2, 2, len(points)) and np.array_equal(both[:, 0], several)


def test_a_batch_of_starts_has_the_bits_of_single_runs():
    points, cells = tetrahedra(6)
    rng = np.random.default_rng(7)
    D = np.multiply.outer(rng.uniform(0.5, 2.0, len(cells)), np.diag([1.0, 2.0, 3.0]))
    starts, times = [[0], [5, 100], [200]], [0.0, [0.5, 0.25], 1.0]
    batch = pogo.eikonal.solve(points, cells, D, starts, times)
    for row, nodes, at in zip(batch, starts, times):
        assert np.array_equal(row, pogo.eikonal.solve(points, cells, D, nodes, at))
        assert np.all(row[nodes] <= at) and row.min() == np.min(at)
    assert np.array_equal(
        pogo.eikonal.solve(points, cells, D, np.array([[0, 5], [7, 9]]))[1],
        pogo.eikonal.solve(points, cells, D, [7, 9]),
    )


def test_results_have_the_bits_of_the_commands(by_commands):
    points, cells = tetrahedra(6)
    fibre = np.tile([1.0, 0.0, 0.0], (len(cells), 1))
    region = (points[cells].mean(axis=1)[:, 0] > 3).astype(np.int32)
    model = pogo.eikonal.Model(
        points,
        cells,
        [{"speeds": [0.6, 0.3]}, {"tag": 1, "speed": 2.0}],
        [{"nodes": [0, 3], "time": 1.5}],
        fibre=fibre,
        cell_data={"region": region},
        mesh={"tags": "region"},
    )
    here, there = model.solve(), by_commands(model)
    assert np.array_equal(here.arrival, there.arrival) and here.arrival[0] == 1.5
    assert np.array_equal(here.fields[0].points, points)
    assert np.array_equal(here.fields[0].cell_data["speed"], there.fields[0].cell_data["speed"])
    # The same by the call without tables.
    one, other = np.diag([0.36, 0.09, 0.09]), 4.0 * np.eye(3)
    D = np.where(region[:, None, None] == 1, other, one)
    assert np.allclose(pogo.eikonal.solve(points, cells, D, [0, 3], 1.5), here.arrival, rtol=1e-12)


@pytest.mark.parametrize("mesh", [lambda: triangles(9, 7), lambda: tetrahedra(4)], ids=["plane", "space"])
def test_no_file_is_needed_for_the_bytes_of_the_commands(by_arrays, by_commands, mesh):
    points, cells = mesh()
    n = len(cells)
    rng = np.random.default_rng(5)
    model = pogo.eikonal.Model(
        points.astype(np.float32),
        cells.astype(np.int32),
        [
            {"speed_data": np.asfortranarray(rng.uniform(0.5, 2.0, (n, 2)))},
            {"tag": 1, "tensor_data": rng.uniform(1.0, 2.0, (n, 1)) * [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]},
        ],
        {"nodes": [0, 3], "time": 1.5},
        fibre=rng.normal(size=(n, 3)),
        cell_data={"region": np.arange(n) % 3 == 0, "depth": rng.uniform(size=(n, 2, 2)).astype(">f4", order="F")},
        mesh={"tags": "region"},
    )
    assert_same_bytes(by_arrays(model), by_commands(model))


def test_starts_and_tensors_need_no_file(monkeypatch, tmp_path):
    points, cells = triangles(6, 5)
    expected = pogo.eikonal.solve(points, cells, 4.0, [[0], [3, 5]], output=tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.mkdtemp", None)
        again = pogo.eikonal.solve(points, cells, 4.0, [[0], [3, 5]], output=tmp_path / "again")
    assert np.array_equal(again, expected)


def test_the_call_of_fim_python():
    points, cells = triangles(20, 20, 0.05)
    D = np.tile(np.array([[2.0, 0.5], [0.5, 1.0]]), (len(cells), 1, 1))
    for precision in (np.float32, np.float64):
        solver = pogo.eikonal.create_fim_solver(points, cells, D, precision=precision)
        times = solver.comp_fim(np.array([0]), np.array([0.5]))
        assert times.dtype == precision and times[0] == 0.5
        # First order: the error is some share of an edge.
        assert np.abs(times - 0.5 - exact(points, 0, D[0])).max() < 0.05
        halved = solver.comp_fim([0], [0.0], metrics=4 * D)
        assert np.allclose(2 * halved, solver.comp_fim([0], [0.0]), rtol=1e-5)
    with pytest.raises(pogo.Error, match="give D"):
        pogo.eikonal.create_fim_solver(points, cells).comp_fim([0], [0.0])


def test_fim_python_itself_agrees():
    fimpy = pytest.importorskip("fimpy.solver", reason="fim-python is not installed")
    points, cells = tetrahedra(5, 0.2)
    rng = np.random.default_rng(3)
    D = np.multiply.outer(rng.uniform(0.5, 2.0, len(cells)), np.diag([1.0, 0.5, 2.0]))
    call = (points, cells, D, np.float64)
    theirs = fimpy.create_fim_solver(*call).comp_fim(np.array([0]), np.array([0.0]))
    ours = pogo.eikonal.create_fim_solver(*call).comp_fim(np.array([0]), np.array([0.0]))
    assert np.allclose(ours, theirs, rtol=1e-6)


def test_nodes_that_no_cell_uses_are_never_reached():
    points, cells = triangles(3, 3)
    points = np.vstack([points, [[50.0, 50.0]]])
    times = pogo.eikonal.solve(points, cells, 1.0, 0)
    assert times.shape == (len(points),) and np.isinf(times[-1]) and np.isfinite(times[:-1]).all()


@pytest.mark.parametrize(
    "change, text",
    [
        ({"starts": 99}, "entry"),
        ({"starts": [[0], []]}, "set 1: there is no node"),
        ({"starts": [0, 1], "times": [0.0, 1.0, 2.0]}, "times: the shape"),
        ({"D": np.eye(3)}, "D: the shape is (3, 3)"),
        ({"D": np.array([[1.0, 0.5], [0.0, 1.0]])}, "not symmetric"),
        ({"D": np.array([[1.0, 2.0], [2.0, 1.0]])}, "error: "),
        ({"cells": np.zeros((2, 5), int)}, "3 or 4 corners"),
        ({"precision": "f16"}, "f32"),
    ],
)
def test_arrays_that_cannot_be_used(change, text):
    points, cells = triangles(2, 2)
    with pytest.raises(pogo.Error) as caught:
        pogo.eikonal.solve(**{"points": points, "cells": cells, "D": 1.0, "starts": 0, **change})
    assert text in str(caught.value)
