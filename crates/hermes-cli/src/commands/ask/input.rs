//! The question as the model gets it: the prompt, what was piped in, and the images.
//!
//! Everything has a cap. Text that is not quite UTF-8 is taken with its odd bytes marked; what is no text at all is
//! refused before anything is sent.

use crate::commands::Trouble;
use crate::output::Screen;
use base64::Engine;
use hermes_types::{Content, Part};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Text from standard input beyond this is not context any more.
const LARGEST_INPUT: u64 = 16 << 20;
const LARGEST_IMAGE: u64 = 20 << 20;
/// A person who forgot that we wait for standard input is told after this long.
const REMINDER: Duration = Duration::from_secs(2);

/// The prompt, with whatever was piped in as context behind it and the images as parts.
pub(super) async fn content(prompt: &str, images: &[PathBuf], screen: &Screen) -> Result<Content, Trouble> {
    let piped = text(standard_input(screen).await?, screen)?;
    let text = match (prompt, piped.trim_end()) {
        ("-", "") => return Err(Trouble::Usage("the prompt is `-`, but nothing came in on standard input".into())),
        ("-", piped) => piped.to_owned(),
        (prompt, _) if prompt.trim().is_empty() => return Err(Trouble::Usage("the prompt is empty".into())),
        (prompt, "") => prompt.to_owned(),
        (prompt, context) => format!("{prompt}\n\n{context}"),
    };
    if images.is_empty() {
        return Ok(Content::Text(text));
    }
    let mut parts = vec![Part::of_text(text)];
    for path in images {
        parts.push(Part::of_image(image_url(path)?));
    }
    Ok(Content::Parts(parts))
}

fn text(bytes: Vec<u8>, screen: &Screen) -> Result<String, Trouble> {
    if bytes.len() as u64 > LARGEST_INPUT {
        let message =
            "standard input is larger than 16 MiB; send the part that matters, for example through `tail -c 1M`";
        return Err(Trouble::Usage(message.into()));
    }
    if bytes.contains(&0) {
        let message = "standard input is not text; an image can be attached with `--image FILE`";
        return Err(Trouble::Usage(message.into()));
    }
    Ok(String::from_utf8(bytes).unwrap_or_else(|odd| {
        screen.remark("standard input is not all UTF-8; the odd bytes are sent as �");
        String::from_utf8_lossy(odd.as_bytes()).into_owned()
    }))
}

/// Standard input, unless it is a terminal. What may take its time is read on a thread of its own, which does not keep
/// the program from ending.
async fn standard_input(screen: &Screen) -> Result<Vec<u8>, Trouble> {
    let unreadable = |error: io::Error| Trouble::Refused(format!("standard input cannot be read: {error}"));
    if io::stdin().is_terminal() {
        return Ok(Vec::new());
    }
    let begun = Arc::new(AtomicBool::new(false));
    if is_at_hand() {
        return read(&begun).map_err(unreadable);
    }
    let (done, mut coming) = tokio::sync::oneshot::channel();
    let seen = begun.clone();
    std::thread::spawn(move || done.send(read(&seen)));
    let read = tokio::select! {
        read = &mut coming => read,
        () = tokio::time::sleep(REMINDER) => {
            if !begun.load(Ordering::Relaxed) {
                screen.explain_wait("reading standard input", "add `</dev/null` if there is none");
            }
            coming.await
        }
    };
    read.map_err(io::Error::other).and_then(|read| read).map_err(unreadable)
}

/// A file or `/dev/null`: reading it does not wait for anybody.
fn is_at_hand() -> bool {
    let stdin = io::stdin();
    let about = stdin.as_fd().try_clone_to_owned().map(File::from).and_then(|file| file.metadata());
    about.is_ok_and(|about| about.is_file() || about.file_type().is_char_device())
}

fn read(begun: &AtomicBool) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock().take(LARGEST_INPUT + 1);
    let mut chunk = [0; 8192];
    loop {
        match stdin.read(&mut chunk) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend(chunk.iter().take(count)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        begun.store(true, Ordering::Relaxed);
    }
}

fn image_url(path: &Path) -> Result<String, Trouble> {
    let unusable = |reason: &dyn std::fmt::Display| Trouble::Usage(format!("image {}: {reason}", path.display()));
    // Asked before it is opened: a pipe would be waited for, and a device may have no end.
    if !std::fs::metadata(path).map_err(|error| unusable(&error))?.is_file() {
        return Err(unusable(&"a folder, a pipe or a device, and no file"));
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST_IMAGE + 1).read_to_end(&mut bytes));
    read.map_err(|error| unusable(&error))?;
    if bytes.len() as u64 > LARGEST_IMAGE {
        return Err(unusable(&"larger than 20 MiB"));
    }
    let kind = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => "png",
        [0xFF, 0xD8, 0xFF, ..] => "jpeg",
        [b'G', b'I', b'F', b'8', ..] => "gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "webp",
        _ => return Err(unusable(&"not a PNG, JPEG, GIF or WebP file")),
    };
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    Ok(format!("data:image/{kind};base64,{data}"))
}
