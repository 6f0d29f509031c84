//! What is removed is gone with everything about it, and nothing else is.

use crate::sessions::{begin, end, ours, say, sid};
use crate::stage::{Kind, Stage};
use hermes_core::store::{Sessions, Transcript};
use hermes_types::{Message, NewMessage, Pruned, SessionFilter, SessionId};

/// Rows about a session in every table that may have some.
fn traces(stage: &Stage, id: &str) -> Vec<String> {
    let raw = stage.look();
    let tables = [
        "messages",
        "hermes_effects",
        "hermes_turns",
        "hermes_compressions",
        "hermes_rests",
        "hermes_exchanges",
        "hermes_calls",
    ];
    let mut found: Vec<String> = tables
        .into_iter()
        .filter(|table| {
            let sql = format!("SELECT count(*) FROM {table} WHERE session_id = ?1");
            raw.query_row(&sql, [id], |row| row.get::<_, i64>(0)).expect("a count") > 0
        })
        .map(str::to_owned)
        .collect();
    let loose = "SELECT count(*) FROM hermes_message_extra WHERE message_id NOT IN (SELECT id FROM messages)";
    let loose: i64 = raw.query_row(loose, [], |row| row.get(0)).expect("a count");
    if loose > 0 {
        found.push("hermes_message_extra".into());
    }
    let marks = "SELECT count(*) FROM hermes_meta WHERE key LIKE '%' || ?1 || '%'";
    let marks: i64 = raw.query_row(marks, [id], |row| row.get(0)).expect("a count");
    if marks > 0 {
        found.push("hermes_meta".into());
    }
    found
}

/// Leaves a row in each of our tables.
fn leave_traces(stage: &Stage, id: &str) {
    stage
        .look()
        .execute_batch(&format!(
            "INSERT INTO hermes_meta(key, value) VALUES('turn:{id}', '1 killed');
             INSERT INTO hermes_effects(session_id, call_id, tool, state, started_at) VALUES('{id}', 'c', 't', 'begun', 1);
             INSERT INTO hermes_turns(session_id, started_at, ended_at, exit_reason, model_calls, tool_calls)
                 VALUES('{id}', 1, 2, 'answered', 1, 0);
             INSERT INTO hermes_compressions(session_id, at, tokens_before, tokens_after, took_ms, phase, cause)
                 VALUES('{id}', 1, 2, 1, 1, 'full', 'size');
             INSERT INTO hermes_rests(session_id, failures) VALUES('{id}', 1);
             INSERT INTO hermes_exchanges(session_id, at, task, provider, model, mode, url, shared, digest, target, answer, tail)
                 VALUES('{id}', 1, '', '', '', '', '', 0, x'', '{{}}', 'null', x'');
             INSERT INTO hermes_calls(session_id, at, provider, base_url, billing_mode, model, task, input_tokens,
                 output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_status, cost_source, took_ms)
                 VALUES('{id}', 1, '', '', '', '', '', 1, 1, 0, 0, 0, 'unknown', '', 1);"
        ))
        .expect("rows");
}

async fn there(stage: &Stage, ids: &[&str]) -> Vec<String> {
    let mut there = Vec::new();
    for id in ids {
        if let Some(session) = stage.store.session(&sid(id)).await.expect("read") {
            there.push(format!("{id}<-{}", session.parent.as_ref().map_or("", SessionId::as_str)));
        }
    }
    there
}

