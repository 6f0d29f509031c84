//! Sessions begin, end, are found by what a person types, and are listed as conversations.

use crate::stage::{Kind, Stage};
use hermes_core::store::{Sessions, StoreError, Transcript};
use hermes_types::{
    EndReason, ListOrder, Meant, Message, Moment, NewMessage, NewSession, Object, Part, SessionFilter, SessionId,
    SessionSummary,
};
use proptest::collection::btree_set;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

/// The source of the sessions of a test, to tell them from those a file came with.
pub(crate) const OURS: &str = "story";

pub(crate) fn sid(id: &str) -> SessionId {
    SessionId::new(id)
}

pub(crate) fn object(value: serde_json::Value) -> Object {
    serde_json::from_value(value).expect("an object")
}

/// Begins a session at a second of the story, with the parent and marks it is given.
pub(crate) async fn begin(stage: &Stage, id: &str, second: f64, parent: Option<&str>, mark: Option<&str>) -> SessionId {
    let new = NewSession {
        parent: parent.map(sid),
        model_config: mark.map(|mark| object(json!({mark: parent}))),
        started_at: Some(Moment::from_seconds(second)),
        ..NewSession::new(sid(id), OURS)
    };
    stage.store.create(new).await.expect("a session");
    sid(id)
}

/// Says something at a second of the story.
pub(crate) async fn say(stage: &Stage, id: &str, second: f64, text: &str) {
    let message = NewMessage { at: Some(Moment::from_seconds(second)), ..Message::user(text).into() };
    stage.store.append(&sid(id), vec![message]).await.expect("kept");
}

pub(crate) async fn end(stage: &Stage, id: &str, reason: &'static str) {
    assert_eq!(stage.store.end(&sid(id), EndReason::new(reason)).await, Ok(true), "{id}");
}

pub(crate) fn ours() -> SessionFilter {
    SessionFilter { sources: vec![OURS.into()], ..SessionFilter::default() }
}

fn ids(list: &[SessionSummary]) -> Vec<&str> {
    list.iter().map(|summary| summary.session.id.as_str()).collect()
}

