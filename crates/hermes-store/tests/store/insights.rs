//! The numbers of a period, on every kind of file.

use crate::stage::{Kind, Stage};
use hermes_core::store::{Ledger, Sessions, Transcript};
use hermes_types::{
    CallRecord, Cost, CostStatus, EndReason, Insights, Message, Moment, NewMessage, NewSession, Object, SessionId,
    TurnRecord, Usage, Usd,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn at(seconds: f64) -> Moment {
    Moment::from_seconds(seconds)
}

fn as_json(insights: &Insights) -> Value {
    serde_json::to_value(insights).expect("json")
}

/// Counted by hand from fixtures/make_v22.py. The Python program says of the same file: 15 sessions, 45 messages (its
/// counters of live messages forget the six that were summarised away and still hold the two that were taken back), 25
/// messages of people (it counts the summarised and the undone one), 4 tool calls (its counter lost the summarised one,
/// while its own list of tools has all 5), 3,222 tokens, 12 s of activity.
#[tokio::test]
async fn the_file_of_the_python_program_has_these_numbers() {
    let stage = Stage::of(Kind::Python).await;
    let insights = stage.store.insights(at(1_759_000_000.0), at(1_761_000_000.0), None).await.expect("read");
    let model = |model: &str, provider: &str, task: &str, sessions: u64, calls: u64, tokens: [u64; 5], cost: Value| {
        let [input, output, read, write, reasoning] = tokens;
        json!({"model": model, "provider": provider, "task": task, "sessions": sessions, "calls": calls,
            "input_tokens": input, "output_tokens": output, "cache_read_tokens": read, "cache_write_tokens": write,
            "reasoning_tokens": reasoning, "estimated_cost_usd": cost, "actual_cost_usd": null, "cost_usd": cost})
    };
    let source = |name: &str, sessions: u64, messages: u64, tokens: u64| json!({"source": name, "sessions": sessions, "messages": messages, "tokens": tokens});
    let tools = ["delegate_task", "memory", "read_file", "terminal", "web_search"];
    let tools = tools.map(|name| json!({"name": name, "count": 1}));
    let expected = json!({
        "from": 1_759_000_000.0, "to": 1_761_000_000.0, "source": null,
        "sessions": 15, "messages": 49, "user_messages": 24, "tool_calls": 5,
        "input_tokens": 2640, "output_tokens": 235, "cache_read_tokens": 307, "cache_write_tokens": 40,
        "reasoning_tokens": 23, "estimated_cost_usd": 0.0134, "actual_cost_usd": null,
        "sessions_without_cost": 3, "sessions_included": 0, "active_seconds": 11.5, "ended_sessions": 8, "compressions": 0, "compression_tokens_saved": 0,
        "models": [
            model("test/model-a", "openrouter", "", 1, 2, [1200, 80, 300, 40, 20], json!(0.0123)),
            model("test/model-a", "anthropic", "", 1, 3, [700, 70, 0, 0, 0], json!(null)),
            model("test/small", "openrouter", "compression", 1, 1, [500, 60, 7, 0, 3], json!(null)),
            model("test/model-b", "openrouter", "", 1, 1, [100, 10, 0, 0, 0], json!(0.001)),
            model("test/model-a", "custom", "", 1, 1, [90, 9, 0, 0, 0], json!(null)),
            model("test/small", "openrouter", "title_generation", 1, 1, [50, 6, 0, 0, 0], json!(0.0001)),
        ],
        "sources": [
            source("cli", 11, 34, 2353), source("telegram", 1, 10, 770), source("subagent", 1, 2, 99),
            source("cron", 1, 2, 0), source("tool", 1, 1, 0),
        ],
        "tools": tools,
        "exit_reasons": [],
        "end_reasons": [{"name": "cli_close", "count": 2}, {"name": "compression", "count": 2},
            {"name": "agent_close", "count": 1}, {"name": "branched", "count": 1}, {"name": "cron_complete", "count": 1},
            {"name": "new_session", "count": 1}],
        "buckets": [{"start": 1_759_999_500.0, "sessions": 15, "messages": 49, "input_tokens": 2640,
            "output_tokens": 235, "cache_read_tokens": 307, "cache_write_tokens": 40, "reasoning_tokens": 23, "cost_usd": 0.0134}],
        "notable": [
            {"what": "longest", "session": "20251009_085320_aa0001", "title": "Deploy the parser", "value": 3.75},
            {"what": "most_messages", "session": "cc000001", "title": null, "value": 10.0},
            {"what": "most_tokens", "session": "20251009_085320_aa0001", "title": "Deploy the parser", "value": 2353.0},
            {"what": "most_tool_calls", "session": "20251009_085320_aa0001", "title": "Deploy the parser", "value": 3.0},
            {"what": "most_expensive", "session": "20251009_085320_aa0001", "title": "Deploy the parser",
                "value": 0.0134},
        ],
    });
    let (found, expected) = (as_json(&insights), expected);
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(found.get(key), Some(value), "{key}");
    }
    assert_eq!(found, expected);
}

