//! Names of things, as types, so that a session id cannot be passed where a call id belongs.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// A durable conversation: `YYYYMMDD_HHMMSS_<6 hex>`.
    SessionId
);
id!(
    /// One request of the model to run one tool; pairs a call with its result.
    CallId
);

impl CallId {
    /// The id of a call whose provider gave none: the same call at the same place always gets the same id, so that
    /// replaying a conversation does not move the bytes a prompt cache has seen.
    ///
    /// ```
    /// # use hermes_types::CallId;
    /// assert_eq!(CallId::deterministic("read_file", r#"{"path":"x"}"#, 0).as_str(), "call_424c07b15d61");
    /// ```
    pub fn deterministic(name: &str, arguments: &str, index: usize) -> Self {
        let digest = Sha256::digest(format!("{name}:{arguments}:{index}"));
        let mut hex = hex::encode(digest);
        hex.truncate(12);
        Self(format!("call_{hex}"))
    }
}
