//! Where an export goes: a stream, or a file that appears whole or not at all.

use crate::settings::disk::Draft;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub(super) struct Sink<'a> {
    kind: Kind<'a>,
}

enum Kind<'a> {
    Stream(BufWriter<&'a mut dyn Write>),
    /// A pipe or a device that has a name.
    Device(BufWriter<File>),
    /// Readable by its owner only, moved to its place at the end.
    File(BufWriter<Draft>),
}

impl<'a> Sink<'a> {
    pub(super) fn stream(out: &'a mut dyn Write) -> Self {
        Self { kind: Kind::Stream(BufWriter::new(out)) }
    }

    pub(super) fn file(path: &Path) -> io::Result<Self> {
        let kind = match fs::metadata(path) {
            Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(there) if !there.is_file() => Kind::Device(BufWriter::new(OpenOptions::new().write(true).open(path)?)),
            _ => Kind::File(BufWriter::new(Draft::of(path)?)),
        };
        Ok(Self { kind })
    }

    /// Everything was written: let it be seen.
    pub(super) fn finish(self) -> io::Result<()> {
        match self.kind {
            Kind::Stream(mut out) => out.flush(),
            Kind::Device(mut out) => out.flush(),
            Kind::File(draft) => draft.into_inner().map_err(io::IntoInnerError::into_error)?.publish(),
        }
    }
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.kind {
            Kind::Stream(out) => out.write(bytes),
            Kind::Device(out) => out.write(bytes),
            Kind::File(draft) => draft.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.kind {
            Kind::Stream(out) => out.flush(),
            Kind::Device(out) => out.flush(),
            Kind::File(draft) => draft.flush(),
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