#[tokio::test]
async fn a_session_goes_with_its_sub_agents_and_the_rest_of_its_family_stays() {
    for stage in Stage::every().await {
        begin(&stage, "root", 1.0, None, None).await;
        let mut odd = NewMessage::from(Message::user("with something beside the columns"));
        odd.sent = Some("sent".into());
        stage.store.append(&sid("root"), vec![odd]).await.expect("kept");
        leave_traces(&stage, "root");
        begin(&stage, "helper", 2.0, Some("root"), Some("_delegate_from")).await;
        say(&stage, "helper", 2.0, "help").await;
        end(&stage, "helper", "compression").await;
        begin(&stage, "helper2", 3.0, Some("helper"), None).await;
        begin(&stage, "helpers_helper", 3.0, Some("helper"), Some("_delegate_from")).await;
        begin(&stage, "helpers_branch", 4.0, Some("helper"), Some("_branched_from")).await;
        begin(&stage, "unmarked", 4.0, Some("root"), None).await;
        begin(&stage, "branch", 5.0, Some("root"), Some("_branched_from")).await;
        begin(&stage, "branchs_helper", 6.0, Some("branch"), Some("_delegate_from")).await;
        assert_eq!(stage.store.delete(&sid("root")).await, Ok(true), "{:?}", stage.kind);
        let all =
            ["root", "helper", "helper2", "helpers_helper", "helpers_branch", "unmarked", "branch", "branchs_helper"];
        let left = ["helpers_branch<-", "unmarked<-", "branch<-", "branchs_helper<-branch"];
        assert_eq!(there(&stage, &all).await, left, "{:?}", stage.kind);
        assert_eq!(traces(&stage, "root"), ["hermes_calls"], "what was spent stays spent");
        assert_eq!(traces(&stage, "helper"), [""; 0]);
        assert_eq!(stage.store.delete(&sid("root")).await, Ok(false), "gone already");
        let raw = stage.look();
        let check = if stage.kind == Kind::Python { "optimize" } else { "integrity-check" };
        raw.execute("INSERT INTO messages_fts(messages_fts) VALUES(?1)", [check]).expect("the index is whole");
        let broken = raw.prepare("PRAGMA foreign_key_check").expect("a check").exists([]).expect("an answer");
        assert!(!broken, "{:?}", stage.kind);
    }
}

#[tokio::test]
async fn a_compressed_conversation_goes_as_a_whole_whichever_link_is_named() {
    for named in ["first", "second", "third"] {
        for stage in Stage::every().await {
            for (id, second, parent) in
                [("first", 1.0, None), ("second", 2.0, Some("first")), ("third", 3.0, Some("second"))]
            {
                begin(&stage, id, second, parent, None).await;
                say(&stage, id, second, "x").await;
                if id != "third" {
                    end(&stage, id, "compression").await;
                }
            }
            begin(&stage, "helper", 2.0, Some("second"), Some("_delegate_from")).await;
            begin(&stage, "branch", 2.0, Some("second"), Some("_branched_from")).await;
            assert_eq!(stage.store.delete(&sid(named)).await, Ok(true), "{:?}", stage.kind);
            let left = there(&stage, &["first", "second", "third", "helper", "branch"]).await;
            assert_eq!(left, ["branch<-"], "{named} in {:?}", stage.kind);
        }
    }
}

#[tokio::test]
async fn what_was_abandoned_goes_only_when_it_is_meant() {
    for stage in Stage::every().await {
        begin(&stage, "killed", 1.0, None, None).await;
        say(&stage, "killed", 2.0, "and then the lights went out").await;
        begin(&stage, "quiet", 1.0, None, None).await;
        stage.session("now").await;
        stage.store.append(&sid("quiet"), vec![Message::user("said just now").into()]).await.expect("kept");
        let pruned = async |filter| stage.store.prune(filter, true).await.expect("told").sessions;
        assert_eq!(pruned(ours()).await, [], "{:?}", stage.kind);
        let abandoned = SessionFilter { abandoned_too: true, ..ours() };
        assert_eq!(pruned(abandoned.clone()).await, [sid("killed")], "{:?}", stage.kind);
        let earlier = SessionFilter { started_before: Some(hermes_types::Moment::from_seconds(2.0)), ..abandoned };
        assert_eq!(pruned(earlier).await, [], "last active at the cut: {:?}", stage.kind);
    }
}

