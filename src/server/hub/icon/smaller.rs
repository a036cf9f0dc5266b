//! Pictures as small as cards show them. Those of catalogs are often made for posters.

use std::io::Cursor;

use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Limits, Transformations};

/// Twice what a card shows, for fine screens.
const EDGE: usize = 96;
/// What has more pixels than that is left as it is: a small file can be a picture that takes long to draw.
const MOST_PIXELS: u64 = 4 << 20;
/// What reading may take beside the lines that are looked at.
const MEMORY: usize = 1 << 20;
/// What is this small is small enough.
const SMALL: usize = 4 << 10;

/// The same picture, smaller, if it is a PNG that can be read and that becomes smaller by it.
pub(super) fn smaller(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.len() <= SMALL {
        return None;
    }
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: MEMORY });
    decoder.set_transformations(Transformations::normalize_to_color8() | Transformations::ALPHA);
    let mut reader = decoder.read_info().ok()?;
    let info = reader.info();
    let (width, height) = (info.width, info.height);
    if info.interlaced || u64::from(width) * u64::from(height) > MOST_PIXELS {
        return None;
    }
    let channels = match reader.output_color_type() {
        (ColorType::Rgba, BitDepth::Eight) => 4,
        (ColorType::GrayscaleAlpha, BitDepth::Eight) => 2,
        _ => return None,
    };
    let mut canvas = Canvas::new(width as usize, height as usize)?;
    // One line after the other: a large picture takes no more memory than a small one.
    for y in 0..canvas.from.1 {
        let row = reader.next_row().ok()??;
        canvas.add(y, row.data(), channels);
    }
    let drawn = canvas.encode()?;
    (drawn.len() < bytes.len()).then_some(drawn)
}

/// A picture that becomes smaller: every pixel is the mean of those that it stands for.
struct Canvas {
    from: (usize, usize),
    to: (usize, usize),
    cells: Vec<Cell>,
}

/// The sum of pixels, colours by how much they cover.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    colour: [u64; 3],
    cover: u64,
    count: u64,
}

impl Canvas {
    /// Nothing if it is small already.
    fn new(width: usize, height: usize) -> Option<Self> {
        let longest = width.max(height);
        if longest <= EDGE || width == 0 || height == 0 {
            return None;
        }
        let shrunk = |edge: usize| (edge * EDGE).div_ceil(longest).max(1);
        let to = (shrunk(width), shrunk(height));
        Some(Self {
            from: (width, height),
            to,
            cells: vec![Cell::default(); to.0 * to.1],
        })
    }

    fn add(&mut self, y: usize, line: &[u8], channels: usize) {
        let line_start = y * self.to.1 / self.from.1 * self.to.0;
        for (x, pixel) in line.chunks_exact(channels).take(self.from.0).enumerate() {
            let at = line_start + x * self.to.0 / self.from.0;
            let Some(cell) = self.cells.get_mut(at) else {
                continue;
            };
            let (colour, cover) = match *pixel {
                [grey, cover] => ([grey; 3], cover),
                [red, green, blue, cover] => ([red, green, blue], cover),
                _ => continue,
            };
            for (sum, part) in cell.colour.iter_mut().zip(colour) {
                *sum += u64::from(part) * u64::from(cover);
            }
            cell.cover += u64::from(cover);
            cell.count += 1;
        }
    }

    fn encode(&self) -> Option<Vec<u8>> {
        let mut drawn = Vec::new();
        let (width, height) = (
            u32::try_from(self.to.0).ok()?,
            u32::try_from(self.to.1).ok()?,
        );
        let mut encoder = Encoder::new(&mut drawn, width, height);
        encoder.set_color(ColorType::Rgba);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(Compression::High);
        let pixels: Vec<u8> = self.cells.iter().flat_map(Cell::mean).collect();
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(&pixels).ok()?;
        writer.finish().ok()?;
        Some(drawn)
    }
}

impl Cell {
    fn mean(&self) -> [u8; 4] {
        let mean = |sum: u64, of: u64| {
            let rounded = (sum + of / 2).checked_div(of).unwrap_or_default();
            u8::try_from(rounded).unwrap_or(u8::MAX)
        };
        let [red, green, blue] = self.colour.map(|sum| mean(sum, self.cover));
        [red, green, blue, mean(self.cover, self.count)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of one colour per pixel, which a sum of its place decides.
    fn picture(width: u32, height: u32, pixel: impl Fn(u32, u32) -> [u8; 4]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, width, height);
        encoder.set_color(ColorType::Rgba);
        encoder.set_compression(Compression::NoCompression);
        let mut writer = encoder.write_header().unwrap();
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let pixels: Vec<u8> = places.flat_map(|(x, y)| pixel(x, y)).collect();
        writer.write_image_data(&pixels).unwrap();
        writer.finish().unwrap();
        bytes
    }

    fn pixels(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
        let mut reader = Decoder::new(Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (info.width, info.height, pixels)
    }

    #[test]
    fn a_large_picture_gets_as_small_as_a_card_shows_it_and_keeps_its_shape() {
        let wide = picture(400, 200, |_, _| [200, 100, 50, 255]);
        let (width, height, pixels) = pixels(&smaller(&wide).unwrap());
        assert_eq!((width, height), (96, 48));
        assert!(pixels.chunks(4).all(|pixel| pixel == [200, 100, 50, 255]));
    }

    #[test]
    fn a_picture_that_takes_long_to_draw_is_left_as_it_is() {
        let huge = picture(4096, 1025, |_, _| [1, 2, 3, 255]);
        assert_eq!(smaller(&huge), None);
    }

    #[test]
    fn what_is_transparent_lends_no_colour_to_its_neighbours() {
        let stripes = picture(192, 192, |x, _| {
            if x % 2 == 0 {
                [0, 0, 255, 255]
            } else {
                [255, 0, 0, 0]
            }
        });
        let (_, _, pixels) = pixels(&smaller(&stripes).unwrap());
        assert_eq!(pixels[..4], [0, 0, 255, 128]);
    }

    #[test]
    fn what_is_small_broken_or_no_png_is_left_as_it_is() {
        assert_eq!(smaller(&picture(64, 64, |_, _| [1, 2, 3, 255])), None);
        assert_eq!(smaller(&[b'x'; 10_000]), None);
        let whole = picture(400, 400, |x, y| {
            let part = |at: u32| u8::try_from(at % 256).unwrap();
            [part(x), part(y), 0, 255]
        });
        assert_eq!(smaller(&whole[..whole.len() / 2]), None);
    }
}
