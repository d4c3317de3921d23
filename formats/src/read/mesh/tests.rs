use std::fmt::Write as _;
use std::io::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;

mod damage;
#[path = "../../../../tests/fuzz/fuzz_targets/mesh_input.rs"]
mod mesh_input;
mod second_order;

/// A mesh, where some keywords of decks are left out.
fn read(path: &Path, ignore: &[String]) -> Result<MeshFile, MeshFileError> {
    super::read(path, &ReadOptions { ignore: ignore.to_vec(), ..ReadOptions::default() })
}

/// Two tetrahedra with a triangle on them.
const POINTS: [[f64; 3]; 5] = [[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.], [1., 1., 1.5]];
const TETRAHEDRA: [[u32; 4]; 2] = [[0, 1, 2, 3], [1, 2, 3, 4]];

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn put(folder: &tempfile::TempDir, name: &str, bytes: impl AsRef<[u8]>) -> std::path::PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn same_mesh(mesh: &MeshFile) {
    assert_eq!(mesh.corners, 4);
    assert_eq!(mesh.coordinates, POINTS.concat());
    assert_eq!(mesh.elements, TETRAHEDRA.concat());
}

#[derive(Clone, Copy, Debug)]
enum How {
    Ascii,
    Binary,
    Zlib,
    Lz4,
    Lzma,
    Appended,
    AppendedZlib,
    AppendedBase64,
    /// Header and data encoded apart, as some writers do.
    Padded,
}

fn block(raw: &[u8], how: How) -> Vec<u8> {
    let number = |n: usize| (n as u32).to_le_bytes();
    let packed = |raw: &[u8]| match how {
        How::Lz4 => lz4_flex::block::compress(raw),
        How::Lzma => {
            let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
            xz.write_all(raw).unwrap();
            xz.finish().unwrap()
        }
        _ => {
            let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            zlib.write_all(raw).unwrap();
            zlib.finish().unwrap()
        }
    };
    // Blocks of 40 bytes.
    let blocks = || {
        let parts: Vec<Vec<u8>> = raw.chunks(40).map(packed).collect();
        let mut head = [number(parts.len()), number(40), number(raw.len() % 40)].concat();
        parts.iter().for_each(|part| head.extend(number(part.len())));
        (head, parts.concat())
    };
    match how {
        How::Ascii => unreachable!(),
        How::Binary | How::AppendedBase64 => STANDARD.encode([&number(raw.len()), raw].concat()).into_bytes(),
        How::Padded => (STANDARD.encode(number(raw.len())) + &STANDARD.encode(raw)).into_bytes(),
        How::Zlib | How::Lz4 | How::Lzma => {
            let (head, data) = blocks();
            (STANDARD.encode(head) + &STANDARD.encode(data)).into_bytes()
        }
        How::Appended => [&number(raw.len()), raw].concat(),
        How::AppendedZlib => {
            let (head, data) = blocks();
            [head, data].concat()
        }
    }
}

