//! A conversation that was compressed goes on in a child session, all at once or not at all.

use crate::sessions::{OURS, begin, object, ours, say, sid};
use crate::stage::{Kind, Stage, said};
use hermes_core::store::{Ledger, Search, Sessions, StoreError, Transcript};
use hermes_types::{
    CallId, EffectRecord, EffectState, EndReason, ListOrder, Message, MessageId, Moment, NewMessage, NewSession,
    SearchQuery, SessionId, Span,
};
use rusqlite::Connection;
use serde_json::json;

fn summary() -> Vec<NewMessage> {
    let recent = NewMessage { at: Some(Moment::from_seconds(2.0)), ..Message::user("And the roof?").into() };
    vec![Message::user("Summary: the house stands.").into(), Message::assistant("Good.").into(), recent]
}

fn child(id: &str) -> NewSession {
    NewSession::new(sid(id), "whatever the caller calls it")
}

/// A conversation in the middle of a turn, with a call whose end nobody knows; its newest message.
async fn at_work(stage: &Stage, id: &str) -> MessageId {
    let old = NewSession {
        user_id: Some("u".into()),
        model: Some("m".into()),
        model_config: Some(object(json!({"max_iterations": 9, "_branched_from": "x"}))),
        system_prompt: Some("Be brief.".into()),
        cwd: Some("/work".into()),
        ..NewSession::new(sid(id), OURS)
    };
    stage.store.create(old).await.expect("a session");
    stage.store.rename(&sid(id), "House").await.expect("named");
    say(stage, id, 1.0, "How the pademelon builds a house").await;
    say(stage, id, 2.0, "And the roof?").await;
    stage.store.begin_effect(effect(id)).await.expect("begun");
    stage.store.take(&sid(id)).await.expect("taken").expect("a message")
}

fn effect(id: &str) -> EffectRecord {
    let (call, started_at) = (CallId::new("c"), Moment::from_seconds(2.5));
    EffectRecord { session: sid(id), call, tool: "t".into(), started_at, ended_at: None, state: EffectState::Begun }
}

/// Every row that a continuation could touch.
fn rows(path: &std::path::Path) -> Vec<String> {
    let file = Connection::open(path).expect("the file");
    let mut rows = Vec::new();
    for table in ["sessions", "messages", "hermes_message_extra", "hermes_effects", "hermes_meta"] {
        let mut select = file.prepare(&format!("SELECT * FROM {table}")).expect("a table");
        let width = select.column_count();
        let found = select
            .query_map([], |row| (0..width).map(|place| row.get::<_, rusqlite::types::Value>(place)).collect())
            .expect("rows");
        let found: Vec<Vec<rusqlite::types::Value>> = found.collect::<Result<_, _>>().expect("rows");
        rows.extend(found.iter().map(|row| format!("{table} {row:?}")));
    }
    rows
}

fn turns(stage: &Stage) -> Vec<String> {
    let file = stage.look();
    let mut select = file.prepare("SELECT key FROM hermes_meta WHERE key GLOB 'turn:*'").expect("sql");
    select.query_map([], |row| row.get(0)).expect("rows").collect::<Result<_, _>>().expect("keys")
}

