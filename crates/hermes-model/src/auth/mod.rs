//! Stored logins and how they are renewed.