fn vtu(how: How) -> Vec<u8> {
    let compressor = match how {
        How::Zlib | How::AppendedZlib => " compressor=\"vtkZLibDataCompressor\"",
        How::Lz4 => " compressor=\"vtkLZ4DataCompressor\"",
        How::Lzma => " compressor=\"vtkLZMADataCompressor\"",
        _ => "",
    };
    let mut text = format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"0.1\" byte_order=\"LittleEndian\"{compressor}>\n\
         <UnstructuredGrid>\n<Piece NumberOfPoints=\"5\" NumberOfCells=\"3\">\n"
    );
    let mut appended = Vec::new();
    let mut array = |text: &mut String, name: &str, kind: &str, components: usize, values: &[f64]| {
        let raw: Vec<u8> = values
            .iter()
            .flat_map(|&v| match kind {
                "Float64" => v.to_le_bytes().to_vec(),
                "Float32" => (v as f32).to_le_bytes().to_vec(),
                "Int32" => (v as i32).to_le_bytes().to_vec(),
                _ => vec![v as u8],
            })
            .collect();
        let _ = write!(text, "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" ");
        match how {
            How::Ascii => {
                let words: Vec<String> = values.iter().map(f64::to_string).collect();
                let _ = writeln!(text, "format=\"ascii\">\n{}\n</DataArray>", words.join(" "));
            }
            How::Binary | How::Zlib | How::Lz4 | How::Lzma | How::Padded => {
                let data = String::from_utf8(block(&raw, how)).unwrap();
                let _ = writeln!(text, "format=\"binary\">\n  {data}\n</DataArray>");
            }
            How::Appended | How::AppendedZlib | How::AppendedBase64 => {
                let _ = writeln!(text, "format=\"appended\" offset=\"{}\"/>", appended.len());
                appended.extend(block(&raw, how));
            }
        }
    };
    text += "<Points>\n";
    array(&mut text, "Points", "Float64", 3, &POINTS.concat());
    text += "</Points>\n<Cells>\n";
    array(&mut text, "connectivity", "Int32", 1, &[0., 1., 2., 0., 1., 2., 3., 1., 2., 3., 4.]);
    array(&mut text, "offsets", "Int32", 1, &[3., 7., 11.]);
    array(&mut text, "types", "UInt8", 1, &[5., 10., 10.]);
    text += "</Cells>\n<CellData>\n";
    array(&mut text, "fibers", "Float32", 3, &[0., 0., 0., 1., 0., 0., 0., 0.5, -0.25]);
    array(&mut text, "tag", "Int32", 1, &[-1., 2., 7.]);
    text += "</CellData>\n</Piece>\n</UnstructuredGrid>\n";
    let mut bytes = text.into_bytes();
    if !appended.is_empty() {
        let encoding = if matches!(how, How::AppendedBase64) { "base64" } else { "raw" };
        bytes.extend(format!("<AppendedData encoding=\"{encoding}\">\n  _").into_bytes());
        bytes.extend(appended);
        bytes.extend(b"\n</AppendedData>\n");
    }
    bytes.extend(b"</VTKFile>\n");
    bytes
}

const ALL: [How; 9] = [
    How::Ascii,
    How::Binary,
    How::Zlib,
    How::Lz4,
    How::Lzma,
    How::Appended,
    How::AppendedZlib,
    How::AppendedBase64,
    How::Padded,
];

#[test]
fn every_way_to_write_a_vtu() {
    let folder = folder();
    for how in ALL {
        let mesh = read(&put(&folder, "a.vtu", vtu(how)), &[]).unwrap_or_else(|error| panic!("{how:?}: {error}"));
        same_mesh(&mesh);
        assert_eq!(mesh.element_labels, [1, 2]);
        assert!(mesh.notes[0].contains("1 triangles left out"), "{:?}", mesh.notes);
        assert_eq!(mesh.arrays[0].values, [1., 0., 0., 0., 0.5, -0.25]);
        assert!(mesh.arrays[1].whole && mesh.arrays[1].values == [2., 7.]);
    }
}

#[test]
fn what_vtk_itself_adds_to_a_vtu_is_no_data() {
    let folder = folder();
    let key = "<InformationKey name=\"L2_NORM_RANGE\" location=\"vtkDataArray\" length=\"1\">\n<Value index=\"0\">\n1.5\n</Value>\n\
               </InformationKey>\n</DataArray>";
    for how in [How::Ascii, How::Binary, How::Zlib] {
        let text = String::from_utf8(vtu(how)).unwrap().replace("</DataArray>", key);
        same_mesh(&read(&put(&folder, "a.vtu", text), &[]).unwrap_or_else(|error| panic!("{how:?}: {error}")));
    }
    // A compressor is named in files of text, too.
    let other = |how| {
        let text = String::from_utf8(vtu(how)).unwrap();
        text.replace("LittleEndian\"", "LittleEndian\" compressor=\"vtkOtherDataCompressor\"")
    };
    same_mesh(&read(&put(&folder, "a.vtu", other(How::Ascii)), &[]).unwrap());
    let error = read(&put(&folder, "a.vtu", other(How::Binary)), &[]).unwrap_err().to_string();
    assert!(error.contains("vtkOtherDataCompressor: write it with ZLib"), "{error}");
}

