//! Animated PNG.

use std::path::Path;

use crate::write::raster::Canvas;
use crate::write::{OutputError, write_atomically};

/// How long all frames take together, and the least and most of one, ms.
const DURATION: usize = 6000;
const SHORTEST: usize = 40;
const LONGEST: usize = 500;

/// Writes `n` frames as an animated PNG that repeats for ever, at half the size of the pictures. All frames must be as large as
/// the first. Without any frame there is no file, and the answer is no.
///
/// # Errors
/// [`OutputError::Io`], and those of `frame`.
pub fn movie(
    path: &Path,
    n: usize,
    mut frame: impl FnMut(usize) -> Result<Canvas, OutputError>,
) -> Result<bool, OutputError> {
    if n == 0 {
        return Ok(false);
    }
    let first = frame(0)?.halved();
    let (width, height) = (first.width(), first.height());
    let mut problem = None;
    let delay = (DURATION / n).clamp(SHORTEST, LONGEST) as u16;
    let written = write_atomically(path, |out| {
        let mut encoder = png::Encoder::new(out, width as u32, height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_animated(n as u32, 0)?;
        encoder.set_frame_delay(delay, 1000)?;
        let mut writer = encoder.write_header()?;
        writer.write_image_data(first.pixels().as_flattened())?;
        for at in 1..n {
            match frame(at) {
                Ok(canvas) => writer.write_image_data(canvas.halved().pixels().as_flattened())?,
                Err(error) => {
                    problem = Some(error);
                    return Err(std::io::Error::other("a frame of the movie"));
                }
            }
        }
        writer.finish()?;
        Ok(())
    });
    problem.map_or(written, Err)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::raster::WHITE;

    #[test]
    fn every_frame_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let shade = |at: usize| [40 * at as u8, 0, 200];
        let written = movie(&path, 5, |at| Ok(Canvas::new(8, 6, shade(at)))).unwrap();
        assert!(written && !movie(&folder.path().join("none.png"), 0, |_| Ok(Canvas::new(2, 2, WHITE))).unwrap());
        let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        assert_eq!(reader.info().animation_control().map(|control| control.num_frames), Some(5));
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        for at in 0..5 {
            reader.next_frame(&mut pixels).unwrap();
            assert_eq!(pixels.as_chunks::<3>().0, [shade(at); 12]);
        }
        let refused = movie(&folder.path().join("b.png"), 2, |at| match at {
            0 => Ok(Canvas::new(8, 6, WHITE)),
            _ => Err(OutputError::shape(&path, "no frame")),
        });
        assert!(refused.unwrap_err().to_string().contains("no frame") && !folder.path().join("b.png").exists());
    }
}