const MONDAY: f64 = 1_790_553_600.0; // 2026-09-28 00:00 UTC

fn call(session: &SessionId, at: f64, cost: Cost) -> CallRecord {
    CallRecord {
        session: session.clone(),
        at: Moment::from_seconds(at),
        provider: "p".into(),
        base_url: String::new(),
        billing_mode: String::new(),
        model: "m".into(),
        task: String::new(),
        usage: Usage { input: 100, output: 10, ..Usage::default() },
        cost,
        took: Duration::from_secs(1),
        facts: Object::new(),
    }
}

fn cost(estimated: Option<i64>, actual: Option<i64>, status: CostStatus) -> Cost {
    let (estimated, actual) = (estimated.map(Usd::from_pico), actual.map(Usd::from_pico));
    Cost { estimated, actual, status, ..Cost::default() }
}

/// A message of a conversation at a time.
fn said(value: Value, seconds: f64) -> NewMessage {
    let message: Message = serde_json::from_value(value).expect("a message");
    NewMessage { at: Some(at(seconds)), ..message.into() }
}

/// One conversation with a tool that is asked twice and answers once, one that a subscription pays, one that nobody
/// knows the price of, and one before the period.
async fn a_busy_monday(stage: &Stage) {
    let store = &stage.store;
    for (name, source, hour) in
        [("busy", "cli", 9.0), ("paid", "cli", 10.0), ("dark", "telegram", 11.0), ("past", "cli", -1.0)]
    {
        let started_at = Some(at(MONDAY + hour * 3600.0));
        let new = NewSession { started_at, ..NewSession::new(SessionId::new(name), source) };
        store.create(new).await.expect("a session");
    }
    let [busy, paid, dark, past] = ["busy", "paid", "dark", "past"].map(SessionId::new);
    let nine = MONDAY + 9.0 * 3600.0;
    let calls = json!([{"id": "1", "type": "function", "function": {"name": "terminal", "arguments": "{}"}},
        {"id": "2", "type": "function", "function": {"name": "terminal", "arguments": "{}"}}]);
    let talk = vec![
        said(json!({"role": "user", "content": "go"}), nine),
        said(json!({"role": "assistant", "content": null, "tool_calls": calls}), nine + 1.0),
        said(json!({"role": "tool", "tool_call_id": "1", "name": "terminal", "content": "ok"}), nine + 899.0),
        said(json!({"role": "assistant", "content": "done"}), nine + 900.0),
        said(json!({"role": "user", "content": "a slip"}), nine + 901.0),
    ];
    let ids = store.append(&busy, talk).await.expect("kept");
    store.rewind(&busy, ids[4]).await.expect("taken back");
    let both = cost(Some(3_000_000), Some(2_000_000), CostStatus::Actual);
    store.record_call(call(&busy, nine + 1.0, both)).await.expect("kept");
    let computed = cost(Some(1_000_000), None, CostStatus::Estimated);
    store.record_call(call(&busy, nine + 900.0, computed)).await.expect("kept");
    store.record_call(call(&paid, nine + 3600.0, cost(None, None, CostStatus::Included))).await.expect("kept");
    store.record_call(call(&dark, nine + 7200.0, Cost::default())).await.expect("kept");
    store.record_call(call(&past, MONDAY - 3600.0, Cost::default())).await.expect("kept");
    for (session, exit_reason) in [(&busy, "answered"), (&paid, "answered"), (&dark, "failed"), (&past, "failed")] {
        let (started_at, ended_at) = (at(nine), at(nine + 5.0));
        let (session, exit_reason) = (session.clone(), exit_reason.to_owned());
        let turn =
            TurnRecord { session, started_at, ended_at, exit_reason, model_calls: 1, tool_calls: 0, error: None };
        store.record_turn(turn).await.expect("kept");
    }
    store.end(&dark, EndReason::USER_EXIT).await.expect("ended");
}