pub(crate) fn cases(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

#[tokio::test]
async fn a_session_begins_once_and_gets_only_what_it_lacks() {
    for stage in Stage::every().await {
        let first = NewSession {
            model: Some("a/model".into()),
            started_at: Some(Moment::from_seconds(1000.5)),
            cwd: Some("/work".into()),
            ..NewSession::new(sid("s"), "cli")
        };
        stage.store.create(first).await.expect("begun");
        let second = NewSession {
            user_id: Some("u".into()),
            model: Some("another".into()),
            model_config: Some(object(json!({"max_iterations": 9}))),
            system_prompt: Some("Be brief.".into()),
            started_at: Some(Moment::from_seconds(2000.0)),
            cwd: Some("/elsewhere".into()),
            ..NewSession::new(sid("s"), "telegram")
        };
        stage.store.create(second.clone()).await.expect("filled");
        stage.store.create(NewSession { user_id: Some("v".into()), ..second }).await.expect("nothing to fill");
        let session = stage.store.session(&sid("s")).await.expect("read").expect("there");
        assert_eq!(
            (session.source.as_str(), session.user_id.as_deref(), session.model.as_deref()),
            ("cli", Some("u"), Some("a/model")),
            "{:?}",
            stage.kind
        );
        let config = match stage.kind {
            Kind::Python => json!({"max_iterations": 9}),
            // Without a column the directory is where the Python program looks for it.
            _ => json!({"max_iterations": 9, "cwd": "/work"}),
        };
        assert_eq!(session.model_config, Some(object(config)), "{:?}", stage.kind);
        assert_eq!((session.system_prompt.as_deref(), session.started_at.seconds()), (Some("Be brief."), 1000.5));
        assert_eq!(session.cwd(), Some("/work"), "{:?}", stage.kind);
        let below =
            SessionFilter { cwd: Some("/work".into()), sources: vec!["cli".into()], ..SessionFilter::default() };
        let below = stage.store.list(below, ListOrder::Started, 99, 0).await.expect("listed");
        assert!(ids(&below).contains(&"s"), "{:?}", stage.kind);
        let elsewhere = SessionFilter { cwd: Some("/elsewhere".into()), ..SessionFilter::default() };
        assert_eq!(stage.store.list(elsewhere, ListOrder::Started, 99, 0).await, Ok(vec![]), "{:?}", stage.kind);
    }
}

#[tokio::test]
async fn the_first_end_counts_until_it_is_taken_back() {
    for stage in Stage::every().await {
        let id = stage.session("s").await;
        let reason = async || stage.store.session(&id).await.expect("read").expect("there").end_reason;
        assert_eq!(stage.store.end(&id, EndReason::USER_EXIT).await, Ok(true));
        assert_eq!(stage.store.end(&id, EndReason::COMPRESSION).await, Ok(false));
        assert_eq!(reason().await, Some(EndReason::USER_EXIT), "{:?}", stage.kind);
        stage.store.reopen(&id).await.expect("open again");
        assert_eq!(reason().await, None);
        assert_eq!(stage.store.end(&id, EndReason::COMPRESSION).await, Ok(true));
        let nobody = StoreError::NoSession("nobody".into());
        assert_eq!(stage.store.end(&sid("nobody"), EndReason::USER_EXIT).await, Err(nobody.clone()));
        assert_eq!(stage.store.reopen(&sid("nobody")).await, Err(nobody.clone()));
        assert_eq!(stage.store.tip(&sid("nobody")).await, Err(nobody.clone()));
        assert_eq!(stage.store.lineage(&sid("nobody")).await, Err(nobody));
    }
}

#[tokio::test]
async fn a_parent_exists_and_never_descends_from_its_child() {
    for stage in Stage::every().await {
        let child = |id: &str, parent: &str| NewSession { parent: Some(sid(parent)), ..NewSession::new(sid(id), OURS) };
        let create = async |id: &str, parent: &str| stage.store.create(child(id, parent)).await;
        assert_eq!(create("a", "nobody").await, Err(StoreError::NoSession("nobody".into())), "{:?}", stage.kind);
        assert_eq!(create("a", "a").await, Err(StoreError::Circle(sid("a"))));
        assert_eq!(stage.store.session(&sid("a")).await, Ok(None), "a refused session leaves no row");
        stage.session("a").await;
        create("b", "a").await.expect("a child");
        create("c", "b").await.expect("a grandchild");
        assert_eq!(create("a", "c").await, Err(StoreError::Circle(sid("a"))));
        create("c", "nobody").await.expect("has a parent already, and keeps it");
        let parent = stage.store.session(&sid("c")).await.expect("read").expect("there").parent;
        assert_eq!(parent, Some(sid("b")));
    }
}

#[tokio::test]
async fn an_id_comes_before_a_title_and_a_title_before_a_beginning() {
    for stage in Stage::every().await {
        let resolve = async |name: &str| stage.store.resolve(name).await.map(|id| id.to_string());
        for (second, id, title) in [
            (1.0, "x_1", "Plan"),
            (3.0, "x_2", "Plan #2"),
            (2.0, "x_3", "Plan #3"),
            (4.0, "y%1", "x_"),
            (5.0, "z", "x_1"),
        ] {
            begin(&stage, id, second, None, None).await;
            stage.store.rename(&sid(id), title).await.expect("named");
        }
        let found = |id: &str| Ok(id.to_owned());
        assert_eq!(resolve("x_1").await, found("x_1"), "an id, though it is a title too");
        assert_eq!(resolve("x_").await, found("y%1"), "a title, though it is a beginning too");
        assert_eq!(resolve("Plan").await, found("x_2"), "the newest of the lineage");
        assert_eq!(resolve("  Plan\t#3 ").await, found("x_3"), "one of the lineage");
        let exactly = async |name: &str| stage.store.find(name, Meant::Exactly).await.map(|id| id.to_string());
        assert_eq!(exactly("Plan").await, found("x_1"), "the one that is called so");
        assert_eq!(exactly("Plan #3").await, found("x_3"));
        assert_eq!(exactly("y").await, found("y%1"), "a beginning");
        stage.store.rename(&sid("x_1"), "").await.expect("unnamed");
        assert_eq!(exactly("Plan").await, found("x_2"), "the newest of the lineage, where none is called so");
        assert_eq!(resolve("y").await, found("y%1"), "a beginning");
        assert_eq!(resolve("y%").await, found("y%1"));
        assert_eq!(resolve("y_").await, Err(StoreError::NoSession("y_".into())), "no wildcard");
        assert_eq!(resolve("%").await, Err(StoreError::NoSession("%".into())), "no wildcard");
        let both = vec!["x_1".to_owned(), "x_2".to_owned(), "x_3".to_owned()];
        assert_eq!(
            resolve("x").await,
            Err(StoreError::Ambiguous { prefix: "x".into(), ids: both }),
            "{:?}",
            stage.kind
        );
        assert!(matches!(resolve(" ").await, Err(StoreError::NoSession(_))), "nothing names nothing");
    }
}

#[test]
fn every_beginning_finds_what_begins_so() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let stage = runtime.block_on(Stage::of(Kind::New));
    let raw = stage.look();
    raw.execute_batch("PRAGMA synchronous = OFF").expect("set");
    let id = "[ab%_\\\\*?'\u{e9}\u{10ffff}]{1,3}";
    let told = cases(64).run(&(btree_set(id, 0..9), id), |(ids, name)| {
        raw.execute("DELETE FROM sessions", []).expect("emptied");
        for id in &ids {
            raw.execute("INSERT INTO sessions(id, source, started_at) VALUES(?1, 'x', 0)", [id]).expect("a row");
        }
        let matching: Vec<&String> = ids.iter().filter(|id| id.starts_with(&name)).collect();
        let expected = match matching.as_slice() {
            _ if ids.contains(&name) => Ok(sid(&name)),
            [] => Err(StoreError::NoSession(name.clone())),
            [only] => Ok(sid(only)),
            several => {
                let ids = several.iter().take(5).map(|id| (*id).clone()).collect();
                Err(StoreError::Ambiguous { prefix: name.clone(), ids })
            }
        };
        prop_assert_eq!(runtime.block_on(stage.store.resolve(&name)), expected);
        Ok(())
    });
    assert_eq!(told.map_err(|error| error.to_string()), Ok(()));
}

