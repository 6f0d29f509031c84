//! Bytes of a page as text: by the mark at their beginning, by what the server says, by what the page says of itself, and
//! where all of that is wrong, by what the bytes can be.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// A page names its charset this early or not at all.
const HEAD: usize = 1_024;

/// The text of a body. Nothing is refused: what cannot be read shows as `�`.
pub(super) fn text(bytes: &[u8], named: Option<&str>) -> String {
    if let Some((marked, length)) = Encoding::for_bom(bytes) {
        return decoded(bytes.get(length..).unwrap_or_default(), marked);
    }
    let named = named.and_then(|label| Encoding::for_label(label.as_bytes())).or_else(|| of_itself(bytes));
    let text = decoded(bytes, named.unwrap_or(UTF_8));
    if named.unwrap_or(UTF_8) == UTF_8 && is_mostly_broken(&text) { decoded(bytes, WINDOWS_1252) } else { text }
}

fn decoded(bytes: &[u8], encoding: &'static Encoding) -> String {
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

/// One wrong byte, or a character that was cut at the end, is no reason to doubt the rest.
fn is_mostly_broken(text: &str) -> bool {
    let broken = text.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    let whole = text.chars().filter(|c| !c.is_ascii() && *c != char::REPLACEMENT_CHARACTER).count();
    broken > 1 && broken > whole
}

/// `<meta charset="…">`, `<meta … content="text/html; charset=…">` or `<?xml encoding="…"?>`.
fn of_itself(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(bytes.get(..HEAD).unwrap_or(bytes)).to_ascii_lowercase();
    let (_, behind) = head.split_once("charset=").or_else(|| head.split_once("encoding="))?;
    let label = behind.trim_start_matches(['"', '\'', ' ']);
    let label = label.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.'))).next()?;
    let found = Encoding::for_label(label.as_bytes())?;
    // A page that could be read far enough to find this is not in two bytes a character, whatever it says.
    Some(if found == encoding_rs::UTF_16LE || found == encoding_rs::UTF_16BE { UTF_8 } else { found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_a_charset_counts_and_a_wrong_name_does_no_harm() {
        let cases: [(&[u8], Option<&str>, &str); 11] = [
            ("Grüße".as_bytes(), Some("utf-8"), "Grüße"),
            (b"Gr\xfc\xdfe", Some("ISO-8859-1"), "Grüße"),
            (b"Gr\xfc\xdfe", Some("utf-8"), "Grüße"),
            (b"Gr\xfc\xdfe", None, "Grüße"),
            (b"<meta charset=windows-1252>\xfc", None, "<meta charset=windows-1252>ü"),
            (b"<meta content='text/html; charset=koi8-r'>\xf0", None, "<meta content='text/html; charset=koi8-r'>П"),
            (b"\xef\xbb\xbfhi", Some("latin1"), "hi"),
            (b"\xff\xfeh\0i\0", None, "hi"),
            (b"\x93\xfa\x96\x7b", Some("shift_jis"), "日本"),
            (b"plain", Some("no-such-thing"), "plain"),
            ("ein Wort mit ü und eines mit \u{fffd}".as_bytes(), None, "ein Wort mit ü und eines mit \u{fffd}"),
        ];
        for (bytes, named, expected) in cases {
            assert_eq!(text(bytes, named), expected, "{bytes:?} {named:?}");
        }
        assert_eq!(text("ääää".as_bytes().get(..7).expect("cut"), None), "äää\u{fffd}", "a cut at the end");
    }
}
