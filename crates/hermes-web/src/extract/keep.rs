//! Copies of pages in the home (`cache/web/`), for what a conversation does not hold.
//!
//! A page has one name, made of its host and its address, so that reading it again replaces the copy. The folder keeps
//! the newest copies up to a total size; a copy is put in its place as a whole.

use hermes_tools::attic;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use url::Url;

/// Longer texts are cut.
const MOST_CHARS: usize = 2_000_000;
/// What all copies may take together.
const MOST_BYTES: u64 = 256 << 20;
const LONGEST_HOST: usize = 60;

/// Where copies of pages are kept.
#[derive(Debug, Clone)]
pub(super) struct Shelf(PathBuf);

impl Shelf {
    pub(super) fn in_home(hermes_home: &Path) -> Self {
        Self(hermes_home.join("cache").join("web"))
    }

    /// Keeps the text of a page and gives the file.
    pub(super) async fn keep_text(&self, url: &Url, text: &str) -> io::Result<PathBuf> {
        let text = match text.char_indices().nth(MOST_CHARS) {
            None => text.to_owned(),
            Some((end, _)) => {
                let kept = text.get(..end).unwrap_or_default();
                format!("{kept}\n\n[The copy ends here: the page is longer than {MOST_CHARS} characters.]\n")
            }
        };
        self.keep(url, "md", text.into_bytes()).await
    }

    /// Keeps bytes under the name of the page with this ending.
    pub(super) async fn keep(&self, url: &Url, ending: &'static str, bytes: Vec<u8>) -> io::Result<PathBuf> {
        let (folder, name) = (self.0.clone(), file_name(url, ending));
        let kept = tokio::task::spawn_blocking(move || {
            let path = put(&folder, &name, &bytes)?;
            attic::tidy(&folder, &path, MOST_BYTES);
            Ok(path)
        });
        kept.await.unwrap_or_else(|panicked| Err(io::Error::other(panicked)))
    }
}

fn file_name(url: &Url, ending: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let host = url.host_str().unwrap_or("page");
    let host: String = host.chars().map(|c| if is_safe(c) { c } else { '-' }).take(LONGEST_HOST).collect();
    let host = host.trim_matches(['-', '.']);
    let digest = hex::encode(Sha256::digest(url.as_str()));
    format!("{}-{}.{ending}", if host.is_empty() { "page" } else { host }, digest.get(..10).unwrap_or_default())
}

fn put(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = folder.join(name);
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_page_has_one_copy_whose_name_cannot_leave_the_folder() {
        let home = tempfile::tempdir().expect("a folder");
        let shelf = Shelf::in_home(home.path());
        let url = Url::parse("https://docs.example.com/../../a?b=c").expect("a URL");
        let first = shelf.keep_text(&url, "one").await.expect("kept");
        let second = shelf.keep_text(&url, "two").await.expect("kept");
        assert_eq!(first, second);
        assert_eq!(fs::read_to_string(&second).expect("there"), "two");
        assert_eq!(first.parent(), Some(home.path().join("cache/web").as_path()));
        let name = first.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(
            name.starts_with("docs.example.com-") && name.len() == "docs.example.com-0123456789.md".len(),
            "{name}"
        );
        let v6 = file_name(&Url::parse("http://[2606:4700::1]/").expect("a URL"), "pdf");
        assert!(v6.starts_with("2606-4700--1-") && v6.ends_with(".pdf"), "{v6}");
    }
}
