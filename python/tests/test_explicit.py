"""Explicit dynamics of arrays."""

import gc
import weakref

import numpy as np
import pytest

import pogo
from conftest import BURST, STEEL, assert_same_bytes, plate, squares, tetrahedra, triangles


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


def kinds_and_sets(dimension):
    """Two types of cells, two materials, sets of nodes and of cells; and arrays that are not as the readers want them."""
    if dimension == 3:
        points, cells = tetrahedra(3, 1e-3)
        groups = {"C3D4": np.asfortranarray(cells.astype(np.int32))}
        edge = np.flatnonzero(points[:, 2] == 0)
    else:
        points, quads = squares(8, 4)
        _, faces = triangles(8, 4)
        groups = {"CPE4R": quads[:16], "CPE3": faces[np.isin(faces[:, 0], quads[16:, 0])]}
        edge = np.flatnonzero(points[:, 1] == 0)
    n_cells = sum(map(len, groups.values()))
    push = {"nodes": [len(points) - 1], "component": 1, "force": 2.0, "amplitude": BURST}
    return pogo.explicit.Model(
        np.asfortranarray(points),
        groups,
        {"steel": STEEL, "soft": {**STEEL, "young": 1e9}},
        push,
        {"name": "EDGE", "nset": "EDGE", "variables": ["U", "V"]},
        time=4e-6,
        material=(np.arange(n_cells) >= n_cells // 2).astype(int),
        boundaries={"side": "xmin"},
        node_sets={"EDGE": edge[::-1]},
        element_sets={"LAST": [n_cells - 1, 0]},
        fields={"quantities": ["displacement", "stress"], "count": 2},
    )


@pytest.mark.parametrize("dimension", [2, 3])
def test_no_file_is_needed_for_the_bytes_of_the_commands(by_arrays, by_commands, dimension):
    model = kinds_and_sets(dimension)
    assert_same_bytes(by_arrays(model), by_commands(model))


def test_what_is_saved_says_what_the_arrays_say(tmp_path):
    model = kinds_and_sets(2)
    saved = model.save(tmp_path / "saved").block()
    here, there = model.block().info(), saved.info()
    sources = [(source["name"], source["bytes"]) for source in here["sources"]]
    assert [name for name, _ in sources] == ["mesh.inp (in memory)", "job.toml (in memory)"]
    # The same text has the same hash; a mesh of arrays has that of its arrays.
    assert here["sources"][1]["hash"] == there["sources"][1]["hash"]
    # Every table is the same.
    tables = [{row["name"]: row["checksum"] for row in info.pop("file_sections")} for info in (here, there)]
    assert tables[0].pop("provenance") != tables[1].pop("provenance") and tables[0] == tables[1]


def test_arrays_are_not_copied_before_they_are_blocked():
    points, quads = squares(4, 4)
    model = pogo.explicit.Model(points, quads, {"steel": STEEL}, time=1e-6)
    first = model.block().info()["sources"]
    points[:, 0] *= 2.0
    assert model.block().info()["sources"] != first
    quads[0, 0] = 99
    with pytest.raises(pogo.Error, match="^mesh.inp: error: .*node 100"):
        model.block()


def test_nothing_keeps_the_arrays_of_a_model_that_is_gone():
    points, quads = squares(4, 4)
    model = pogo.explicit.Model(points, quads, {"steel": STEEL}, time=1e-6)
    kept = weakref.ref(points)
    del points
    block = model.block()
    gc.collect()
    assert kept() is not None
    del model
    gc.collect()
    assert kept() is None
    block.solve()


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
        ({"node_sets": {"A,B": [0]}}, "the name of a set is 'A,B'"),
    ],
)
def test_arrays_that_cannot_be_used(change, text):
    points, quads = squares(2, 2)
    given = {"points": points, "cells": quads, "materials": {"steel": STEEL}, "time": 1e-6, **change}
    with pytest.raises(pogo.Error) as caught:
        pogo.explicit.Model(**given)
    assert text in str(caught.value) and str(caught.value).startswith("error: ")
