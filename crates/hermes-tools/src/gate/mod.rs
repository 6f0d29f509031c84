//! The one gate in front of every effect.
//!
//! A command is read as a shell reads it ([`judge`]): words are expanded as far as that is possible without running
//! anything, wrappers are seen through, and what would run is held against one table of intents. What cannot be read
//! or known is a finding of its own, so that nothing passes because it was not understood. [`decide`] turns findings
//! and the policy of the owner into allow, ask or refuse. Both are pure: no file is opened, nothing is run, and the
//! text that was judged is never printed back for running. [`Gate`] looks at the world besides: where links lead, what
//! a script on disk says, what earlier commands left in the shell. It puts the questions and keeps the answers; what
//! it let pass carries a [`Permit`].

mod act;
mod builtin;
mod carry;
mod consent;
mod decide;
mod expand;
mod feed;
mod fragment;
mod intent;
mod interpret;
mod judge;
mod keeper;
mod matter;
mod on_disk;
mod parameter;
mod pattern;
mod permit;
mod place;
mod python;
mod question;
mod refuse;
mod remembered;
mod rule;
mod run;
pub(crate) mod script;
mod settings;
mod shell;
mod still;
mod stream;
mod text;
mod word;
mod wrapper;

pub use decide::{
    Answer, Channel, Decision, Opinion, Permanence, Policy, Reason, Refusal, Remember, Settled, SudoPassword, Yolo,
    decide, hear, settle,
};
pub(crate) use intent::SCRIPT_STARTS;
pub use intent::{Class, INTENTS, Intent, Memory, canonical_key};
pub use judge::{Finding, Judgement, Shape, judge, judge_after, judge_script};
pub use keeper::{Gate, LastingConsent, Wish};
pub use matter::{Matter, Wanted};
pub use permit::{Approval, Cause, Permit, Refused};
pub use place::Place;
pub use question::{Excerpt, excerpt, visible};
pub use remembered::Remembered;
pub use rule::{About, Effect, Mode, Rule, RuleError, Start};
pub use settings::ApprovalSettings;
pub use still::{Motion, is_still};
