//! The three wire protocols. What is proven: where the network cuts does not matter, a call is made exactly as it was
//! told or it is named as dropped, and no word is invented.

use hermes_fuzz::{Habit, Harm, Heard, RECORDED, Tale, Told, explore, facts, listen, mutants, shred, tales, wounds};
use hermes_model::wire::{ApiMode, End};
use hermes_types::{FaultKind, Reply, StopReason};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use std::collections::HashSet;

const DICTIONARY: [&str; 24] = [
    "\n\n",
    "data: [DONE]\n\n",
    "data: {}\n\n",
    "event: error\ndata: {\"error\":{\"message\":\"x\"}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    "null",
    "[]",
    "{}",
    "\"\"",
    "-1",
    "1e999",
    "18446744073709551616",
    "\"finish_reason\":\"length\"",
    "\"stop_reason\":\"max_tokens\"",
    "\"status\":\"incomplete\"",
    "\"type\":\"function_call\"",
    "\"type\":\"custom_tool_call\"",
    "\"type\":\"tool_use\"",
    "\"tool_calls\":[{}]",
    "\"content\":[{\"type\":\"text\",\"text\":\"x\"}]",
    "<think>",
    "</think>",
    "\\ud83d",
    "\u{1b}[31m",
];

fn modes() -> impl Strategy<Value = ApiMode> {
    prop::sample::select(&ApiMode::ALL[..])
}

fn ends() -> impl Strategy<Value = End> {
    prop::sample::select(&[End::Whole, End::Cut][..])
}

/// What holds for every answer, whatever the bytes were.
fn is_sound(heard: &Heard, body: &str) -> TestCaseResult {
    match &heard.outcome {
        Ok(reply) => {
            prop_assert!(reply.message.finish_reason.is_some(), "{body}");
            let mut ids = HashSet::new();
            for call in reply.tool_calls() {
                prop_assert!(call.function.arguments.parse().is_ok(), "unreadable arguments in {call:?}\n{body}");
                prop_assert!(!call.function.name.is_empty(), "a call without a name\n{body}");
                prop_assert!(!call.id.as_str().is_empty() && ids.insert(call.id.clone()), "ids do not pair\n{body}");
            }
            prop_assert!(reply.dropped.iter().all(|name| !name.is_empty()), "a dropped call is not named\n{body}");
            let kept = reply.tool_calls().len() + reply.dropped.len();
            prop_assert!(heard.announced.is_empty() || kept > 0, "an announced call is gone\n{body}");
        }
        Err(fault) => {
            prop_assert!((1..=500).contains(&fault.message.chars().count()), "{fault:?}");
            prop_assert!(!fault.message.contains(|c: char| c.is_control()), "{fault:?}");
        }
    }
    Ok(())
}

/// Nearly right streams of every protocol, to every decoder.
#[test]
fn any_bytes_are_heard_out_and_pieces_do_not_matter() {
    explore((mutants(), modes(), ends(), any::<Vec<u8>>()), |(mutant, mode, end, sizes)| {
        let bytes = mutant.of(&RECORDED, &DICTIONARY);
        let whole = listen(mode, &[&bytes], end);
        let body = String::from_utf8_lossy(&bytes);
        is_sound(&whole, &body)?;
        prop_assert_eq!(listen(mode, &shred(&bytes, &sizes), end), whole, "{}", body);
        Ok(())
    });
}

/// P5: whatever happens to a stream in one place, no call is made that was not meant, and none is lost in silence.
#[test]
fn a_wounded_stream_makes_no_call_that_was_not_told() {
    explore((tales(), wounds(), modes(), ends()), |(tale, wound, mode, end)| {
        let sent = tale.events(mode);
        let bytes = wound.inflict(&sent);
        let harm = Harm::of(&sent, &bytes);
        let heard = listen(mode, &[&bytes], end);
        let body = String::from_utf8_lossy(&bytes);
        is_sound(&heard, &body)?;
        match &heard.outcome {
            Err(fault) => prop_assert_ne!(&harm, &Harm::Nothing, "a whole answer was refused: {:?}\n{}", fault, body),
            Ok(_) if harm == Harm::Altered => {}
            Ok(reply) => {
                let case = Case { tale: &tale, mode, sent: &sent, harm: &harm, reply, body: &body };
                case.calls_are_those_that_were_told()?;
                case.no_word_is_invented(&heard.text)?;
            }
        }
        Ok(())
    });
}

