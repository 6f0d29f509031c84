//! The file that an archive is written to.
//!
//! The zip library goes on writing when it is dropped, and tells its own story on stderr when that fails. So it never learns
//! of a failure: the first one is kept for us, and what comes after it goes nowhere.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// Why the file could not be written.
pub(super) type Fault = RefCell<Option<io::Error>>;

pub(super) struct Tray<'a> {
    file: &'a File,
    fault: &'a Fault,
    /// Where the writer believes to be, and where the file ends for it.
    at: u64,
    end: u64,
}

impl<'a> Tray<'a> {
    /// An empty file.
    pub(super) fn new(file: &'a File, fault: &'a Fault) -> Self {
        Self { file, fault, at: 0, end: 0 }
    }

    fn attempt(&self, act: impl FnOnce(&File) -> io::Result<()>) {
        if self.fault.borrow().is_none()
            && let Err(error) = act(self.file)
        {
            *self.fault.borrow_mut() = Some(error);
        }
    }
}

impl Write for Tray<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(|mut file| file.write_all(bytes));
        self.at += bytes.len() as u64;
        self.end = self.end.max(self.at);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Tray<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        self.attempt(|mut file| file.seek(SeekFrom::Start(self.at)).map(drop));
        Ok(self.at)
    }
}
