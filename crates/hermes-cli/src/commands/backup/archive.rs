//! Packing a home into one zip file.

use super::super::{Console, Exit, Trouble};
use super::content::{self, Content, Item};
use crate::settings::Home;
use crate::settings::disk::DiskError;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// What takes longer is told about.
const WORTH_A_LINE: Duration = Duration::from_secs(2);

pub(super) fn make(home: &Home, output: Option<PathBuf>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let target = target(output)?;
    if target.exists() {
        return Err(Trouble::Refused(format!("{} exists already; choose another name with `-o`.", target.display())));
    }
    let mut content = Content::of(home.dir())?;
    let unwritable = |reason| DiskError::Write { path: target.clone(), reason };
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Only its owner may read a temporary file, and what comes of it.
    let file = tempfile::Builder::new().prefix(".hermes-backup-").tempfile_in(folder).map_err(unwritable)?;
    let mut zip = ZipWriter::new(file.as_file());
    let (begun, all) = (Instant::now(), content.items.len());
    let mut told = begun;
    for (number, item) in content.items.iter().enumerate() {
        if told.elapsed() > WORTH_A_LINE {
            told = Instant::now();
            writeln!(console.err, "… {number} of {all} files, {} s", begun.elapsed().as_secs())?;
        }
        match add(&mut zip, item) {
            Ok(trouble) => content.troubles.extend(trouble),
            Err(Failure::Source(error)) => content.troubles.push(format!("{} was left out: {error}", item.name)),
            Err(Failure::Zip(error)) => return Err(unwritable(error).into()),
        }
    }
    zip.finish().map_err(|error| unwritable(error.into()))?;
    file.as_file().sync_all().map_err(unwritable)?;
    file.persist_noclobber(&target).map_err(|error| unwritable(error.error))?;
    for trouble in &content.troubles {
        writeln!(console.err, "{trouble}")?;
    }
    let size = fs::metadata(&target).map_or(0, |file| file.len());
    writeln!(console.out, "{}", target.display())?;
    writeln!(
        console.err,
        "Packed {all} files of {} ({} KiB). It holds your keys and logins: keep it to yourself.\n\
         `hermes import {}` brings it back.",
        home.dir().display(),
        size.div_ceil(1024),
        target.display()
    )?;
    Ok(if content.troubles.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Where the file goes: a folder gets the usual name inside it.
fn target(output: Option<PathBuf>) -> Result<PathBuf, Trouble> {
    let name = format!("hermes-backup-{}.zip", jiff::Zoned::now().strftime("%Y-%m-%d-%H%M%S"));
    match output {
        Some(folder) if folder.is_dir() => Ok(folder.join(name)),
        Some(file) => Ok(file),
        None => match std::env::var_os("HOME").filter(|home| !home.is_empty()) {
            Some(home) => Ok(PathBuf::from(home).join(name)),
            None => Err(Trouble::Usage("HOME is not set; say where the backup goes with `-o FILE`.".into())),
        },
    }
}

/// Whose fault it is that a file could not be packed.
enum Failure {
    Source(io::Error),
    Zip(io::Error),
}

fn add(zip: &mut ZipWriter<&File>, item: &Item) -> Result<Option<String>, Failure> {
    let copies = tempfile::tempdir().map_err(Failure::Source)?;
    let (source, trouble) = if content::is_database(&item.name) {
        let copy = copies.path().join("copy.db");
        let trouble = content::copy(item, &copy).map_err(Failure::Source)?;
        (copy, trouble)
    } else {
        (item.path.clone(), None)
    };
    let mut source = File::open(&source).map_err(Failure::Source)?;
    let large = source.metadata().map_err(Failure::Source)?.len() > u64::from(u32::MAX) / 2;
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .unix_permissions(mode(&item.path))
        .large_file(large);
    zip.start_file(&*item.name, options).map_err(|error| Failure::Zip(error.into()))?;
    io::copy(&mut source, zip).map_err(Failure::Zip)?;
    Ok(trouble)
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).map_or(0o600, |file| file.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode(_path: &Path) -> u32 {
    0o600
}
