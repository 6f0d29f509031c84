//! What the program says to a person about a turn: plain functions from what happened to a sentence.

use super::GoOn;
use crate::commands::table::grouped;
use hermes_core::turn::{End, Outcome};
use hermes_model::resolve::Source;
use hermes_types::{AgainReason, Fault, FaultKind, Notice, SessionId};
use std::time::{Duration, Instant};

/// Work that takes longer than this shows what is happening.
const SILENCE: Duration = Duration::from_secs(2);
/// The longest piece of a server's own words in a line about a retry.
const LONGEST_REASON: usize = 160;

/// What the program is waiting for, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    Preparing {
        what: &'static str,
        since: Instant,
    },
    Asking {
        since: Instant,
    },
    /// The model thinks, and its thoughts are not shown.
    Thinking {
        since: Instant,
    },
    /// The model writes a call of a tool, which can be long.
    Calling {
        name: String,
        since: Instant,
    },
    /// A tool is running, or is about to.
    Working {
        what: String,
        since: Instant,
    },
    /// Words are on the screen; the last one came then.
    Speaking {
        since: Instant,
    },
    Pausing {
        until: Instant,
    },
}

impl Phase {
    /// The line for the person, once it has been quiet for a while.
    pub(super) fn status(&self, model: Option<&str>, now: Instant) -> Option<String> {
        let model = model.unwrap_or("the model");
        let (what, since) = match self {
            Self::Preparing { what, since } => ((*what).to_owned(), *since),
            Self::Asking { since } => (format!("waiting for {model}"), *since),
            Self::Calling { name, since } => (format!("{model} is writing a call of {name}"), *since),
            Self::Working { what, since } => (what.clone(), *since),
            Self::Thinking { since } => (format!("{model} is thinking"), *since),
            Self::Speaking { since } => (format!("waiting for {model} to go on"), *since),
            Self::Pausing { until } if *until > now => {
                return Some(format!("… trying again in {} s (Ctrl-C stops)", (*until - now).as_secs() + 1));
            }
            // The pause is over and the next attempt is on its way.
            Self::Pausing { until } => (format!("waiting for {model}"), *until),
        };
        let quiet = now.saturating_duration_since(since);
        (quiet >= SILENCE).then(|| format!("… {what}, {} s (Ctrl-C stops)", quiet.as_secs()))
    }
}

/// What a person is told when there is no answer, or less than one, and how to go on.
pub(super) fn ending(outcome: &Outcome, go_on: GoOn, provider: Option<&str>, key: Option<&Source>) -> Option<String> {
    let session = &outcome.session;
    let told = match &outcome.end {
        End::Unanswered(fault) => explain(fault, provider, key),
        End::NothingOpen => {
            format!(
                "nothing in session {session} is unfinished\n  to ask something: hermes chat --resume {session} -q \"…\""
            )
        }
        end => end.explanation()?,
    };
    Some(match go_on {
        GoOn::WithTheTurn => format!("{told}\n  to go on: hermes --resume {session}"),
        GoOn::FromThere => format!("{told}\n  to go on: hermes chat --resume {session} -q \"go on\""),
        GoOn::WithAQuestion | GoOn::Unsaid => told,
    })
}

/// The last line for a person who may want to go on.
pub(super) fn invitation(session: &SessionId) -> String {
    format!("… session {session} · to go on: hermes chat -c -q \"…\"")
}

/// What happened and what to type next, for the faults a person can mend. `key` is where the credential came from, if
/// that is known.
pub(super) fn explain(fault: &Fault, provider: Option<&str>, key: Option<&Source>) -> String {
    let next_step = match fault.kind {
        FaultKind::Auth | FaultKind::Entitlement => mend_key(provider.unwrap_or("PROVIDER"), key),
        // Its message already says how to log in again.
        FaultKind::AuthPermanent => return fault.message.clone(),
        FaultKind::Billing => "top up the account, or choose another model (hermes model)".into(),
        FaultKind::ModelNotFound => "choose one the provider has (hermes model), or name it with -m".into(),
        FaultKind::NoRoute => {
            "check the network, a proxy (HTTPS_PROXY) and the address (hermes config get model.base_url)".into()
        }
        FaultKind::RateLimit | FaultKind::UpstreamRateLimit | FaultKind::Overloaded => {
            "wait a little, or have a second provider step in (hermes fallback add)".into()
        }
        FaultKind::ContextOverflow | FaultKind::PayloadTooLarge => {
            "send less, or choose a model that reads more (hermes model)".into()
        }
        _ => return fault.message.clone(),
    };
    format!("{}\n  next: {next_step}", fault.message)
}

