//! What was spent is written down everywhere it belongs, once.

use crate::stage::{Kind, Stage};
use hermes_core::store::{Ledger, Sessions, StoreError, Transcript};
use hermes_types::{
    CallId, CallRecord, CompressionRecord, Cost, CostStatus, EffectRecord, EffectState, Message, Moment, NewSession,
    Object, SessionId, Spent, SummaryRest, TurnRecord, Usage, UsageRow, Usd,
};
use rusqlite::Connection;
use std::time::Duration;

const NOON: f64 = 1_790_000_000.0;

fn usd(pico: i64) -> Option<Usd> {
    Some(Usd::from_pico(pico))
}

/// A call of `a` with 10 in, 5 out, 3 + 2 cached, 1 of reasoning, for a millicent.
fn call(session: &SessionId) -> CallRecord {
    CallRecord {
        session: session.clone(),
        at: Moment::from_seconds(NOON),
        provider: "openrouter".into(),
        base_url: "https://openrouter.ai/api/v1".into(),
        billing_mode: "api_key".into(),
        model: "a".into(),
        task: String::new(),
        usage: Usage {
            input: 10,
            output: 5,
            cache_read: 3,
            cache_write: 2,
            cache_write_1h: 0,
            reasoning: 1,
            cost: None,
        },
        cost: Cost {
            estimated: usd(10_000_000),
            actual: None,
            status: CostStatus::Estimated,
            source: "catalog".into(),
            pricing_version: Some("p1".into()),
        },
        took: Duration::from_millis(1_500),
        facts: Object::new(),
    }
}

fn row(model: &str, task: &str, calls: u64, input: u64, estimated: Option<Usd>) -> UsageRow {
    UsageRow {
        model: model.into(),
        provider: "openrouter".into(),
        task: task.into(),
        calls,
        usage: Usage {
            input,
            output: 5 * calls,
            cache_read: 3 * calls,
            cache_write: 2 * calls,
            cache_write_1h: 0,
            reasoning: calls,
            cost: None,
        },
        estimated_cost_usd: estimated,
        actual_cost_usd: None,
    }
}

fn texts(file: &Connection, sql: &str) -> Vec<String> {
    let mut statement = file.prepare(sql).expect("sql");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    rows.collect::<Result<_, _>>().expect("text")
}

#[tokio::test]
async fn calls_become_sums_of_the_session_and_side_calls_do_not() {
    for mut stage in Stage::every().await {
        let id = SessionId::new("spender");
        let asked_for = NewSession { model: Some("wished".into()), ..NewSession::new(id.clone(), "cli") };
        stage.store.create(asked_for).await.expect("a session");
        let side = CallRecord { model: "small".into(), task: "vision".into(), ..call(&id) };
        let other = CallRecord { model: "b".into(), provider: "nous".into(), cost: Cost::default(), ..call(&id) };
        for call in [side, call(&id), other, call(&id)] {
            stage.store.record_call(call).await.expect("kept");
        }
        stage.reopen().await;
        let session = stage.store.session(&id).await.expect("read").expect("there");
        let sum =
            Usage { input: 30, output: 15, cache_read: 9, cache_write: 6, cache_write_1h: 0, reasoning: 3, cost: None };
        assert_eq!(session.usage, sum, "{:?}", stage.kind);
        assert_eq!(session.model.as_deref(), Some("a"), "the first that answered, not the one wished for");
        let billing = serde_json::to_value(&session.billing).expect("json");
        let expected = serde_json::json!({"billing_provider": "openrouter",
            "billing_base_url": "https://openrouter.ai/api/v1", "billing_mode": "api_key", "estimated_cost_usd": 0.00002,
            "actual_cost_usd": null, "cost_status": "estimated", "cost_source": "catalog", "pricing_version": "p1"});
        assert_eq!(billing, expected);
        let rows = stage.store.usage(Some(&id)).await.expect("read");
        let b = UsageRow { provider: "nous".into(), ..row("b", "", 1, 10, None) };
        let expected = [row("a", "", 2, 20, usd(20_000_000)), b, row("small", "vision", 1, 10, usd(10_000_000))];
        assert_eq!(rows, expected, "{:?}", stage.kind);
    }
}

