//! What an answer is: by its first bytes where they tell, else by what the server says, else by a look at the text.

/// The bytes that are enough to tell.
pub const SNIFFED: usize = 1_024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Html,
    /// Text that is shown as it is: plain, Markdown, JSON, XML, code.
    Text,
    Pdf,
    /// With its media type.
    Image(&'static str),
    /// With what it is, in words.
    Binary(&'static str),
}

struct Start {
    bytes: &'static [u8],
    kind: Kind,
}

const fn start(bytes: &'static [u8], kind: Kind) -> Start {
    Start { bytes, kind }
}

const STARTS: [Start; 17] = [
    start(b"%PDF-", Kind::Pdf),
    start(b"\x89PNG\r\n\x1a\n", Kind::Image("image/png")),
    start(b"\xff\xd8\xff", Kind::Image("image/jpeg")),
    start(b"GIF87a", Kind::Image("image/gif")),
    start(b"GIF89a", Kind::Image("image/gif")),
    start(b"BM", Kind::Image("image/bmp")),
    start(b"PK\x03\x04", Kind::Binary("an archive or an office document")),
    start(b"\x1f\x8b", Kind::Binary("a compressed file")),
    start(b"BZh", Kind::Binary("a compressed file")),
    start(b"\xfd7zXZ\0", Kind::Binary("a compressed file")),
    start(b"7z\xbc\xaf\x27\x1c", Kind::Binary("an archive")),
    start(b"Rar!\x1a\x07", Kind::Binary("an archive")),
    start(b"\x7fELF", Kind::Binary("a program")),
    start(b"MZ", Kind::Binary("a program")),
    start(b"OggS", Kind::Binary("sound or film")),
    start(b"ID3", Kind::Binary("sound")),
    start(b"SQLite format 3\0", Kind::Binary("a database")),
];

/// What the head of an answer is. `media` is the type the server named, in lower case and without parameters.
pub fn kind(media: Option<&str>, head: &[u8]) -> Kind {
    if let Some(known) = by_start(head) {
        return known;
    }
    let media = media.unwrap_or_default();
    match () {
        () if is_unreadable(head) => Kind::Binary(named(media)),
        () if matches!(media, "text/html" | "application/xhtml+xml") => Kind::Html,
        // A server that does not know what it sends says so, or says "text".
        () if matches!(media, "" | "application/octet-stream" | "text/plain") && looks_like_html(head) => Kind::Html,
        () => Kind::Text,
    }
}

fn by_start(head: &[u8]) -> Option<Kind> {
    if head.get(..4) == Some(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return Some(Kind::Image("image/webp"));
    }
    if head.get(4..8) == Some(b"ftyp") {
        return Some(Kind::Binary("a film, or a picture in a format of films"));
    }
    let found = STARTS.iter().find(|start| head.starts_with(start.bytes))?;
    // Two letters alone also begin ordinary words.
    (found.bytes.len() > 2 || is_unreadable(head)).then_some(found.kind)
}

/// Control characters that no text has. Text in two bytes a character says so at its beginning.
fn is_unreadable(head: &[u8]) -> bool {
    let two_bytes = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    !two_bytes && head.iter().any(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31))
}

fn named(media: &str) -> &'static str {
    match media.split_once('/').map_or(media, |(family, _)| family) {
        "image" => "a picture in a format that is not known here",
        "audio" => "sound",
        "video" => "a film",
        "font" => "a font",
        _ => "not text",
    }
}

fn looks_like_html(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head).to_lowercase();
    let text = text.trim_start_matches('\u{feff}').trim_start();
    ["<!doctype html", "<html", "<head", "<body"].iter().any(|begin| text.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_tell_more_than_what_a_server_says() {
        let cases: [(&str, &[u8], Kind); 12] = [
            ("text/html", b"%PDF-1.7", Kind::Pdf),
            ("text/html", b"\x89PNG\r\n\x1a\n", Kind::Image("image/png")),
            ("application/pdf", b"<!DOCTYPE html><p>Not found", Kind::Text),
            ("", b"  <!doctype HTML><p>", Kind::Html),
            ("text/plain", b"<html>", Kind::Html),
            ("text/plain", b"BMW makes cars", Kind::Text),
            ("text/html", b"\0\0\0\0", Kind::Binary("not text")),
            ("video/x", b"\x01\x02", Kind::Binary("a film")),
            ("text/plain", b"\xff\xfeh\0i\0", Kind::Text),
            ("application/json", b"{}", Kind::Text),
            ("text/plain", b"\x1b[31mred", Kind::Text),
            ("image/webp", b"RIFF\0\0\0\0WEBPVP8 ", Kind::Image("image/webp")),
        ];
        for (media, head, expected) in cases {
            assert_eq!(kind(Some(media), head), expected, "{media} {head:?}");
        }
    }
}