/// The same mesh in VTK's older files, with or without offsets (version 5.1), and with what VTK itself adds.
fn legacy_vtk(binary: bool, offsets: bool) -> Vec<u8> {
    let version = if offsets { "5.1" } else { "3.0" };
    let encoding = if binary { "BINARY" } else { "ASCII" };
    let mut out =
        format!("# vtk DataFile Version {version}\nvtk output\n{encoding}\nDATASET UNSTRUCTURED_GRID\n").into_bytes();
    let data = |out: &mut Vec<u8>, kind: &str, values: &[f64]| {
        match (binary, kind) {
            (false, _) => values.iter().for_each(|value| out.extend(format!("{value} ").bytes())),
            (true, "float") => values.iter().for_each(|&value| out.extend((value as f32).to_be_bytes())),
            (true, "double") => values.iter().for_each(|&value| out.extend(value.to_be_bytes())),
            (true, "int") => values.iter().for_each(|&value| out.extend((value as i32).to_be_bytes())),
            (true, _) => values.iter().for_each(|&value| out.extend((value as i64).to_be_bytes())),
        }
        out.push(b'\n');
    };
    out.extend(b"FIELD FieldData 2\nmade%20by 1 2 string\n");
    // Six bits of the first byte, or fourteen of the first two, are the length.
    out.extend(if binary { b"\xc2me\x80\x03you\n".as_slice() } else { b"me\nyou\n" });
    out.extend(b"TimeValue 1 1 double\n");
    data(&mut out, "double", &[0.5]);
    out.extend(b"METADATA\nINFORMATION 0\n\nPOINTS 5 double\n");
    data(&mut out, "double", &POINTS.concat());
    if offsets {
        out.extend(b"CELLS 4 11\nOFFSETS vtktypeint64\n");
        data(&mut out, "vtktypeint64", &[0., 3., 7., 11.]);
        out.extend(b"CONNECTIVITY vtktypeint64\n");
        data(&mut out, "vtktypeint64", &[0., 1., 2., 0., 1., 2., 3., 1., 2., 3., 4.]);
    } else {
        out.extend(b"CELLS 3 14\n");
        data(&mut out, "int", &[3., 0., 1., 2., 4., 0., 1., 2., 3., 4., 1., 2., 3., 4.]);
    }
    out.extend(b"CELL_TYPES 3\n");
    data(&mut out, "int", &[5., 10., 10.]);
    out.extend(b"\nCELL_DATA 3\nVECTORS the%20fibre float\n");
    data(&mut out, "float", &[0., 0., 0., 1., 0., 0., 0., 0.5, -0.25]);
    out.extend(b"SCALARS tag int 1\nLOOKUP_TABLE default\n");
    data(&mut out, "int", &[-1., 2., 7.]);
    out.extend(b"POINT_DATA 5\nSCALARS height float\nLOOKUP_TABLE default\n");
    data(&mut out, "float", &[0., 0., 0., 1., 1.5]);
    out
}

#[test]
fn older_files_of_vtk_are_read_too() {
    let folder = folder();
    for (binary, offsets) in [(false, false), (false, true), (true, false), (true, true)] {
        let bytes = legacy_vtk(binary, offsets);
        let mesh = read(&put(&folder, "a.vtk", &bytes), &[]).unwrap_or_else(|e| panic!("{binary} {offsets}: {e}"));
        same_mesh(&mesh);
        assert_eq!((mesh.element_labels, mesh.point_arrays), (vec![1, 2], vec!["height".to_owned()]));
        assert!(mesh.notes[0].contains("1 triangles left out"), "{:?}", mesh.notes);
        assert_eq!((mesh.arrays[0].name.as_str(), mesh.arrays[0].components), ("the fibre", 3));
        assert_eq!(mesh.arrays[0].values, [1., 0., 0., 0., 0.5, -0.25]);
        assert!(mesh.arrays[1].whole && mesh.arrays[1].values == [2., 7.]);
        // Cut at any place: an error, or a file that ends between two tables behind the cells.
        for end in (0..bytes.len()).filter(|&end| binary || bytes[..end].ends_with(b" ")) {
            if let Ok(mesh) = read(&put(&folder, "a.vtk", &bytes[..end]), &[]) {
                same_mesh(&mesh);
            }
        }
    }
}