/// A compressed conversation with a sub-agent and a branch, and an older and a newer one beside it.
async fn a_busy_week(stage: &Stage) {
    begin(stage, "old", 10.0, None, None).await;
    say(stage, "old", 900.0, "Still going on").await;
    begin(stage, "long", 20.0, None, None).await;
    say(stage, "long", 21.0, "  Refactor\nthe parser").await;
    begin(stage, "helper", 22.0, Some("long"), Some("_delegate_from")).await;
    say(stage, "helper", 950.0, "Read the files").await;
    end(stage, "long", "compression").await;
    begin(stage, "long2", 30.0, Some("long"), None).await;
    say(stage, "long2", 31.0, "[summary] parser").await;
    end(stage, "long2", "compression").await;
    begin(stage, "long3", 40.0, Some("long2"), None).await;
    let parts =
        vec![Part::of_text("Now with"), Part::of_image("data:image/png;base64,AA=="), Part::of_text("a picture")];
    let message =
        Message::User(hermes_types::Plain { content: hermes_types::Content::Parts(parts), extra: Object::new() });
    let at = Some(Moment::from_seconds(700.0));
    stage.store.append(&sid("long3"), vec![NewMessage { at, ..message.into() }]).await.expect("kept");
    begin(stage, "branch", 50.0, Some("long"), Some("_branched_from")).await;
    begin(stage, "new", 60.0, None, None).await;
    say(stage, "new", 61.0, &"Long question, ".repeat(10)).await;
}

#[tokio::test]
async fn a_list_shows_conversations_and_not_rows() {
    for stage in Stage::every().await {
        a_busy_week(&stage).await;
        let list =
            async |filter, order, limit, offset| stage.store.list(filter, order, limit, offset).await.expect("read");
        let started = list(ours(), ListOrder::Started, 100, 0).await;
        let lines: Vec<String> = started
            .iter()
            .map(|summary| {
                let SessionSummary { session, preview, last_active, root } = summary;
                let root = root.as_ref().map_or("-", SessionId::as_str);
                format!("{} {root} {} {} {preview:?}", session.id, session.started_at.seconds(), last_active.seconds())
            })
            .collect();
        let expected = [
            r#"new - 60 61 "Long question, Long question, Long question, Long question,..."#.to_owned() + "\"",
            r#"branch - 50 50 """#.into(),
            r#"long3 long 20 700 "Refactor the parser""#.into(),
            r#"old - 10 900 "Still going on""#.into(),
        ];
        assert_eq!(lines, expected, "{:?}", stage.kind);
        let active = list(ours(), ListOrder::LastActive, 100, 0).await;
        assert_eq!(ids(&active), ["old", "long3", "new", "branch"], "{:?}", stage.kind);
        assert_eq!(ids(&list(ours(), ListOrder::LastActive, 2, 1).await), ["long3", "new"]);
        assert_eq!(ids(&list(ours(), ListOrder::Started, 2, 3).await), ["old"]);
        assert_eq!(ids(&list(ours(), ListOrder::Started, 0, 0).await), Vec::<&str>::new());
        let all = list(SessionFilter { all: true, ..ours() }, ListOrder::Started, 100, 0).await;
        assert_eq!(ids(&all), ["new", "branch", "long3", "long2", "helper", "long", "old"]);
        assert!(all.iter().all(|summary| summary.root.is_none()));
    }
}

