//! The bytes of a file for tools that live elsewhere, by the same rules as everything else that reads.

use super::place::open::Opened;
use super::place::{Readable, Rules};
use crate::desk::Desk;
use crate::gate::Permit;
use crate::tool::ToolError;
use std::io::Read as _;
use std::path::Path;

/// A file that a tool may look at: its path was resolved and held against the table of what tools leave alone.
#[derive(Debug, Clone)]
pub struct Sight {
    given: String,
    readable: Readable,
}

impl Sight {
    /// The file behind a path as a model wrote it.
    pub fn of(given: &str, desk: &Desk) -> Result<Self, ToolError> {
        let rules = Rules::of(&desk.settings().around);
        let readable = rules.readable(given, &desk.cwd()).map_err(|why| ToolError::told(why.to_string()))?;
        Ok(Self { given: given.to_owned(), readable })
    }

    /// Absolute and without links; what `Tool::effects` names as read.
    pub fn path(&self) -> &Path {
        self.readable.path()
    }

    /// All of its bytes, if it is where the permit saw it and no larger than `most`.
    pub async fn read(self, permit: &Permit, most: u64) -> Result<Vec<u8>, ToolError> {
        super::still(permit, self.path())?;
        super::blocking(move || {
            let Self { given, readable } = self;
            let unreadable = |error: std::io::Error| ToolError::told(format!("{given} cannot be read: {error}."));
            let (file, about) = match readable.open().map_err(unreadable)? {
                Opened::File(file, about) => (file, about),
                Opened::Absent => return Err(ToolError::told(format!("File not found: {given}"))),
                Opened::Directory => return Err(ToolError::told(format!("{given} is a directory."))),
                Opened::Special => return Err(ToolError::told(format!("{given} is no file but a device or a pipe."))),
            };
            let mut bytes = Vec::new();
            file.take(most + 1).read_to_end(&mut bytes).map_err(unreadable)?;
            if bytes.len() as u64 > most {
                let size = about.len();
                return Err(ToolError::told(format!("{given} is too large ({size} bytes; at most {most} are read).")));
            }
            Ok(bytes)
        })
        .await
    }
}
