//! The memory of Hermes: every conversation in one SQLite file, found again in milliseconds, shared by many processes.
//!
//! SQL lives here and nowhere else; what leaves is [`SqliteStore`], which implements the store port of the core. The file
//! is the one the Python program uses: new files get the founding schema, files it raised are respected as they are, and
//! what neither has a place for is in tables of our own that begin with `hermes_`.

mod backup;
mod branch;
mod cause;
mod db;
mod facts;
mod fault;
mod go_on;
mod health;
mod insights;
mod ledger;
mod lineage;
mod listing;
mod oblivion;
mod outline;
mod patience;
mod private;
mod readers;
mod recover;
mod removal;
mod resolve;
mod row;
mod schema;
mod search;
mod session;
mod store;
mod tape;
mod titles;
mod transcript;
mod turns;
mod turnstile;
mod writer;

pub use backup::backup;
pub use health::HealthReport;
pub use recover::{
    Diagnosis, Held, Lost, Recovered, absolve, diagnose, diagnose_tables, recover, replace, take_back, user_of,
};
pub use search::{NoQuery, Query};
pub use store::SqliteStore;