const MSH2: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n2 5 \"the start\"\n3 6 \"wall\"\n$EndPhysicalNames\n\
    $Nodes\n5\n10 0 0 0\n20 1 0 0\n30 0 1 0\n40 0 0 1\n50 1 1 1.5\n$EndNodes\n\
    $Elements\n3\n1 2 2 5 1 10 20 30\n2 4 2 6 1 10 20 30 40\n3 4 2 6 1 20 30 40 50\n$EndElements\n\
    $ElementData\n1\n\"fibre\"\n1\n0.0\n3\n0\n3\n2\n2 1 0 0\n3 0 0.5 -0.25\n$EndElementData\n";

const MSH4: &str = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n2 5 \"the start\"\n3 6 \"wall\"\n$EndPhysicalNames\n\
    $Entities\n1 0 1 1\n1 0 0 0 0\n1 0 0 0 1 1 1 1 5 0\n1 0 0 0 1 1 1 1 6 1 1\n$EndEntities\n\
    $Nodes\n2 5 10 50\n2 1 0 3\n10\n20\n30\n0 0 0\n1 0 0\n0 1 0\n3 1 0 2\n40\n50\n0 0 1\n1 1 1.5\n$EndNodes\n\
    $Elements\n2 3 1 3\n2 1 2 1\n1 10 20 30\n3 1 4 2\n2 10 20 30 40\n3 20 30 40 50\n$EndElements\n";

fn msh2_binary() -> Vec<u8> {
    let mut out = b"$MeshFormat\n2.2 1 8\n".to_vec();
    let int = |out: &mut Vec<u8>, values: &[i32]| values.iter().for_each(|v| out.extend(v.to_le_bytes()));
    int(&mut out, &[1]);
    out.extend(b"\n$EndMeshFormat\n$PhysicalNames\n2\n2 5 \"the start\"\n3 6 \"wall\"\n$EndPhysicalNames\n$Nodes\n5\n");
    for (k, x) in POINTS.iter().enumerate() {
        int(&mut out, &[10 * (k as i32 + 1)]);
        x.iter().for_each(|v| out.extend(v.to_le_bytes()));
    }
    out.extend(b"\n$EndNodes\n$Elements\n3\n");
    int(&mut out, &[2, 1, 2, 1, 5, 1, 10, 20, 30, 4, 2, 2, 2, 6, 1, 10, 20, 30, 40, 3, 6, 1, 20, 30, 40, 50]);
    out.extend(b"\n$EndElements\n");
    out
}

fn msh4_binary() -> Vec<u8> {
    let mut out = b"$MeshFormat\n4.1 1 8\n".to_vec();
    let int = |out: &mut Vec<u8>, values: &[i32]| values.iter().for_each(|v| out.extend(v.to_le_bytes()));
    let size = |out: &mut Vec<u8>, values: &[u64]| values.iter().for_each(|v| out.extend(v.to_le_bytes()));
    let real = |out: &mut Vec<u8>, values: &[f64]| values.iter().for_each(|v| out.extend(v.to_le_bytes()));
    int(&mut out, &[1]);
    out.extend(b"\n$EndMeshFormat\n$PhysicalNames\n2\n2 5 \"the start\"\n3 6 \"wall\"\n$EndPhysicalNames\n$Entities\n");
    size(&mut out, &[0, 0, 1, 1]);
    for group in [5, 6] {
        int(&mut out, &[1]);
        real(&mut out, &[0., 0., 0., 1., 1., 1.]);
        size(&mut out, &[1]);
        int(&mut out, &[group]);
        size(&mut out, &[0]);
    }
    out.extend(b"\n$EndEntities\n$Nodes\n");
    size(&mut out, &[1, 5, 10, 50]);
    int(&mut out, &[3, 1, 0]);
    size(&mut out, &[5, 10, 20, 30, 40, 50]);
    real(&mut out, &POINTS.concat());
    out.extend(b"\n$EndNodes\n$Elements\n");
    size(&mut out, &[2, 3, 1, 3]);
    int(&mut out, &[2, 1, 2]);
    size(&mut out, &[1, 1, 10, 20, 30]);
    int(&mut out, &[3, 1, 4]);
    size(&mut out, &[2, 2, 10, 20, 30, 40, 3, 20, 30, 40, 50]);
    out.extend(b"\n$EndElements\n");
    out
}

