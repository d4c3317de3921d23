"""Models, block files and folders of results."""

import gc
import json
import os

import numpy as np
import pytest

import pogo
from conftest import plate


@pytest.fixture(scope="module")
def run():
    return plate(fields=[{"quantities": ["displacement", "stress"], "count": 3}]).solve()


def test_traces_have_labels(run):
    top = run.traces["TOP"]
    assert top.shape == (len(top.time), 4) and [name.split(".")[0] for name in top.names] == ["TOP"] * 4
    assert np.array_equal(run.traces[top.names[2]], top[:, 2])
    assert run.traces.sets == ["ENDS", "TOP"] and len(run.traces) == 8
    assert np.array_equal((2 * top).time, top.time) and (2 * top).names == top.names
    assert run.traces["ENDS"].names == ["ENDS.1.U1", "ENDS.1.U2", "ENDS.25.U1", "ENDS.25.U2"]
    with pytest.raises(KeyError, match="there are ENDS, TOP"):
        run.traces["BOTTOM"]


def test_traces_of_several_times():
    points = {"at": [0.01, 0.012], "variables": "U2"}
    run = plate(tables={"monitor": [{"name": "ALL", **points}, {"name": "FEW", "every": 5, **points}]}).solve()
    every, few = run.traces["ALL"], run.traces["FEW"]
    assert len(few.time) < len(every.time)
    at = np.searchsorted(every.time, few.time)
    assert np.array_equal(every.time[at], few.time) and np.array_equal(np.asarray(every)[at], np.asarray(few))
    with pytest.raises(pogo.Error, match="2 sets of times"):
        run.traces.to_pandas()


def test_traces_for_pandas_and_xarray(run):
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    top = run.traces["TOP"]
    frame, array = top.to_pandas(), top.to_xarray()
    assert np.array_equal(frame.to_numpy(), top) and list(frame.columns) == top.names
    assert array.dims == ("time", "trace") and np.array_equal(array.sel(trace=top.names[1]), top[:, 1])
    assert run.traces.to_pandas().shape == run.traces.to_xarray().shape == (len(top.time), 8)
    assert np.array_equal(run.energies.to_pandas()["time"], run.energies["time"])


def test_traces_are_mapped(run):
    one = run.traces[run.traces["TOP"].names[0]]
    assert not one.flags.owndata and not one.flags.writeable
    assert all(trace.flags.aligned for trace in run.traces.values()) and len(run.traces) > 4
    assert np.array_equal(one, run.traces["TOP"][:, 0])
    with np.load(run.folder / "traces.npz") as archive:
        assert np.array_equal(archive[one.names[0]], one)


def test_fields_are_mapped_and_agree_with_traces(run):
    assert len(run.fields) == 4 and np.all(np.diff(run.fields.times) > 0)
    ends = run.traces["ENDS"]
    for time, field in zip(run.fields.times, run.fields):
        row = np.argmin(np.abs(ends.time - time))
        # Fields are in single precision.
        assert np.allclose(field.point_data["displacement"][0, :2], ends[row, :2], rtol=1e-6, atol=1e-30)
    field = run.fields[-1]
    assert field.cells.shape == (24 * 12, 4) and field.time == run.fields.times[-1]
    assert not field.points.flags.owndata and not field.points.flags.writeable
    assert run.energies["kinetic"].shape == run.energies["time"].shape


def test_one_file_of_fields_says_the_same(run):
    pytest.importorskip("h5py")
    other = plate(fields=[{"quantities": ["displacement", "stress"], "count": 3}]).solve(field_format="vtkhdf")
    assert np.array_equal(other.fields.times, run.fields.times)
    for here, there in zip(run.fields, other.fields):
        for name in ("points", "connectivity", "offsets", "types"):
            assert np.array_equal(getattr(here, name), getattr(there, name))
        for name in ("point_data", "cell_data"):
            assert getattr(here, name).keys() == getattr(there, name).keys()
            for key, values in getattr(here, name).items():
                assert np.array_equal(values, getattr(there, name)[key])
    image = np.ones((3, 4, 5))
    images = [
        pogo.voxel.solve(
            image, 0.1, 1e3, load={"preset": "axial", "strain": 0.01}, output={"fields": ["stress"]}, field_format=kind
        ).fields[0]
        for kind in ("vtu", "vtkhdf")
    ]
    assert images[0].shape == images[1].shape == (3, 4, 5)
    assert np.array_equal(images[0].cell_data["stress"], images[1].cell_data["stress"])


def test_open_knows_what_solve_gave(run, tmp_path):
    run = plate().solve(output=tmp_path / "out")
    again = pogo.open(tmp_path / "out")
    assert again.summary == run.summary and again.physics == "explicit"
    assert np.array_equal(again.traces["TOP"], run.traces["TOP"])
    assert {path.name for path in again.files} == {path.name for path in (tmp_path / "out").iterdir()}
    with pytest.raises(pogo.Error, match="no folder of results"):
        pogo.open(tmp_path)
    with pytest.raises(pogo.Error, match="no fields"):
        _ = again.fields
    with pytest.raises(pogo.Error, match="there is no arrival here"):
        _ = again.arrival


