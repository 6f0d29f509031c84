//! Pictures in a form and a size that models take.
//!
//! One that is small enough and in a format every model knows goes as it is. Others are taken apart, within limits of
//! memory that a small file with a huge picture in it cannot break, and written anew, smaller step by step.

use crate::fetch::{Kind, kind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageReader, Limits, RgbImage, Rgba};
use std::borrow::Cow;
use std::io::Cursor;

/// What goes along with a question, in characters of a data URL.
const EMBEDDED: usize = 4 << 20;
/// Models refuse longer sides.
const LONGEST_SIDE: u32 = 7_900;
/// Sides that are tried until a picture is small enough.
const SIDES: [u32; 5] = [LONGEST_SIDE, 4_096, 2_048, 1_024, 512];
const QUALITY: u8 = 85;
const MOST_MEMORY: u64 = 320 << 20;
const MOST_SIDE: u32 = 40_000;

/// A picture as it is embedded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub media: &'static str,
    pub bytes: Vec<u8>,
}

impl Picture {
    /// The picture in these bytes, made smaller where it has to be.
    pub fn of(bytes: Vec<u8>) -> Result<Self, String> {
        let head = bytes.get(..crate::fetch::SNIFFED).unwrap_or(&bytes);
        let media = match kind(None, head) {
            Kind::Image(media) => media,
            _ if is_svg(head) => {
                return Err(
                    "This is an SVG drawing, which is text: read it with read_file or web_extract, or turn it into \
                            a PNG with a command."
                        .into(),
                );
            }
            Kind::Binary(what) => return Err(format!("This is {what}, no picture that can be looked at.")),
            Kind::Html | Kind::Text => return Err("This is text, no picture.".into()),
            Kind::Pdf => {
                return Err("This is a PDF document; turn a page of it into a PNG with a command first.".into());
            }
        };
        let unreadable = |error: &dyn std::fmt::Display| format!("The picture cannot be read: {error}.");
        let reader = || ImageReader::new(Cursor::new(&bytes)).with_guessed_format();
        let (width, height) =
            reader().map_err(|error| unreadable(&error))?.into_dimensions().map_err(|error| unreadable(&error))?;
        let fits = data_url_length(bytes.len()) <= EMBEDDED && width.max(height) <= LONGEST_SIDE;
        if fits && media != "image/bmp" {
            return Ok(Self { media, bytes });
        }
        let mut reader = reader().map_err(|error| unreadable(&error))?;
        let mut limits = Limits::default();
        limits.max_alloc = Some(MOST_MEMORY);
        limits.max_image_width = Some(MOST_SIDE);
        limits.max_image_height = Some(MOST_SIDE);
        reader.limits(limits);
        shrunk(&reader.decode().map_err(|error| unreadable(&error))?)
    }

    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media, STANDARD.encode(&self.bytes))
    }
}

fn shrunk(picture: &DynamicImage) -> Result<Picture, String> {
    for side in SIDES {
        // A picture may fill most of the memory there is for one: it is not copied where it can be lent.
        let smaller = match picture.width().max(picture.height()) > side {
            true => Cow::Owned(picture.resize(side, side, FilterType::Triangle)),
            false => Cow::Borrowed(picture),
        };
        let mut bytes = Vec::new();
        let encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
        on_white(&smaller)
            .write_with_encoder(encoder)
            .map_err(|error| format!("The picture cannot be made smaller: {error}."))?;
        if data_url_length(bytes.len()) <= EMBEDDED {
            return Ok(Picture { media: "image/jpeg", bytes });
        }
    }
    Err("The picture cannot be made small enough.".into())
}

/// What can be seen through has no colour of its own, and this format knows only colours.
fn on_white(picture: &DynamicImage) -> RgbImage {
    if !picture.color().has_alpha() {
        return picture.to_rgb8();
    }
    let seen = picture.to_rgba8();
    RgbImage::from_fn(seen.width(), seen.height(), |x, y| {
        let Rgba([red, green, blue, alpha]) = *seen.get_pixel(x, y);
        let over = |colour: u8| {
            let mixed = u16::from(colour) * u16::from(alpha) + 255 * (255 - u16::from(alpha));
            u8::try_from(mixed / 255).unwrap_or(u8::MAX)
        };
        image::Rgb([over(red), over(green), over(blue)])
    })
}

fn data_url_length(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4 + "data:image/jpeg;base64,".len()
}

fn is_svg(head: &[u8]) -> bool {
    String::from_utf8_lossy(head).to_lowercase().contains("<svg")
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::ImageFormat;

    fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, format).expect("encoded");
        bytes.into_inner()
    }

    /// Colours that no compression makes small.
    fn noise(width: u32, height: u32) -> DynamicImage {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        RgbImage::from_fn(width, height, |_, _| image::Rgb([next(), next(), next()])).into()
    }

    #[test]
    fn a_small_picture_goes_as_it_is() {
        let bytes = encoded(&noise(8, 8), ImageFormat::Png);
        assert_eq!(Picture::of(bytes.clone()), Ok(Picture { media: "image/png", bytes }));
    }

    #[test]
    fn a_large_one_becomes_smaller_until_it_fits() {
        let large = encoded(&noise(1_500, 1_300), ImageFormat::Png);
        assert!(data_url_length(large.len()) > EMBEDDED, "{}", large.len());
        let picture = Picture::of(large).expect("a picture");
        assert_eq!(picture.media, "image/jpeg");
        assert!(picture.data_url().len() <= EMBEDDED);
        let long = encoded(&DynamicImage::new_rgba8(9_000, 10), ImageFormat::Png);
        let picture = Picture::of(long).expect("a picture");
        let size = ImageReader::new(Cursor::new(&picture.bytes)).with_guessed_format().expect("read").into_dimensions();
        assert_eq!(size.expect("dimensions").0, LONGEST_SIDE);
        let old = Picture::of(encoded(&noise(4, 4), ImageFormat::Bmp)).expect("a picture");
        assert_eq!(old.media, "image/jpeg", "no model knows bitmaps");
    }

    #[test]
    fn what_is_no_picture_is_named() {
        for (bytes, word) in [
            (&b"<svg xmlns='http://www.w3.org/2000/svg'/>"[..], "SVG"),
            (b"hello", "text"),
            (b"%PDF-1.4", "PDF"),
            (b"PK\x03\x04", "archive"),
            (b"\x89PNG\r\n\x1a\n broken", "cannot be read"),
        ] {
            let told = Picture::of(bytes.to_vec()).expect_err("no picture");
            assert!(told.contains(word), "{told}");
        }
    }
}