#[test]
fn gmsh_of_both_versions_as_text_and_binary() {
    let folder = folder();
    for bytes in [MSH2.as_bytes().to_vec(), MSH4.as_bytes().to_vec(), msh2_binary(), msh4_binary()] {
        let mesh = read(&put(&folder, "a.msh", &bytes), &[]).unwrap();
        same_mesh(&mesh);
        assert_eq!(mesh.node_labels, [10, 20, 30, 40, 50]);
        assert_eq!(mesh.element_labels, [2, 3]);
        assert_eq!(mesh.element_sets, [NamedSet { name: "wall".into(), members: vec![0, 1] }]);
        assert_eq!(mesh.node_sets[0], NamedSet { name: "the start".into(), members: vec![0, 1, 2] });
        assert_eq!(mesh.arrays[0].values, [6., 6.]);
    }
    let mesh = read(&put(&folder, "a.msh", MSH2), &[]).unwrap();
    assert_eq!(mesh.arrays[1].values, [1., 0., 0., 0., 0.5, -0.25]);
    assert_eq!(mesh.element_lines, [20, 21]);
}

#[test]
fn opencarp_with_fibres_sheets_and_regions() {
    let folder = folder();
    let pts: String = POINTS.iter().map(|x| format!("{} {} {}\n", x[0], x[1], x[2])).collect();
    put(&folder, "h.pts", format!("5\n{pts}"));
    put(&folder, "h.elem", "# two and a face\n3 # all\nTr 0 1 2 4\nTt 0 1 2 3 1\nTt 1 2 3 4 7\n");
    put(&folder, "h.lon", "2\n0 0 0 0 0 0\n1 0 0 0 1 0\n0 0.5 -0.25 1 0 0\n");
    let mesh = read(&folder.path().join("h.pts"), &[]).unwrap();
    same_mesh(&mesh);
    let names: Vec<&str> = mesh.element_sets.iter().map(|set| set.name.as_str()).collect();
    assert_eq!(names, ["1", "7"]);
    assert_eq!(mesh.arrays[1].values, [1., 0., 0., 0., 0.5, -0.25]);
    assert_eq!(mesh.arrays[2].values, [0., 1., 0., 1., 0., 0.]);
    assert_eq!(mesh.place_of(1).rsplit(':').next(), Some("5"));
    let vtx = put(&folder, "s.vtx", "2\nextra\n3 # the last but one\n4\n");
    assert_eq!(read_vtx(&vtx).unwrap(), [3, 4]);
    let error = read_vtx(&put(&folder, "s.vtx", "1\nextra\n3\n4\n")).unwrap_err().to_string();
    assert!(error.contains("s.vtx:4: error: more than the 1 nodes"), "{error}");
    // A header of old: none.
    put(&folder, "h.lon", "0 0 0\n1 0 0\n0 1 0\n");
    assert_eq!(read(&folder.path().join("h.elem"), &[]).unwrap().arrays.len(), 2);
    // The base name, as openCARP's own programs take it.
    assert!(is_mesh_file(&folder.path().join("h")) && !is_mesh_file(&folder.path().join("g")));
    let same = read(&folder.path().join("h"), &[]).unwrap();
    assert_eq!((same.file, same.arrays.len()), (folder.path().join("h.elem").display().to_string(), 2));
    put(&folder, "v.2.elem", "1\nTt 0 1 2 3 1\n");
    let error = read(&folder.path().join("v.2"), &[]).unwrap_err().to_string();
    assert!(error.contains("v.2.pts: error: cannot read"), "{error}");
}