#[tokio::test]
async fn the_other_program_finds_its_sums_by_model_true() {
    let stage = Stage::of(Kind::Python).await;
    let id = stage.session("spender").await;
    let side = CallRecord { model: String::new(), task: "vision".into(), cost: Cost::default(), ..call(&id) };
    let paid = CallRecord {
        at: Moment::from_seconds(NOON + 60.0),
        cost: Cost { actual: usd(2_000_000), status: CostStatus::Actual, source: "provider".into(), ..Cost::default() },
        ..call(&id)
    };
    for call in [call(&id), paid, side] {
        stage.store.record_call(call).await.expect("kept");
    }
    let sql = "SELECT printf('%s %s %s %s %s: %d calls, %d %d %d %d %d tokens, %.6f %.6f %s %s, %.0f-%.0f', model,
            billing_provider, billing_base_url, billing_mode, task, api_call_count, input_tokens, output_tokens,
            cache_read_tokens, cache_write_tokens, reasoning_tokens, estimated_cost_usd, actual_cost_usd, cost_status,
            cost_source, first_seen, last_seen) FROM session_model_usage WHERE session_id = 'spender' ORDER BY model";
    let place = "openrouter https://openrouter.ai/api/v1 api_key";
    let expected = [
        format!("a {place} : 2 calls, 20 10 6 4 2 tokens, 0.000010 0.000002 actual provider, 1790000000-1790000060"),
        format!(
            "unknown {place} vision: 1 calls, 10 5 3 2 1 tokens, 0.000000 0.000000 unknown , 1790000000-1790000000"
        ),
    ];
    assert_eq!(texts(&stage.look(), sql), expected);
    let counted = texts(&stage.look(), "SELECT CAST(api_call_count AS TEXT) FROM sessions WHERE id = 'spender'");
    assert_eq!(counted, ["2"]);
}

#[tokio::test]
async fn a_session_both_programs_worked_on_is_counted_once() {
    let stage = Stage::of(Kind::Python).await;
    let id = SessionId::new("20251009_085320_aa0001");
    let before = stage.store.usage(Some(&id)).await.expect("read");
    let model = |name: &str, task: &str, calls, usage, pico| UsageRow {
        model: name.into(),
        provider: "openrouter".into(),
        task: task.into(),
        calls,
        usage,
        estimated_cost_usd: pico,
        actual_cost_usd: None,
    };
    let tokens = |input, output, cache_read, cache_write, reasoning| Usage {
        input,
        output,
        cache_read,
        cache_write,
        cache_write_1h: 0,
        reasoning,
        cost: None,
    };
    let a = model("test/model-a", "", 2, tokens(1200, 80, 300, 40, 20), usd(12_300_000_000));
    let b = model("test/model-b", "", 1, tokens(100, 10, 0, 0, 0), usd(1_000_000_000));
    let compression = model("test/small", "compression", 1, tokens(500, 60, 7, 0, 3), None);
    let title = model("test/small", "title_generation", 1, tokens(50, 6, 0, 0, 0), usd(100_000_000));
    assert_eq!(before, [a.clone(), compression.clone(), b.clone(), title.clone()]);

    // We go on with one of its models and with one of our own.
    let same = CallRecord { model: "test/model-b".into(), ..call(&id) };
    for call in [call(&id), same] {
        stage.store.record_call(call).await.expect("kept");
    }
    let after = stage.store.usage(Some(&id)).await.expect("read");
    let b = model("test/model-b", "", 2, tokens(110, 15, 3, 2, 1), usd(1_010_000_000));
    let ours = model("a", "", 1, tokens(10, 5, 3, 2, 1), usd(10_000_000));
    assert_eq!(after, [a.clone(), compression.clone(), b.clone(), title.clone(), ours.clone()]);

    // Then it sets the session's columns to a sum that its rows by model do not know.
    stage
        .look()
        .execute("UPDATE sessions SET input_tokens = input_tokens + 7 WHERE id = ?1", [id.as_str()])
        .expect("set");
    let last = stage.store.usage(Some(&id)).await.expect("read");
    let named = model("test/model-a", "", 2, tokens(1207, 80, 300, 40, 20), usd(12_300_000_000));
    assert_eq!(last, [named, compression, b, title, ours]);
}

