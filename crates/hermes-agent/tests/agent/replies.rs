//! What the loop makes of replies that call nothing: whole, cut, empty, thoughts alone, withheld.

use crate::play::{goes_on, play, play_with};
use crate::stage::{MODES, Plan, Stage, with_spare};
use hermes_core::ask::Manner;
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move, Received};
use hermes_types::{OutcomeKind, StopReason};
use serde_json::json;

const CONTINUE: &str = "user: Your answer reached the output limit. Go on exactly where it stopped; repeat nothing.";
const AFTER_TOOLS: &str =
    "user: You have the results of your calls and said nothing. Answer now, or make your next call.";
const ONLY_THOUGHTS: &str = "user: You thought and said nothing. Give your answer now, or make your next call.";

fn cut(text: &str) -> Move {
    Move::say(text).stop(StopReason::Length)
}

/// A reply without a word. No text at all counts as no reply in one of the protocols, and is asked for again by itself.
fn nothing() -> Move {
    Move::say("\n")
}

/// How long the answer to this request may be.
fn room(request: &Received) -> Option<u64> {
    let body = request.body.as_ref()?;
    ["max_tokens", "max_completion_tokens", "max_output_tokens"].iter().find_map(|name| body.get(name)?.as_u64())
}

#[tokio::test]
async fn an_answer_in_four_parts_is_one_answer() {
    for mode in MODES {
        let mut plan = Plan::default();
        plan.settings.max_output_tokens = Some(5_000);
        let moves = [cut("One, "), cut("two, "), cut("three, "), Move::say("four.")];
        let played = play_with(mode, plan, moves).await;
        assert_eq!(played.text(), "One, two, three, four.", "{mode:?}");
        assert_eq!(
            (played.exit().as_str(), played.kind()),
            ("text_response(finish_reason=stop)", OutcomeKind::Answered)
        );
        assert_eq!(
            played.history(),
            [
                "user: Go.",
                "assistant: One, ",
                CONTINUE,
                "assistant: two, ",
                CONTINUE,
                "assistant: three, ",
                CONTINUE,
                "assistant: four.",
            ]
        );
        assert_eq!(played.steps, ["again: CutAnswer"; 3]);
        let rooms: Vec<Option<u64>> = played.requests.iter().map(room).collect();
        assert_eq!(rooms, [Some(5_000), Some(10_000), Some(20_000), Some(32_768)], "{mode:?}");
    }
}

#[tokio::test]
async fn an_answer_without_end_is_given_up_and_what_there_is_is_kept() {
    for mode in MODES {
        let played = play(mode, [cut("a"), cut("b"), cut("c"), cut("d")]).await;
        assert_eq!((played.text(), played.kind()), ("abcd", OutcomeKind::Partial), "{mode:?}");
        assert_eq!(played.exit(), "length_continuation_exhausted");
        assert_eq!((played.outcome.iterations, played.outcome.api_calls), (4, 4));
        assert_eq!(played.history.last().unwrap(), "assistant: d");
    }
}

#[tokio::test]
async fn an_answer_whose_rest_is_nothing_was_whole() {
    for mode in MODES {
        let played = play(mode, [cut("All there is."), nothing()]).await;
        assert_eq!((played.text(), played.kind()), ("All there is.", OutcomeKind::Answered), "{mode:?}");
        assert_eq!(played.history(), ["user: Go.", "assistant: All there is.", CONTINUE, "assistant: (empty)"]);
    }
}

#[tokio::test]
async fn half_a_sentence_before_work_is_not_half_of_the_answer() {
    for mode in MODES {
        let moves = [cut("I will "), Move::say("look.").call("look", json!({})), nothing(), Move::say("Found.")];
        let played = play(mode, moves).await;
        assert_eq!((played.text(), played.kind()), ("Found.", OutcomeKind::Answered), "{mode:?}");
        assert_eq!(played.steps, ["again: CutAnswer", "look: Done", "again: Empty"]);
    }
}

/// A call of a tool nobody has is work too: silence behind it is not the end of what was cut before.
#[tokio::test]
async fn silence_behind_a_call_in_vain_is_no_answer() {
    for mode in MODES {
        let moves =
            [cut("I will "), Move::say("").call("launch_rocket", json!({})), nothing(), Move::say("There is none.")];
        let played = play(mode, moves).await;
        assert_eq!((played.text(), played.kind()), ("There is none.", OutcomeKind::Answered), "{mode:?}");
        let steps = ["again: CutAnswer", "again: UnknownTool", "launch_rocket: Failed", "again: Empty"];
        assert_eq!(played.steps, steps, "{mode:?}");
    }
}