#[test]
fn elements_of_several_groups_are_one_each() {
    let folder = folder();
    let twice = MSH2
        .replace("$Elements\n3", "$Elements\n4")
        .replace("3 4 2 6 1 20 30 40 50", "3 4 2 6 1 20 30 40 50\n4 4 2 8 1 20 30 40 50");
    let mesh = read(&put(&folder, "a.msh", twice), &[]).unwrap();
    same_mesh(&mesh);
    let sets: Vec<_> = mesh.element_sets.iter().map(|set| (set.name.as_str(), &set.members[..])).collect();
    assert_eq!(sets, [("wall", &[0, 1][..]), ("8", &[1])]);
    assert_eq!(mesh.arrays[0].values, [6., 6.]);
}

#[test]
fn a_deck_needs_no_materials_and_may_have_shells() {
    let folder = folder();
    let nodes = "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 0, 1, 0\n4, 0, 0, 1\n5, 1, 1, 1.5\n";
    let deck = format!(
        "{nodes}*ELEMENT, TYPE=S3, ELSET=SKIN\n1, 1, 2, 3\n*ELEMENT, TYPE=C3D4, ELSET=ALL\n2, 1, 2, 3, 4\n3, 2, 3, 4, 5\n*NSET, NSET=A\n4, 5\n*MATERIAL, NAME=X\n*HYPERELASTIC\n1, 2\n*SHELL SECTION, ELSET=SKIN\n1\n"
    );
    let mesh = read(&put(&folder, "a.inp", deck), &[]).unwrap();
    same_mesh(&mesh);
    assert_eq!(mesh.element_labels, [2, 3]);
    assert_eq!(mesh.element_sets, [NamedSet { name: "ALL".into(), members: vec![0, 1] }]);
    // The set of faces beside the solids is one of their nodes, too.
    let set = |name: &str, members: Vec<u32>| NamedSet { name: name.into(), members };
    assert_eq!(mesh.node_sets, [set("A", vec![3, 4]), set("SKIN", vec![0, 1, 2])]);
    let shells = format!("{nodes}*ELEMENT, TYPE=S3\n1, 1, 2, 3\n2, 2, 3, 5\n");
    let mesh = read(&put(&folder, "a.inp", &shells), &[]).unwrap();
    assert_eq!((mesh.corners, mesh.plane, mesh.coordinates.len()), (3, false, 15));
    let plane = "*NODE\n1, 0, 0\n2, 1, 0\n3, 0, 1\n*ELEMENT, TYPE=CPE3\n1, 1, 2, 3\n";
    assert!(read(&put(&folder, "a.inp", plane), &[]).unwrap().plane);
    // Quadrilaterals beside triangles would be holes; beside tetrahedra they are its skin.
    let quad = "*ELEMENT, TYPE=S4R\n9, 1, 2, 3, 4\n";
    let mixed = put(&folder, "a.inp", shells + quad);
    let error = read(&mixed, &[]).unwrap_err().to_string();
    assert!(error.contains("a.inp:10: error: 1 elements of type S4R"), "{error}");
    assert_eq!(read(&mixed, &["s4r".into()]).unwrap().n_elements(), 2);
    let skin = format!("{nodes}*ELEMENT, TYPE=C3D4\n2, 1, 2, 3, 4\n{quad}");
    assert_eq!(read(&put(&folder, "a.inp", skin), &[]).unwrap().n_elements(), 1);
    let bricks = "*NODE\n1, 0, 0\n*ELEMENT, TYPE=C3D10\n1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1\n";
    let bricks = put(&folder, "a.inp", bricks);
    let error = read(&bricks, &[]).unwrap_err().to_string();
    assert!(error.contains("C3D10") && error.contains("a.inp:3: error"), "{error}");
    assert!(error.contains("--split-second-order"), "{error}");
}

#[test]
fn second_order_tetrahedra_of_decks_are_split() {
    let folder = folder();
    let corners = "*NODE\n1, 0, 0, 0\n2, 2, 0, 0\n3, 0, 2, 0\n4, 0, 0, 2\n";
    let edges = "5, 1, 0, 0\n6, 1, 1, 0\n7, 0, 1, 0\n8, 0, 0, 1\n9, 1, 0, 1\n10, 0, 1, 1\n";
    let element = "*ELEMENT, TYPE=C3D10, ELSET=E\n1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10\n";
    let path = put(&folder, "a.inp", [corners, edges, element].concat());
    let mesh = super::read(&path, &ReadOptions { split_second_order: true, ..ReadOptions::default() }).unwrap();
    assert_eq!((mesh.n_elements(), mesh.coordinates.len(), mesh.element_sets[0].members.len()), (8, 30, 8));
}

