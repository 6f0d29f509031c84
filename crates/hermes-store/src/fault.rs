//! What SQLite says, in the words of the store. No SQL type leaves this crate.

use hermes_core::store::StoreError;
use rusqlite::ErrorCode;
use rusqlite::ffi::{SQLITE_CORRUPT_VTAB, SQLITE_IOERR_WRITE};
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
            ErrorCode::DatabaseCorrupt => StoreError::Damaged { place, detail },
            ErrorCode::NotADatabase => StoreError::Unusable { place, reason: "it is not a database".into() },
            ErrorCode::CannotOpen => StoreError::Unusable { place, reason: detail },
            _ => StoreError::Failed(detail),
        }
    }

    /// Another program holds the lock.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// Only the search index is damaged; the messages are not.
    pub(crate) fn is_index_damage(&self) -> bool {
        matches!(self, Self::Sql(error)
            if error.sqlite_error().is_some_and(|code| code.extended_code == SQLITE_CORRUPT_VTAB))
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sql(error) => error.sqlite_error_code(),
            Self::Store(_) => None,
        }
    }
}