#[tokio::test]
async fn what_was_spent_stays_spent_and_all_sessions_are_one_sum() {
    let stage = Stage::of(Kind::New).await;
    let (kept, gone) = (stage.session("kept").await, stage.session("gone").await);
    for id in [&kept, &gone] {
        stage.store.record_call(call(id)).await.expect("kept");
    }
    stage.look().execute("DELETE FROM sessions WHERE id = 'gone'", []).expect("removed");
    assert_eq!(stage.store.usage(None).await, Ok(vec![row("a", "", 2, 20, usd(20_000_000))]));
    assert_eq!(stage.store.usage(Some(&gone)).await, Ok(vec![row("a", "", 1, 10, usd(10_000_000))]));
}

#[tokio::test]
async fn nothing_is_written_about_a_session_nobody_knows() {
    for stage in Stage::every().await {
        let nowhere = SessionId::new("nowhere");
        let refused = Err(StoreError::NoSession("nowhere".into()));
        let at = Moment::from_seconds(NOON);
        assert_eq!(stage.store.record_call(call(&nowhere)).await, refused);
        assert_eq!(stage.store.record_turn(turn(&nowhere)).await, refused);
        assert_eq!(stage.store.record_compression(compression(&nowhere)).await, refused);
        assert_eq!(stage.store.begin_effect(effect(&nowhere, "c1", NOON)).await, refused);
        assert_eq!(stage.store.end_effect(&nowhere, &CallId::new("c1"), EffectState::Done, at).await, refused);
        for table in ["calls", "turns", "compressions", "effects"] {
            let rows = texts(&stage.look(), &format!("SELECT session_id FROM hermes_{table}"));
            assert_eq!(rows, [""; 0], "{table} of {:?}", stage.kind);
        }
    }
}

fn turn(session: &SessionId) -> TurnRecord {
    TurnRecord {
        session: session.clone(),
        started_at: Moment::from_seconds(NOON),
        ended_at: Moment::from_seconds(NOON + 2.5),
        exit_reason: "failed".into(),
        model_calls: 3,
        tool_calls: 2,
        error: Some("the line went dead".into()),
    }
}

fn compression(session: &SessionId) -> CompressionRecord {
    CompressionRecord {
        session: session.clone(),
        child: Some(SessionId::new("child")),
        at: Moment::from_seconds(NOON),
        messages_before: 120,
        messages_after: 24,
        tokens_before: 100_000,
        tokens_after: 20_000,
        took: Duration::from_millis(900),
        model: Some("small".into()),
        phase: "summary".into(),
        trigger: "threshold".into(),
        stopped: None,
    }
}

#[tokio::test]
async fn turns_and_compressions_are_on_record() {
    for stage in Stage::every().await {
        let id = stage.session("busy").await;
        stage.store.record_turn(turn(&id)).await.expect("kept");
        stage.store.record_compression(compression(&id)).await.expect("kept");
        let turns =
            "SELECT session_id || ' ' || (ended_at - started_at) || ' ' || exit_reason || ' ' || model_calls || ' '
            || tool_calls || ' ' || error FROM hermes_turns";
        assert_eq!(texts(&stage.look(), turns), ["busy 2.5 failed 3 2 the line went dead"]);
        assert_eq!(stage.store.compressions(&id).await, Ok(vec![compression(&id)]), "{:?}", stage.kind);
    }
}

