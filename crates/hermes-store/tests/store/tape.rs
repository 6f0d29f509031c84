//! What went over the wire comes back byte for byte, costs what is new in it, and goes with its session.

use crate::sessions::{cases, sid};
use crate::stage::{Kind, Stage, open};
use hermes_core::store::{Sessions, StoreError, Tape, Transcript};
use hermes_store::recover;
use hermes_types::{
    Answered, Assistant, Break, BreakCause, CameBy, Exchange, Fault, FaultKind, Message, Moment, NewSession, Object,
    Reply, Scene, Sent, SessionId,
};
use proptest::collection::vec;
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::json;

const ALL: usize = usize::MAX;

pub(crate) fn exchange(session: &SessionId, body: impl Into<Vec<u8>>) -> Exchange {
    Exchange {
        session: session.clone(),
        at: Moment::from_seconds(1_790_000_000.25),
        task: String::new(),
        provider: "openrouter".into(),
        model: "a".into(),
        sent: Sent {
            mode: "chat_completions".into(),
            url: "https://openrouter.ai/api/v1/chat/completions".into(),
            target: Object::from_iter([("login".to_owned(), json!("api_key"))]),
            body: body.into().into(),
        },
        answer: Answered::Dropped,
        why: None,
        scene: Default::default(),
    }
}

/// The body of a request with these messages, as chat endpoints are sent it.
fn asking(messages: &[String]) -> String {
    let messages: Vec<_> = messages.iter().map(|text| json!({"role": "user", "content": text})).collect();
    json!({"model": "a", "tools": [{"name": "look"}], "messages": messages, "stream": true}).to_string()
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{number} {}", "words ".repeat(200))).collect()
}

async fn record(stage: &Stage, exchanges: &[Exchange]) {
    for exchange in exchanges {
        stage.store.record_exchange(exchange.clone()).await.expect("kept");
    }
}

/// The bytes of bodies that are in the file.
fn kept_bytes(stage: &Stage) -> usize {
    let sum = "SELECT coalesce(sum(length(tail)), 0) FROM hermes_exchanges";
    stage.look().query_row(sum, [], |row| row.get(0)).expect("a sum")
}

#[tokio::test]
async fn a_session_costs_what_its_longest_request_costs() {
    for mut stage in Stage::every().await {
        let id = stage.session("long").await;
        let said = texts(40);
        let bodies: Vec<String> = (1..=40).map(|count| asking(&said[..count])).collect();
        for (number, body) in bodies.iter().enumerate() {
            record(&stage, &[exchange(&id, body.as_str())]).await;
            // A job beside the conversation does not come in between, and another process goes on where this one was.
            record(&stage, &[Exchange { task: "title".into(), ..exchange(&id, "title, please") }]).await;
            if number % 15 == 0 {
                stage.reopen().await;
            }
        }
        let longest = bodies.last().expect("a body").len();
        assert!(kept_bytes(&stage) < longest + 40 * 80, "{} of {longest} in {:?}", kept_bytes(&stage), stage.kind);
        let back = stage.store.exchanges(&id, ALL, 0).await.expect("read");
        let conversation = back.iter().filter(|exchange| exchange.task.is_empty());
        assert!(conversation.map(|exchange| &exchange.sent.body[..]).eq(bodies.iter().map(String::as_bytes)));
        assert_eq!(stage.store.exchanges(&id, 3, 50).await.as_deref(), Ok(&back[50..53]), "{:?}", stage.kind);
        assert_eq!(stage.store.exchanges(&id, 3, 80).await, Ok(Vec::new()), "beyond the end");
        assert_eq!(stage.store.breaks(&id).await, Ok(Vec::new()), "each extends the one before");
    }
}

#[tokio::test]
async fn everything_about_an_attempt_comes_back() {
    for mut stage in Stage::every().await {
        let id = stage.session("ends").await;
        let message = Assistant { content: Some("hello".into()), ..Assistant::default() };
        let reply = Reply { message, id: Some("gen-1".into()), cut_off: true, ..Reply::default() };
        let fault = Fault { status: Some(429), ..Fault::new(FaultKind::RateLimit, "slow down") };
        let first = exchange(&id, "{}");
        let attempts = [
            Exchange { answer: Answered::Reply(Box::new(reply)), ..first.clone() },
            Exchange { answer: Answered::Fault(fault), why: Some(BreakCause::Concession), ..first.clone() },
            Exchange { provider: "nous".into(), model: "b".into(), task: "vision".into(), ..first.clone() },
            exchange(&id, vec![0, 255, 7]),
            Exchange { scene: Scene { place: 2, came_by: CameBy::Fallback, ..Scene::default() }, ..exchange(&id, "") },
        ];
        record(&stage, &attempts).await;
        stage.reopen().await;
        assert_eq!(stage.store.exchanges(&id, ALL, 0).await.as_deref(), Ok(&attempts[..]), "{:?}", stage.kind);
        let nowhere = exchange(&sid("nowhere"), "{}");
        let refused = stage.store.record_exchange(nowhere).await;
        assert_eq!(refused, Err(StoreError::NoSession("nowhere".into())), "{:?}", stage.kind);
    }
}

