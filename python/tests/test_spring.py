"""Masses and springs of arrays."""

import numpy as np
import pytest

import pogo
from conftest import assert_same_bytes

STIFFNESS = {"axis": 10.0, "face": 7.0, "space": 3.0}


def test_a_lattice_falls_as_a_stone_does():
    monitor = {"name": "ALL", "box": [[0, 0, 0], [1, 1, 1]], "variables": ["U"]}
    lattice = pogo.spring.Lattice(
        np.ones((3, 4, 5), bool),
        1e-3,
        time=0.02,
        density=1e3,
        stiffness=STIFFNESS,
        gravity=[0, 0, -9.81],
        monitors=monitor,
    )
    moved = lattice.solve().traces["ALL"]
    assert moved.shape[1] == 3 * 60
    expected = np.outer(-0.5 * 9.81 * moved.time**2, np.tile([0.0, 0.0, 1.0], 60))
    # Rounding of positions of some mm, not of displacements.
    assert np.abs(moved - expected).max() < 1e-9 * np.abs(expected).max()


def test_a_spring_holds_its_weight():
    # Two particles above one another, the lower one held: stretched by m g / k once the damper has stopped the upper
    # one.
    lattice = pogo.spring.Lattice(
        np.ones((2, 1, 1), np.uint8),
        1e-2,
        time=4.0,
        mass=1e-3,
        stiffness={"axis": 50.0},
        alpha=20.0,
        boundaries={"side": "zmin"},
        gravity={"vector": [0.0, 0.0, -9.81]},
        monitors={"name": "TOP", "side": "zmax", "variables": "U3"},
    )
    assert lattice.solve().traces["TOP"][-1] == pytest.approx(-1e-3 * 9.81 / 50.0, rel=1e-6)


def test_no_file_is_needed_for_the_bytes_of_the_commands(by_arrays, by_commands):
    mask = np.asfortranarray(np.arange(4 * 5 * 6).reshape(4, 5, 6) % 7 > 0)
    lattice = pogo.spring.Lattice(
        mask,
        1e-3,
        time=0.01,
        density=1e3,
        stiffness=STIFFNESS,
        boundaries={"side": "zmin"},
        gravity=[0.0, 0.0, -9.81],
        monitors={"name": "TOP", "side": "zmax", "variables": ["U"]},
        fields={"count": 2},
    )
    assert_same_bytes(by_arrays(lattice), by_commands(lattice))


def test_results_have_the_bits_of_the_commands(by_commands):
    mask = np.ones((4, 6, 12), np.uint8)
    mask[2:] = 2
    lattice = pogo.spring.Lattice(
        mask,
        1e-3,
        time=0.02,
        materials=[
            {"name": "fat", "label": 1, "density": 950.0, "stiffness": STIFFNESS},
            {"name": "skin", "label": 2, "density": 1100.0, "stiffness": 20.0, "damping": 1e-4},
        ],
        boundaries=[
            {"side": "xmin"},
            {
                "side": "xmax",
                "components": "x",
                "value": 1e-3,
                "amplitude": {"kind": "smooth_step", "times": [0, 0.01], "values": [0, 1]},
            },
        ],
        cuts={"name": "BLADE", "time": 0.012, "point": [6e-3, 0, 0], "normal": [1, 0, 0]},
        monitors={"name": "MID", "at": [4e-3, 3e-3, 2e-3], "variables": ["U", "V"]},
        fields={"count": 2},
    )
    here, there = lattice.solve(), by_commands(lattice)
    assert np.array_equal(here.traces["MID"], there.traces["MID"])
    assert np.array_equal(here.tables["broken"]["time"], there.tables["broken"]["time"])
    assert here.summary["cut"] == there.summary["cut"] > 0
    assert np.array_equal(here.fields[-1].points, there.fields[-1].points)


def test_lattices_that_cannot_be_used():
    with pytest.raises(pogo.Error, match="leave out those of the lattice"):
        pogo.spring.Lattice(np.ones((2, 2, 2)), time=1.0, density=1.0, materials=[{"label": 1}])
    with pytest.raises(pogo.Error, match=r"\(nz, ny, nx\)"):
        pogo.spring.Lattice(np.ones(8), time=1.0, density=1.0)
    with pytest.raises(pogo.Error, match="job.toml:"):
        pogo.spring.Lattice(np.ones((2, 2, 2)), time=-1.0, density=1.0, stiffness=1.0).block()
