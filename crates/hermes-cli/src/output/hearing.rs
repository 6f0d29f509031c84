//! What becomes of each event: what the screen remembers of it, and what is said about it to whom.

use super::drawing::Voice;
use super::words::{self, Phase};
use super::work::{Caller, Ended};
use super::{Aside, Screen, State};
use crate::args::OutputFormat;
use crate::commands::paper::json_line;
use hermes_core::ports::Listener;
use hermes_types::{Event, Notice};
use std::time::{Duration, Instant};

impl Screen {
    /// Remembers what an event says about where the turn is.
    fn note(&self, state: &mut State, event: &Event) {
        let now = Instant::now();
        match event {
            Event::Started { provider, model, .. }
            | Event::Notice { notice: Notice::FellBack { provider, model, .. } } => {
                state.provider = Some(provider.clone());
                state.model = Some(model.clone());
                state.key = None;
                state.phase = Phase::Asking { since: now };
            }
            Event::Notice { notice: Notice::Retrying { delay_ms, .. } } => {
                state.phase = Phase::Pausing { until: now + Duration::from_millis(*delay_ms) };
            }
            Event::Notice { notice: Notice::Waiting { .. } } => {}
            Event::Notice { notice: Notice::LastWord { .. } } => {
                // What was said before is no part of it.
                state.streamed = false;
                state.phase = Phase::Asking { since: now };
            }
            Event::Notice { notice: Notice::Compressing { .. } } => {
                state.phase = Phase::Preparing { what: "making room in the conversation", since: now };
            }
            Event::Compressed { session_id, .. } => {
                state.session = session_id.clone();
                state.phase = Phase::Asking { since: now };
            }
            Event::ToolCallStarted { name } => state.phase = Phase::Calling { name: name.clone(), since: now },
            Event::Reply { calls, .. } if !calls.is_empty() => {
                state.phase = Phase::Working { what: calls.join(", "), since: now };
            }
            Event::Notice { .. } | Event::Step { .. } => state.phase = Phase::Asking { since: now },
            Event::ToolStarted { .. } | Event::Subagent { .. } => match Caller::of(event) {
                (caller, Event::ToolStarted { call_id, name, about }) => {
                    state.work.begins(caller, call_id, name, about);
                }
                (caller, Event::Answer { .. } | Event::Failed { .. }) => state.work.leaves(&caller),
                _ => {}
            },
            Event::Reasoning { .. } if !matches!(state.phase, Phase::Thinking { .. }) => {
                state.phase = Phase::Thinking { since: now };
            }
            _ => {}
        }
    }

    /// What is said of a call that ended and of room that was made, and of what else happens to a sub-agent.
    fn line_of_work(&self, state: &mut State, caller: Caller, told: &Event) -> Option<String> {
        match told {
            Event::ToolFinished { call_id, name, status, duration_ms, about, exit_code, note } => {
                let (status, exit_code, note) = (*status, *exit_code, note.as_deref());
                let took = Duration::from_millis(*duration_ms);
                let ended = Ended { name, status, took, about, exit_code, note };
                Some(state.work.ends(caller, call_id, ended, self.width_of_lines()))
            }
            // The status line says this better; and of an answer that starts over nothing was shown.
            Event::Notice { notice: Notice::Waiting { .. } } if self.has_status_line() => None,
            Event::Notice { notice: Notice::StartedOver } => None,
            Event::Notice { notice } => words::describe(notice).map(|text| format!("{caller}{text}")),
            Event::Compressed { tokens_before, tokens_after, phase, model, .. } => {
                Some(format!("{caller}{}", words::made_room(*tokens_before, *tokens_after, phase, model.as_deref())))
            }
            Event::Failed { message, .. } => Some(format!("{caller}✗ {message}")),
            _ => None,
        }
    }
}

