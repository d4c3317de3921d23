//! Changed bits of compressed arrays: an error or the same mesh.

use std::os::unix::fs::FileExt;

use super::*;

#[test]
fn changes_of_compressed_arrays_are_noticed() {
    let folder = folder();
    for (how, start, end) in [
        (How::AppendedZlib, "\n  _", "\n</AppendedData>"),
        (How::Zlib, "\">\n  ", "\n</DataArray>"),
        (How::Lzma, "\">\n  ", "\n</DataArray>"),
    ] {
        let bytes = vtu(how);
        let find = |what: &str, from: usize| {
            from + bytes[from..].windows(what.len()).position(|window| window == what.as_bytes()).unwrap()
        };
        // The coordinates, or all arrays.
        let start = find(start, 0) + start.len();
        let range = start..find(end, start);
        let path = put(&folder, "a.vtu", &bytes);
        let expected = read(&path, &[]).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let mut noticed = 0;
        for at in range.clone() {
            for bit in [at % 3, 3 + at % 4] {
                file.write_at(&[bytes[at] ^ 1 << bit], at as u64).unwrap();
                match read(&path, &[]) {
                    Ok(mesh) => {
                        let arrays = |mesh: &MeshFile| mesh.arrays.iter().map(|a| a.values.clone()).collect::<Vec<_>>();
                        assert!(
                            mesh.coordinates == expected.coordinates
                                && mesh.elements == expected.elements
                                && arrays(&mesh) == arrays(&expected),
                            "{how:?}: bit {bit} of byte {at}"
                        );
                    }
                    Err(_) => noticed += 1,
                }
            }
            file.write_at(&bytes[at..=at], at as u64).unwrap();
        }
        assert!(noticed > range.len(), "{how:?}: {noticed} of {}", 2 * range.len());
    }
}

#[test]
fn a_number_of_texts_that_are_not_there_takes_no_time() {
    let folder = folder();
    let data = "$ElementData\n9000000000000000000\n\"fibre\"\n1\n0.0\n3\n0\n3\n0\n$EndElementData\n";
    let error = read(&put(&folder, "a.msh", [MSH2, data].concat()), &[]).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("of 9000000000000000000 names"), "{error}");
    let text = String::from_utf8(legacy_vtk(false, false)).unwrap();
    let strings = "FIELD FieldData 1\nnames 1 9000000000000000000 string\nfirst\n";
    let error = read(&put(&folder, "a.vtk", text + strings), &[]).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("cut"), "{error}");
}

#[test]
fn a_later_piece_that_names_a_point_far_beyond_is_an_error() {
    let piece = |node: &str| {
        format!(
            "<Piece NumberOfPoints=\"3\" NumberOfCells=\"1\"><Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" \
             format=\"ascii\">0 0 0 1 0 0 0 1 0</DataArray></Points><Cells>\
             <DataArray type=\"Float64\" Name=\"connectivity\" format=\"ascii\">0 1 {node}</DataArray>\
             <DataArray type=\"Int32\" Name=\"offsets\" format=\"ascii\">3</DataArray>\
             <DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">5</DataArray></Cells></Piece>"
        )
    };
    let file = |node: &str| {
        let pieces = [piece("2"), piece(node)].concat();
        format!("<VTKFile type=\"UnstructuredGrid\"><UnstructuredGrid>{pieces}</UnstructuredGrid></VTKFile>")
    };
    let folder = folder();
    assert_eq!(read(&put(&folder, "a.vtu", file("2").as_bytes()), &[]).unwrap().n_elements(), 2);
    for node in ["1e300", "-1", "3", "nan"] {
        let error = read(&put(&folder, "a.vtu", file(node).as_bytes()), &[]).unwrap_err().to_string();
        assert!(error.contains("there are 3") || error.contains("is no number"), "{node}: {error}");
    }
}
