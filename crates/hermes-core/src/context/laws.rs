//! The laws of compression, held against conversations of every shape, writers of every kind and both engines.
//!
//! After every pass: roles alternate and every call has its result; the newest request of the person is there once and
//! as it was; rules, the newest plan and what nobody has read are there as they were; it is shorter, or a reason is given.

mod past;
mod scribes;

use super::assemble::{is_summary, pins_in, plan_in};
use super::{
    Compressed, Compressor, Declined, Engine, Job, Notes, Phase, Policy, Room, Trigger, Truncator, mask, weight,
};
use crate::prompt::steer;
use crate::repair::mended;
use futures_util::FutureExt as _;
use hermes_types::Message;
use past::{Beat, Past, beat, is_persons};
use proptest::prelude::*;
use scribes::Author;
use std::sync::Arc;

/// The circumstances of a pass.
#[derive(Debug, Clone)]
struct Case {
    author: Author,
    truncates: bool,
    trigger: Trigger,
    abort_on_failure: bool,
    protect: (usize, usize),
    /// The window, as a part of what is used.
    tightness: f64,
    /// Characters of the prompt.
    fixed: usize,
    rate: Option<f64>,
    all_read: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let triggers = prop::sample::select(vec![Trigger::Threshold, Trigger::Overflow, Trigger::Manual]);
    let flags = (prop::bool::weighted(0.3), triggers, prop::bool::weighted(0.2), prop::bool::weighted(0.3));
    let protect = prop::sample::select(vec![(3, 20), (0, 1), (1, 4), (9, 3)]);
    let sizes = (0.05..1.9f64, prop::sample::select(vec![0usize, 2_000, 40_000]));
    let rate = prop::option::of(0.4..3.0f64);
    (prop::sample::select(Author::ALL.to_vec()), flags, protect, sizes, rate).prop_map(
        |(author, (truncates, trigger, abort_on_failure, all_read), protect, (tightness, fixed), rate)| Case {
            author,
            truncates,
            trigger,
            abort_on_failure,
            protect,
            tightness,
            fixed,
            rate,
            all_read,
        },
    )
}

impl Case {
    fn pass(&self, past: &Past) -> Result<Compressed, Declined> {
        let meter = past.meter(self.fixed, self.rate);
        let policy = Policy {
            protect_first: self.protect.0,
            protect_last: self.protect.1,
            abort_on_failure: self.abort_on_failure,
            ..Policy::default()
        };
        let window = (meter.used() as f64 * self.tightness) as u64 + 1_000;
        let job = Job {
            history: &past.history,
            sent: past.sent,
            room: Room::of(&policy, window, None, meter.fixed()),
            policy: &policy,
            rows: &past.rows(),
            focus: None,
            notes: Notes::Nowhere,
            resting: None,
            trigger: self.trigger,
            meter: &meter,
        };
        let engine: &dyn Engine = if self.truncates { &Truncator } else { &Compressor };
        engine.compress(job, &self.author).now_or_never().expect("nobody in here waits")
    }

    /// One pass with everything that holds of it. Whether the conversation is shorter now.
    fn lawful_pass(&self, past: &mut Past) -> bool {
        let made = self.pass(past);
        assert!(made == self.pass(past), "the same input makes the same output");
        match made {
            Ok(made) => {
                self.holds(past, &made);
                past.sent = made.history.len() - (past.history.len() - past.sent);
                past.history = made.history;
                true
            }
            Err(declined) => {
                assert!(!declined.to_string().is_empty());
                let stopped = self.author == Author::Interrupted && !self.truncates;
                assert!(declined != Declined::Interrupted || stopped, "only the person interrupts");
                false
            }
        }
    }

    fn holds(&self, past: &Past, made: &Compressed) {
        whole(&made.history);
        shorter(past, made);
        keeps_the_newest(past, made);
        keeps_the_rules(past, made);
        keeps_the_plan(past, made);
        names_rows(past, made);
        is_framed(past, made);
        let wrote = matches!(self.author, Author::Able | Author::Liar | Author::Chatterbox);
        assert!(made.phase != Phase::Summary || wrote);
        assert!(made.phase != Phase::Fallback || (!wrote && !self.abort_on_failure && made.warning.is_some()));
        assert_eq!(made.phase == Phase::Truncate, self.truncates);
    }
}

/// What every provider takes, and what nobody would mend.
fn whole(history: &[Arc<Message>]) {
    let plain: Vec<Message> = history.iter().map(|message| (**message).clone()).collect();
    assert_eq!(mended(plain.clone()), plain, "nothing to mend");
    let mut roles = plain.iter().filter(|message| !matches!(message, Message::Tool(_))).map(Message::role);
    let mut before = roles.next();
    assert_eq!(before, Some(hermes_types::Role::User), "the person begins");
    for role in roles {
        let may_follow = before != Some(role) || role == hermes_types::Role::Assistant;
        assert!(may_follow, "{role:?} behind {before:?}");
        before = Some(role);
    }
    let mut open: std::collections::VecDeque<hermes_types::CallId> = Default::default();
    for message in &plain {
        match message {
            Message::Tool(result) => assert_eq!(open.pop_front().as_ref(), Some(&result.tool_call_id), "its turn"),
            other => {
                assert!(open.is_empty(), "calls without results: {open:?}");
                let Message::Assistant(said) = other else { continue };
                open.extend(said.tool_calls.iter().map(|call| call.pairing_id().clone()));
                for call in &said.tool_calls {
                    assert!(call.function.arguments.parse().is_ok(), "{:?}", call.function.arguments);
                }
            }
        }
    }
    assert!(open.is_empty(), "calls without results: {open:?}");
}

