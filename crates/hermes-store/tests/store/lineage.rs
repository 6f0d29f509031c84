//! Conversations that were compressed, branched and delegated, and what holds whoever wrote the parents.

use crate::sessions::{OURS, begin, cases, end, object, ours, say, sid};
use crate::stage::{Kind, Stage, said};
use hermes_core::store::{Sessions, StoreError, Transcript};
use hermes_types::{
    Kinship, ListOrder, Message, MessageId, NewMessage, NewSession, Relative, SessionFilter, SessionId, Span,
};
use proptest::collection::vec;
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::json;
use std::collections::{BTreeSet, HashSet};

async fn family(stage: &Stage, id: &str) -> Vec<String> {
    let line = |relative: &Relative| {
        let parent = relative.parent.as_ref().map_or("-", SessionId::as_str);
        format!("{} {parent} {:?} {} {:?}", relative.id, relative.kinship, relative.message_count, relative.preview)
    };
    stage.store.lineage(&sid(id)).await.expect("read").iter().map(line).collect()
}

#[tokio::test]
async fn a_family_is_told_parents_first() {
    for stage in Stage::every().await {
        begin(&stage, "root", 1.0, None, None).await;
        say(&stage, "root", 1.5, "How it began").await;
        begin(&stage, "helper", 2.0, Some("root"), Some("_delegate_from")).await;
        begin(&stage, "unmarked", 2.5, Some("helper"), None).await;
        end(&stage, "root", "compression").await;
        begin(&stage, "next", 3.0, Some("root"), None).await;
        begin(&stage, "branch", 4.0, Some("root"), Some("_branched_from")).await;
        begin(&stage, "other", 5.0, None, None).await;
        let expected = [
            "root - Root 1 \"How it began\"",
            "helper root Delegate 0 \"\"",
            "unmarked helper Delegate 0 \"\"",
            "next root Continuation 0 \"\"",
            "branch root Branch 0 \"\"",
        ];
        for id in ["root", "unmarked", "branch"] {
            assert_eq!(family(&stage, id).await, expected, "{id} {:?}", stage.kind);
        }
        assert_eq!(family(&stage, "other").await, ["other - Root 0 \"\""]);
    }
}

#[tokio::test]
async fn a_branch_of_the_time_before_marks_began_after_its_parent_ended() {
    let stage = Stage::of(Kind::New).await;
    begin(&stage, "root", 1.0, None, None).await;
    begin(&stage, "before", 2.0, Some("root"), None).await;
    end(&stage, "root", "branched").await;
    let later = hermes_types::Moment::from_seconds(4e9);
    let after =
        NewSession { parent: Some(sid("root")), started_at: Some(later), ..NewSession::new(sid("after"), OURS) };
    stage.store.create(after).await.expect("a session");
    let kinships: Vec<Kinship> =
        stage.store.lineage(&sid("root")).await.expect("read").iter().map(|relative| relative.kinship).collect();
    assert_eq!(kinships, [Kinship::Root, Kinship::Delegate, Kinship::Branch]);
}

#[tokio::test]
async fn a_conversation_goes_on_where_it_was_compressed_last() {
    for stage in Stage::every().await {
        begin(&stage, "root", 1.0, None, None).await;
        assert_eq!(stage.store.tip(&sid("root")).await, Ok(sid("root")), "its own tip");
        end(&stage, "root", "compression").await;
        assert_eq!(stage.store.tip(&sid("root")).await, Ok(sid("root")), "nothing follows yet");
        for (id, mark) in [("helper", "_delegate_from"), ("branch", "_branched_from")] {
            begin(&stage, id, 9.0, Some("root"), Some(mark)).await;
            say(&stage, id, 99.0, "x").await;
        }
        stage
            .store
            .create(NewSession { parent: Some(sid("root")), ..NewSession::new(sid("tool"), "tool") })
            .await
            .unwrap();
        assert_eq!(stage.store.tip(&sid("root")).await, Ok(sid("root")), "none of these continues it");
        begin(&stage, "dead", 2.0, Some("root"), None).await;
        begin(&stage, "silent", 3.0, Some("root"), None).await;
        say(&stage, "dead", 50.0, "x").await;
        assert_eq!(stage.store.tip(&sid("root")).await, Ok(sid("dead")), "the latest message");
        end(&stage, "dead", "agent_close").await;
        assert_eq!(stage.store.tip(&sid("root")).await, Ok(sid("silent")), "the open one");
        begin(&stage, "chain", 2.5, Some("root"), None).await;
        end(&stage, "chain", "compression").await;
        let last = begin(&stage, "last", 4.0, Some("chain"), None).await;
        assert_eq!(stage.store.tip(&sid("root")).await, Ok(last), "the compressed one, {:?}", stage.kind);
    }
}

