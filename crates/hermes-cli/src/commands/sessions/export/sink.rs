//! Where an export goes: a stream, or a file that appears whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

pub(super) struct Sink<'a> {
    kind: Kind<'a>,
}

enum Kind<'a> {
    Stream(BufWriter<&'a mut dyn Write>),
    /// A pipe or a device that has a name.
    Device(BufWriter<File>),
    /// Readable by its owner only, moved to its place at the end.
    File {
        temporary: BufWriter<NamedTempFile>,
        target: PathBuf,
    },
}

impl<'a> Sink<'a> {
    pub(super) fn stream(out: &'a mut dyn Write) -> Self {
        Self { kind: Kind::Stream(BufWriter::new(out)) }
    }

    pub(super) fn file(path: &Path) -> io::Result<Self> {
        // A link is written through.
        let target = fs::canonicalize(path).or_else(|_| std::path::absolute(path))?;
        let kind = match fs::metadata(&target) {
            Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(there) if !there.is_file() => {
                Kind::Device(BufWriter::new(OpenOptions::new().write(true).open(&target)?))
            }
            _ => {
                let folder = target.parent().unwrap_or(Path::new("."));
                let temporary = tempfile::Builder::new().prefix(".hermes-").tempfile_in(folder)?;
                Kind::File { temporary: BufWriter::new(temporary), target }
            }
        };
        Ok(Self { kind })
    }

    /// Everything was written: let it be seen.
    pub(super) fn finish(self) -> io::Result<()> {
        match self.kind {
            Kind::Stream(mut out) => out.flush(),
            Kind::Device(mut out) => out.flush(),
            Kind::File { temporary, target } => {
                let temporary = temporary.into_inner().map_err(io::IntoInnerError::into_error)?;
                temporary.as_file().sync_all()?;
                temporary.persist(&target).map(drop).map_err(|error| error.error)
            }
        }
    }
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.kind {
            Kind::Stream(out) => out.write(bytes),
            Kind::Device(out) => out.write(bytes),
            Kind::File { temporary, .. } => temporary.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.kind {
            Kind::Stream(out) => out.flush(),
            Kind::Device(out) => out.flush(),
            Kind::File { temporary, .. } => temporary.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.jsonl");
        fs::write(&path, "before").expect("written");
        let mut given_up = Sink::file(&path).expect("a sink");
        given_up.write_all(b"half").expect("written");
        drop(given_up);
        assert_eq!(fs::read_to_string(&path).expect("readable"), "before");
        let mut finished = Sink::file(&path).expect("a sink");
        finished.write_all(b"whole").expect("written");
        finished.finish().expect("finished");
        assert_eq!(fs::read_to_string(&path).expect("readable"), "whole");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        }
        assert!(Sink::file(folder.path()).is_err(), "a folder is no file");
        assert!(Sink::file(&folder.path().join("no/such/folder.jsonl")).is_err());
    }
}