#[tokio::test]
async fn a_conversation_goes_on_in_a_child_and_the_old_session_keeps_everything() {
    for stage in Stage::every().await {
        let upto = at_work(&stage, "old").await;
        let before = stage.store.messages(&sid("old")).await.expect("read");
        let ids = stage.store.go_on_in(&sid("old"), child("new"), upto, summary()).await.expect("gone on");

        let conversation = stage.store.conversation(&sid("new"), Span::Own).await.expect("read");
        let expected: Vec<(MessageId, Message)> =
            ids.into_iter().zip(summary().into_iter().map(|new| new.message)).collect();
        assert_eq!(conversation, expected, "{:?}", stage.kind);
        assert_eq!(stage.store.messages(&sid("old")).await.expect("read"), before, "{:?}", stage.kind);
        let old = stage.store.session(&sid("old")).await.expect("read").expect("there");
        assert_eq!((old.end_reason, old.title.as_deref()), (Some(EndReason::COMPRESSION), Some("House")));
        assert_eq!(old.message_count, 2);

        let new = stage.store.session(&sid("new")).await.expect("read").expect("there");
        assert_eq!((new.parent.as_ref(), new.source.as_str(), new.ended_at), (Some(&sid("old")), OURS, None));
        assert_eq!((new.message_count, new.tool_call_count), (3, 0));
        assert_eq!((new.user_id.as_deref(), new.model.as_deref()), (Some("u"), Some("m")), "{:?}", stage.kind);
        assert_eq!((new.system_prompt.as_deref(), new.cwd()), (Some("Be brief."), Some("/work")), "{:?}", stage.kind);
        let mut config = new.model_config.expect("a configuration");
        config.shift_remove("cwd");
        assert_eq!(config, object(json!({"max_iterations": 9})), "a continuation is no branch");
        assert_eq!(new.title.as_deref(), Some("House #2"));

        assert_eq!(stage.store.tip(&sid("old")).await, Ok(sid("new")));
        assert_eq!(stage.store.resolve("House").await, Ok(sid("new")));
        let listed = stage.store.list(ours(), ListOrder::Started, 9, 0).await.expect("listed");
        let listed: Vec<_> = listed.iter().map(|line| (&line.session.id, line.root.as_ref())).collect();
        assert_eq!(listed, [(&sid("new"), Some(&sid("old")))], "one conversation");
        let found = stage.store.search(SearchQuery::new("pademelon")).await.expect("searched");
        assert_eq!(found.hits.iter().map(|hit| hit.session_id.as_str()).collect::<Vec<_>>(), ["old"]);
    }
}

#[tokio::test]
async fn the_turn_and_what_has_begun_in_it_go_along() {
    for stage in Stage::every().await {
        let upto = at_work(&stage, "old").await;
        stage.store.go_on_in(&sid("old"), child("new"), upto, summary()).await.expect("gone on");
        assert_eq!(turns(&stage), ["turn:new"], "{:?}", stage.kind);
        assert_eq!(stage.store.open_effects(&sid("old")).await, Ok(vec![]));
        assert_eq!(stage.store.open_effects(&sid("new")).await, Ok(vec![effect("new")]));

        let goes_on = StoreError::GoesOn { session: sid("old"), next: sid("new") };
        assert_eq!(stage.store.take(&sid("old")).await, Err(goes_on.clone()), "{:?}", stage.kind);
        assert_eq!(stage.store.reopen(&sid("old")).await, Err(goes_on.clone()));
        let again = stage.store.go_on_in(&sid("old"), child("other"), upto, summary()).await;
        assert_eq!(again, Err(goes_on), "one continuation is enough");

        let newest = stage.store.take(&sid("new")).await.expect("taken").expect("a message");
        stage.store.let_go(&sid("new")).await.expect("let go");
        stage.store.go_on_in(&sid("new"), child("newer"), newest, summary()).await.expect("gone on");
        assert_eq!(turns(&stage), [""; 0], "a turn that nobody took is nobody's");
        assert_eq!(stage.store.tip(&sid("old")).await, Ok(sid("newer")));
        let newer = stage.store.session(&sid("newer")).await.expect("read").expect("there");
        assert_eq!(newer.title.as_deref(), Some("House #3"), "{:?}", stage.kind);
        let all = said(&stage.store, &sid("newer"), Span::WithAncestors).await.expect("read");
        assert_eq!(all.len(), 2 + 3 + 3);
    }
}

#[tokio::test]
async fn what_is_given_counts_and_what_the_python_program_knows_is_inherited() {
    let stage = Stage::of(Kind::Python).await;
    let upto = at_work(&stage, "old").await;
    let known = "UPDATE sessions SET session_key = 'k', chat_id = 'c', thread_id = 't', git_branch = 'main',
        git_repo_root = '/work', compression_fallback_streak = 1, rewind_count = 4 WHERE id = 'old'";
    stage.look().execute(known, []).expect("set");
    let given = NewSession { model: Some("other".into()), cwd: Some("/elsewhere".into()), ..child("new") };
    stage.store.go_on_in(&sid("old"), given, upto, summary()).await.expect("gone on");
    let new = stage.store.session(&sid("new")).await.expect("read").expect("there");
    assert_eq!((new.model.as_deref(), new.cwd()), (Some("other"), Some("/elsewhere")));
    let columns = ["session_key", "chat_id", "thread_id", "git_branch", "git_repo_root"];
    assert_eq!(columns.map(|name| new.extra[name].as_str()), ["k", "c", "t", "main", "/work"].map(Some));
    assert_eq!((&new.extra["compression_fallback_streak"], &new.extra["rewind_count"]), (&json!(1), &json!(0)));
}

