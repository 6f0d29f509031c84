//! Pictures that are written out inside of a text would fill a conversation with noise: their words stay, their bytes go.

use regex::Regex;
use std::borrow::Cow;
use std::sync::OnceLock;

/// In Markdown, in brackets, and bare, which is also what is left of one that was cut off.
const PICTURE: &str = r#"(?i)!\[(?<alt>[^\]]*)\]\(\s*data:image/[^)]*\)|\(\s*data:image/[^)]*\)|data:image/[a-z0-9.+-]+[^,\s"')]*,[a-z0-9+/=%_-]*"#;

/// The text with `[IMAGE: what it shows]` for every picture in it. Links to pictures stay.
pub(super) fn without_pictures(text: &str) -> Cow<'_, str> {
    static FOUND: OnceLock<Option<Regex>> = OnceLock::new();
    // The pattern is fixed and a test reads it, so there always is one.
    let Some(found) = FOUND.get_or_init(|| Regex::new(PICTURE).ok()) else { return Cow::Borrowed(text) };
    found.replace_all(text, |picture: &regex::Captures<'_>| {
        match picture.name("alt").map(|alt| alt.as_str().trim()).filter(|alt| !alt.is_empty()) {
            Some(alt) => format!("[IMAGE: {alt}]"),
            None => "[IMAGE]".to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_picture_shows_stays_and_its_bytes_go() {
        for (text, expected) in [
            ("a ![A cat](data:image/png;base64,iVBORw0KGgo=) b", "a [IMAGE: A cat] b"),
            ("![](data:image/svg+xml,%3Csvg%20x%3D'1'%3E) b", "[IMAGE] b"),
            ("see (data:image/gif;base64,R0lG) there", "see [IMAGE] there"),
            ("src=\"DATA:image/jpeg;base64,/9j/4AAQ\" and words", "src=\"[IMAGE]\" and words"),
            ("![cut](data:image/png;base64,iVBORw0", "![cut]([IMAGE]"),
            ("![real](https://a.test/cat.png)", "![real](https://a.test/cat.png)"),
        ] {
            assert_eq!(without_pictures(text), expected);
        }
    }
}
