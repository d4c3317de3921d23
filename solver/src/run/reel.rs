//! Pictures of the frames of a run: all on one scale, so they are drawn when the run ends.

use std::path::PathBuf;

use pogo_formats::dynamics::OutputInterval;
use pogo_formats::write::OutputError;
use pogo_formats::write::plot::{Camera, Film, FrameAt, Look, Spread, at_time, movie};
use pogo_formats::write::report;

use super::schedule::{self, Clock};
use crate::call::Call;
use crate::error::SolveError;

/// What the names of pictures begin with.
pub(crate) const PICTURE: &str = "snapshot-";
/// Name of the animated picture.
pub(crate) const MOVIE: &str = "movie.png";
/// Name of the file that holds the frames until the run ends.
pub(crate) const FRAMES: &str = "snapshots.frames";
/// Pictures of a run whose model asks for no snapshot.
const DEFAULT_PICTURES: OutputInterval = OutputInterval::Count(4);
/// Frames of a movie.
const MOVIE_FRAMES: OutputInterval = OutputInterval::Count(60);
/// Name of the file that holds the frames of a report until the run ends.
const SAMPLES: &str = "report.frames";

/// What all pictures of a run have in common.
pub(crate) struct Scene {
    pub look: Look,
    pub camera: Camera,
    /// How dark the lines over each pixel are; none where pictures have no lines.
    pub ink: Vec<u8>,
    /// Number of values of a frame.
    pub n_values: usize,
}

/// Frames that are kept until a run ends.
struct Track {
    path: PathBuf,
    /// Number of values of a frame.
    n_values: usize,
    /// The step that the run went on from, if it did.
    resumed_from: Option<u64>,
    /// Begun with the first frame.
    film: Option<Film>,
}

impl Track {
    fn new(name: &str, n_values: usize, call: &Call<'_>, first_step: u64) -> Self {
        let resumed_from = call.is_resumed().then_some(first_step);
        Self { path: call.folder.join(name), n_values, resumed_from, film: None }
    }

    /// The film, which begins here if it has not begun.
    fn film(&mut self) -> Result<&mut Film, SolveError> {
        let film = match self.film.take() {
            Some(film) => film,
            None => match self.resumed_from {
                None => Film::create(&self.path, self.n_values)?,
                Some(step) => Film::resume(&self.path, self.n_values, step)?,
            },
        };
        Ok(self.film.insert(film))
    }

    /// Ends the film; its file stays for a run that `goes_on` later, and then its name is given.
    fn end(&mut self, goes_on: bool) -> Option<String> {
        let film = self.film.take()?;
        if goes_on {
            return Some(self.path.file_name()?.to_str()?.to_owned());
        }
        film.remove();
        None
    }
}

/// The frames of a run, and the pictures that become of them.
pub(crate) struct Reel {
    scene: Scene,
    track: Track,
    /// Steps at which pictures are drawn, increasing.
    pictures: Vec<u64>,
    /// Steps of the movie, increasing.
    movie: Vec<u64>,
    folder: PathBuf,
    names: Vec<String>,
}

impl Reel {
    /// Pictures at the `steps` of the snapshots with `--plot`, or at a few steps of a run without snapshots; more frames for
    /// `--movie`.
    pub fn plan(scene: Scene, steps: Vec<u64>, clock: Clock, call: &Call<'_>, first_step: u64) -> Self {
        let steps = if steps.is_empty() { schedule::steps(&DEFAULT_PICTURES, clock) } else { steps };
        Self {
            track: Track::new(FRAMES, scene.n_values, call, first_step),
            scene,
            pictures: if call.settings.plot { steps } else { Vec::new() },
            movie: if call.settings.movie { schedule::steps(&MOVIE_FRAMES, clock) } else { Vec::new() },
            folder: call.folder.to_path_buf(),
            names: Vec::new(),
        }
    }

    /// Steps of all frames.
    pub fn steps(&self) -> impl Iterator<Item = u64> + '_ {
        self.pictures.iter().chain(&self.movie).copied()
    }

    /// Whether a frame is due at a step.
    pub fn wants(&self, step: u64) -> bool {
        [&self.pictures, &self.movie].iter().any(|steps| steps.binary_search(&step).is_ok())
    }

    /// Files so far.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Adds the frame of a step.
    pub fn push(&mut self, step: u64, time: f64, values: &[f32]) -> Result<(), SolveError> {
        Ok(self.track.film()?.push(step, time, values)?)
    }

    /// Draws all pictures and the movie. The frames stay for a run that `goes_on` later.
    pub fn finish(&mut self, goes_on: bool) -> Result<(), SolveError> {
        let Self { scene: Scene { look, camera, ink, .. }, track, pictures, movie: of_movie, folder, names } = self;
        let film = track.film()?;
        let frames = |steps: &[u64]| -> Vec<FrameAt> {
            film.frames().iter().filter(|frame| steps.binary_search(&frame.step).is_ok()).copied().collect()
        };
        let (drawn, moving) = (frames(pictures), frames(of_movie));
        let scale = look.scale(film.spread());
        let mut picture = |frame: FrameAt| {
            let values = film.values(frame)?;
            Ok::<_, OutputError>(look.picture(camera, &values, ink, &scale, &at_time(frame.time)))
        };
        // The beginning is drawn where something has a value there. Later a field of zeros says something too: springs that
        // have moved without a strain, or a wave that has not arrived.
        for frame in drawn.into_iter().filter(|frame| frame.step > 0 || !frame.is_blank) {
            let name = format!("{PICTURE}{:09}.png", frame.step);
            picture(frame)?.write_png(&folder.join(&name))?;
            names.push(name);
        }
        let written = movie(&folder.join(MOVIE), moving.len(), |at| picture(moving[at]))?;
        names.extend(written.then(|| MOVIE.to_owned()));
        names.extend(track.end(goes_on));
        Ok(())
    }
}

/// The numbers that a report shows of a run, frame by frame.
pub(crate) struct Samples {
    track: Track,
    steps: Vec<u64>,
    names: Vec<String>,
}

/// All frames of a report.
pub(crate) struct Sampled {
    /// Of each frame.
    pub names: Vec<String>,
    /// One frame after the other.
    pub values: Vec<f32>,
    pub spread: Spread,
}

impl Samples {
    /// Frames of so many numbers.
    pub fn plan(n_values: usize, clock: Clock, call: &Call<'_>, first_step: u64) -> Self {
        let steps = schedule::steps(&OutputInterval::Count(report::FRAMES), clock);
        Self { track: Track::new(SAMPLES, n_values, call, first_step), steps, names: Vec::new() }
    }

    /// Steps of all frames, increasing.
    pub fn steps(&self) -> &[u64] {
        &self.steps
    }

    /// Adds the frame of a step.
    pub fn push(&mut self, step: u64, time: f64, values: &[f32]) -> Result<(), SolveError> {
        Ok(self.track.film()?.push(step, time, values)?)
    }

    /// All frames, which stay for a run that `goes_on` later.
    pub fn finish(&mut self, goes_on: bool) -> Result<Sampled, SolveError> {
        let film = self.track.film()?;
        let mut sampled = Sampled { names: Vec::new(), values: Vec::new(), spread: film.spread().clone() };
        for frame in film.frames().to_vec() {
            sampled.names.push(at_time(frame.time));
            sampled.values.extend(film.values(frame)?);
        }
        self.names.extend(self.track.end(goes_on));
        Ok(sampled)
    }

    /// Files that stay.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}