/// How to replace a credential that was refused.
fn mend_key(provider: &str, key: Option<&Source>) -> String {
    match key {
        Some(Source::Env(variable)) => {
            format!("the key came from {variable}; save a valid one (hermes config set {variable} <key>)")
        }
        Some(Source::Entry(name)) => format!("correct the key of `{name}` in config.yaml (hermes config edit)"),
        Some(Source::Config) => "save a valid key (hermes config set model.api_key <key>)".into(),
        Some(Source::None) => "the endpoint wants a key (hermes config set model.api_key <key>)".into(),
        Some(Source::Explicit | Source::Stored(_)) | None => {
            format!("look at the login in use (hermes status) or log in again (hermes auth add {provider})")
        }
    }
}

/// What making room in a conversation came to. A phase that is not known here is no reason to be silent.
pub(super) fn made_room(before: u64, after: u64, phase: &str, model: Option<&str>) -> String {
    let how = match (phase, model) {
        ("prune", _) => " (old results left out)".to_owned(),
        ("summary", Some(model)) => format!(" (summary by {model})"),
        ("fallback", _) => " (summary without a model)".to_owned(),
        ("truncate", _) => " (oldest messages left out)".to_owned(),
        _ => String::new(),
    };
    format!("… made room: {} → {} tokens{how}", grouped(before), grouped(after))
}