#[tokio::test]
async fn only_a_session_nobody_used_is_empty() {
    for stage in Stage::every().await {
        for id in ["empty", "said", "undone", "named", "parent"] {
            begin(&stage, id, 1.0, None, None).await;
        }
        say(&stage, "said", 2.0, "x").await;
        say(&stage, "undone", 2.0, "x").await;
        let undone = stage.store.messages(&sid("undone")).await.expect("read").remove(0).id;
        stage.store.rewind(&sid("undone"), undone).await.expect("taken back");
        stage.store.rename(&sid("named"), "A name").await.expect("named");
        begin(&stage, "child", 2.0, Some("parent"), None).await;
        let mut removed = Vec::new();
        for id in ["empty", "said", "undone", "named", "parent", "nobody"] {
            if stage.store.delete_if_empty(&sid(id)).await.expect("an answer") {
                removed.push(id);
            }
        }
        assert_eq!(removed, ["empty"], "{:?}", stage.kind);
        assert_eq!(stage.store.session(&sid("empty")).await, Ok(None));
    }
}

#[tokio::test]
async fn pruning_removes_what_ended_and_says_so_before() {
    for stage in Stage::every().await {
        begin(&stage, "root", 1.0, None, None).await;
        say(&stage, "root", 2.0, "a").await;
        say(&stage, "root", 3.0, "b").await;
        end(&stage, "root", "compression").await;
        begin(&stage, "middle", 2.0, Some("root"), None).await;
        end(&stage, "middle", "compression").await;
        begin(&stage, "last", 3.0, Some("middle"), None).await;
        begin(&stage, "young", 9.0, None, None).await;
        end(&stage, "young", "cli_close").await;
        begin(&stage, "lively", 1.0, None, None).await;
        say(&stage, "lively", 10.0, "began long ago, and was used since").await;
        end(&stage, "lively", "cli_close").await;
        let old = SessionFilter { started_before: Some(hermes_types::Moment::from_seconds(9.0)), ..ours() };
        let none = stage.store.prune(old.clone(), false).await;
        assert_eq!(none, Ok(Pruned::default()), "a conversation that goes on is not cut: {:?}", stage.kind);
        end(&stage, "last", "cli_close").await;
        let expected = Pruned { sessions: vec![sid("root"), sid("middle"), sid("last")], messages: 2 };
        assert_eq!(stage.store.prune(old.clone(), true).await.as_ref(), Ok(&expected), "{:?}", stage.kind);
        let all = ["root", "middle", "last", "young", "lively"];
        assert_eq!(there(&stage, &all).await.len(), 5, "a rehearsal removes nothing");
        assert_eq!(stage.store.prune(old.clone(), false).await, Ok(expected), "{:?}", stage.kind);
        assert_eq!(there(&stage, &all).await, ["young<-", "lively<-"]);
        assert_eq!(traces(&stage, "root"), [""; 0]);
        assert_eq!(stage.store.prune(old, false).await, Ok(Pruned::default()));
    }
}

#[tokio::test]
async fn pruning_means_what_it_means_to_the_python_program() {
    let stage = Stage::of(Kind::Python).await;
    let prune = async |filter| {
        let pruned = stage.store.prune(filter, true).await.expect("told");
        pruned.sessions.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let expected = [
        "20251009_085320_aa0001",
        // It would remove the first two links of a conversation that goes on (bb0001 to bb0003) too.
        "20251009_101000_ee0001",
        "20251009_103000_ff0001",
        "20251009_103001_ff0002",
        "cron_job1_20251009_110000",
    ];
    assert_eq!(prune(SessionFilter::default()).await, expected, "an archived session is kept");
    let all = prune(SessionFilter { all: true, ..SessionFilter::default() }).await;
    assert_eq!(all.last().map(String::as_str), Some("20251009_112000_ab0002"), "unless all are meant");
}
