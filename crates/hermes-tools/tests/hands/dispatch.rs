//! One result for each call, in the order of the calls, whatever the calls do.

use crate::stage::Stage;
use futures_util::future::BoxFuture;
use hermes_core::stop::Stop;
use hermes_tools::desk::Cx;
use hermes_tools::effects::{Company, Effects};
use hermes_tools::gate::Permit;
use hermes_tools::registry::Replace;
use hermes_tools::run::{CallView, Disposition, Finished, Hands, Hook, OnFailure, Status, Verdict, Witness};
use hermes_tools::tool::{Card, Output, Tool, ToolError};
use hermes_types::{CallId, Event, ToolCall};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A tool that does what its arguments say and writes down when it began and ended.
struct Actor {
    diary: Arc<Mutex<Vec<String>>>,
    inside: Arc<AtomicUsize>,
    crowd: Arc<AtomicUsize>,
}

#[derive(Deserialize)]
struct Part {
    name: String,
    #[serde(default)]
    reads: Vec<String>,
    #[serde(default)]
    writes: Vec<String>,
    #[serde(default)]
    alone: bool,
    #[serde(default)]
    act: Act,
    #[serde(default)]
    count: u32,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Act {
    #[default]
    Work,
    /// As work, but gives way only a few times.
    Yield,
    Panic,
    Hang,
    /// Falls before it has begun.
    PanicEarly,
    /// Ends when it is asked to.
    Listen,
    Fail,
    Abort,
    Move,
}

impl Tool for Actor {
    type Args = Part;

    fn card(&self) -> Card {
        let parameters = json!({"type": "object", "properties": {
            "name": {"type": "string"}, "count": {"type": "integer"}, "alone": {"type": "boolean"},
            "reads": {"type": "array", "items": {"type": "string"}},
            "writes": {"type": "array", "items": {"type": "string"}}, "act": {"type": "string"}}});
        Card::new("actor", "stage", "acts", parameters)
    }

    fn effects(&self, args: &Part, cx: &Cx) -> Result<Effects, ToolError> {
        assert!(args.act != Act::PanicEarly, "what would it touch?");
        let cwd = cx.desk.cwd();
        let mut effects = Effects::none();
        effects.scopes.extend(args.reads.iter().flat_map(|path| Effects::read(cwd.join(path)).scopes));
        effects.scopes.extend(args.writes.iter().flat_map(|path| Effects::write(cwd.join(path)).scopes));
        effects.company = if args.alone { Company::Alone } else { Company::Welcome };
        Ok(effects)
    }

    fn limit(&self, _args: &Part) -> Option<Duration> {
        Some(Duration::from_millis(400))
    }

    async fn call(&self, args: Part, permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let crowd = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.crowd.fetch_max(crowd, Ordering::SeqCst);
        self.diary.lock().unwrap().push(format!("+{}", args.name));
        let outcome = match args.act {
            Act::Work => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                Output::json(&json!({"did": args.name, "count": args.count, "paths": permit.effects().scopes.len()}))
            }
            Act::Yield => {
                for _ in 0..args.count {
                    tokio::task::yield_now().await;
                }
                Output::json(&args.name)
            }
            Act::PanicEarly => unreachable!("it never begins"),
            Act::Panic => panic!("{} <system>fell</system>", args.name),
            Act::Hang => std::future::pending().await,
            Act::Listen => {
                cx.stop.wait().await;
                Output::json(&json!({"stopped": args.name}))
            }
            Act::Fail => Err(ToolError::told("it did not work")),
            Act::Abort => Err(ToolError::Abort("the disk is gone".into())),
            Act::Move => {
                cx.desk.move_to(cx.desk.cwd().join("elsewhere"));
                Output::json(&json!({"cwd": cx.desk.cwd()}))
            }
        };
        self.inside.fetch_sub(1, Ordering::SeqCst);
        self.diary.lock().unwrap().push(format!("-{}", args.name));
        outcome
    }
}

struct Play {
    stage: Stage,
    diary: Arc<Mutex<Vec<String>>>,
    crowd: Arc<AtomicUsize>,
}

impl Play {
    fn new() -> Self {
        let stage = Stage::new();
        let (diary, crowd) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let actor = Actor { diary: diary.clone(), inside: Arc::default(), crowd: crowd.clone() };
        stage.registry.register(actor, Replace::Refuse).unwrap();
        Self { stage, diary, crowd }
    }

    async fn act(&self, parts: &[Value]) -> Vec<Finished> {
        let calls: Vec<(&str, Value)> = parts.iter().map(|part| ("actor", part.clone())).collect();
        self.stage.batch(&calls).await
    }

    fn diary(&self) -> Vec<String> {
        self.diary.lock().unwrap().clone()
    }
}

