//! What SQLite says, in the words of the store. No SQL type leaves this crate.

use hermes_core::store::StoreError;
use rusqlite::ErrorCode;
use rusqlite::ffi::{SQLITE_CORRUPT_VTAB, SQLITE_IOERR_WRITE};
use std::fs;
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
            // A file size limit or a quota is told as a failed write.
            ErrorCode::SystemIoFailure if code.extended_code == SQLITE_IOERR_WRITE => StoreError::Full { place },
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreError::ReadOnly { place, reason: detail },
            ErrorCode::DatabaseCorrupt if code.extended_code == SQLITE_CORRUPT_VTAB => {
                StoreError::Failed("the search index is damaged; it is being built anew, try again".into())
            }
            ErrorCode::DatabaseCorrupt => StoreError::Damaged { place, detail },
            ErrorCode::NotADatabase => StoreError::Unusable { place, reason: NOT_A_DATABASE.into() },
            ErrorCode::CannotOpen => StoreError::Unusable { place, reason: why_not(path).unwrap_or(detail) },
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

/// What SQLite does not tell about a file that cannot be opened.
fn why_not(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let reason = match fs::metadata(path) {
        Ok(there) if there.is_dir() => "it is a folder",
        Ok(_) => "this user may not read it, or the files beside it",
        Err(_) if !folder.is_dir() => "its folder does not exist",
        Err(_) => "it does not exist and its folder cannot be written",
    };
    Some(reason.into())
}