/// A step of recovery; `None` for what only a machine wants to know.
pub(crate) fn describe(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::Waiting { seconds } => format!("… waiting for the model, {seconds} s"),
        Notice::Retrying { delay_ms, kind, message, .. } => {
            let reason = hermes_types::clip(message, LONGEST_REASON);
            format!("… {kind} ({reason}), trying again in {:.1} s", *delay_ms as f64 / 1000.0)
        }
        Notice::Rotated { kind } => format!("… {kind}, going on with another key"),
        Notice::Refreshed => "… login renewed".into(),
        Notice::FellBack { provider, model, kind, .. } => format!("… {kind}, going on with {model} at {provider}"),
        Notice::StartedOver => "… the answer above broke off; it starts again here".into(),
        Notice::Conceded { .. } => "… the provider refused part of the request, sent again without it".into(),
        Notice::Again { reason } => match reason {
            AgainReason::Empty => "… the model said nothing, asking again".into(),
            AgainReason::OnlyThoughts => "… the model thought and did not answer, asking again".into(),
            AgainReason::CutCall => "… a call of a tool arrived incomplete and was not run, asking again".into(),
            AgainReason::CutAnswer => "… the answer reached the output limit, asking for the rest".into(),
            AgainReason::UnknownTool => "… the model called a tool that does not exist, and was told so".into(),
        },
        Notice::LastWord { iterations } => format!("… all {iterations} steps are used, asking for what there is"),
        Notice::PriceUnknown { model } => {
            format!("… nobody says what {model} costs, so the limit in dollars (budget.*) cannot be held")
        }
        Notice::NotCompressed { tokens, reason } => {
            format!("… the conversation is long ({} tokens) and stays as it is: {reason}", grouped(*tokens))
        }
        Notice::Warning { text } => format!("… {text}"),
        // What comes of making room (`Compressing`) is told when it is made; until then the status line is enough.
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_wait_is_silent_and_a_long_one_says_for_what() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let asking = Phase::Asking { since: start };
        assert_eq!(asking.status(Some("m"), after(1)), None);
        assert_eq!(asking.status(Some("m"), after(5)).as_deref(), Some("… waiting for m, 5 s (Ctrl-C stops)"));
        let thinking = Phase::Thinking { since: start };
        assert_eq!(thinking.status(Some("m"), after(2)).as_deref(), Some("… m is thinking, 2 s (Ctrl-C stops)"));
        let pausing = Phase::Pausing { until: after(30) };
        assert_eq!(pausing.status(None, after(1)).as_deref(), Some("… trying again in 30 s (Ctrl-C stops)"));
        assert_eq!(pausing.status(None, after(31)), None);
        assert_eq!(
            pausing.status(None, after(33)).as_deref(),
            Some("… waiting for the model, 3 s (Ctrl-C stops)"),
            "behind the pause the next attempt is waited for"
        );
    }

    #[test]
    fn room_that_was_made_is_one_line_with_how_and_room_that_was_not_with_why() {
        let told = |phase, model| made_room(1_032_100, 9_400, phase, model);
        let line = "… made room: 1,032,100 → 9,400 tokens";
        assert_eq!(told("prune", None), format!("{line} (old results left out)"));
        assert_eq!(told("summary", Some("m")), format!("{line} (summary by m)"));
        assert_eq!(told("fallback", None), format!("{line} (summary without a model)"));
        assert_eq!(told("truncate", None), format!("{line} (oldest messages left out)"));
        assert_eq!(told("something new", None), line);
        let reason = "its newest messages alone take up the room there is".to_owned();
        assert_eq!(
            describe(&Notice::NotCompressed { tokens: 32_100, reason }).as_deref(),
            Some(
                "… the conversation is long (32,100 tokens) and stays as it is: its newest messages alone take up the \
                 room there is"
            )
        );
        assert_eq!(describe(&Notice::Compressing { tokens: 32_100 }), None);
    }

    #[test]
    fn an_end_without_an_answer_says_how_to_go_on() {
        let told = |end: End, go_on| {
            let outcome = Outcome::unasked(SessionId::new("s1"), end, None, None);
            ending(&outcome, go_on, None, None)
        };
        let answered = End::Answered(hermes_types::StopReason::Stop);
        assert_eq!(told(answered, GoOn::WithAQuestion), None);
        let interrupted = || End::Interrupted(hermes_core::turn::Interrupted::WhileAsking);
        assert_eq!(told(interrupted(), GoOn::Unsaid).as_deref(), Some("interrupted"));
        assert_eq!(
            told(interrupted(), GoOn::WithTheTurn).as_deref(),
            Some("interrupted\n  to go on: hermes --resume s1")
        );
        assert_eq!(
            told(End::Unanswered(Fault::new(FaultKind::Billing, "HTTP 402")), GoOn::WithTheTurn).as_deref(),
            Some(
                "HTTP 402\n  next: top up the account, or choose another model (hermes model)\n  \
                 to go on: hermes --resume s1"
            )
        );
        assert_eq!(
            told(End::BrokenOff, GoOn::FromThere).as_deref(),
            Some(
                "the connection broke off; the answer is incomplete\n  \
                 to go on: hermes chat --resume s1 -q \"go on\""
            )
        );
        assert_eq!(
            told(End::NothingOpen, GoOn::Unsaid).as_deref(),
            Some("nothing in session s1 is unfinished\n  to ask something: hermes chat --resume s1 -q \"…\"")
        );
    }

    #[test]
    fn what_a_person_can_mend_comes_with_the_next_step() {
        for kind in FaultKind::ALL {
            let told = explain(&Fault::new(kind, "it broke"), Some("acme"), None);
            assert!(told.starts_with("it broke"), "{told}");
            assert!(!told.contains("PROVIDER"), "{told}");
        }
        let refused = |key: &Source| explain(&Fault::new(FaultKind::Auth, "HTTP 401: no"), Some("acme"), Some(key));
        assert!(refused(&Source::Stored("manual".into())).ends_with("(hermes auth add acme)"));
        assert_eq!(
            refused(&Source::Env("ACME_KEY".into())),
            "HTTP 401: no\n  next: the key came from ACME_KEY; save a valid one (hermes config set ACME_KEY <key>)"
        );
    }
}
