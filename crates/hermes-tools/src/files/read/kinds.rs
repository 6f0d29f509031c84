//! What a file is by its name and its first bytes, as far as that decides how it is shown.

use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Image,
    Document(Format),
    /// With what it is, in words.
    Binary(&'static str),
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Notebook,
    Word,
    Sheet,
}

const ENDINGS: &[(Kind, &[&str])] = &[
    (Kind::Image, &["png", "jpg", "jpeg", "gif", "webp", "bmp", "ico", "tif", "tiff", "heic", "avif"]),
    (Kind::Document(Format::Notebook), &["ipynb"]),
    (Kind::Document(Format::Word), &["docx"]),
    (Kind::Document(Format::Sheet), &["xlsx"]),
    (
        Kind::Binary("an archive"),
        &["zip", "tar", "gz", "tgz", "bz2", "xz", "zst", "7z", "rar", "jar", "whl", "deb", "rpm", "iso", "dmg"],
    ),
    (
        Kind::Binary("a program or a library"),
        &["exe", "dll", "so", "dylib", "o", "a", "lib", "bin", "class", "pyc", "pyo", "wasm", "node", "apk"],
    ),
    (Kind::Binary("sound or film"), &["mp3", "mp4", "m4a", "wav", "flac", "ogg", "opus", "avi", "mkv", "mov", "webm"]),
    (Kind::Binary("a font"), &["ttf", "otf", "woff", "woff2", "eot"]),
    (Kind::Binary("a database"), &["sqlite", "sqlite3", "db", "mdb", "parquet"]),
    (Kind::Binary("an office document"), &["pdf", "doc", "xls", "ppt", "pptx", "odt", "ods", "odp", "psd"]),
];

const IMAGE_STARTS: [&[u8]; 4] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a"];

pub(super) fn of(path: &Path, head: &[u8]) -> Kind {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let named = ENDINGS.iter().find(|(_, endings)| endings.contains(&ending.as_str())).map(|(kind, _)| *kind);
    match named {
        // An empty file, or text that somebody gave such a name, can be read.
        Some(Kind::Binary(_) | Kind::Image) if head.is_empty() => Kind::Unknown,
        Some(kind) => kind,
        None if IMAGE_STARTS.iter().any(|start| head.starts_with(start)) => Kind::Image,
        None => Kind::Unknown,
    }
}