#[test]
fn errors_say_where() {
    let folder = folder();
    for (name, text, expected) in [
        (
            "a.msh",
            MSH2.replace("2 4 2 6 1 10 20 30 40", "2 4 2 6 1 10 20 30 99"),
            "a.msh:20: error: element 2 names node 99",
        ),
        ("a.msh", MSH2.replace("$EndNodes", ""), "$EndNodes is expected"),
        ("a.msh", MSH2.replace("2.2 0 8", "4 0 8"), "a.msh:2: error: version 4"),
        (
            "a.msh",
            MSH2.replace("2 4 2 6 1 10 20 30 40", "2 5 2 6 1 10 20 30 40 10 20 30 40"),
            "1 hexahedra: only first-order",
        ),
        ("a.msh", "mesh\n".into(), "does not begin with $MeshFormat"),
        ("a.vtu", "<VTKFile type=\"PolyData\">".into(), "a.vtu:1: error: VTK data of type PolyData"),
        ("a.vtu", String::from_utf8(vtu(How::Ascii)).unwrap().replace("types", "tipes"), "without types"),
        ("a.vtu", String::from_utf8(vtu(How::Ascii)).unwrap().replace("3 7 11", "3 7 12"), "its offset is wrong"),
        ("a.vtu", "plain text".into(), "no VTK file"),
        ("a.inp", "*NODE\n1, 0, 0\n".into(), "no tetrahedra and no triangles"),
        ("a.vtp", "<VTKFile type=\"PolyData\">".into(), "a.vtp: error: meshes are read from .vtu, .vtk"),
        ("a.vtk", "<VTKFile type=\"PolyData\">".into(), "a.vtk:1: error: this is no VTK file"),
        (
            "a.vtk",
            String::from_utf8(legacy_vtk(false, false)).unwrap().replace("UNSTR", "STR"),
            "a.vtk:4: error: a VTK file of",
        ),
        (
            "a.vtk",
            String::from_utf8(legacy_vtk(false, false)).unwrap().replace("CELL_DATA 3", "CELL_DATA 2"),
            "no keyword",
        ),
    ] {
        let error = read(&put(&folder, name, text), &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nexpected {expected}");
    }
    put(&folder, "h.pts", "2\n0 0 0\n");
    put(&folder, "h.elem", "1\nTt 0 1 2 x 1\n");
    let error = read(&folder.path().join("h.elem"), &[]).unwrap_err().to_string();
    assert!(error.contains("h.pts:"), "{error}");
    put(&folder, "h.pts", "1\n0 0 0\n");
    let error = read(&folder.path().join("h.elem"), &[]).unwrap_err().to_string();
    assert!(error.contains("h.elem:2: error: an element of 4 nodes"), "{error}");
}

const CARP: &str = "5\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 1 1.5\n---\n3\nTr 0 1 2 4\nTt 0 1 2 3 1\nTt 1 2 3 4 7\n---\n\
    2\n0 0 0 0 0 0\n1 0 0 0 1 0\n0 0.5 -0.25 1 0 0\n";

/// The corpus of the fuzz target, in ordinary tests, each file also cut and with a byte changed at many places. `POGO_WRITE_CORPUS=1` makes anew what
/// is written here; the rest is kept.
#[test]
fn fuzz_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus/mesh");
    if std::env::var_os("POGO_WRITE_CORPUS").is_some() {
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(corpus.join(name), bytes).unwrap();
            std::fs::write(corpus.join(format!("{name}-cut")), &bytes[..bytes.len() * 2 / 3]).unwrap();
        };
        ALL.iter().for_each(|&how| write(&format!("{how:?}.vtu").to_lowercase(), &vtu(how)));
        write("two.msh", MSH2.as_bytes());
        write("four.msh", MSH4.as_bytes());
        write("two-binary.msh", &msh2_binary());
        write("four-binary.msh", &msh4_binary());
        write("fibres.carp", CARP.as_bytes());
        write("legacy.vtk", &legacy_vtk(false, true));
        write("legacy-binary.vtk", &legacy_vtk(true, false));
    }
    let folder = folder();
    let open = |bytes: &[u8]| {
        let mesh = read(&mesh_input::put(folder.path(), bytes).unwrap(), &[])?;
        assert!(mesh.elements.iter().all(|&node| mesh.point(node).iter().all(|x| x.is_finite())));
        assert!(mesh.arrays.iter().all(|array| array.values.len() == array.components * mesh.n_elements()));
        Ok::<_, MeshFileError>(mesh)
    };
    let mut names: Vec<_> = std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let (mut opened, mut refused) = (0, 0);
    for path in names {
        let bytes = std::fs::read(&path).unwrap();
        match open(&bytes) {
            Ok(mesh) => {
                same_mesh(&mesh);
                opened += 1;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
        for at in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
            let _ = open(&bytes[..at]);
            for byte in [0, b'9', b'-', b'<', 0xff] {
                let mut changed = bytes.clone();
                changed[at] = byte;
                let _ = open(&changed);
            }
        }
    }
    assert!(opened >= 12 && refused >= 10, "{opened} opened, {refused} refused");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Cut anywhere and changed anywhere, a file is a mesh or an error, never a panic.
    #[test]
    fn damaged_files_do_no_harm(which in 0_usize..11, cut in 0.0..1.0_f64, at in 0.0..1.0_f64, byte: u8, flip: bool) {
        let folder = folder();
        let (name, mut bytes) = match which {
            0..=6 => ("a.vtu", vtu(ALL[which])),
            7 => ("a.msh", MSH2.as_bytes().to_vec()),
            8 => ("a.msh", MSH4.as_bytes().to_vec()),
            9 => ("a.msh", msh2_binary()),
            _ => ("a.msh", msh4_binary()),
        };
        let n = bytes.len();
        if flip {
            bytes[(at * n as f64) as usize] = byte;
        } else {
            bytes.truncate((cut * n as f64) as usize);
        }
        let _ = read(&put(&folder, name, bytes), &[]);
    }
}

