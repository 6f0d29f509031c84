//! Packing a home into one zip file.

use super::super::{Console, Exit, Trouble};
use super::content::{self, Content, Item, Kind};
use super::tray::{Fault, Tray};
use super::{counted, listed, times, told, unpack};
use crate::settings::Home;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use tempfile::{NamedTempFile, TempDir};
use zip::result::{ZipError, ZipResult};
use zip::{CompressionMethod, ZipWriter};

/// What takes longer is told about.
const WORTH_A_LINE: Duration = Duration::from_secs(2);
const BUFFER: usize = 64 << 10;
const LARGE: u64 = (u32::MAX / 2) as u64;
/// Names of what was left out that are told; of more there is only the number.
const NAMES_TOLD: usize = 8;

pub(super) fn make(home: &Home, output: Option<PathBuf>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let target = Target::of(output)?;
    let mut content = Content::of(home.dir())?;
    let file = target.begin()?;
    let packed = Packing::new(file.as_file(), &target)?.fill(&mut content, console)?;
    if !packed.has_mark {
        for trouble in &content.troubles {
            writeln!(console.err, "{trouble}")?;
        }
        return Err(Trouble::Refused(format!(
            "{} is no home yet: none of {} could be packed. No backup was made.",
            home.dir().display(),
            unpack::MARKS.join(", ")
        )));
    }
    let size = file.as_file().metadata().map_or(0, |file| file.len());
    if let Some(reason) = unpack::beyond_limits(packed.files, packed.bytes, size) {
        return Err(Trouble::Refused(format!("No backup was made, because no import would take it: {reason}.")));
    }
    target.finish(file, console.out)?;
    for line in content.notes.iter().chain(&content.troubles) {
        writeln!(console.err, "{line}")?;
    }
    if !content.left_out.is_empty() {
        let (folders, files) = content.left_out.iter().partition::<Vec<_>, _>(|name| name.ends_with('/'));
        writeln!(
            console.err,
            "Left out {} and {}, which are copies or can be made again: {}.",
            counted(folders.len(), "folder"),
            counted(files.len(), "file"),
            listed(&content.left_out, NAMES_TOLD)
        )?;
    }
    writeln!(
        console.err,
        "Packed {} of {} ({} KiB). It holds your keys and logins: keep it to yourself.",
        counted(packed.files, "file"),
        home.dir().display(),
        size.div_ceil(1024),
    )?;
    if let Target::File(path) = &target {
        writeln!(console.err, "`hermes import {}` brings it back.", path.display())?;
    }
    Ok(if content.troubles.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Where a backup goes.
enum Target {
    File(PathBuf),
    Stdout,
}

impl Target {
    /// A folder gets the usual name inside it.
    fn of(output: Option<PathBuf>) -> Result<Self, Trouble> {
        let name = format!("hermes-backup-{}.zip", jiff::Zoned::now().strftime("%Y-%m-%d-%H%M%S"));
        let path = match output {
            Some(path) if path == Path::new("-") => {
                return match io::stdout().is_terminal() {
                    true => {
                        Err(Trouble::Usage("A backup is no text: send `-o -` to a file or another program.".into()))
                    }
                    false => Ok(Self::Stdout),
                };
            }
            Some(folder) if folder.is_dir() => folder.join(name),
            Some(file) => file,
            None => match std::env::var_os("HOME").filter(|home| !home.is_empty()) {
                Some(home) => PathBuf::from(home).join(name),
                None => {
                    return Err(Trouble::Usage("HOME is not set; say where the backup goes with `-o FILE`.".into()));
                }
            },
        };
        if path.symlink_metadata().is_ok() {
            return Err(Trouble::Refused(format!("{} exists already; choose another name with `-o`.", path.display())));
        }
        Ok(Self::File(path))
    }

    /// Only its owner may read a temporary file, and what comes of it.
    fn begin(&self) -> Result<NamedTempFile, Trouble> {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(".hermes-backup-");
        match self {
            Self::File(path) => builder.tempfile_in(folder_of(path)),
            Self::Stdout => builder.tempfile(),
        }
        .map_err(|reason| self.unwritable(&reason))
    }

    fn finish(&self, mut file: NamedTempFile, out: &mut dyn Write) -> Result<(), Trouble> {
        let written = match self {
            Self::File(path) => file.as_file().sync_all().and_then(|()| {
                file.persist_noclobber(path).map_err(|error| error.error)?;
                // Only the folder's own sync makes the new name survive a power cut.
                File::open(folder_of(path))?.sync_all()?;
                writeln!(out, "{}", path.display())
            }),
            Self::Stdout => io::Seek::rewind(&mut file).and_then(|()| {
                io::copy(&mut file, out)?;
                out.flush()
            }),
        };
        written.map_err(|reason| self.unwritable(&reason))
    }

    fn unwritable(&self, reason: &io::Error) -> Trouble {
        let place = match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdout => "The backup".into(),
        };
        Trouble::Refused(format!("{place} cannot be written: {reason}. No backup was made."))
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What is in the archive.
#[derive(Debug, Default)]
struct Packed {
    files: usize,
    bytes: u64,
    /// Something that an import knows a home by.
    has_mark: bool,
}

/// Whose fault it is that a file could not be packed.
enum Failure {
    Source(io::Error),
    /// The reason is in the [`Fault`].
    Target,
}

/// An archive that is being filled.
struct Packing<'a> {
    file: &'a File,
    target: &'a Target,
    /// Databases are copied here first, on the disk that needs the room anyway.
    copies: TempDir,
}

impl<'a> Packing<'a> {
    fn new(file: &'a File, target: &'a Target) -> Result<Self, Trouble> {
        let copies = match target {
            Target::File(path) => tempfile::Builder::new().prefix(".hermes-backup-").tempdir_in(folder_of(path)),
            Target::Stdout => tempfile::tempdir(),
        };
        Ok(Self { file, target, copies: copies.map_err(|reason| target.unwritable(&reason))? })
    }

    fn fill(&self, content: &mut Content, console: &mut Console<'_>) -> Result<Packed, Trouble> {
        let fault = Fault::default();
        let writer = ZipWriter::new(Tray::new(self.file, &fault));
        let mut zip = Zip { writer, fault: &fault, packed: Packed::default() };
        let (begun, all) = (Instant::now(), content.items.len());
        let mut last_told = begun;
        for (number, item) in content.items.iter().enumerate() {
            if last_told.elapsed() > WORTH_A_LINE {
                last_told = Instant::now();
                writeln!(console.err, "… {number} of {all} files, {} s", begun.elapsed().as_secs())?;
            }
            match self.add(&mut zip, item) {
                Ok(trouble) => content.troubles.extend(trouble),
                Err(Failure::Source(error)) => {
                    content.troubles.push(format!("{} is left out: {error}.", told(&item.name)));
                }
                Err(Failure::Target) => break,
            }
        }
        let Zip { writer, packed, .. } = zip;
        let finished = writer.finish().map(drop);
        match fault.take() {
            Some(reason) => Err(self.target.unwritable(&reason)),
            None => finished.map(|()| packed).map_err(|error| self.target.unwritable(&error.into())),
        }
    }

    fn add(&self, zip: &mut Zip<'_>, item: &Item) -> Result<Option<String>, Failure> {
        let facts = fs::symlink_metadata(&item.path).map_err(Failure::Source)?;
        if let Kind::Link(way) = &item.kind {
            return zip.add_link(&item.name, way, &facts).map(|()| None);
        }
        if !content::is_database(&item.name) {
            return zip.add_file(&item.name, &item.path, &facts).map(|()| None);
        }
        let copy = self.copies.path().join("copy.db");
        let log = content::log_beside(&copy);
        let trouble = content::copy(item, &copy).map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                zip.fault.replace(Some(error));
                Failure::Target
            }
            _ => Failure::Source(error),
        })?;
        zip.add_file(&item.name, &copy, &facts)?;
        if log.exists() {
            zip.add_file(&content::log_of(&item.name), &log, &facts)?;
        }
        for done in [copy, log] {
            // What is left goes with the folder; the next copy says so if it is in the way.
            let _ = fs::remove_file(done);
        }
        Ok(trouble)
    }
}

