"""Explicit dynamics of arrays."""

import numpy as np
import pytest

import pogo
from conftest import STEEL, plate, squares, triangles


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_results_have_the_bits_of_the_commands(by_commands, precision):
    model = plate(fields=[{"quantities": ["displacement"], "count": 2}])
    change = {"material.steel.young": 200e9}
    here = pogo.solve(model, precision=precision, set=change)
    there = by_commands(model, "--precision", precision, "--set", "material.steel.young=200e9")
    assert list(here.traces) == list(there.traces)
    for name in here.traces:
        assert np.array_equal(here.traces[name], there.traces[name])
    for name in here.energies:
        assert np.array_equal(here.energies[name], there.energies[name])
    assert np.array_equal(here.fields[-1].point_data["displacement"], there.fields[-1].point_data["displacement"])
    other = pogo.solve(model, precision=precision)
    assert not np.array_equal(other.traces["TOP"], here.traces["TOP"])


def test_a_body_moves_as_its_velocity_says():
    points, quads = squares(6, 4)
    start = {"all": True, "velocity": [2.0, -1.0]}
    monitor = {"name": "ALL", "nodes": np.arange(len(points)), "variables": "U"}
    model = pogo.explicit.Model(points, quads, {"steel": STEEL}, None, monitor, time=1e-5, initial_velocities=start)
    moved = model.solve().traces["ALL"]
    expected = np.outer(moved.time, np.tile([2.0, -1.0], len(points)))
    # Rounding of some 60 steps.
    assert np.abs(moved - expected).max() < 1e-12 * np.abs(expected).max()


def test_a_clamped_strip_is_as_stiff_as_hooke_says():
    # One row of squares in plane strain, held across, pulled slowly: σ = (λ + 2 μ) ε once all waves have gone.
    points, quads = squares(8, 1)
    material = {"soft": {**STEEL, "alpha": 6e5}}
    ends = [{"side": "xmin"}, {"all": True, "components": "y"}]
    pull = {
        "name": "P",
        "side": "xmax",
        "component": 1,
        "force": 1e3,
        "amplitude": {"kind": "smooth_step", "times": [0, 2e-5], "values": [0, 1]},
    }
    monitor = {"name": "END", "nodes": [8, 17], "variables": "U1"}
    run = pogo.explicit.Model(points, quads, material, pull, monitor, time=6e-5, boundaries=ends).solve()
    young, poisson = STEEL["young"], STEEL["poisson"]
    confined = young * (1 - poisson) / (1 + poisson) / (1 - 2 * poisson)
    # The force over an edge of 1 mm and a thickness of 1 m.
    assert run.traces["END"][-1] == pytest.approx(1e3 / 1e-3 / confined * 8e-3, rel=1e-3)


def test_materials_kinds_and_sets_of_cells():
    points, quads = squares(8, 4)
    _, faces = triangles(8, 4)
    kinds = {"CPE4R": quads[:16], "CPE3": faces[np.isin(faces[:, 0], quads[16:, 0])]}
    n_cells = 16 + len(kinds["CPE3"])
    soft = {**STEEL, "young": 1e9}
    model = pogo.explicit.Model(
        points,
        kinds,
        {"steel": STEEL, "soft": soft},
        time=1e-6,
        material=(np.arange(n_cells) >= 16).astype(int),
        element_sets={"LAST": [n_cells - 1]},
    )
    info = model.block().info()
    assert {kind["name"]: kind["count"] for kind in info["elements_by_kind"]} == {"CPE4R": 16, "CPE3": n_cells - 16}
    assert [material["name"] for material in info["materials"]] == ["steel", "soft"]


@pytest.mark.parametrize(
    "change, text",
    [
        ({"cells": [[0, 1, 99, 2]]}, "cell 0 is 99, and there are 0 to"),
        ({"cells": [[0, 1]]}, "3 or 4 corners"),
        ({"cells": [[0.0, 1.0, 2.0]]}, "whole numbers"),
        ({"points": [[0.0, np.nan]] * 9}, "point 0 has a coordinate"),
        ({"points": np.zeros(9)}, "(n, 2) or (n, 3)"),
        ({"materials": {"a": STEEL, "b": STEEL}}, "say for each cell which it has"),
        ({"materials": {"a": STEEL}, "material": [0, 0, 0, 5]}, "cell 3 is 5"),
        ({"monitors": {"nodes": [-1]}}, "is -1"),
    ],
)
def test_arrays_that_cannot_be_used(change, text):
    points, quads = squares(2, 2)
    given = {"points": points, "cells": quads, "materials": {"steel": STEEL}, "time": 1e-6, **change}
    with pytest.raises(pogo.Error) as caught:
        pogo.explicit.Model(**given)
    assert text in str(caught.value) and str(caught.value).startswith("error: ")