/// A file from before it was written down where the loop stood.
#[tokio::test]
async fn an_older_tape_is_read_and_goes_on() {
    for mut stage in Stage::every().await {
        let id = stage.session("older").await;
        record(&stage, &[exchange(&id, "first")]).await;
        let older = "ALTER TABLE hermes_exchanges DROP COLUMN scene;
            UPDATE hermes_meta SET value = 2 WHERE key = 'private_version'";
        stage.look().execute_batch(older).expect("as it was");
        assert_eq!(stage.store.exchanges(&id, ALL, 0).await, Ok(vec![exchange(&id, "first")]), "{:?}", stage.kind);
        stage.reopen().await;
        let scene = Scene { place: 1, ..Scene::default() };
        let second = Exchange { scene, ..exchange(&id, "first and second") };
        record(&stage, std::slice::from_ref(&second)).await;
        assert_eq!(stage.store.exchanges(&id, ALL, 0).await, Ok(vec![exchange(&id, "first"), second]));
    }
}

#[tokio::test]
async fn every_break_is_found_with_its_cause() {
    for stage in Stage::every().await {
        let id = stage.session("broken").await;
        let said = texts(4);
        let by_b = |exchange: Exchange| Exchange { provider: "nous".into(), model: "b".into(), ..exchange };
        let why = |cause, exchange: Exchange| Exchange { why: Some(cause), ..exchange };
        let summary = [vec!["summary".to_owned()], said[3..].to_vec()].concat();
        let attempts = [
            exchange(&id, asking(&said[..1])),
            exchange(&id, asking(&said[..3])),
            why(BreakCause::Fallback, by_b(exchange(&id, asking(&said[..3])))),
            by_b(exchange(&id, asking(&said[..4]))),
            why(BreakCause::Fallback, exchange(&id, asking(&said))),
            // Named for fear of a break that did not come.
            why(BreakCause::Resume, exchange(&id, asking(&said))),
            why(BreakCause::Compression, exchange(&id, asking(&summary))),
            exchange(&id, asking(&said[1..2])),
        ];
        record(&stage, &attempts).await;
        let breaks = stage.store.breaks(&id).await.expect("read");
        let brief = |broken: &Break| (broken.number, broken.model.clone(), broken.cause);
        let expected = [
            (3, "b".to_owned(), Some(BreakCause::Fallback)),
            (5, "a".to_owned(), Some(BreakCause::Fallback)),
            (7, "a".to_owned(), Some(BreakCause::Compression)),
            (8, "a".to_owned(), None),
        ];
        assert_eq!(breaks.iter().map(brief).collect::<Vec<_>>(), expected, "{:?}", stage.kind);
        let head = asking(&[]).find("]").expect("tools") + "],\"messages\":[{\"role\":\"user\",\"content\":\"".len();
        let compressed = &breaks[2];
        assert_eq!((compressed.length, compressed.shared), (asking(&summary).len() as u64, head as u64));
        // Coming back to a model costs no second copy of what it was sent before.
        assert!(kept_bytes(&stage) < 2 * asking(&said).len() + asking(&said[..4]).len(), "{}", kept_bytes(&stage));
    }
}

#[tokio::test]
async fn what_was_sent_goes_with_its_session_whoever_removes_it() {
    for stage in Stage::every().await {
        let ids = ["deleted", "cleared", "theirs", "kept"].map(sid);
        for id in &ids {
            stage.session(id.as_str()).await;
            stage.store.append(id, vec![Message::user("x").into()]).await.expect("kept");
            record(&stage, &[exchange(id, asking(&texts(2))), exchange(id, asking(&texts(3)))]).await;
        }
        stage.store.delete(&ids[0]).await.expect("deleted");
        stage.store.clear(&ids[1]).await.expect("cleared");
        stage
            .look()
            .execute_batch(
                "PRAGMA foreign_keys = ON; DELETE FROM messages WHERE session_id = 'theirs';
                 DELETE FROM sessions WHERE id = 'theirs';",
            )
            .expect("removed by another program");
        for (id, left) in ids.iter().zip([0, 0, 0, 2]) {
            let back = stage.store.exchanges(id, ALL, 0).await.expect("read");
            assert_eq!(back.len(), left, "{id} in {:?}", stage.kind);
        }
        // A branch has its own conversation to record; rewinding changes nothing of what was sent.
        let branch = NewSession::new(sid("branch"), "cli");
        stage.store.branch(&ids[3], branch, None).await.expect("branched");
        assert_eq!(stage.store.exchanges(&sid("branch"), ALL, 0).await, Ok(Vec::new()));
        let message = stage.store.messages(&ids[3]).await.expect("read")[0].id;
        stage.store.rewind(&ids[3], message).await.expect("taken back");
        assert_eq!(stage.store.exchanges(&ids[3], ALL, 0).await.expect("read").len(), 2);
    }
}