#[tokio::test]
async fn a_filter_means_everything_it_says() {
    let stage = Stage::of(Kind::Python).await;
    let list = async |filter| {
        let list = stage.store.list(filter, ListOrder::Started, 100, 0).await.expect("read");
        list.into_iter().map(|summary| summary.session.id.to_string()).collect::<Vec<_>>().join(" ")
    };
    let none = SessionFilter::default;
    let text = |text: &str| Some(text.to_owned());
    let at = |second: f64| Some(Moment::from_seconds(1_760_000_000.0 + second));
    let table: [(SessionFilter, &str); 11] = [
        (
            SessionFilter { sources: vec!["cron".into(), "telegram".into()], ..none() },
            "cron_job1_20251009_110000 cc000001",
        ),
        (SessionFilter { sources: vec!["tool".into()], ..none() }, "20251009_111000_ab0001"),
        (SessionFilter { exclude_sources: vec!["cli".into()], ..none() }, "cron_job1_20251009_110000 cc000001"),
        (SessionFilter { title: text("LONG re"), ..none() }, "20251009_093000_bb0003"),
        (SessionFilter { title: text("多语言"), ..none() }, "20251009_090000_aa0002"),
        (SessionFilter { end_reason: text("branched"), ..none() }, "20251009_101000_ee0001"),
        (SessionFilter { min_messages: Some(5), max_messages: Some(6), ..none() }, "20251009_085320_aa0001"),
        (SessionFilter { started_after: at(0.0), started_before: at(4.25), ..none() }, "20251009_085320_aa0001"),
        (
            SessionFilter { started_after: at(4.25), started_before: at(6.75), ..none() },
            "20251009_093000_bb0003 20251009_090000_aa0002",
        ),
        (SessionFilter { cwd: text("/work/"), title: text("idea"), ..none() }, "20251009_101000_ee0001"),
        (SessionFilter { cwd: text("/work/dem"), ..none() }, ""),
    ];
    for (filter, expected) in table {
        let told = format!("{filter:?}");
        assert_eq!(list(filter).await, expected, "{told}");
    }
    let young = Stage::of(Kind::New).await;
    young.session("here").await;
    let below = SessionFilter { cwd: text("/"), ..none() };
    let list = young.store.list(below, ListOrder::Started, 9, 0).await.expect("read");
    assert_eq!(list, [], "a file without directories has nothing below one");
}

