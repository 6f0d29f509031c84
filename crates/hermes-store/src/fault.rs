//! What SQLite says, in the words of the store. No SQL type leaves this crate.

use crate::cause;
use hermes_core::store::StoreError;
use rusqlite::ErrorCode;
use rusqlite::ffi::{SQLITE_CORRUPT_VTAB, SQLITE_IOERR_WRITE};
use std::io;
use std::path::Path;

/// A failure inside the store: of the file, or a refusal with a reason.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DbError {
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(crate) type DbResult<T> = Result<T, DbError>;

impl DbError {
    /// The word for the person, about the file at `path`.
    pub(crate) fn told(self, path: &Path) -> StoreError {
        let error = match self {
            Self::Store(error) => return error,
            Self::Sql(error) => error,
        };
        let place = path.display().to_string();
        let detail = error.to_string();
        let Some(code) = error.sqlite_error() else { return StoreError::Failed(detail) };
        match code.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy { place },
            ErrorCode::DiskFull => StoreError::Full { place },
            // A file size limit or a quota is told as a failed write, and so is a broken disk.
            ErrorCode::SystemIoFailure if code.extended_code == SQLITE_IOERR_WRITE && cause::is_want_of_room(path) => {
                StoreError::Full { place }
            }
            ErrorCode::SystemIoFailure => StoreError::Failed(format!("{detail} ({place})")),
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreError::ReadOnly { place, reason: detail },
            ErrorCode::DatabaseCorrupt if code.extended_code == SQLITE_CORRUPT_VTAB => {
                StoreError::Failed("the search index is damaged; it is being built anew, try again".into())
            }
            ErrorCode::DatabaseCorrupt => StoreError::Damaged { place, detail },
            ErrorCode::NotADatabase => StoreError::Unusable { place, reason: NOT_A_DATABASE.into() },
            ErrorCode::CannotOpen => {
                let reason = cause::of_closed_door(path);
                StoreError::Unusable { place, reason: reason.unwrap_or(format!("{detail}, or a file beside it")) }
            }
            _ => StoreError::Failed(detail),
        }
    }

    /// The word about a file that was open before: what is no database now has lost its beginning.
    pub(crate) fn told_of_open(self, path: &Path) -> StoreError {
        match self.code() {
            Some(ErrorCode::NotADatabase) => {
                StoreError::Damaged { place: path.display().to_string(), detail: "it is no database any more".into() }
            }
            _ => self.told(path),
        }
    }

    /// The word about a file that can be read and was to be opened for writing.
    pub(crate) fn told_of_readable(self, path: &Path) -> StoreError {
        match self.told(path) {
            StoreError::Unusable { place, .. } => StoreError::ReadOnly {
                place,
                reason: "the file, its folder or the files beside it are not writable".into(),
            },
            other => other,
        }
    }

    /// Another program holds the lock.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// We ended it ourselves, because it took too long or because the program ends.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.code() == Some(ErrorCode::OperationInterrupted)
    }

    /// Only the search index is damaged; the messages are not. A broken index may also refuse a row without naming a rule,
    /// which tables never do.
    pub(crate) fn is_index_damage(&self) -> bool {
        let Self::Sql(rusqlite::Error::SqliteFailure(code, text)) = self else { return false };
        code.extended_code == SQLITE_CORRUPT_VTAB
            || (code.code == ErrorCode::ConstraintViolation && text.as_deref() == Some("constraint failed"))
    }

    /// Something in the file is damaged, whatever it is.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)) || self.is_index_damage()
    }

    /// The file, or a file beside it, cannot be had in the way it was asked for.
    pub(crate) fn is_closed_door(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied))
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sql(error) => error.sqlite_error_code(),
            Self::Store(_) => None,
        }
    }
}

const NOT_A_DATABASE: &str = "it is not a database, or its beginning was destroyed; \
    `hermes sessions recover` looks for messages in it";

impl From<io::Error> for DbError {
    fn from(error: io::Error) -> Self {
        Self::Store(StoreError::Failed(error.to_string()))
    }
}

/// The word about a file that was handled without SQLite.
pub(crate) fn file_fault(place: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let place = place.display().to_string();
    move |error| match error.kind() {
        _ if cause::is_full(&error) => StoreError::Full { place },
        io::ErrorKind::AlreadyExists => StoreError::Unusable { place, reason: "it exists already".into() },
        _ => StoreError::Unusable { place, reason: error.to_string() },
    }
}