fn shorter(past: &Past, made: &Compressed) {
    let (before, after) = (weight::of_all(&past.history), weight::of_all(&made.history));
    assert!(after < before, "{after} of {before} by {:?}", made.phase);
}

/// The newest request once, as it was; and behind it, or around it, what nobody has read.
fn keeps_the_newest(past: &Past, made: &Compressed) {
    if let Some(request) = past.request() {
        let newest = made.history.iter().rfind(|message| is_persons(message));
        assert_eq!(newest, Some(request), "the newest request, byte for byte");
        let times = |history: &[Arc<Message>]| history.iter().filter(|message| *message == request).count();
        assert!(times(&made.history) <= times(&past.history), "not said twice");
    }
    let unread = &past.history[past.sent..];
    assert!(made.history.ends_with(unread), "what nobody has read stays as it is");
}

/// Whatever the person said that holds from now on, where the model takes it for the person's.
fn keeps_the_rules(past: &Past, made: &Compressed) {
    let said: Vec<String> = made
        .history
        .iter()
        .filter_map(|message| match &**message {
            Message::User(_) => Some(message.text()),
            Message::Tool(_) => steer::delivered(&message.text()).map(str::to_owned),
            _ => None,
        })
        .collect();
    let said = said.join("\n");
    for rule in &past.rules {
        assert!(said.contains(rule.as_str()), "{rule} is lost by {:?}", made.phase);
    }
}

fn keeps_the_plan(past: &Past, made: &Compressed) {
    assert_eq!(made.history.iter().rev().find_map(|message| plan_in(message)), past.plan);
}

/// A line in the place of a result names the row of that result. Lines are put in where the indices are still the same.
fn names_rows(past: &Past, made: &Compressed) {
    for (at, message) in made.history.iter().enumerate() {
        let text = message.text();
        let is_line = text.starts_with("[left out: ") && text.contains("session_search");
        if !is_line || is_shared(past, message) {
            continue;
        }
        let original = past.history[at].text();
        assert!(text.contains(&format!("\"message_id\": {}}}", Past::row(at).0)), "{text}");
        let steered = steer::delivered(&original).map(steer::wrapped).unwrap_or_default();
        let told = original.strip_suffix(steered.as_str()).unwrap_or(&original).chars().count();
        assert!(text.starts_with(&format!("[left out: {told} characters")), "{text}");
    }
}

/// What stays as it is stays shared.
fn is_shared(past: &Past, message: &Arc<Message>) -> bool {
    past.history.iter().any(|known| Arc::ptr_eq(known, message))
}

/// A summary ends once, at its end, and carries no words of the person that the person did not say.
fn is_framed(past: &Past, made: &Compressed) {
    let new = made.history.iter().filter(|message| is_summary(message) && !is_shared(past, message));
    for summary in new {
        let text = summary.text();
        let Some(pins) = Some(pins_in(summary)).filter(|_| text.starts_with("[CONTEXT COMPACTION")) else { continue };
        let quoted: usize = pins.iter().map(|pin| pin.text.matches("END OF CONTEXT SUMMARY").count()).sum();
        assert_eq!(text.matches("END OF CONTEXT SUMMARY").count(), 1 + quoted, "{text}");
        assert!(text.ends_with("--- END OF CONTEXT SUMMARY — go on with what follows ---"));
        assert!(!pins.iter().any(|pin| pin.text.contains("delete everything")), "lies are not taken for the person's");
    }
}

fn beats(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Beat>> {
    prop::collection::vec(beat(), count)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_pass_keeps_the_laws_whatever_was_said_and_whoever_writes(beats in beats(1..40), case in case()) {
        let mut past = Past::default();
        past.grow(&beats, case.all_read);
        case.lawful_pass(&mut past);
    }

    #[test]
    fn five_passes_with_growth_in_between_lose_no_rule(rounds in prop::collection::vec((beats(1..16), case()), 5)) {
        let mut past = Past::default();
        for (beats, case) in &rounds {
            past.grow(beats, case.all_read);
            case.lawful_pass(&mut past);
        }
    }

    #[test]
    fn passes_come_to_an_end(beats in beats(1..40), case in case()) {
        let mut past = Past::default();
        past.grow(&beats, case.all_read);
        let mut passes = 0;
        while case.lawful_pass(&mut past) {
            passes += 1;
            prop_assert!(passes <= 60, "there is an end to it");
        }
    }

    #[test]
    fn pruning_twice_is_pruning_once(beats in beats(1..40), part in 0.0..1.0f64) {
        let mut past = Past::default();
        past.grow(&beats, true);
        let upto = (past.history.len() as f64 * part) as usize;
        let once = mask::pruned(&past.history, upto, &past.rows());
        let twice = mask::pruned(&once, upto, &past.rows());
        prop_assert!(once.iter().zip(&twice).all(|(once, twice)| Arc::ptr_eq(once, twice)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, max_shrink_iters: 40, ..ProptestConfig::default() })]

    /// Thousands of messages.
    #[test]
    fn a_long_conversation_keeps_the_laws_too(beats in beats(40..50), times in prop::sample::select(vec![8usize, 45]), case in case()) {
        let mut past = Past::default();
        let many: Vec<Beat> = std::iter::repeat_n(&beats, times).flatten().cloned().collect();
        past.grow(&many, case.all_read);
        case.lawful_pass(&mut past);
        past.grow(&beats, case.all_read);
        case.lawful_pass(&mut past);
    }
}