#[tokio::test]
async fn the_compressions_of_a_conversation_are_those_of_all_its_sessions() {
    for stage in Stage::every().await {
        let (old, new) = (stage.session("old").await, SessionId::new("new"));
        let upto = stage.store.append(&old, vec![Message::user("hi").into()]).await.expect("kept").remove(0);
        let went_on = CompressionRecord { child: Some(new.clone()), ..compression(&old) };
        stage.store.record_compression(went_on.clone()).await.expect("kept");
        stage.store.go_on_in(&old, NewSession::new(new.clone(), "cli"), upto, vec![]).await.expect("gone on");
        let in_vain = CompressionRecord {
            child: None,
            tokens_after: 100_000,
            model: None,
            phase: "prune".into(),
            stopped: Some("nothing could be left out".into()),
            ..compression(&new)
        };
        stage.store.record_compression(in_vain.clone()).await.expect("kept");
        assert_eq!((went_on.saved(), in_vain.saved()), (Some(80_000), None));
        assert_eq!(stage.store.compressions(&old).await, Ok(vec![went_on.clone()]), "{:?}", stage.kind);
        assert_eq!(stage.store.compressions(&new).await, Ok(vec![went_on, in_vain]), "{:?}", stage.kind);
        let nobody = SessionId::new("nobody");
        assert_eq!(stage.store.compressions(&nobody).await, Err(StoreError::NoSession("nobody".into())));
        let ever = (Moment::from_seconds(0.0), Moment::from_seconds(1e10));
        let insights = stage.store.insights(ever.0, ever.1, Some("cli")).await.expect("counted");
        assert_eq!((insights.compressions, insights.compression_tokens_saved), (1, 80_000), "{:?}", stage.kind);
    }
}

#[tokio::test]
async fn a_table_of_compressions_from_before_is_read_and_gone_on_with() {
    let mut stage = Stage::of(Kind::New).await;
    let id = stage.session("busy").await;
    stage.store.record_compression(compression(&id)).await.expect("kept");
    stage.store.close().await;
    let older = "ALTER TABLE hermes_compressions DROP COLUMN messages_before;
        ALTER TABLE hermes_compressions DROP COLUMN messages_after;
        ALTER TABLE hermes_compressions DROP COLUMN stopped;
        DROP TABLE hermes_rests;
        UPDATE hermes_meta SET value = 3 WHERE key = 'private_version';";
    stage.look().execute_batch(older).expect("an older file");
    stage.reopen().await;
    let before = CompressionRecord { messages_before: 0, messages_after: 0, ..compression(&id) };
    assert_eq!(stage.store.compressions(&id).await, Ok(vec![before.clone()]));
    stage.store.record_compression(compression(&id)).await.expect("kept");
    assert_eq!(stage.store.compressions(&id).await, Ok(vec![before, compression(&id)]));
}

#[tokio::test]
async fn every_program_knows_how_long_no_summary_is_asked_for_and_so_does_the_session_after() {
    for mut stage in Stage::every().await {
        let (old, new) = (stage.session("old").await, SessionId::new("new"));
        assert_eq!(stage.store.summary_rest(&old).await, Ok(SummaryRest::default()), "{:?}", stage.kind);
        let until = Some(Moment::from_seconds(NOON + 60.0));
        let rest = SummaryRest { until, failures: 2, reason: Some("the line went dead".into()) };
        stage.store.set_summary_rest(&old, rest.clone()).await.expect("kept");
        stage.reopen().await;
        assert_eq!(stage.store.summary_rest(&old).await, Ok(rest.clone()), "{:?}", stage.kind);

        let upto = stage.store.append(&old, vec![Message::user("hi").into()]).await.expect("kept").remove(0);
        stage.store.go_on_in(&old, NewSession::new(new.clone(), "cli"), upto, vec![]).await.expect("gone on");
        assert_eq!(stage.store.summary_rest(&new).await, Ok(rest), "{:?}", stage.kind);
        stage.store.set_summary_rest(&new, SummaryRest::default()).await.expect("kept");
        assert_eq!(stage.store.summary_rest(&new).await, Ok(SummaryRest::default()), "{:?}", stage.kind);

        let nobody = SessionId::new("nobody");
        let refused = StoreError::NoSession("nobody".into());
        assert_eq!(stage.store.summary_rest(&nobody).await, Err(refused.clone()));
        assert_eq!(stage.store.set_summary_rest(&nobody, SummaryRest::default()).await, Err(refused));
    }
}

