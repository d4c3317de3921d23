use super::*;

const RED: Colour = [255, 0, 0];

fn triangle(canvas: &mut Canvas, corners: [[f64; 2]; 3]) {
    let (width, height) = (canvas.width(), canvas.height());
    fill(corners, width, height, |pixel, _| canvas.rectangle(pixel % width, pixel / width, 1, 1, RED));
}

#[test]
fn two_triangles_fill_a_square_without_a_gap() {
    let mut canvas = Canvas::new(50, 40, WHITE);
    let [a, b, c, d] = [[5.3, 4.1], [41.7, 6.2], [39.9, 33.3], [7.1, 30.8]];
    triangle(&mut canvas, [a, b, c]);
    triangle(&mut canvas, [a, d, c]);
    for x in 8..39 {
        for y in 7..30 {
            assert_eq!(canvas.pixel(x, y), Some(RED), "{x} {y}");
        }
    }
    assert_eq!(canvas.pixel(3, 3), Some(WHITE));
    assert_eq!(canvas.pixel(50, 0), None);
}

#[test]
fn weights_interpolate() {
    let mut weights = [0.0; 3];
    fill([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]], 10, 10, |pixel, shares| {
        if pixel == 63 {
            weights = shares;
        }
    });
    let expected = [0.5, 0.175, 0.325];
    assert!(weights.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "at (3.5, 6.5): {weights:?}");
}

#[test]
fn nothing_outside_the_canvas_or_not_finite_is_drawn() {
    let mut canvas = Canvas::new(8, 8, WHITE);
    triangle(&mut canvas, [[f64::NAN, 0.0], [5.0, 0.0], [0.0, 5.0]]);
    triangle(&mut canvas, [[-9.0, -9.0], [-1.0, -9.0], [-9.0, -1.0]]);
    canvas.line([f64::INFINITY, 0.0], [3.0, 3.0], 2.0, RED);
    canvas.line([-1e9, 4.0], [-5.0, 4.0], 2.0, RED);
    canvas.text(-500.0, 3.0, "far away", TextSize::Small, Align::Left, RED);
    canvas.rectangle(100, 100, usize::MAX, usize::MAX, RED);
    canvas.paste(6, 6, &Canvas::new(20, 20, WHITE));
    canvas.paste(20, 20, &Canvas::new(20, 20, RED));
    assert!((0..64).all(|i| canvas.pixel(i % 8, i / 8) == Some(WHITE)));
    let mut long = Canvas::new(100, 100, WHITE);
    long.line([-1000.0, -1000.0], [1100.0, 1100.0], 2.0, RED);
    assert!((5..95).all(|i| long.pixel(i, i) == Some(RED) && long.pixel(i + 4, i) == Some(WHITE)));
}

#[test]
fn lines_and_text_leave_ink() {
    let mut canvas = Canvas::new(60, 40, WHITE);
    canvas.line([5.0, 5.5], [55.0, 5.5], 1.0, INK);
    assert_eq!(canvas.pixel(30, 5), Some(INK));
    canvas.text(30.0, 12.0, "Ab", TextSize::Medium, Align::Centre, INK);
    let dark = |x: std::ops::Range<usize>| {
        x.flat_map(|x| (12..32).map(move |y| (x, y))).filter(|&(x, y)| canvas.pixel(x, y) != Some(WHITE)).count()
    };
    let half = TextSize::Medium.width("Ab") / 2;
    assert!(dark(30 - half..30 + half) > 40);
    assert_eq!(dark(0..30 - half - 1), 0);
}

#[test]
fn the_png_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.png");
    let mut canvas = Canvas::new(4, 4, WHITE);
    canvas.rectangle(0, 0, 2, 2, RED);
    canvas.rectangle(2, 0, 1, 2, [0, 0, 0]);
    canvas.halved().write_png(&path).unwrap();
    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&path).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    assert_eq!(pixels, [255, 0, 0, 128, 128, 128, 255, 255, 255, 255, 255, 255]);
}