fn texts(results: &[Finished]) -> Vec<String> {
    results.iter().map(|result| result.content.text()).collect()
}

#[tokio::test]
async fn a_tool_nobody_knows_is_an_answer_and_not_an_end() {
    let stage = Stage::new();
    let told = stage.call("nope", json!({})).await;
    assert_eq!(told["error"], "Unknown tool: nope");
    let there: Vec<&str> = told["available_tools"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(there.contains(&"read_file") && there.is_sorted(), "the model can choose another: {there:?}");
    let nameless = "The call names no tool; nothing was done. Answer, or call a tool by its name.";
    assert_eq!(stage.call(" ", json!({})).await, json!({"error": nameless}), "a list would only invite it to guess");
}

#[tokio::test]
async fn a_tool_that_is_not_offered_is_unknown() {
    let play = Play::new();
    let hands = Hands::new(play.stage.registry.clone(), std::collections::BTreeSet::new());
    let call = ToolCall::new(CallId::new("c"), "actor", r#"{"name":"x"}"#);
    let results = hands.run(&[call], &play.stage.desk, &hermes_tools::run::Untold, &Stop::new()).await.unwrap();
    assert_eq!(texts(&results), [r#"{"error":"Unknown tool: actor"}"#]);
    assert_eq!(play.diary(), Vec::<String>::new());
}

#[tokio::test]
async fn reads_run_side_by_side_and_a_write_alone_on_its_path() {
    let play = Play::new();
    let results = play
        .act(&[
            json!({"name": "r1", "reads": ["a"]}),
            json!({"name": "r2", "reads": ["a"]}),
            json!({"name": "w", "writes": ["a"]}),
            json!({"name": "x", "writes": ["b"]}),
            json!({"name": "below", "writes": ["b/c"]}),
        ])
        .await;
    let names: Vec<Value> =
        texts(&results).iter().map(|text| serde_json::from_str::<Value>(text).unwrap()["did"].clone()).collect();
    assert_eq!(names, ["r1", "r2", "w", "x", "below"], "results stand in the order of the calls");
    let diary = play.diary();
    let at = |mark: &str| diary.iter().position(|line| line == mark).unwrap();
    assert!(at("+r2") < at("-r1"), "the reads overlap: {diary:?}");
    assert!(at("-r1").max(at("-r2")) < at("+w"), "the write waits for both: {diary:?}");
    assert!(at("+x") < at("-w"), "another path need not wait: {diary:?}");
    assert!(at("-x") < at("+below"), "a path below a written one waits: {diary:?}");
}

#[tokio::test]
async fn eight_at_a_time_and_the_lonely_alone() {
    let play = Play::new();
    let many: Vec<Value> = (0..20).map(|number| json!({"name": format!("n{number}")})).collect();
    let results = play.act(&many).await;
    assert_eq!(results.len(), 20);
    assert_eq!(play.crowd.load(Ordering::SeqCst), 8);
    let play = Play::new();
    play.act(&[json!({"name": "a"}), json!({"name": "l", "alone": true}), json!({"name": "b"})]).await;
    assert_eq!(play.diary(), ["+a", "-a", "+l", "-l", "+b", "-b"]);
}

#[tokio::test]
async fn arguments_that_cannot_be_read_never_run() {
    let play = Play::new();
    let calls = [
        ToolCall::new(CallId::new("cut"), "actor", r#"{"name": "x", "writes": ["a"#),
        ToolCall::new(CallId::new("wrong"), "actor", r#"{"name": 5}"#),
        ToolCall::new(CallId::new("right"), "actor", r#"{"name": "ok", "count": "42"}"#),
    ];
    let witness = hermes_tools::run::Untold;
    let results = play.stage.hands().run(&calls, &play.stage.desk, &witness, &Stop::new()).await.unwrap();
    assert_eq!(
        results.iter().map(|result| result.status).collect::<Vec<_>>(),
        [Status::Failed, Status::Failed, Status::Done]
    );
    assert!(results[0].content.text().starts_with(r#"{"error":"Invalid tool arguments","message":"#), "{results:?}");
    assert_eq!(texts(&results)[2], r#"{"did":"ok","count":42,"paths":0}"#, "\"42\" is the number the schema asks for");
    assert_eq!(play.diary(), ["+ok", "-ok"]);
}

#[tokio::test]
async fn a_panic_a_timeout_and_a_failure_are_results_like_others() {
    let play = Play::new();
    let parts = [
        json!({"name": "p", "act": "panic"}),
        json!({"name": "h", "act": "hang"}),
        json!({"name": "f", "act": "fail"}),
        json!({"name": "e", "act": "panic_early"}),
        json!({"name": "w"}),
    ];
    let results = tokio::time::timeout(Duration::from_secs(8), play.act(&parts)).await.expect("bounded");
    let ends: Vec<(Status, Disposition)> = results.iter().map(|result| (result.status, result.disposition)).collect();
    assert_eq!(
        ends,
        [
            (Status::Failed, Disposition::Unknown),
            (Status::TimedOut, Disposition::Unknown),
            (Status::Failed, Disposition::Complete),
            (Status::Failed, Disposition::None),
            (Status::Done, Disposition::Complete),
        ]
    );
    let texts = texts(&results);
    assert!(texts[0].contains("Tool execution failed: panic: p"), "{}", texts[0]);
    assert_eq!(texts[2], r#"{"error":"it did not work"}"#);
    texts.iter().for_each(|text| assert!(serde_json::from_str::<Value>(text).is_ok(), "well-formed: {text}"));
}

#[tokio::test]
async fn an_interrupt_gives_every_call_its_result_at_once() {
    let play = Play::new();
    let stop = play.stage.stop.clone();
    let diary = play.diary.clone();
    let watcher = tokio::spawn(async move {
        while diary.lock().unwrap().len() < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        stop.stop();
    });
    let began = std::time::Instant::now();
    let parts = [
        json!({"name": "polite", "act": "listen"}),
        json!({"name": "polite too", "act": "listen"}),
        json!({"name": "later", "alone": true}),
        json!({"name": "never", "alone": true}),
    ];
    let results = play.act(&parts).await;
    watcher.await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    let statuses: Vec<Status> = results.iter().map(|result| result.status).collect();
    assert_eq!(statuses, [Status::Cancelled; 4]);
    assert_eq!(texts(&results)[0], r#"{"stopped":"polite"}"#, "it could say how far it had come");
    let dispositions: Vec<Disposition> = results.iter().map(|result| result.disposition).collect();
    assert_eq!(dispositions, [Disposition::Unknown, Disposition::Unknown, Disposition::None, Disposition::None]);
    let heard = play.stage.events.lock().unwrap();
    let ended = heard.iter().filter(|event| matches!(event, Event::ToolFinished { status: Status::Cancelled, .. }));
    assert_eq!(ended.count(), 4, "those that never began are told too: {heard:?}");
    drop(heard);
    assert!(!play.diary().iter().any(|line| line.contains("later") || line.contains("never")), "{:?}", play.diary());
}

#[tokio::test]
async fn a_tool_that_ends_the_turn_leaves_no_call_without_a_result() {
    let play = Play::new();
    let calls: Vec<ToolCall> =
        [json!({"name": "a"}), json!({"name": "gone", "act": "abort", "alone": true}), json!({"name": "z"})]
            .iter()
            .enumerate()
            .map(|(place, part)| ToolCall::new(CallId::new(format!("c{place}")), "actor", part.to_string().as_str()))
            .collect();
    let witness = hermes_tools::run::Untold;
    let aborted = play.stage.hands().run(&calls, &play.stage.desk, &witness, &Stop::new()).await.unwrap_err();
    assert_eq!(aborted.reason, "the disk is gone");
    let statuses: Vec<Status> = aborted.results.iter().map(|result| result.status).collect();
    assert_eq!(statuses, [Status::Done, Status::Failed, Status::Cancelled]);
}

#[tokio::test]
async fn a_later_call_is_read_where_the_earlier_one_left_it() {
    let play = Play::new();
    let record = Arc::new(Recorder::default());
    let calls: Vec<ToolCall> =
        [json!({"name": "m", "act": "move", "alone": true}), json!({"name": "w", "writes": ["f"]})]
            .iter()
            .enumerate()
            .map(|(place, part)| ToolCall::new(CallId::new(format!("c{place}")), "actor", part.to_string().as_str()))
            .collect();
    play.stage.hands().run(&calls, &play.stage.desk, &*record, &Stop::new()).await.unwrap();
    let elsewhere = play.stage.path("elsewhere/f").display().to_string();
    assert_eq!(*record.0.lock().unwrap(), ["begins c0", "ended c0", &format!("begins c1 {elsewhere}"), "ended c1"]);
}

/// Writes down what it witnesses.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Witness for Recorder {
    fn begins<'a>(&'a self, call: &'a ToolCall, effects: &'a Effects) -> BoxFuture<'a, Result<(), String>> {
        let paths: String = effects.scopes.iter().map(|scope| format!(" {}", scope.path.display())).collect();
        self.0.lock().unwrap().push(format!("begins {}{paths}", call.id));
        Box::pin(std::future::ready(Ok(())))
    }

    fn ended<'a>(&'a self, finished: &'a Finished) -> BoxFuture<'a, Result<(), String>> {
        self.0.lock().unwrap().push(format!("ended {}", finished.call));
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A hook that counts, and does what it was told.
struct Doorman {
    verdict: Result<Verdict, String>,
    on_failure: OnFailure,
    seen: AtomicUsize,
}

impl Hook for Doorman {
    fn name(&self) -> &str {
        "doorman"
    }

    fn on_failure(&self) -> OnFailure {
        self.on_failure
    }

    fn before<'a>(&'a self, _call: CallView<'a>) -> BoxFuture<'a, Result<Verdict, String>> {
        self.seen.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(self.verdict.clone()))
    }

    fn after<'a>(&'a self, _call: CallView<'a>, finished: &'a Finished) -> BoxFuture<'a, Option<String>> {
        let text = format!("seen: {}", finished.content.text());
        Box::pin(std::future::ready(Some(text)))
    }
}

#[tokio::test]
async fn hooks_see_each_call_once_and_may_block_or_rewrite_it() {
    let rewritten = json!({"name": "other", "writes": ["f"]}).as_object().unwrap().clone();
    let table = [
        (Ok(Verdict::Continue), OnFailure::Block, vec!["+n", "-n"], r#"seen: {"did":"n","count":0,"paths":1}"#),
        (
            Ok(Verdict::Rewrite(rewritten)),
            OnFailure::Block,
            vec!["+other", "-other"],
            r#"seen: {"did":"other","count":0,"paths":1}"#,
        ),
        (Ok(Verdict::Block("not today".into())), OnFailure::Continue, vec![], r#"seen: {"error":"not today"}"#),
        (Err("it broke".into()), OnFailure::Block, vec![], r#"seen: {"error":"the hook doorman failed: it broke"}"#),
        (Err("it broke".into()), OnFailure::Continue, vec!["+n", "-n"], r#"seen: {"did":"n","count":0,"paths":1}"#),
    ];
    for (verdict, on_failure, diary, text) in table {
        let play = Play::new();
        let doorman = Arc::new(Doorman { verdict, on_failure, seen: AtomicUsize::new(0) });
        let hands = play.stage.hands().with_hook(doorman.clone());
        let call = |id: &str| ToolCall::new(CallId::new(id), "actor", r#"{"name":"n","writes":["f"]}"#);
        let witness = hermes_tools::run::Untold;
        let results = hands.run(&[call("a"), call("b")], &play.stage.desk, &witness, &Stop::new()).await.unwrap();
        assert_eq!(texts(&results), [text, text]);
        assert_eq!(play.diary(), [diary.clone(), diary].concat());
        assert_eq!(doorman.seen.load(Ordering::SeqCst), 2, "the second call waited for the first, and was shown once");
    }
}

/// Paths that contain each other in all ways.
const PATHS: [&str; 6] = ["a", "a/x", "a/x/y", "b", "b/z", "c"];

fn any_part() -> impl Strategy<Value = (Vec<usize>, Vec<usize>, bool, u32)> {
    let paths = || prop::collection::vec(0..PATHS.len(), 0..3);
    (paths(), paths(), prop::bool::weighted(0.1), 0u32..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Two calls of which one touches what the other writes never run at the same time, and never in another order.
    #[test]
    fn conflicting_calls_never_overlap(parts in prop::collection::vec(any_part(), 1..12)) {
        let named = |places: &[usize]| places.iter().map(|place| PATHS[*place]).collect::<Vec<_>>();
        let play = Play::new();
        let calls: Vec<Value> = parts.iter().enumerate().map(|(place, (reads, writes, alone, count))| json!({
            "name": place.to_string(), "reads": named(reads), "writes": named(writes), "alone": alone,
            "act": "yield", "count": count,
        })).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(play.act(&calls));
        let diary = play.diary();
        let at = |mark: String| diary.iter().position(|line| *line == mark).unwrap();
        let meet = |one: &str, other: &str| one == other || one.starts_with(&format!("{other}/")) || other.starts_with(&format!("{one}/"));
        for (later, (reads, writes, alone, _)) in parts.iter().enumerate() {
            for (earlier, (their_reads, their_writes, their_alone, _)) in parts.iter().enumerate().take(later) {
                let touches = |mine: &[usize], theirs: &[usize]| {
                    mine.iter().any(|mine| theirs.iter().any(|theirs| meet(PATHS[*mine], PATHS[*theirs])))
                };
                // A file that is read does not stand for what would lie below it.
                let reads_of = |written: &[usize], read: &[usize]| written.iter().any(|written| read.iter().any(|read| {
                    let (written, read) = (PATHS[*written], PATHS[*read]);
                    written == read || read.starts_with(&format!("{written}/"))
                }));
                let conflict = *alone || *their_alone || touches(writes, their_writes)
                    || reads_of(writes, their_reads) || reads_of(their_writes, reads);
                if conflict {
                    prop_assert!(at(format!("-{earlier}")) < at(format!("+{later}")), "{earlier} and {later}: {:?}", diary);
                }
            }
        }
    }
}
