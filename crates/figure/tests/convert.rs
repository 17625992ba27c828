//! Figures as PDF and PNG: embedded font, size, determinism.

use tandem_figure::{to_pdf, to_png};

const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"85mm\" height=\"20mm\" viewBox=\"0 0 240.94 56.69\" \
    font-family=\"Arial, Helvetica, 'Liberation Sans', Arimo, sans-serif\" font-size=\"7.5\">\
    <rect width=\"240.94\" height=\"56.69\" fill=\"#fff\"/><text x=\"10\" y=\"30\">goodput (Mbit/s), − × ± µ é</text></svg>";

#[test]
fn pdf_has_the_size_of_the_figure_and_embeds_its_font() {
    let pdf = to_pdf(SVG).expect("the figure is SVG");
    let text = String::from_utf8_lossy(&pdf);
    assert!(text.starts_with("%PDF-1."), "{text}");
    // 85 mm are 240.94 pt.
    assert!(text.contains("/MediaBox [0 0 240.9"), "{text}");
    assert!(text.contains("Arimo") && text.contains("/FontFile"), "the font is embedded: {text}");
    for date in ["/CreationDate", "/ModDate"] {
        assert!(!text.contains(date), "{date}");
    }
}

#[test]
fn image_has_the_resolution_and_shows_text_without_fonts_of_the_system() {
    let png = to_png(SVG, 300.0).expect("the figure is SVG");
    let mut reader = png::Decoder::new(std::io::Cursor::new(&png)).read_info().expect("a PNG image");
    let mut pixels = vec![0; reader.output_buffer_size()];
    let info = reader.next_frame(&mut pixels).expect("a PNG image");
    assert_eq!((info.width, info.height, info.color_type), (1004, 237, png::ColorType::Rgb));
    let dots = reader.info().pixel_dims.expect("a resolution");
    assert_eq!(dots.xppu, 11811, "300 dots per inch");
    let dark = pixels.chunks_exact(3).filter(|pixel| pixel.iter().all(|&value| value < 100)).count();
    assert!(dark > 500, "{dark} dark pixels of text");
}

#[test]
fn equal_figures_give_equal_bytes() {
    for _ in 0..5 {
        assert_eq!(to_pdf(SVG).unwrap(), to_pdf(SVG).unwrap());
        assert_eq!(to_png(SVG, 150.0).unwrap(), to_png(SVG, 150.0).unwrap());
    }
}

#[test]
fn invalid_and_enormous_drawings_are_errors() {
    assert!(to_pdf("<svg").unwrap_err().to_string().contains("not readable as SVG"));
    let tall = SVG.replace("height=\"20mm\"", "height=\"2000mm\"");
    let error = to_png(&tall, 600.0).unwrap_err().to_string();
    assert!(error.contains("more than 20000"), "{error}");
}