#[tokio::test]
async fn an_output_that_was_all_thought_ends_with_advice() {
    for mode in [ApiMode::ChatCompletions, ApiMode::AnthropicMessages] {
        let played = play(mode, [Move::say("").reasoning("On and on").stop(StopReason::Length)]).await;
        assert_eq!((played.exit().as_str(), played.kind()), ("thinking_budget_exhausted", OutcomeKind::Partial));
        assert!(played.outcome.end.explanation().unwrap().contains("agent.reasoning_effort"), "{mode:?}");
        assert_eq!(played.outcome.reasoning.as_deref(), Some("On and on"));
        assert_eq!(played.history(), ["user: Go."]);
    }
}

/// The Responses API does not say what it ran out of: the model is asked to come to the point.
#[tokio::test]
async fn thoughts_of_an_incomplete_response_are_followed_by_a_nudge() {
    let moves = [Move::say("").reasoning("On and on").stop(StopReason::Length), Move::say("Short.")];
    let played = play(ApiMode::CodexResponses, moves).await;
    assert_eq!((played.text(), played.kind()), ("Short.", OutcomeKind::Answered));
    assert_eq!(played.history(), ["user: Go.", "assistant: (empty)", ONLY_THOUGHTS, "assistant: Short."]);
}

/// First a nudge, because results are there; then what thoughts alone get; then patience; then the next provider.
#[tokio::test]
async fn silence_is_met_step_by_step() {
    for mode in MODES {
        let thought = || Move::say("").reasoning("Hm.");
        let moves = [
            Move::say("").call("look", json!({})),
            nothing(),
            thought(),
            thought(),
            thought(),
            nothing(),
            nothing(),
            nothing(),
        ];
        let server = ModelServer::start(moves).await;
        let spare = ModelServer::start([Move::say("Here I am.")]).await;
        let stage = Stage::build(Plan { models: with_spare(&server, &spare, mode), ..Plan::default() }).await;
        crate::puppet::Puppet::looking("look").on(&stage);
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!(outcome.text.as_deref(), Some("Here I am."), "{mode:?}");
        assert_eq!(
            stage.steps(),
            [
                "look: Done",
                "again: Empty",
                "again: OnlyThoughts",
                "again: OnlyThoughts",
                "again: Empty",
                "again: Empty",
                "again: Empty",
                "fall back to custom:spare after EmptyStream",
            ]
        );
        assert_eq!(outcome.provider.as_deref(), Some("custom:spare"));
        let history = crate::stage::told(&crate::stage::in_memory(&agent));
        assert_eq!(
            history[3..],
            [
                "assistant: (empty)",
                AFTER_TOOLS,
                "assistant: (empty)",
                ONLY_THOUGHTS,
                "assistant: (empty)",
                ONLY_THOUGHTS,
                "assistant: Here I am.",
            ]
        );
        goes_on(&stage, &server).await;
        server.finish();
        spare.finish();
    }
}

#[tokio::test]
async fn a_model_that_never_says_anything_is_told_of_as_it_is() {
    for mode in MODES {
        let played = play(mode, [nothing(), nothing(), nothing(), nothing()]).await;
        assert_eq!(
            (played.exit().as_str(), played.kind()),
            ("empty_response_exhausted", OutcomeKind::Empty),
            "{mode:?}"
        );
        assert_eq!((played.outcome.text.as_deref(), played.history()), (None, vec!["user: Go."]));
        assert_eq!(played.outcome.usage.unwrap().input, 400, "each try was paid for");
    }
}

#[tokio::test]
async fn an_answer_beside_housekeeping_needs_no_second_one() {
    for mode in MODES {
        let plan = json!({"todos": [{"id": "1", "content": "look", "status": "completed"}]});
        let played = play(mode, [Move::say("All done.").call("todo", plan), nothing()]).await;
        assert_eq!((played.text(), played.exit().as_str()), ("All done.", "fallback_prior_turn_content"), "{mode:?}");
        assert_eq!(played.kind(), OutcomeKind::Answered);
        assert_eq!(played.history.last().unwrap(), "assistant: All done.");
    }
}

#[tokio::test]
async fn what_stood_beside_real_work_is_no_answer() {
    for mode in MODES {
        let moves = [Move::say("Let me look.").call("look", json!({})), nothing(), Move::say("Three.")];
        let played = play(mode, moves).await;
        assert_eq!(
            (played.text(), played.steps.as_slice()),
            ("Three.", &["look: Done".into(), "again: Empty".into()][..])
        );
    }
}

/// The nudge is about results of this question, not of the one before.
#[tokio::test]
async fn results_of_an_earlier_turn_are_not_waited_for() {
    for mode in MODES {
        let moves = [Move::say("").call("todo", json!({})), Move::say("Done."), nothing(), Move::say("Yes.")];
        let server = ModelServer::start(moves).await;
        let stage = Stage::at(&server, mode).await;
        let mut agent = stage.agent();
        stage.turn(&mut agent, "Go.").await;
        let outcome = stage.turn(&mut agent, "Sure?").await;
        assert_eq!(outcome.text.as_deref(), Some("Yes."), "{mode:?}");
        let history = crate::stage::told(&crate::stage::in_memory(&agent));
        assert_eq!(history[4..], ["user: Sure?", "assistant: Yes."], "asked again, not nudged");
        server.finish();
    }
}

