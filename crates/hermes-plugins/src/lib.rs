//! What others add to Hermes: plugins, which are programs that speak JSON-RPC over their standard input and output, and
//! shell hooks, which are commands that hear of one event. Neither can stop the program.
//!
//! [`discover`] finds plugins by their manifests, [`Extensions`] places them in a conversation: their tools in the registry,
//! their hooks around calls and turns, their ears beside the person. A plugin is started when it is needed, bounded in all
//! it says, and started again when it falls over, until it has fallen too often. Hooks that guard something fail closed.
//! `docs/plugins.md` is the protocol, for those who write one.

mod around;
mod child;
mod connection;
mod discover;
mod dispatch;
mod ear;
mod extensions;
mod health;
mod manifest;
mod occasion;
mod plugin;
mod protocol;
mod record;
mod settings;
pub mod shell;
mod tool;

pub use child::Outside;
pub use discover::{Found, Places, Readable, Source, Wish, discover};
pub use extensions::{Extensions, Parts};
pub use manifest::{Kind, Manifest, ManifestFault, Start, is_name};
pub use occasion::{Occasion, Power, UNHEARD, deaf_to};
pub use plugin::{NEEDS_PYTHON, NOTHING_TO_START, introduce};
pub use protocol::{Failing, HookSpec, Registration, ToolSpec, VERSION, Words};
pub use record::Records;
pub use settings::{PROJECT_VARIABLE, PluginSettings};