/// What the Python program lists of its own file. It shows no text of a question with pictures; we do.
const PYTHON_LISTS: &str = "\
20251009_113000_ab0003 - 1760000021.5 0 None \"\"
cron_job1_20251009_110000 - 1760000019.75 2 None \"Nightly wallaby report\"
20251009_103000_ff0001 - 1760000018.75 4 None \"Delegate the tapir\"
20251009_102000_ee0002 - 1760000016 3 Some(\"Idea #2\") \"Plan the kookaburra\"
20251009_101000_ee0001 - 1760000014.75 2 Some(\"Idea\") \"Plan the kookaburra\"
20251009_100000_dd0001 - 1760000014 4 None \"Keep this capybara\"
cc000001 - 1760000012 4 None \"First question about the dugong\"
20251009_093000_bb0003 20251009_091000_bb0001 1760000009.5 3 Some(\"Long refactor #3\") \"Refactor the echidna module\"
20251009_090000_aa0002 - 1760000006.25 8 Some(\"多语言 ทดสอบ mixed\") \"What is in this platypus picture? 图片\"
20251009_085320_aa0001 - 1760000001.75 6 Some(\"Deploy the parser\") \"Please list the quokka files and fix chat-send.\"";

#[tokio::test]
async fn the_file_of_the_python_program_is_listed_as_it_lists_it() {
    let stage = Stage::of(Kind::Python).await;
    let list = stage.store.list(SessionFilter::default(), ListOrder::Started, 100, 0).await.expect("read");
    let lines: Vec<String> = list
        .iter()
        .map(|SessionSummary { session, preview, last_active, root }| {
            let root = root.as_ref().map_or("-", SessionId::as_str);
            let (count, title) = (session.message_count, &session.title);
            format!("{} {root} {} {count} {title:?} {preview:?}", session.id, last_active.seconds())
        })
        .collect();
    assert_eq!(lines.join("\n"), PYTHON_LISTS);
}

#[tokio::test]
async fn what_another_program_broke_is_listed_with_the_rest() {
    for stage in Stage::every().await {
        begin(&stage, "good", 5.0, None, None).await;
        stage
            .look()
            .execute_batch(
                "PRAGMA foreign_keys = OFF;
                 INSERT INTO sessions(id, source, started_at, ended_at, title, model_config, message_count, parent_session_id)
                     VALUES('odd', 'story', 'yesterday', 'today', CAST(x'54ff' AS TEXT), '{broken', 'many', 'gone');
                 INSERT INTO messages(session_id, role, content, timestamp) VALUES('odd', 'user', x'4869ff', 'noon');
                 INSERT INTO sessions(id, source, started_at, title) VALUES('long', 'story', 7, hex(zeroblob(100)));",
            )
            .expect("odd rows");
        for order in [ListOrder::Started, ListOrder::LastActive] {
            let list = stage.store.list(ours(), order, 9, 0).await.expect("read");
            assert_eq!(ids(&list), ["long", "good", "odd"], "{:?}", stage.kind);
            assert_eq!((list[2].preview.as_str(), list[2].session.title.as_deref()), ("Hi\u{fffd}", Some("T\u{fffd}")));
        }
        assert_eq!(stage.store.lineage(&sid("odd")).await.expect("read").len(), 1);
        assert_eq!(stage.store.tip(&sid("odd")).await, Ok(sid("odd")));
        assert_eq!(stage.store.next_title("T").await.as_deref(), Ok("T"));
        assert_eq!(stage.store.resolve("od").await, Ok(sid("odd")));
        stage.store.facts().await.expect("numbers");
        assert_eq!(stage.store.prune(ours(), true).await.expect("told").sessions, [sid("odd")]);
        stage.store.branch(&sid("odd"), NewSession::new(sid("b1"), OURS), None).await.expect("branched");
        stage.store.branch(&sid("long"), NewSession::new(sid("b2"), OURS), None).await.expect("branched");
        let title = stage.store.session(&sid("b2")).await.expect("read").expect("there").title;
        assert_eq!(title, None, "a title that is too long is nobody's to count on");
    }
}

#[tokio::test]
async fn the_store_knows_its_numbers() {
    let stage = Stage::of(Kind::Python).await;
    let facts = stage.store.facts().await.expect("read");
    assert_eq!((facts.schema_version, facts.sessions, facts.ended, facts.messages), (22, 15, 8, 51));
    let sources: Vec<(&str, u64)> = facts.by_source.iter().map(|(source, count)| (source.as_str(), *count)).collect();
    assert_eq!(sources, [("cli", 11), ("cron", 1), ("subagent", 1), ("telegram", 1), ("tool", 1)]);
    assert_eq!(facts.oldest.map(Moment::seconds), Some(1_760_000_000.25));
    assert_eq!(facts.newest.map(Moment::seconds), Some(1_760_000_021.5));
    let bytes = "SELECT sum(length(CAST(content AS BLOB))) FROM messages";
    let bytes: u64 = stage.look().query_row(bytes, [], |row| row.get(0)).expect("a sum");
    assert_eq!(facts.text_bytes, bytes);
    assert!(facts.disk_bytes >= std::fs::metadata(&stage.path).expect("a file").len());
    let empty = Stage::of(Kind::New).await.store.facts().await.expect("read");
    assert_eq!((empty.sessions, empty.messages, empty.text_bytes, empty.oldest), (0, 0, 0, None));
    assert_eq!(empty.by_source, []);
}

#[tokio::test]
async fn a_prompt_can_be_given_later_and_again() {
    for mut stage in Stage::every().await {
        let id = stage.session("prompted").await;
        for prompt in ["Be kind.", "Be brief."] {
            stage.store.set_prompt(&id, prompt).await.expect("set");
            stage.reopen().await;
            let session = stage.store.session(&id).await.expect("read").expect("there");
            assert_eq!(session.system_prompt.as_deref(), Some(prompt), "{:?}", stage.kind);
        }
        let nowhere = stage.store.set_prompt(&sid("nowhere"), "x").await;
        assert_eq!(nowhere, Err(StoreError::NoSession("nowhere".into())), "{:?}", stage.kind);
    }
}
