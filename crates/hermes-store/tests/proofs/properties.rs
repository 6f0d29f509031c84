//! What must hold for all messages, all files and all orders of operations.

use crate::model::{Model, Op, SESSIONS, message};
use crate::stage::{Kind, Stage, said};
use hermes_core::clock::RealClock;
use hermes_core::store::{StoreError, Transcript};
use hermes_store::SqliteStore;
use hermes_types::{
    Assistant, CallId, Content, Message, MessageId, Moment, NewMessage, Object, Part, Plain, Span, StopReason,
    StoredMessage, ToolCall, ToolResult,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Text of every kind: nothing, marks of our own, NUL, other scripts, anything.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("\0json:[1]".to_owned()),
        Just("\0json:\"x\"".to_owned()),
        Just("a\0b\0".to_owned()),
        "[ก-๙一-龥 a-z\\u{1F600}]{0,12}",
        any::<String>(),
    ]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter_map("a number of JSON", |number| serde_json::Number::from_f64(number).map(Value::Number)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Fields nobody knows, at most this deep: JSON is read up to 127 levels, and a message is one itself.
fn extra(deepest: usize) -> impl Strategy<Value = Object> {
    let shallow = vec(("x_[a-z\\u{0}é]{0,4}", json()), 0..3).prop_map(|fields| fields.into_iter().collect());
    let deep = (deepest - 20..=deepest).prop_map(|levels| {
        let value = (0..levels).fold(Value::from(1.5), |inner, _| Value::Array(vec![inner]));
        Object::from_iter([("x_deep".to_owned(), value)])
    });
    prop_oneof![9 => shallow, 1 => deep]
}

fn content() -> impl Strategy<Value = Content> {
    let part = vec((text(), json()), 0..3).prop_map(|fields| Part(fields.into_iter().collect()));
    prop_oneof![text().prop_map(Content::Text), vec(part, 0..3).prop_map(Content::Parts)]
}

fn call() -> impl Strategy<Value = ToolCall> {
    (text(), text(), text(), option::of(text()), option::of(json()), extra(124)).prop_map(
        |(id, name, arguments, response_item_id, extra_content, extra)| ToolCall {
            response_item_id,
            extra_content: extra_content.filter(|value| !value.is_null()),
            extra,
            ..ToolCall::new(CallId::new(id), name, arguments)
        },
    )
}

fn assistant() -> impl Strategy<Value = Message> {
    let lists = || option::of(vec(json(), 0..3));
    let words = || option::of(text());
    let said = (option::of(content()), words(), words(), words(), vec(call(), 0..3), extra(126));
    let kept = (lists(), lists(), lists(), lists());
    (said, kept).prop_map(|((content, reasoning, reasoning_content, finish, tool_calls, extra), kept)| {
        let (reasoning_details, codex_reasoning_items, codex_message_items, anthropic_content_blocks) = kept;
        Message::Assistant(Assistant {
            content,
            reasoning,
            reasoning_content,
            reasoning_details,
            codex_reasoning_items,
            codex_message_items,
            anthropic_content_blocks,
            tool_calls,
            finish_reason: finish.map(StopReason::from),
            extra,
        })
    })
}

fn any_message() -> impl Strategy<Value = Message> {
    let plain = || (content(), extra(126)).prop_map(|(content, extra)| Plain { content, extra });
    let result = (text(), option::of(text()), content(), extra(126)).prop_map(|(id, name, content, extra)| {
        Message::Tool(ToolResult { tool_call_id: CallId::new(id), name, content, extra })
    });
    prop_oneof![plain().prop_map(Message::System), plain().prop_map(Message::User), assistant(), result]
}

fn new_message() -> impl Strategy<Value = NewMessage> {
    (any_message(), option::of(content()), option::of(0..4_000_000_000_u32), option::of(0..i64::MAX as u64)).prop_map(
        |(message, sent, at, token_count)| NewMessage {
            message,
            sent,
            at: at.map(|seconds| Moment::from_seconds(f64::from(seconds) + 0.25)),
            token_count,
        },
    )
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Appends, lets go of the file, opens it again and compares.
fn comes_back(kind: Kind, batches: Vec<Vec<NewMessage>>) {
    runtime().block_on(async {
        let mut stage = Stage::of(kind).await;
        let id = stage.session("any").await;
        for batch in &batches {
            stage.store.append(&id, batch.clone()).await.expect("kept");
        }
        stage.reopen().await;
        let all: Vec<NewMessage> = batches.into_iter().flatten().collect();
        let stored = stage.store.messages(&id).await.expect("read");
        let back = |stored: &StoredMessage, new: &NewMessage| NewMessage {
            message: stored.message.clone(),
            sent: stored.sent.clone(),
            at: new.at.map(|_| stored.at),
            token_count: stored.token_count,
        };
        let read: Vec<NewMessage> = stored.iter().zip(&all).map(|(stored, new)| back(stored, new)).collect();
        assert_eq!((stored.len(), read), (all.len(), all.clone()));
        let bytes = |messages: &[Message]| serde_json::to_string(messages).expect("json");
        let replayed = said(&stage.store, &id, Span::Own).await.expect("read");
        let expected: Vec<Message> = stored.into_iter().map(StoredMessage::into_replay).collect();
        assert_eq!(bytes(&replayed), bytes(&expected));
    });
}

#[tokio::test]
async fn what_could_not_be_read_back_is_not_taken() {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("deep").await;
    let deep = (0..127).fold(Value::from("["), |inner, _| Value::Array(vec![inner]));
    let extra = Object::from_iter([("x".to_owned(), deep)]);
    let new = Message::User(Plain { content: "x".into(), extra });
    let told = StoreError::Failed("JSON of 128 levels cannot be kept, only up to 127".into());
    assert_eq!(stage.store.append(&id, vec![Message::user("y").into(), new.into()]).await, Err(told));
    assert_eq!(stage.store.messages(&id).await, Ok(Vec::new()));
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn every_message_comes_back_from_a_new_file(batches in vec(vec(new_message(), 1..6), 1..3)) {
        comes_back(Kind::New, batches);
    }

    #[test]
    fn every_message_comes_back_from_a_file_of_the_python_program(batches in vec(vec(new_message(), 1..6), 1..3)) {
        comes_back(Kind::Python, batches);
    }
}

async fn open_anything(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path, Arc::new(RealClock::default())).await
}

proptest! {
    #![proptest_config(config(60))]

    /// A file that is no database is refused with a reason. One byte is an empty database to SQLite.
    #[test]
    fn garbage_is_told_and_left_alone(garbage in vec(any::<u8>(), 2..3_000)) {
        runtime().block_on(async {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("state.db");
            std::fs::write(&path, &garbage).expect("garbage");
            let place = path.display().to_string();
            let refused = open_anything(&path).await.err();
            let told = matches!(&refused, Some(StoreError::Unusable { place: named, reason })
                if *named == place && reason.starts_with("it is not a database"));
            assert!(told, "{refused:?}");
            assert_eq!(std::fs::read(&path).expect("still there"), garbage);
        });
    }

    #[test]
    fn a_damaged_database_never_panics(
        damage in vec((0..212_992_usize, any::<u8>()), 1..40), end in 1..212_992_usize, cut in any::<bool>(),
    ) {
        runtime().block_on(async {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("state.db");
            Kind::Python.lay(&path);
            let mut bytes = std::fs::read(&path).expect("a copy");
            damage.iter().for_each(|(place, byte)| bytes[*place] = *byte);
            bytes.truncate(if cut { end } else { bytes.len() });
            std::fs::write(&path, &bytes).expect("damaged");
            let Ok(store) = open_anything(&path).await else { return };
            let id = hermes_types::SessionId::new("20251009_085320_aa0001");
            let told = [
                store.messages(&id).await.map(|_| ()),
                store.append(&id, vec![Message::user("x").into()]).await.map(|_| ()),
                store.compact(&id, MessageId(i64::MAX), vec![Message::user("y").into()]).await.map(|_| ()),
                store.clear(&id).await.map(|_| ()),
            ];
            for error in told.into_iter().filter_map(Result::err) {
                assert!(!error.to_string().contains("panic"), "{error}");
            }
            store.close().await;
        });
    }
}

/// What any program may have put into a cell.
fn cell() -> impl Strategy<Value = rusqlite::types::Value> {
    use rusqlite::types::Value as Cell;
    prop_oneof![
        Just(Cell::Null),
        any::<i64>().prop_map(Cell::Integer),
        prop_oneof![any::<f64>(), Just(f64::INFINITY)].prop_map(Cell::Real),
        text().prop_map(Cell::Text),
        json().prop_map(|value| Cell::Text(value.to_string())),
        vec(any::<u8>(), 0..12).prop_map(Cell::Blob),
    ]
}

/// The columns another program fills; the role stays one of those there are.
const CELLS: [&str; 12] = [
    "content",
    "tool_call_id",
    "tool_calls",
    "tool_name",
    "timestamp",
    "token_count",
    "finish_reason",
    "reasoning",
    "reasoning_details",
    "codex_reasoning_items",
    "sent",
    "fields",
];

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn no_cell_hides_a_conversation(
        rows in vec((prop_oneof![Just("system"), Just("user"), Just("assistant"), Just("tool")], vec(cell(), CELLS.len()), cell()), 1..8),
    ) {
        runtime().block_on(async {
            let stage = Stage::of(Kind::New).await;
            let id = stage.session("foreign").await;
            let file = stage.look();
            for (role, cells, state) in &rows {
                file.execute("INSERT INTO messages(session_id, role, timestamp) VALUES('foreign', ?1, 0)", [role]).expect("a row");
                let row = file.last_insert_rowid();
                file.execute("INSERT INTO hermes_message_extra(message_id) VALUES(?1)", [row]).expect("a row");
                for (column, cell) in CELLS.iter().zip(cells).chain([(&"state", state)]) {
                    let (table, key) = match *column {
                        "sent" | "fields" | "state" => ("hermes_message_extra", "message_id"),
                        _ => ("messages", "id"),
                    };
                    // What the table itself refuses, nobody can have put there.
                    let _ = file.execute(&format!("UPDATE {table} SET {column} = ?2 WHERE {key} = ?1"), (row, cell));
                }
            }
            let stored = stage.store.messages(&id).await.expect("read");
            assert_eq!(stored.len(), rows.len());
            serde_json::to_string(&stored).expect("json");
            said(&stage.store, &id, Span::Own).await.expect("read");
            stage.store.compact(&id, stored[stored.len() - 1].id, vec![Message::user("summary").into()]).await.expect("compacted");
            assert_eq!(stage.store.clear(&id).await, Ok(rows.len() as u64 + 1));
        });
    }
}

