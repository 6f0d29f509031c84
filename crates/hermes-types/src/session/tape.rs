//! What went over the wire: every attempt to ask a model, with the bytes that were sent and what came of them.
//!
//! A session can be replayed from its exchanges without any network, and held against what the program would send today.
//! No secret is in here: credentials travel in headers, and addresses are written down without what could hold one.

use crate::{Fault, MessageId, Moment, Object, Reasoning, Reply, SessionId};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// One attempt to ask a model, whatever its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    pub session: SessionId,
    pub at: Moment,
    /// What it was for: empty for the conversation itself, else `vision`, `compression`, `title_generation` …
    pub task: String,
    pub provider: String,
    pub model: String,
    pub sent: Sent,
    pub answer: Answered,
    /// Why these bytes do not begin with those of the request before, as far as whoever asked knows.
    pub why: Option<BreakCause>,
    pub scene: Scene,
}

/// Where the loop stood when it asked: what a replay has to know and cannot tell from the conversation itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scene {
    /// The place of the model in the chain; 0 is the person's choice.
    pub place: usize,
    pub came_by: CameBy,
    /// The newest message on disk that the request holds.
    pub upto: Option<MessageId>,
    /// `None` for what was asked outside of a turn.
    pub turn: Option<TurnScene>,
}

/// What led to an attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CameBy {
    #[default]
    Question,
    Retry,
    Refresh,
    Rotation,
    Concession,
    Fallback,
}

/// What a turn began with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TurnScene {
    pub run: Run,
    /// Its number in that run, from 1 on.
    pub nth: u64,
    pub began: Moment,
    /// The newest message on disk before the turn.
    pub after: Option<MessageId>,
    pub asked: TurnStart,
    pub iterations: u32,
    pub retries: u32,
    pub live: bool,
    #[serde(default, with = "reasoning_word", skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// The model was given words that are kept nowhere but in the bodies.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unkept_words: bool,
}

/// One stay of a conversation in memory: what it learnt about its models lasts as long as that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub since: Moment,
    /// Its number among those of the process.
    pub nth: u64,
}

/// How a turn began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStart {
    Question,
    /// A turn that was cut off was taken up again.
    GoOn,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// The setting as the word that people write for it.
mod reasoning_word {
    use crate::Reasoning;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "the form that serde calls")]
    pub(super) fn serialize<S: Serializer>(setting: &Option<Reasoning>, serializer: S) -> Result<S::Ok, S::Error> {
        setting.map(Reasoning::as_str).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Reasoning>, D::Error> {
        let word = Option::<String>::deserialize(deserializer)?;
        word.map(|word| word.parse().map_err(serde::de::Error::custom)).transpose()
    }
}

/// A request as it was handed to the transport.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// The protocol: `chat_completions`, `codex_responses`, `anthropic_messages`, `acp`.
    pub mode: String,
    pub url: String,
    /// What is needed to know about the receiver to write the same bytes again.
    pub target: Object,
    pub body: Bytes,
}

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    /// Also one that broke off and was asked for again.
    Reply(Box<Reply>),
    Fault(Fault),
    /// Nobody waited for it any longer.
    Dropped,
}

/// Why a request does not begin with the bytes of the one before, so that a prompt cache is of no use to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakCause {
    /// Older messages were summarised or pruned.
    Compression,
    /// The person chose another model.
    ModelSwitch,
    /// Another provider stepped in, or the person's choice came back after one had.
    Fallback,
    /// Something was left out because the provider refused it.
    Concession,
    /// The person took messages back or changed them.
    UserEdit,
    /// Another process went on with the session, and its surroundings had changed.
    Resume,
    /// Tools came or went.
    Tools,
    Other,
}

impl BreakCause {
    pub const ALL: [Self; 8] = [
        Self::Compression,
        Self::ModelSwitch,
        Self::Fallback,
        Self::Concession,
        Self::UserEdit,
        Self::Resume,
        Self::Tools,
        Self::Other,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compression => "compression",
            Self::ModelSwitch => "model_switch",
            Self::Fallback => "fallback",
            Self::Concession => "concession",
            Self::UserEdit => "user_edit",
            Self::Resume => "resume",
            Self::Tools => "tools",
            Self::Other => "other",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.as_str() == word)
    }
}

/// A request of a conversation that does not extend the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Break {
    /// Its place among the exchanges of the session, from 1 on.
    pub number: u64,
    pub at: Moment,
    pub provider: String,
    pub model: String,
    /// The bytes of its body, and how many at their beginning are those of the request before.
    pub length: u64,
    pub shared: u64,
    /// `None` when nobody named one.
    pub cause: Option<BreakCause>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Concession, Effort, FaultKind};
    use std::time::Duration;

    #[test]
    fn every_cause_has_one_name_in_files_and_exports() {
        for cause in BreakCause::ALL {
            assert_eq!(BreakCause::parse(cause.as_str()), Some(cause));
            assert_eq!(serde_json::to_value(cause).expect("json"), cause.as_str());
        }
        assert_eq!(BreakCause::parse("weather"), None);
    }

    #[test]
    fn what_came_of_an_attempt_is_written_and_read_again() {
        let mut fault = Fault::new(FaultKind::Refused(Concession::Images), "no images");
        (fault.status, fault.code, fault.retry_after) =
            (Some(429), Some("slow_down".into()), Some(Duration::from_millis(1500)));
        for answer in [Answered::Reply(Box::default()), Answered::Fault(fault), Answered::Dropped] {
            let text = serde_json::to_string(&answer).expect("json");
            assert_eq!(serde_json::from_str::<Answered>(&text).expect("an answer"), answer, "{text}");
        }
    }

    #[test]
    fn where_the_loop_stood_is_written_and_read_again() {
        let turn = TurnScene {
            run: Run { since: Moment::from_seconds(1.5), nth: 2 },
            nth: 3,
            began: Moment::from_seconds(2.5),
            after: Some(MessageId(7)),
            asked: TurnStart::GoOn,
            iterations: 90,
            retries: 3,
            live: true,
            reasoning: Some(Reasoning::Effort(Effort::High)),
            max_output_tokens: Some(512),
            unkept_words: false,
        };
        let scene = Scene { place: 1, came_by: CameBy::Fallback, upto: Some(MessageId(9)), turn: Some(turn) };
        let text = serde_json::to_string(&scene).expect("json");
        assert_eq!(serde_json::from_str::<Scene>(&text).expect("a scene"), scene, "{text}");
        assert_eq!(serde_json::from_str::<Scene>("{}").expect("a scene"), Scene::default());
    }
}