#[tokio::test]
async fn a_sub_agent_that_goes_on_is_still_one_and_goes_with_its_parent() {
    for stage in Stage::every().await {
        begin(&stage, "person", 1.0, None, None).await;
        let marked = Some(object(json!({"_delegate_from": "person"})));
        let helper =
            NewSession { parent: Some(sid("person")), model_config: marked, ..NewSession::new(sid("a"), "subagent") };
        stage.store.create(helper).await.expect("a session");
        say(&stage, "a", 2.0, "do it").await;
        let upto = stage.store.take(&sid("a")).await.expect("taken").expect("a message");
        stage.store.go_on_in(&sid("a"), child("b"), upto, summary()).await.expect("gone on");
        assert_eq!(stage.store.tip(&sid("a")).await, Ok(sid("b")), "{:?}", stage.kind);
        for order in [ListOrder::Started, ListOrder::LastActive] {
            let listed = stage.store.list(ours(), order, 9, 0).await.expect("listed");
            assert_eq!(listed.iter().map(|line| line.session.id.as_str()).collect::<Vec<_>>(), ["person"]);
        }
        assert_eq!(stage.store.delete(&sid("person")).await, Ok(true));
        assert_eq!(stage.store.session(&sid("b")).await, Ok(None), "{:?}", stage.kind);
    }
}

#[tokio::test]
async fn what_cannot_go_on_is_refused_and_nothing_is_kept_of_it() {
    for stage in Stage::every().await {
        let upto = at_work(&stage, "old").await;
        stage.session("other").await;
        let before = rows(&stage.path);
        let go_on =
            async |from: &str, to: &str, upto| stage.store.go_on_in(&sid(from), child(to), upto, summary()).await;
        assert_eq!(go_on("old", "old", upto).await, Err(StoreError::Circle(sid("old"))));
        assert_eq!(go_on("old", "other", upto).await, Err(StoreError::Exists(sid("other"))));
        assert_eq!(go_on("nobody", "new", upto).await, Err(StoreError::NoSession("nobody".into())));
        let stale = go_on("old", "new", MessageId(upto.0 - 1)).await;
        assert_eq!(stale, Err(StoreError::Moved { session: sid("old"), newest: upto }), "{:?}", stage.kind);
        assert_eq!(rows(&stage.path), before, "{:?}", stage.kind);
        go_on("old", "new", upto).await.expect("gone on");
    }
}

#[tokio::test]
async fn whichever_step_fails_nothing_is_left_of_any() {
    let steps = [
        "INSERT ON sessions",
        "INSERT ON messages WHEN NEW.content = 'Good.'",
        "UPDATE OF ended_at ON sessions",
        "UPDATE OF title ON sessions",
        "UPDATE ON hermes_meta",
        "UPDATE ON hermes_effects",
    ];
    for stage in Stage::every().await {
        let upto = at_work(&stage, "old").await;
        let before = rows(&stage.path);
        let go_on = async || stage.store.go_on_in(&sid("old"), child("new"), upto, summary()).await;
        for step in steps {
            let refuse = "BEGIN SELECT RAISE(ABORT, 'not here'); END";
            stage.look().execute_batch(&format!("CREATE TRIGGER stone BEFORE {step} {refuse}")).expect("a stone");
            assert!(matches!(go_on().await, Err(StoreError::Failed(_))), "{step} {:?}", stage.kind);
            assert_eq!(rows(&stage.path), before, "{step} {:?}", stage.kind);
            stage.look().execute_batch("DROP TRIGGER stone").expect("taken away");
        }
        go_on().await.expect("gone on");
        assert_eq!(stage.store.tip(&sid("old")).await, Ok(SessionId::new("new")));
    }
}