fn op() -> impl Strategy<Value = Op> {
    let session = 0..SESSIONS;
    let messages = || {
        vec((any::<u8>(), text()), 1..5)
            .prop_map(|said| said.iter().map(|(kind, text)| message(*kind, text)).collect::<Vec<_>>())
    };
    prop_oneof![
        2 => session.clone().prop_map(Op::Create),
        5 => (session.clone(), messages()).prop_map(|(session, messages)| Op::Append(session, messages)),
        3 => (session.clone(), 0..4_usize).prop_map(|(session, back)| Op::Rewind(session, back)),
        2 => (session.clone(), messages()).prop_map(|(session, messages)| Op::Compact(session, messages)),
        1 => session.clone().prop_map(Op::Clear),
        1 => session.clone().prop_map(|session| Op::End(session, "cli_close")),
        1 => session.prop_map(Op::Reopen),
    ]
}

/// Operations and, between them, the file let go of and opened again.
fn behaves_like_the_model(kind: Kind, steps: &[Option<Op>]) {
    runtime().block_on(async {
        let mut stage = Stage::of(kind).await;
        let mut model = Model::default();
        for step in steps {
            match step {
                Some(op) => assert_eq!(op.perform(&stage.store).await, Ok(model.apply(op)), "{op:?}"),
                None => stage.reopen().await,
            }
            assert_eq!(Model::of(&stage.store).await, model);
        }
    });
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn operations_do_what_the_model_does_in_a_new_file(steps in vec(option::weighted(0.9, op()), 1..30)) {
        behaves_like_the_model(Kind::New, &steps);
    }

    #[test]
    fn operations_do_what_the_model_does_in_a_file_of_the_python_program(
        steps in vec(option::weighted(0.9, op()), 1..30),
    ) {
        behaves_like_the_model(Kind::Python, &steps);
    }
}
