"""Voxel statics of arrays."""

import numpy as np
import pytest

import pogo
from conftest import assert_same_bytes


def hooke(young, poisson):
    lame, shear = young * poisson / (1 + poisson) / (1 - 2 * poisson), young / 2 / (1 + poisson)
    stiffness = np.zeros((6, 6))
    stiffness[:3, :3] = lame
    return stiffness + np.diag([2 * shear] * 3 + [shear] * 3)


@pytest.fixture(scope="module")
def sample():
    image = np.zeros((10, 8, 6), np.uint8)
    image[:, 2:5, 1:4] = 1
    image[4:7] = 2
    return image


@pytest.mark.parametrize("boundary", ["kinematic", "periodic"])
def test_a_solid_cube_has_hookes_stiffness(boundary):
    found = pogo.voxel.stiffness(np.ones((5, 4, 6)), 0.02, 1e4, 0.3, boundary=boundary)
    # The tolerance of the solver is 1e-6.
    assert np.abs(found - hooke(1e4, 0.3)).max() < 2e-2


def test_layers_in_series():
    # Confined between smooth walls, each layer has the stress of the other: the harmonic mean of λ + 2 μ.
    image = np.full((6, 4, 4), 7, np.uint8)
    image[3:] = 9
    run = pogo.voxel.solve(
        image, 0.1, {7: 1e3, 9: 4e3}, {7: 0.2, 9: 0.35}, load={"preset": "confined", "strain": -0.01}, tolerance=1e-9
    )
    parts = [hooke(1e3, 0.2)[0, 0], hooke(4e3, 0.35)[0, 0]]
    expected = 2 / sum(1 / part for part in parts)
    assert run.summary["cases"][0]["apparent"]["value"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "young, poisson, image_of",
    [
        (1e4, 0.3, lambda sample: sample > 0),
        ({1: 1e4, 2: 2e4}, {1: 0.3, 2: 0.2}, lambda sample: sample),
        (None, 0.3, lambda sample: sample * 1e4),
    ],
)
def test_results_have_the_bits_of_the_commands(by_commands, sample, young, poisson, image_of):
    model = pogo.voxel.Model(
        image_of(sample),
        0.05,
        young,
        poisson,
        load={"preset": "axial", "strain": -0.01},
        output={"fields": ["von_mises"]},
    )
    here, there = model.solve(tolerance=1e-8), by_commands(model, "--tolerance", "1e-8")
    assert np.array_equal(here.displacement, there.displacement) and np.array_equal(here.nodes, there.nodes)
    assert np.array_equal(here.fields[0].cell_data["von_mises"], there.fields[0].cell_data["von_mises"])
    assert here.summary["reaction"] == there.summary["reaction"]
    assert here.summary["elements"] == (sample > 0).sum()


@pytest.mark.parametrize(
    "layout",
    [
        np.ascontiguousarray,
        np.asfortranarray,
        lambda image: np.repeat(image, 2, axis=2)[:, :, ::2],
        lambda image: image.astype(">i2"),
        lambda image: image.astype(np.int64)[::-1][::-1],
    ],
    ids=["C", "Fortran", "strided", "big-endian", "reversed"],
)
def test_no_file_is_needed_for_the_bytes_of_the_commands(by_arrays, by_commands, sample, layout):
    image = layout(sample)
    image.flags.writeable = False
    top = np.zeros((10, 8, 6), bool)
    top[-1, 2:5] = True
    model = pogo.voxel.Model(
        image,
        0.05,
        {1: 1e4, 2: 2e4},
        boundaries=[
            {"side": "zmin"},
            {"mask": layout(top), "displacement": [0.0, 0.0, 1e-3]},
        ],
        output={"fields": ["von_mises"]},
    )
    assert_same_bytes(by_arrays(model), by_commands(model))


def test_a_mask_is_what_is_not_zero(sample):
    load = {"preset": "axial", "strain": -0.01}
    expected = None
    for image in (sample > 0, sample, (sample > 0).astype(np.uint8), -1.5 * sample):
        found = pogo.voxel.solve(image, 0.05, 1e4, load=load).displacement
        assert expected is None or np.array_equal(found, expected)
        expected = found


def test_axes_are_those_of_the_array():
    image = np.zeros((3, 4, 5), bool)
    image[:, :, 3] = True
    output = {"fields": ["displacement", "modulus"]}
    run = pogo.voxel.solve(image, 0.5, 1e3, load={"preset": "confined", "strain": -0.01}, output=output)
    (field,) = run.fields
    # The box of the solid voxels.
    assert field.shape == (3, 4, 1) and field.spacing == 0.5 and field.origin == (1.5, 0.0, 0.0)
    assert np.array_equal(field.cell_data["modulus"], np.full((3, 4, 1), 1e3))
    # The upper face along z is the last layer of the array.
    moved = field.point_data["displacement"][:, :, 0, 2]
    assert np.allclose(moved[-1], -0.01 * 1.5, rtol=1e-5) and np.allclose(moved[0], 0)


def test_an_earlier_run_is_a_start(sample):
    block = pogo.voxel.Model(sample > 0, 0.05, 1e4, load={"preset": "axial", "strain": -0.01}).block()
    first = block.solve()
    again = block.solve(start=first)
    assert again.summary["iterations"] <= 1 < first.summary["iterations"]


@pytest.mark.parametrize(
    "image, young, poisson, text",
    [
        (np.ones((3, 3)), 1.0, 0.3, "(nz, ny, nx)"),
        (np.ones((3, 3, 3)), {1: 1.0}, 0.3, "labels are whole numbers"),
        (np.ones((3, 3, 3), int), {1: 1.0}, {2: 0.3}, "none for label 1"),
        (np.zeros((3, 3, 3)), 1.0, 0.3, "no voxel of image.npy is solid"),
        (np.full((3, 3, 3), np.nan), None, 0.3, "image.npy: error: "),
        (np.ones((3, 3, 3)), 1.0, 0.5, "job.toml:"),
    ],
)
def test_images_that_cannot_be_used(image, young, poisson, text):
    with pytest.raises(pogo.Error) as caught:
        pogo.voxel.stiffness(image, 0.1, young, poisson)
    assert text in str(caught.value)