/// What the network delivers together with a fault, or together with the end, is heard as if it came alone.
#[test]
fn neither_words_nor_noise_depend_on_their_packet() {
    let says = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n";
    let fails = "data: {\"error\":{\"message\":\"overloaded\",\"type\":\"overloaded_error\"}}\n\n";
    let ends = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let hear = |body: String| listen(ApiMode::ChatCompletions, &[body.as_bytes()], End::Whole);
    let broken = hear([says, fails].concat());
    assert_eq!((broken.text.as_str(), broken.outcome.map_err(|fault| fault.kind)), ("hi", Err(FaultKind::Overloaded)));
    assert_eq!(hear([says, ends, fails].concat()), hear([says, ends].concat()));
}

struct Case<'a> {
    tale: &'a Tale,
    mode: ApiMode,
    sent: &'a [Told],
    harm: &'a Harm,
    reply: &'a Reply,
    body: &'a str,
}

impl Case<'_> {
    fn came(&self) -> impl Iterator<Item = &Told> {
        self.harm.came(self.sent).into_iter().filter_map(|at| self.sent.get(at))
    }

    fn calls_are_those_that_were_told(&self) -> TestCaseResult {
        let Self { reply, harm, body, .. } = self;
        let told = self.tale.calls();
        let made: Vec<_> = reply.tool_calls().iter().map(facts).collect();
        if **harm == Harm::Nothing {
            prop_assert_eq!((&made, &reply.dropped, reply.cut_off), (&told, &vec![], false), "{}", body);
            let natural = if told.is_empty() { StopReason::Stop } else { StopReason::ToolCalls };
            prop_assert_eq!(reply.stop_reason(), natural, "{}", body);
        }
        for call in &made {
            prop_assert!(self.is_told(call) || self.is_indistinguishable(call), "{harm:?} made {call:?}\n{body}");
        }
        let begun = (0..told.len()).filter(|at| self.came().any(|event| event.call == Some(*at))).count();
        let accounted = made.len() + reply.dropped.len();
        prop_assert!(self.tale.habit != Habit::Proper || accounted >= begun, "{harm:?} hid a call: {reply:?}\n{body}");
        prop_assert!(
            reply.cut_off || self.came().any(|event| event.ends),
            "{harm:?} hid that the end is missing\n{body}"
        );
        Ok(())
    }

    /// A call whose id was lost gets one of our own; the rest has to be as it was told.
    fn is_told(&self, (id, name, arguments): &(String, String, String)) -> bool {
        let told = self.tale.calls();
        let known = told.iter().any(|call| call.0 == *id);
        told.iter().any(|call| (call.0 == *id || !known) && call.1 == *name && call.2 == *arguments)
    }

    /// An event that vanishes without a trace, or comes twice, can leave arguments that read well. Nobody can tell those
    /// from what the model meant; but they are made of all the pieces that came, in their order.
    fn is_indistinguishable(&self, (id, name, arguments): &(String, String, String)) -> bool {
        let told = self.tale.calls();
        let Some(at) = told.iter().position(|call| call.0 == *id && call.1 == *name) else { return false };
        let pieces: String =
            self.came().filter(|event| event.call == Some(at)).map(|event| event.arguments.as_str()).collect();
        let whole_tail = match self.harm {
            Harm::Lost(missing) => missing.end < self.sent.len(),
            Harm::Repeated(_) => true,
            Harm::Nothing | Harm::Garbled(_) | Harm::Altered => false,
        };
        whole_tail && (pieces == *arguments || (pieces.is_empty() && arguments == "{}"))
    }

    /// Blocks of text become lines, so line ends do not count here.
    fn no_word_is_invented(&self, shown: &str) -> TestCaseResult {
        let without_lines = |text: &str| text.replace('\n', "");
        let told = without_lines(&self.tale.text(self.mode));
        let came = without_lines(&self.came().map(|event| event.text.as_str()).collect::<String>());
        let kept = without_lines(&self.reply.text());
        let is_kept = match self.tale.habit {
            Habit::Proper => kept == told || kept == came,
            // Without numbers, words behind a lost opening belong to nothing.
            Habit::Zero | Habit::Careless => is_within(&kept, &told) || is_within(&kept, &came),
        };
        prop_assert!(is_kept, "{:?} made {kept:?} of {told:?}\n{}", self.harm, self.body);
        let shown = without_lines(shown);
        prop_assert!(is_within(&shown, &told) || is_within(&shown, &came), "{shown:?} was shown of {told:?}");
        Ok(())
    }
}

/// True when `part` is `whole` with some characters left out.
fn is_within(part: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|wanted| rest.any(|c| c == wanted))
}