#[test]
fn lines_and_polylines_are_edges() {
    let folder = folder();
    let text = "# vtk DataFile Version 3.0\ntree\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n0 0 0 1 0 0 1 1 0 2 0 0\n\
                CELLS 3 10\n3 0 1 2\n2 1 3\n2 2 3\nCELL_TYPES 3\n4\n3\n1\nCELL_DATA 3\nSCALARS cv float 1\nLOOKUP_TABLE default\n2 3 4\n";
    let path = put(&folder, "tree.vtk", text);
    let lines = read_lines(&path, Some("cv")).unwrap();
    assert_eq!((&lines.edges[..], &lines.speeds[..]), (&[0, 1, 1, 2, 1, 3][..], &[2.0, 2.0, 3.0][..]));
    assert_eq!(lines.coordinates.len(), 12);
    let xml = |ends: &str| {
        format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" byte_order=\"LittleEndian\"><UnstructuredGrid>\n\
             <Piece NumberOfPoints=\"2\" NumberOfCells=\"1\"><Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" \
             format=\"ascii\">0 0 0 0 0 1</DataArray></Points><Cells><DataArray type=\"Int64\" Name=\"connectivity\" \
             format=\"ascii\">{ends}</DataArray><DataArray type=\"Int64\" Name=\"offsets\" format=\"ascii\">2</DataArray>\
             <DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">3</DataArray></Cells></Piece></UnstructuredGrid></VTKFile>\n"
        )
    };
    let path = put(&folder, "tree.vtu", xml("1 0"));
    assert_eq!(read_lines(&path, None).unwrap().edges, [1, 0]);
    assert!(read_lines(&path, Some("cv")).unwrap_err().to_string().contains("there is no cell array \"cv\""));
    let path = put(&folder, "wrong.vtu", xml("0 2"));
    assert!(read_lines(&path, None).unwrap_err().to_string().contains("cell 0 names point 2, and there are 2"));
    let path = put(&folder, "tree.obj", "");
    assert!(read_lines(&path, None).unwrap_err().to_string().contains("or from tables"));
}
