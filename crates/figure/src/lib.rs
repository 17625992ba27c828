//! SVG figures as PDF and PNG.
//!
//! The text of a figure is set in Arimo, a part of this crate, so a figure looks the same on every
//! machine, also without fonts. Arimo has the widths of Arial and Helvetica. A PDF embeds the used
//! part of the font. Equal figures give equal bytes; a file holds no date.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::sync::Arc;
use svg2pdf::{ConversionOptions, PageOptions};

/// Arimo Regular, reduced to Latin, Greek, Cyrillic and common symbols (font/README.md).
const FONT: &[u8] = include_bytes!("../font/Arimo-Regular-subset.ttf");
/// Units of a drawing per inch, as in CSS.
const PX_PER_INCH: f32 = 96.0;
/// Largest width and height of an image, in pixels.
const MAX_PIXELS: f32 = 20_000.0;

/// The reason why a figure cannot be converted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The drawing is not SVG.
    #[error("the drawing is not readable as SVG: {0}")]
    Svg(String),
    /// The PDF cannot be made.
    #[error("the drawing cannot be converted to PDF: {0}")]
    Pdf(String),
    /// The image is too large, or cannot be compressed.
    #[error("the drawing cannot be converted to PNG: {0}")]
    Png(String),
}

/// Converts a drawing to a PDF of one page of the drawing's size, with the font embedded.
pub fn to_pdf(svg: &str) -> Result<Vec<u8>, Error> {
    let options = ConversionOptions { embed_text: true, ..ConversionOptions::default() };
    let page = PageOptions { dpi: PX_PER_INCH };
    svg2pdf::to_pdf(&parse(svg)?, options, page).map_err(|error| Error::Pdf(error.to_string()))
}

/// Converts a drawing with an opaque background to a PNG image with `dots_per_inch`, which the image states as its resolution.
pub fn to_png(svg: &str, dots_per_inch: f32) -> Result<Vec<u8>, Error> {
    let tree = parse(svg)?;
    let scale = dots_per_inch / PX_PER_INCH;
    let (width, height) = ((tree.size().width() * scale).ceil(), (tree.size().height() * scale).ceil());
    if !(width <= MAX_PIXELS && height <= MAX_PIXELS) {
        return Err(Error::Png(format!("it has {width} by {height} pixels, more than {MAX_PIXELS}")));
    }
    let mut image =
        Pixmap::new(width as u32, height as u32).ok_or_else(|| Error::Png("it has no extent".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut image.as_mut());
    encode(&image, dots_per_inch).map_err(|error| Error::Png(error.to_string()))
}

/// Encodes an opaque image without its alpha channel, with its resolution.
fn encode(image: &Pixmap, dots_per_inch: f32) -> Result<Vec<u8>, png::EncodingError> {
    const INCHES_PER_METRE: f32 = 39.370_08;
    let per_metre = (dots_per_inch * INCHES_PER_METRE).round() as u32;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, image.width(), image.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_pixel_dims(Some(png::PixelDimensions {
        xppu: per_metre,
        yppu: per_metre,
        unit: png::Unit::Meter,
    }));
    let colours: Vec<u8> =
        image.data().chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&colours)?;
    writer.finish()?;
    Ok(bytes)
}

fn parse(svg: &str) -> Result<Tree, Error> {
    let mut options = Options { font_family: "Arimo".to_owned(), ..Options::default() };
    let fonts = Arc::make_mut(&mut options.fontdb);
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family("Arimo");
    Tree::from_str(svg, &options).map_err(|error| Error::Svg(error.to_string()))
}