#[tokio::test]
async fn a_recovery_keeps_what_can_still_be_put_together() {
    let stage = Stage::of(Kind::New).await;
    let (whole, holed) = (stage.session("whole").await, stage.session("holed").await);
    for id in [&whole, &holed] {
        let attempts: Vec<Exchange> = (1..=4).map(|count| exchange(id, asking(&texts(count)))).collect();
        record(&stage, &attempts).await;
    }
    let before = stage.store.exchanges(&whole, ALL, 0).await.expect("read");
    stage.store.close().await;
    let hole =
        "DELETE FROM hermes_exchanges WHERE id = (SELECT min(id) + 1 FROM hermes_exchanges WHERE session_id = 'holed')";
    stage.look().execute(hole, []).expect("a row is lost");
    let into = stage.path.with_file_name("new.db");
    recover(&stage.path, &into).expect("recovered");
    let store = open(&into).await;
    assert_eq!(store.exchanges(&whole, ALL, 0).await, Ok(before));
    assert_eq!(store.exchanges(&holed, ALL, 0).await.expect("read").len(), 1, "the first stands alone");
    store.record_exchange(exchange(&holed, asking(&texts(5)))).await.expect("and on it goes");
    assert_eq!(store.exchanges(&holed, ALL, 1).await.expect("read")[0].sent.body, asking(&texts(5)));
}

#[tokio::test]
async fn a_file_that_is_older_than_the_tape_gets_one() {
    let mut stage = Stage::of(Kind::New).await;
    let id = stage.session("old").await;
    stage.store.close().await;
    let downgrade = "DROP TABLE hermes_exchanges; UPDATE hermes_meta SET value = 1 WHERE key = 'private_version';";
    Connection::open(&stage.path).expect("the file").execute_batch(downgrade).expect("as it was before");
    stage.reopen().await;
    record(&stage, &[exchange(&id, "{}")]).await;
    assert_eq!(stage.store.exchanges(&id, ALL, 0).await.expect("read").len(), 1);
}

/// How a body comes out of the one before it.
#[derive(Debug, Clone)]
enum Step {
    Append(Vec<u8>),
    Truncate(usize),
    Overwrite(usize, u8),
    Again,
    Anew(Vec<u8>),
    /// Another model is asked for a while.
    Way(u8),
    /// Another process goes on.
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = || vec(0..4_u8, 0..40);
    prop_oneof![
        6 => bytes().prop_map(Step::Append),
        2 => any::<prop::sample::Index>().prop_map(|at| Step::Truncate(at.index(400))),
        2 => (0..400_usize, 0..4_u8).prop_map(|(at, byte)| Step::Overwrite(at, byte)),
        1 => Just(Step::Again),
        1 => bytes().prop_map(Step::Anew),
        2 => (0..3_u8).prop_map(Step::Way),
        1 => Just(Step::Reopen),
    ]
}

/// The exchanges a list of steps leads to; `None` where the file is opened again.
fn played(steps: &[Step]) -> Vec<Option<Exchange>> {
    let (mut body, mut way) = (Vec::new(), 0);
    let mut attempts = Vec::new();
    for step in steps {
        match step {
            Step::Append(more) => body.extend(more),
            Step::Truncate(at) => body.truncate(*at),
            Step::Overwrite(at, byte) => {
                if let Some(there) = body.get_mut(*at) {
                    *there = *byte;
                }
            }
            Step::Again => {}
            Step::Anew(other) => body.clone_from(other),
            Step::Way(other) => way = *other,
            Step::Reopen => {
                attempts.push(None);
                continue;
            }
        }
        attempts.push(Some(Exchange { model: format!("m{way}"), ..exchange(&sid("any"), body.clone()) }));
    }
    attempts
}

#[test]
fn any_sequence_of_bodies_reads_back_equal() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let law = |steps: Vec<Step>| {
        runtime.block_on(async {
            let mut stage = Stage::of(Kind::New).await;
            stage.session("any").await;
            let attempts = played(&steps);
            for attempt in &attempts {
                match attempt {
                    Some(attempt) => record(&stage, std::slice::from_ref(attempt)).await,
                    None => stage.reopen().await,
                }
            }
            let expected: Vec<Exchange> = attempts.into_iter().flatten().collect();
            let back = stage.store.exchanges(&sid("any"), ALL, 0).await.expect("read");
            prop_assert_eq!(back, expected);
            Ok(())
        })
    };
    cases(48).run(&vec(step(), 1..40), law).expect("holds for all");
}
