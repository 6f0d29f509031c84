//! Bytes as text and back without losing one. A byte order mark stays the first character of the text.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Encoding {
    #[default]
    Utf8,
    Utf16Le,
    Utf16Be,
}

/// A file that can be edited: encoding its text gives its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Decoded {
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
}

/// UTF-16 is known by its mark alone.
pub(crate) fn encoding_of(head: &[u8]) -> Encoding {
    match head {
        [0xff, 0xfe, ..] => Encoding::Utf16Le,
        [0xfe, 0xff, ..] => Encoding::Utf16Be,
        _ => Encoding::Utf8,
    }
}

/// The text of bytes, when encoding it again gives the same bytes.
pub(crate) fn decode(bytes: &[u8]) -> Option<Decoded> {
    let encoding = encoding_of(bytes);
    let text = match encoding {
        Encoding::Utf8 => std::str::from_utf8(bytes).ok()?.to_owned(),
        Encoding::Utf16Le | Encoding::Utf16Be if bytes.len() % 2 == 1 => return None,
        Encoding::Utf16Le => String::from_utf16(&units(bytes, u16::from_le_bytes)).ok()?,
        Encoding::Utf16Be => String::from_utf16(&units(bytes, u16::from_be_bytes)).ok()?,
    };
    Some(Decoded { text, encoding })
}

/// The same for reading only: what is no character is shown as one that stands for it.
pub(crate) fn decode_lossy(bytes: &[u8]) -> String {
    match encoding_of(bytes) {
        Encoding::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
        Encoding::Utf16Le => String::from_utf16_lossy(&units(bytes, u16::from_le_bytes)),
        Encoding::Utf16Be => String::from_utf16_lossy(&units(bytes, u16::from_be_bytes)),
    }
}

pub(crate) fn encode(text: &str, encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Utf8 => text.as_bytes().to_vec(),
        Encoding::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        Encoding::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
    }
}

fn units(bytes: &[u8], read: fn([u8; 2]) -> u16) -> Vec<u16> {
    bytes.chunks_exact(2).filter_map(|pair| pair.try_into().ok()).map(read).collect()
}

/// New content in the manner of the old: its mark and its line endings, where the new content has none of its own.
pub(crate) fn like(old: &str, new: &str) -> String {
    const MARK: char = '\u{feff}';
    let unix = old.matches('\n').count();
    let windows = old.matches("\r\n").count();
    let mut text = String::with_capacity(new.len() + 3);
    if old.starts_with(MARK) && !new.starts_with(MARK) {
        text.push(MARK);
    }
    if windows > 0 && windows * 2 >= unix && !new.contains("\r\n") {
        text.push_str(&new.replace('\n', "\r\n"));
    } else {
        text.push_str(new);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn new_content_takes_the_manner_of_the_old() {
        assert_eq!(like("\u{feff}a\r\nb\r\n", "x\ny\n"), "\u{feff}x\r\ny\r\n");
        assert_eq!(like("a\nb\n", "x\r\ny\n"), "x\r\ny\n");
        assert_eq!(like("", "x\n"), "x\n");
        assert_eq!(like("a\r\nb\nc\nd\n", "x\n"), "x\n");
    }

    proptest! {
        #[test]
        fn bytes_that_are_text_come_back(bytes in prop::collection::vec(any::<u8>(), 0..60), wide in any::<bool>()) {
            let bytes = if wide { [vec![0xff, 0xfe], bytes].concat() } else { bytes };
            if let Some(Decoded { text, encoding }) = decode(&bytes) {
                prop_assert_eq!(encode(&text, encoding), bytes);
            }
        }
    }
}
