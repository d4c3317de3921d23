// How the fuzz target and the replay of its corpus make a mesh file of bytes: XML is VTU, what begins with a dollar is
// Gmsh's, with "# vtk" VTK's older kind, and anything else is openCARP's .pts, .elem and .lon with a line `---` between them.

use std::path::{Path, PathBuf};

/// Puts the bytes into the folder; gives the file to read.
pub fn put(folder: &Path, bytes: &[u8]) -> std::io::Result<PathBuf> {
    let name = match bytes.first() {
        Some(b'<') => "a.vtu",
        Some(b'$') => "a.msh",
        _ if bytes.starts_with(b"# vtk") => "a.vtk",
        _ => {
            let mut rest = bytes;
            for extension in ["pts", "elem", "lon"] {
                let end = rest.windows(5).position(|window| window == b"\n---\n");
                let (part, after) = end.map_or((rest, &b""[..]), |end| (&rest[..=end], &rest[end + 5..]));
                std::fs::write(folder.join("a").with_extension(extension), part)?;
                rest = after;
            }
            return Ok(folder.join("a.elem"));
        }
    };
    std::fs::write(folder.join(name), bytes)?;
    Ok(folder.join(name))
}