fn effect(session: &SessionId, call: &str, at: f64) -> EffectRecord {
    EffectRecord {
        session: session.clone(),
        call: CallId::new(call),
        tool: "terminal".into(),
        started_at: Moment::from_seconds(at),
        ended_at: None,
        state: EffectState::Begun,
    }
}

#[tokio::test]
async fn effects_that_never_ended_are_found_after_a_crash() {
    for mut stage in Stage::every().await {
        let id = stage.session("doer").await;
        for (call, at) in [("late", 2.0), ("early", 1.0), ("done", 3.0), ("failed", 4.0)] {
            stage.store.begin_effect(effect(&id, call, NOON + at)).await.expect("kept");
        }
        let end = |store: hermes_store::SqliteStore, call: &'static str, state| {
            let id = id.clone();
            async move { store.end_effect(&id, &CallId::new(call), state, Moment::from_seconds(NOON + 9.0)).await }
        };
        assert_eq!(end(stage.store.clone(), "done", EffectState::Done).await, Ok(()));
        assert_eq!(end(stage.store.clone(), "failed", EffectState::Failed).await, Ok(()));
        let reason = "the call never of session doer ends without having begun".to_owned();
        assert_eq!(end(stage.store.clone(), "never", EffectState::Done).await, Err(StoreError::Failed(reason)));
        stage.reopen().await;
        let open = [effect(&id, "early", NOON + 1.0), effect(&id, "late", NOON + 2.0)];
        assert_eq!(stage.store.open_effects(&id).await.as_deref(), Ok(open.as_slice()), "{:?}", stage.kind);
        // Told to the model, they are not open any more; a call id used again is a new effect.
        for call in ["early", "late"] {
            assert_eq!(end(stage.store.clone(), call, EffectState::Unknown).await, Ok(()));
        }
        assert_eq!(stage.store.open_effects(&id).await, Ok(Vec::new()));
        stage.store.begin_effect(effect(&id, "early", NOON + 20.0)).await.expect("kept");
        assert_eq!(stage.store.open_effects(&id).await, Ok(vec![effect(&id, "early", NOON + 20.0)]));
    }
}

#[tokio::test]
async fn what_was_spent_since_a_moment_tells_what_it_does_not_know() {
    for stage in Stage::every().await {
        let (id, other) = (stage.session("spender").await, stage.session("other").await);
        let at = |seconds: f64, call: CallRecord| CallRecord { at: Moment::from_seconds(NOON + seconds), ..call };
        let free = Cost { status: CostStatus::Included, ..Cost::default() };
        let billed = Cost { actual: usd(7_000_000), ..call(&id).cost };
        let calls = [
            at(0.0, call(&id)),
            at(1.0, call(&id)),
            at(2.0, CallRecord { cost: billed, task: "vision".into(), ..call(&other) }),
            at(3.0, CallRecord { cost: free, ..call(&id) }),
            at(4.0, CallRecord { cost: Cost::default(), ..call(&id) }),
            at(5.0, CallRecord { cost: Cost::default(), usage: Usage::default(), ..call(&id) }),
        ];
        for call in calls {
            stage.store.record_call(call).await.expect("kept");
        }
        let since = async |seconds: f64| stage.store.spent(Moment::from_seconds(NOON + seconds)).await;
        let expected = Spent {
            calls: 5,
            tokens: 4 * 20,
            cost: Usd::from_pico(17_000_000),
            unpriced: 1,
            estimated: 2,
            included: 1,
        };
        assert_eq!(since(1.0).await, Ok(expected), "{:?}", stage.kind);
        stage.store.delete(&other).await.expect("deleted");
        assert_eq!(since(1.0).await, Ok(expected), "what was spent stays spent");
        assert_eq!(since(6.0).await, Ok(Spent::default()), "{:?}", stage.kind);
    }
}