def test_studies_and_shots(tmp_path):
    (tmp_path / "sweep.toml").write_text('[sweep]\n"material.steel.young" = [180e9, 200e9]\n')
    block = plate().block()
    study = pogo.study(block, tmp_path / "sweep.toml", jobs=2)
    assert list(study) == ["young-1.8e11", "young-2e11"] and len(study.table["case"]) == 2
    alone = block.solve(set={"material.steel.young": 200e9})
    assert np.array_equal(study["young-2e11"].traces["TOP"], alone.traces["TOP"])
    shots = [{"name": "once", "sources": ["PUSH"]}, {"name": "twice", "sources": ["PUSH"], "scales": [2.0]}]
    found = pogo.study(plate(shots=shots))
    assert np.allclose(found["twice"].traces["TOP"], 2 * found["once"].traces["TOP"], rtol=1e-9, atol=1e-25)
    assert found.shots["traces"].shape[0] == 2
    with pytest.raises(pogo.Error, match="use pogo.solve"):
        pogo.study(block)


def test_block_files(command, tmp_path):
    model = plate()
    block = model.block(output=tmp_path / "plate.blk")
    saved = model.save(tmp_path / "saved")
    command("pogo-block", saved.input, "--job", saved.jobs[0], "-o", tmp_path / "other.blk", "-q")
    assert block.report["nodes"] == block.info()["nodes"] == 25 * 13
    assert block.parameters["material.steel.young"]["value"] == 216.9e9
    block.verify()
    here, there = block.info(), pogo.Block(tmp_path / "other.blk").info()
    assert here["partition"] == there["partition"] and here["materials"] == there["materials"]
    bytes_ = bytearray((tmp_path / "plate.blk").read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    (tmp_path / "damaged.blk").write_bytes(bytes_)
    for act in (pogo.Block(tmp_path / "damaged.blk").verify, lambda: pogo.solve(tmp_path / "damaged.blk")):
        with pytest.raises(pogo.Error, match="damaged.blk: error: "):
            act()


def test_read_checks_and_takes_options(tmp_path):
    deck = pogo.generate("box", elements="c3d8", nodes=300, output=tmp_path / "box.inp")
    model = pogo.read(deck, block_nodes=64)
    assert model.report["ok"] and model.report["nodes"] == pogo.block(model).report["nodes"]
    assert pogo.block(model).report["blocks"] > pogo.block(deck).report["blocks"]
    (tmp_path / "job.toml").write_text("[solver]\ntime = 1e-7\n")
    assert pogo.solve(pogo.read(deck, job=tmp_path / "job.toml")).summary["time"] == pytest.approx(1e-7, rel=0.02)
    deck.write_text("*Heading\n*Node\n1, 0.\n")
    with pytest.raises(pogo.Error, match="box.inp"):
        pogo.read(deck)


def test_temporary_files_go_with_their_objects():
    block = plate().block()
    run = block.solve()
    paths = [block.path, run.folder]
    assert all(path.exists() for path in paths)
    top = run.traces["TOP"]
    del block, run
    gc.collect()
    assert not any(path.exists() for path in paths) and top.shape[1] == 4


def test_block_files_of_arrays_lie_in_memory(command, tmp_path):
    block = plate().block()
    assert os.path.realpath(block.path).startswith("/memfd:mesh.blk") and "mesh.blk" in repr(block)
    # Another process of this user finds it; and what it is copied to is any other file.
    there = json.loads(command("pogo-info", block.path, "--json").stdout)
    assert there["nodes"] == block.info()["nodes"]
    copy = block.save(tmp_path)
    assert copy.path == tmp_path / "mesh.blk" and np.array_equal(
        copy.solve().traces["TOP"], block.solve().traces["TOP"]
    )
    block.verify()
    text = str(block.explained(pogo.Error(f"{block.path}: error: beside {block.path}0")))
    assert text == f"mesh.blk: error: beside {block.path}0"
    # It says that it cannot be made anew, without the name of a folder that is not there any more.
    assert [source["name"] for source in block.info()["sources"]] == ["mesh.inp (in memory)", "job.toml (in memory)"]


def test_where_there_is_no_memory_file_there_is_a_folder(monkeypatch):
    expected = plate().solve().traces["TOP"]
    monkeypatch.delattr(os, "memfd_create")
    block = plate().block()
    assert block.path.name == "mesh.blk" and np.array_equal(block.solve().traces["TOP"], expected)


def test_progress_is_told():
    told = []
    block = pogo.block(plate(), progress=lambda *event: told.append(event))
    assert ("stage", 0.0, "partition") in told
    told.clear()
    block.solve(progress=lambda *event: told.append(event))
    assert any(kind == "done" and 0 <= done <= 1 for kind, done, _ in told) and told[-1][0] == "note"