#[tokio::test]
async fn tips_are_those_of_the_python_program() {
    let stage = Stage::of(Kind::Python).await;
    let tips = [
        ("20251009_091000_bb0001", "20251009_093000_bb0003"),
        ("20251009_092000_bb0002", "20251009_093000_bb0003"),
        ("20251009_093000_bb0003", "20251009_093000_bb0003"),
        ("20251009_101000_ee0001", "20251009_101000_ee0001"),
        ("20251009_103000_ff0001", "20251009_103000_ff0001"),
    ];
    for (id, tip) in tips {
        assert_eq!(stage.store.tip(&sid(id)).await, Ok(sid(tip)), "{id}");
    }
    assert_eq!(
        family(&stage, "20251009_102000_ee0002").await,
        [
            "20251009_101000_ee0001 - Root 2 \"Plan the kookaburra\"",
            "20251009_102000_ee0002 20251009_101000_ee0001 Branch 3 \"Plan the kookaburra\""
        ]
    );
}

fn messages() -> Vec<NewMessage> {
    let message = |value| NewMessage::from(serde_json::from_value::<Message>(value).expect("a message"));
    let mut question = message(json!({"role": "user", "content": "Plan it", "x": 1}));
    question.sent = Some("Plan it\n<memory>y</memory>".into());
    vec![
        question,
        message(
            json!({"role": "assistant", "content": null, "reasoning_content": "hm", "anthropic_content_blocks": [],
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}),
        ),
        message(json!({"role": "tool", "tool_call_id": "c", "content": "done"})),
        message(json!({"role": "user", "content": "Other way round"})),
    ]
}

#[tokio::test]
async fn a_branch_holds_the_conversation_and_leaves_the_source_alone() {
    for stage in Stage::every().await {
        let source = NewSession {
            model: Some("m".into()),
            model_config: Some(object(json!({"max_iterations": 9, "_delegate_from": "x"}))),
            system_prompt: Some("Be brief.".into()),
            cwd: Some("/work".into()),
            ..NewSession::new(sid("from"), OURS)
        };
        stage.store.create(source).await.expect("a session");
        stage.store.rename(&sid("from"), "Notion").await.expect("named");
        let before = stage.store.append(&sid("from"), vec![Message::user("before").into()]).await.expect("kept");
        stage.store.compact(&sid("from"), before[0], messages()).await.expect("kept");
        stage.store.append(&sid("from"), vec![Message::user("regretted").into()]).await.expect("kept");
        let all = stage.store.messages(&sid("from")).await.expect("read");
        stage.store.rewind(&sid("from"), all[5].id).await.expect("taken back");
        let before = stage.store.export(&sid("from")).await.expect("read").expect("there");

        let branch =
            async |id: &str, upto| stage.store.branch(&sid("from"), NewSession::new(sid(id), OURS), upto).await;
        branch("whole", None).await.expect("branched");
        branch("part", Some(all[3].id)).await.expect("branched");

        assert_eq!(stage.store.export(&sid("from")).await.expect("read"), Some(before), "{:?}", stage.kind);
        let conversation = async |id: &str, span| said(&stage.store, &sid(id), span).await.expect("read");
        let original = conversation("from", Span::Own).await;
        assert_eq!(conversation("whole", Span::Own).await, original, "{:?}", stage.kind);
        assert_eq!(conversation("whole", Span::WithAncestors).await, original, "a copy is not heard twice");
        assert_eq!(conversation("part", Span::Own).await, original[..3]);
        let copy = stage.store.messages(&sid("whole")).await.expect("read");
        assert_eq!((copy.len(), &copy[0].sent, copy[0].at), (4, &all[1].sent, all[1].at));
        let part = stage.store.session(&sid("part")).await.expect("read").expect("there");
        assert_eq!((part.message_count, part.tool_call_count), (3, 1));
        assert_eq!(part.parent, Some(sid("from")));
        let mut config = part.model_config.clone().expect("a configuration");
        assert_eq!((config.shift_remove("cwd").is_some(), part.cwd()), (stage.kind != Kind::Python, Some("/work")));
        assert_eq!(config, object(json!({"max_iterations": 9, "_branched_from": "from"})));
        assert_eq!((part.model.as_deref(), part.system_prompt.as_deref()), (Some("m"), Some("Be brief.")));
        assert_eq!(part.title.as_deref(), Some("Notion #3"), "after Notion and Notion #2");
        let found = stage.store.list(ours(), ListOrder::Started, 9, 0).await.expect("read");
        let found: BTreeSet<&str> = found.iter().map(|summary| summary.session.id.as_str()).collect();
        assert_eq!(found, BTreeSet::from(["part", "whole"]), "the source is a sub-agent, its branches are not");
    }
}