#[tokio::test]
async fn a_period_owns_the_sessions_that_began_in_it() {
    for stage in Stage::every().await {
        a_busy_monday(&stage).await;
        let insights = stage.store.insights(at(MONDAY), at(MONDAY + 86_400.0), None).await.expect("read");
        let Insights { sessions, messages, user_messages, tool_calls, .. } = insights;
        assert_eq!((sessions, messages, user_messages, tool_calls), (3, 4, 1, 2), "{:?}", stage.kind);
        assert_eq!(insights.usage, Usage { input: 400, output: 40, ..Usage::default() });
        let found = as_json(&insights);
        let nine = MONDAY + 9.0 * 3600.0;
        let bucket = |start: f64, sessions: u64, messages: u64, cost: Value| {
            json!({"start": start, "sessions": sessions, "messages": messages, "input_tokens": 100, "output_tokens": 10,
                "cache_read_tokens": 0, "cache_write_tokens": 0, "reasoning_tokens": 0, "cost_usd": cost})
        };
        let expected = json!({
            "estimated_cost_usd": 0.000004, "actual_cost_usd": 0.000002,
            "sessions_without_cost": 1, "sessions_included": 1,
            "models": [{"model": "m", "provider": "p", "task": "", "sessions": 3, "calls": 4, "input_tokens": 400,
                "output_tokens": 40, "cache_read_tokens": 0, "cache_write_tokens": 0, "reasoning_tokens": 0,
                "estimated_cost_usd": 0.000004, "actual_cost_usd": 0.000002, "cost_usd": 0.000003}],
            "tools": [{"name": "terminal", "count": 2}],
            "exit_reasons": [{"name": "answered", "count": 2}, {"name": "failed", "count": 1}],
            "end_reasons": [{"name": "user_exit", "count": 1}],
            // What the provider said counts, not what was computed for the same call.
            "buckets": [bucket(nine, 1, 3, json!(0.000002)), bucket(nine + 900.0, 0, 1, json!(0.000001)),
                bucket(nine + 3600.0, 1, 0, json!(null)), bucket(nine + 7200.0, 1, 0, json!(null))],
        });
        for (key, value) in expected.as_object().expect("an object") {
            assert_eq!(found.get(key), Some(value), "{key} of {:?}", stage.kind);
        }
        let telegram = stage.store.insights(at(MONDAY), at(MONDAY + 86_400.0), Some("telegram")).await.expect("read");
        assert_eq!((telegram.sessions, telegram.usage.total(), telegram.exit_reasons.len()), (1, 110, 1));
    }
}

#[tokio::test]
async fn the_money_of_a_removed_session_stays_in_its_period() {
    let stage = Stage::of(Kind::New).await;
    a_busy_monday(&stage).await;
    stage.look().execute_batch("DELETE FROM messages; DELETE FROM sessions WHERE id = 'busy'").expect("removed");
    let day = (at(MONDAY), at(MONDAY + 86_400.0));
    let all = stage.store.insights(day.0, day.1, None).await.expect("read");
    assert_eq!((all.sessions, all.usage.total()), (2, 440));
    let cli = stage.store.insights(day.0, day.1, Some("cli")).await.expect("read");
    assert_eq!((cli.sessions, cli.usage.total()), (1, 110), "nobody knows any more where it was held");
}

#[tokio::test]
async fn an_empty_period_is_empty_and_broken_rows_do_no_harm() {
    for stage in Stage::every().await {
        let nothing = stage.store.insights(at(5.0), at(6.0), None).await.expect("read");
        assert_eq!((nothing.sessions, nothing.cache_hit_rate(), nothing.notable.len()), (0, None, 0));
        a_busy_monday(&stage).await;
        stage
            .look()
            .execute_batch(
                "UPDATE messages SET tool_calls = '[{]' WHERE session_id = 'busy' AND tool_calls IS NOT NULL;
                 UPDATE sessions SET input_tokens = 9223372036854775807, output_tokens = 'many', ended_at = 1.0,
                     estimated_cost_usd = 1e300, title = CAST(x'ff' AS TEXT) || id WHERE id IN ('busy', 'dark');",
            )
            .expect("broken");
        let day = stage.store.insights(at(MONDAY), at(MONDAY + 86_400.0), None).await.expect("read");
        assert_eq!((day.tool_calls, day.active_seconds), (1, 0.0), "{:?}", stage.kind);
    }
}

#[tokio::test]
async fn a_hundred_thousand_messages_take_no_time() {
    let stage = Stage::of(Kind::New).await;
    stage
        .look()
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999)
                 INSERT INTO sessions(id, source, started_at) SELECT 's' || i, 'cli', 1790000000 + i * 60 FROM n;
             WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
                 INSERT INTO messages(session_id, role, content, tool_calls, tool_name, timestamp)
                 SELECT 's' || (i % 2000), CASE (i / 2000) % 3 WHEN 0 THEN 'user' WHEN 1 THEN 'assistant' ELSE 'tool' END,
                     hex(zeroblob(150)), CASE (i / 2000) % 3 WHEN 1 THEN '[{\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]' END,
                     CASE (i / 2000) % 3 WHEN 2 THEN 'f' END, 1790000000 + i * 2 FROM n;",
        )
        .expect("a crowd");
    let begun = Instant::now();
    let insights = stage.store.insights(at(0.0), at(2e9), None).await.expect("read");
    let took = begun.elapsed();
    let Insights { sessions, messages, user_messages, tool_calls, .. } = insights;
    assert_eq!((sessions, messages, user_messages, tool_calls), (2_000, 100_000, 34_000, 34_000));
    // Far above what it takes, far below what one query per session or row takes.
    assert!(took < Duration::from_secs(5), "{took:?}");
}