#[tokio::test]
async fn what_the_provider_withholds_is_asked_of_the_next_one() {
    for mode in MODES {
        let server = ModelServer::start([Move::say("I must not.").stop(StopReason::ContentFilter)]).await;
        let spare = ModelServer::start([Move::say("Of course.")]).await;
        let mut plan = Plan { models: with_spare(&server, &spare, mode), ..Plan::default() };
        plan.settings.iterations = 1;
        let stage = Stage::build(plan).await;
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!((outcome.text.as_deref(), outcome.kind()), (Some("Of course."), OutcomeKind::Answered), "{mode:?}");
        assert_eq!(outcome.iterations, 1, "the refusal cost no iteration");
        assert_eq!(stage.steps(), ["fall back to custom:spare after ContentBlocked"]);
        let books = hermes_core::store::Ledger::usage(&stage.store, Some(agent.session())).await.unwrap();
        let mut paid: Vec<(String, u64)> = books.into_iter().map(|row| (row.model, row.usage.input)).collect();
        paid.sort();
        assert_eq!(paid, [("spare-model".to_owned(), 100), ("stage-model".to_owned(), 100)], "each for its own");
        goes_on(&stage, &server).await;
        server.finish();
        spare.finish();
    }
}

#[tokio::test]
async fn what_nobody_else_can_be_asked_ends_as_withheld() {
    for mode in MODES {
        let refusal = Move::say("I must not.").stop(StopReason::ContentFilter);
        let refusal = match mode {
            // Whole calls of a Responses answer count, whatever became of its text.
            ApiMode::CodexResponses => refusal,
            _ => refusal.call("look", json!({})),
        };
        let played = play(mode, [refusal]).await;
        assert_eq!(
            (played.exit().as_str(), played.kind()),
            ("content_policy_blocked", OutcomeKind::Filtered),
            "{mode:?}"
        );
        assert_eq!(played.text(), "I must not.");
        assert_eq!(played.history(), ["user: Go.", "assistant: I must not."]);
        assert_eq!(played.looked, Vec::<serde_json::Value>::new());
        let played = play(mode, [nothing().stop(StopReason::ContentFilter)]).await;
        assert_eq!((played.outcome.text.as_deref(), played.kind()), (None, OutcomeKind::Filtered));
    }
}

/// What people saw cannot be taken back: it is kept as it is and called incomplete.
#[tokio::test]
async fn an_answer_that_breaks_off_before_our_eyes_is_kept_as_a_part() {
    for mode in MODES {
        let mut plan = Plan::default();
        plan.settings.manner = Manner { live: true, ..plan.settings.manner };
        let played = play_with(
            mode,
            plan,
            [Move::say("Half of the answer, and then nothing more comes for a long time.").chunk(4).cut_after(8)],
        )
        .await;
        assert_eq!(
            (played.exit().as_str(), played.kind()),
            ("partial_stream_recovery", OutcomeKind::Partial),
            "{mode:?}"
        );
        assert!(played.text().starts_with("Half"), "{}", played.text());
        assert_eq!(played.history.len(), 2);
    }
}

#[tokio::test]
async fn thoughts_between_tags_are_no_answer_and_are_not_sent_back() {
    let tags = ["think", "REASONING_SCRATCHPAD"];
    for tag in tags {
        let moves = [
            Move::say(&format!("<{tag}>\nThe person wants a look.\n</{tag}>\nLooking.")).call("look", json!({})),
            Move::say(&format!("<{tag}>\nOnly this.\n</{tag}>")),
            Move::say("Seen."),
        ];
        let played = play(ApiMode::ChatCompletions, moves).await;
        assert_eq!(played.text(), "Seen.", "{tag}");
        assert_eq!(played.steps, ["look: Done", "again: Empty"]);
        assert!(played.history[1].starts_with("assistant: Looking."), "{:?}", played.history);
        let sent = played.requests.iter().map(|request| request.body.clone().unwrap().to_string()).collect::<String>();
        assert!(!sent.contains("wants a look") && !sent.contains("Only this"), "{sent}");
    }
}

/// An endpoint that nobody knows gets no thoughts of another vendor, signed or not; they are kept all the same.
#[tokio::test]
async fn thoughts_are_kept_and_not_sent_where_they_do_not_belong() {
    for mode in MODES {
        let moves = [
            Move::say("").reasoning("Look first.").signature("c2lnbmVk").call("look", json!({})),
            Move::say("Seen.").reasoning("Enough."),
        ];
        let played = play(mode, moves).await;
        assert_eq!((played.text(), played.outcome.reasoning.as_deref()), ("Seen.", Some("Enough.")), "{mode:?}");
        let second = played.requests[1].body.clone().unwrap().to_string();
        assert!(!second.contains("c2lnbmVk"), "{mode:?}: {second}");
    }
}