impl Listener for Screen {
    fn hear(&self, event: Event) {
        let mut state = self.lock();
        self.note(&mut state, &event);
        match (&event, self.show.format) {
            // The end is told by `finish`, with what came to light behind it.
            (Event::Answer { .. } | Event::Failed { .. }, _) => {}
            (_, OutputFormat::StreamJson) => {
                if let (caller, Event::ToolFinished { call_id, .. }) = Caller::of(&event) {
                    state.work.forget(caller, call_id);
                }
                let line = json_line(&event).unwrap_or_default();
                self.out(&mut state, &format!("{line}\n"));
            }
            (Event::Text { text }, OutputFormat::Text) if self.is_live() => {
                self.speak(&mut state, Voice::Answer, text);
            }
            // What was said is said: no word waits for the work behind it.
            (Event::ToolCallStarted { .. } | Event::Reply { .. }, _) => self.end_line(&mut state),
            (Event::ToolFinished { .. } | Event::Compressed { .. } | Event::Subagent { .. }, _) => {
                let (caller, told) = Caller::of(&event);
                let line = self.line_of_work(&mut state, caller, told);
                if let Some(line) = line.filter(|_| self.show.aside == Aside::Everything) {
                    self.tell(&mut state, &line);
                }
            }
            (Event::Delivered { text }, _) if self.show.aside == Aside::Everything => {
                self.tell(&mut state, &format!("› {text}"));
            }
            (Event::Reasoning { text }, _) if state.reasoning => self.speak(&mut state, Voice::Thought, text),
            // The status line says this better.
            (Event::Notice { notice: Notice::Waiting { .. } }, _) if self.has_status_line() => {}
            // Half an answer that nobody watched was not shown.
            (Event::Notice { notice: Notice::StartedOver }, _) if !self.is_live() => {}
            // Without a word, two answers would read as one: even who wants silence has to know.
            // Nor may somebody take the words of one model for those of another.
            (Event::Notice { notice }, format)
                if self.show.aside == Aside::Everything
                    || *notice == Notice::StartedOver
                    || (matches!(notice, Notice::FellBack { .. }) && format == OutputFormat::Text) =>
            {
                if let Some(text) = words::describe(notice) {
                    self.tell(&mut state, &text);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Show;
    use super::*;
    use hermes_core::stop::Stop;
    use hermes_types::{CallId, FaultKind, SessionId};

    fn silent() -> Screen {
        let (format, aside) = (OutputFormat::Text, Aside::Errors);
        let show = Show { format, aside, command: "hermes", usage_file: None };
        Screen::new(show, SessionId::new("s"), Stop::new())
    }

    #[test]
    fn what_happens_to_a_sub_agent_is_told_as_its_own() {
        let screen = silent();
        let told = |event: Event| {
            let caller = Caller::Subagent(vec![(SessionId::new("c"), 1)]);
            screen.line_of_work(&mut screen.lock(), caller, &event)
        };
        let notice = |notice| told(Event::Notice { notice });
        assert_eq!(notice(Notice::Refreshed).as_deref(), Some("  sub-agent 1 … login renewed"));
        assert_eq!(notice(Notice::StartedOver), None, "of its words nothing was shown");
        let (kind, message, exit_reason) = (FaultKind::Timeout, "out of time".to_owned(), "timeout".to_owned());
        let failed = told(Event::Failed { kind, message, exit_reason });
        assert_eq!(failed.as_deref(), Some("  sub-agent 1 ✗ out of time"));
        assert_eq!(told(Event::Step { iteration: 1, of: 2 }), None);
        assert_eq!(
            told(compressed("it", "prune")).as_deref(),
            Some("  sub-agent 1 … made room: 32,100 → 9,400 tokens (old results left out)")
        );
    }

    fn compressed(session: &str, phase: &str) -> Event {
        Event::Compressed {
            session_id: SessionId::new(session),
            trigger: "threshold".to_owned(),
            phase: phase.to_owned(),
            tokens_before: 32_100,
            tokens_after: 9_400,
            messages_before: 40,
            messages_after: 40,
            duration_ms: 4,
            model: None,
        }
    }

    /// Whoever is told how to go on is told of the session that has the rest.
    #[test]
    fn the_session_is_the_one_the_conversation_goes_on_in() {
        let screen = silent();
        let of_child = Event::Subagent {
            call_id: CallId::new("sent"),
            task: 0,
            session_id: SessionId::new("c"),
            event: Box::new(compressed("c2", "prune")),
        };
        screen.hear(of_child);
        assert_eq!(screen.session().as_str(), "s", "what happens to a sub-agent does not move its parent");
        screen.hear(compressed("s2", "prune"));
        assert_eq!(screen.session().as_str(), "s2");
    }
}