#[tokio::test]
async fn a_branch_needs_a_live_message_and_a_new_name() {
    for stage in Stage::every().await {
        let (from, other) = (stage.session("from").await, stage.session("other").await);
        let say = async |id: &SessionId| {
            stage.store.append(id, vec![Message::user("x").into()]).await.expect("kept").remove(0)
        };
        let (mine, foreign, undone) = (say(&from).await, say(&other).await, say(&from).await);
        stage.store.rewind(&from, undone).await.expect("taken back");
        let branch = async |from: &str, id: &str, upto| {
            stage.store.branch(&sid(from), NewSession::new(sid(id), OURS), upto).await
        };
        for message in [foreign, undone, MessageId(0)] {
            let refused = Err(StoreError::NoMessage { session: from.clone(), message });
            assert_eq!(branch("from", "new", Some(message)).await, refused, "{:?}", stage.kind);
        }
        assert_eq!(branch("nobody", "new", None).await, Err(StoreError::NoSession("nobody".into())));
        assert_eq!(branch("from", "other", None).await, Err(StoreError::Exists(sid("other"))));
        assert_eq!(branch("from", "from", None).await, Err(StoreError::Circle(sid("from"))));
        assert_eq!(stage.store.session(&sid("new")).await, Ok(None), "nothing of it was kept");
        branch("from", "new", Some(mine)).await.expect("branched");
    }
}

/// A row as any program might have written it.
#[derive(Debug, Clone)]
struct Wild {
    parent: Option<usize>,
    end_reason: Option<&'static str>,
    config: Option<&'static str>,
    source: &'static str,
    started: i32,
}

fn wild() -> impl Strategy<Value = Wild> {
    let reason = proptest::sample::select(vec![None, Some("compression"), Some("compression"), Some("branched")]);
    let config = proptest::sample::select(vec![
        None,
        None,
        Some("{\"_branched_from\": \"0\"}"),
        Some("{\"_delegate_from\": \"0\"}"),
        Some("{\"_delegate_from\": null}"),
        Some("[1"),
    ]);
    let source = proptest::sample::select(vec!["cli", "cli", "cli", "tool", "subagent"]);
    // A place beyond the last row is a parent that is gone.
    (proptest::option::of(0..9_usize), reason, config, source, 0..4)
        .prop_map(|(parent, end_reason, config, source, started)| Wild { parent, end_reason, config, source, started })
}

fn lay(raw: &Connection, rows: &[Wild]) {
    raw.execute("DELETE FROM sessions", []).expect("emptied");
    let insert = "INSERT INTO sessions(id, source, started_at, ended_at, end_reason, parent_session_id, model_config)
                  VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    for (place, wild) in rows.iter().enumerate() {
        let parent = wild.parent.map(|parent| parent.to_string());
        let ended = wild.end_reason.map(|_| wild.started + 1);
        let values = (place.to_string(), wild.source, wild.started, ended, wild.end_reason, parent, wild.config);
        raw.execute(insert, values).expect("a row");
    }
}

/// The rows that are tied to `place` by parents, however far.
fn tied(rows: &[Wild], place: usize) -> BTreeSet<String> {
    let mut family = BTreeSet::from([place]);
    loop {
        let before = family.len();
        for (child, wild) in rows.iter().enumerate() {
            if let Some(parent) = wild.parent.filter(|parent| *parent < rows.len())
                && (family.contains(&parent) || family.contains(&child))
            {
                family.extend([parent, child]);
            }
        }
        if family.len() == before {
            return family.iter().map(ToString::to_string).collect();
        }
    }
}

#[test]
fn whatever_the_parents_are_every_walk_ends() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let stage = runtime.block_on(Stage::of(Kind::New));
    let raw = stage.look();
    raw.execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF").expect("set");
    let told = cases(64).run(&vec(wild(), 1..8), |rows| {
        lay(&raw, &rows);
        for place in 0..rows.len() {
            let id = sid(&place.to_string());
            let family = runtime.block_on(stage.store.lineage(&id)).expect("a family");
            let mut told = HashSet::new();
            for (nth, relative) in family.iter().enumerate() {
                prop_assert_eq!(relative.parent.is_none(), nth == 0, "one beginning: {:?}", family);
                prop_assert_eq!(relative.kinship == Kinship::Root, nth == 0);
                prop_assert!(relative.parent.as_ref().is_none_or(|parent| told.contains(parent)), "{:?}", family);
                prop_assert!(told.insert(relative.id.clone()), "told twice: {:?}", family);
            }
            let told: BTreeSet<String> = told.iter().map(ToString::to_string).collect();
            prop_assert_eq!(told.clone(), tied(&rows, place));
            let tip = runtime.block_on(stage.store.tip(&id)).expect("a tip");
            prop_assert!(told.contains(tip.as_str()));
            prop_assert_eq!(runtime.block_on(said(&stage.store, &id, Span::WithAncestors)), Ok(vec![]));
        }
        for order in [ListOrder::Started, ListOrder::LastActive] {
            let all = SessionFilter { all: true, ..SessionFilter::default() };
            let all = runtime.block_on(stage.store.list(all, order, 100, 0)).expect("a list");
            prop_assert_eq!(all.len(), rows.len());
            let list = runtime.block_on(stage.store.list(SessionFilter::default(), order, 100, 0)).expect("a list");
            let ids: HashSet<&SessionId> = list.iter().map(|summary| &summary.session.id).collect();
            prop_assert_eq!(ids.len(), list.len(), "shown twice");
        }
        Ok(())
    });
    assert_eq!(told.map_err(|error| error.to_string()), Ok(()));
}