struct Zip<'a> {
    writer: ZipWriter<Tray<'a>>,
    fault: &'a Fault,
    packed: Packed,
}

impl Zip<'_> {
    /// Packs the content of `source`; `facts` are those of the file it stands for.
    fn add_file(&mut self, name: &str, source: &Path, facts: &fs::Metadata) -> Result<(), Failure> {
        let source = File::open(source).map_err(Failure::Source)?;
        let size = source.metadata().map_err(Failure::Source)?.len();
        let options = times::Options::default()
            .compression_method(CompressionMethod::Deflated)
            .unix_permissions(mode(facts))
            .large_file(size > LARGE);
        let options = stamped(options, facts);
        options.and_then(|options| self.writer.start_file(name, options)).map_err(|error| self.failure(error))?;
        // A file that grows meanwhile is packed as it was.
        let bytes = self.pour(source.take(size)).inspect_err(|_| {
            // Half a file is no file. When even that fails, so does the end of the archive.
            let _ = self.writer.abort_file();
        })?;
        self.count(name, bytes)
    }

    fn add_link(&mut self, name: &str, way: &str, facts: &fs::Metadata) -> Result<(), Failure> {
        let options = stamped(times::Options::default(), facts);
        options.and_then(|options| self.writer.add_symlink(name, way, options)).map_err(|error| self.failure(error))?;
        self.count(name, way.len() as u64)
    }

    fn count(&mut self, name: &str, bytes: u64) -> Result<(), Failure> {
        self.packed.files += 1;
        self.packed.bytes = self.packed.bytes.saturating_add(bytes);
        self.packed.has_mark |= unpack::MARKS.contains(&name);
        if self.fault.borrow().is_some() { Err(Failure::Target) } else { Ok(()) }
    }

    fn pour(&mut self, mut source: impl Read) -> Result<u64, Failure> {
        let mut buffer = vec![0; BUFFER];
        let mut poured = 0;
        loop {
            let read = match source.read(&mut buffer) {
                Ok(0) => return Ok(poured),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Failure::Source(error)),
            };
            self.writer
                .write_all(buffer.get(..read).unwrap_or_default())
                .map_err(|error| self.failure(error.into()))?;
            poured += read as u64;
            if self.fault.borrow().is_some() {
                return Err(Failure::Target);
            }
        }
    }

    /// The tray never fails; what the writer itself refuses is because of the file.
    fn failure(&self, error: ZipError) -> Failure {
        if self.fault.borrow().is_some() { Failure::Target } else { Failure::Source(error.into()) }
    }
}

fn stamped(options: times::Options, facts: &fs::Metadata) -> ZipResult<times::Options> {
    times::stamped(options, facts.modified().unwrap_or_else(|_| SystemTime::now()))
}

#[cfg(unix)]
fn mode(facts: &fs::Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    facts.permissions().mode() & 0o777
}

#[cfg(not(unix))]
fn mode(_facts: &fs::Metadata) -> u32 {
    0o600
}
