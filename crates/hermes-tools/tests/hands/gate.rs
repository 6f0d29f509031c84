//! The gate as calls of a model meet it: who is asked, what they see, what is remembered, and that no way leads round it.

use crate::paper::{Threshold, paper};
use crate::stage::{Kept, Plan, Stage};
use futures_util::future::{BoxFuture, join_all};
use hermes_core::clock::{Clock, RealClock};
use hermes_core::stop::Stop;
use hermes_testkit::FakeClock;
use hermes_tools::effects::{Company, Effects};
use hermes_tools::face::{Adviser, ApprovalQuestion, Clarification, Face, Reply};
use hermes_tools::gate::{
    Answer, Approval, ApprovalSettings, Cause, Channel, Gate, Opinion, Permanence, Reason, Refused, Wanted, Wish, Yolo,
};
use hermes_tools::run::{CallView, Hook, OnFailure, Status, Untold, Verdict};
use hermes_tools::settings::{Settings, Surroundings};
use hermes_types::{CallId, SessionId, ToolCall};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) fn corpus(text: &'static str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("== ") && !line.starts_with("# "));
    lines.map(|line| line.replace('␤', "\n").replace('␛', "\u{1b}")).collect()
}

/// The ways a command can come: the tool, what else is in its arguments, and the argument that is the command. A tool
/// that runs commands belongs here. `SHELL` stands for a shell that runs already.
const WAYS: [(&str, &str, &str); 6] = [
    ("runner", "{}", "command"),
    ("terminal", "{}", "command"),
    ("terminal", r#"{"background": true}"#, "command"),
    ("terminal", r#"{"pty": true}"#, "command"),
    ("process", r#"{"action": "submit", "session_id": "SHELL"}"#, "data"),
    ("process", r#"{"action": "write", "session_id": "SHELL"}"#, "data"),
];

/// A stage with a shell that waits for input, and its id.
async fn with_a_shell() -> (Stage, String) {
    let (stage, _) = paper(Plan::default());
    std::fs::create_dir_all(stage.root().join("home/work")).expect("a folder");
    stage.desk.move_to(stage.root().join("home/work"));
    let started = stage.call("terminal", json!({"command": "bash", "background": true})).await;
    let id = started["session_id"].as_str().unwrap_or_else(|| panic!("no shell: {started}")).to_owned();
    (stage, id)
}

/// Offers each command on a way. What passed the gate, and what it refused.
async fn offered(stage: &Stage, shell: &str, way: (&str, &str, &str), commands: &[String]) -> (Vec<String>, usize) {
    let (tool, more, argument) = way;
    let home = stage.root().join("home").display().to_string();
    let call = |(at, command): (usize, &String)| {
        let mut arguments: Value = serde_json::from_str(&more.replace("SHELL", shell)).expect("JSON");
        arguments[argument] = command.replace("/home/ada", &home).into();
        ToolCall::new(CallId::new(format!("call_{at}")), tool, arguments.to_string().as_str())
    };
    let calls: Vec<ToolCall> = commands.iter().enumerate().map(call).collect();
    let threshold = Threshold::default();
    let results = stage.hands().run(&calls, &stage.desk, &threshold, &stage.stop).await.expect("no tool aborts");
    let passed = threshold.passed();
    let names = results.iter().zip(commands).filter(|(result, _)| passed.contains(&result.call));
    let refused = results.iter().filter(|result| result.status == Status::Blocked && !passed.contains(&result.call));
    (names.map(|(_, command)| command.clone()).collect(), refused.count())
}

#[tokio::test]
async fn with_nobody_there_no_danger_passes_on_any_way_and_ordinary_work_goes_on() {
    let dangers = corpus(include_str!("../gate/dangers.txt"));
    let ordinary: Vec<String> = corpus(include_str!("../gate/ordinary.txt")).into_iter().skip(1).collect();
    assert!(dangers.len() > 500 && ordinary.len() > 300, "{} and {}", dangers.len(), ordinary.len());
    for way in WAYS {
        let (stage, shell) = with_a_shell().await;
        let (passed, refused) = offered(&stage, &shell, way, &dangers).await;
        assert_eq!(passed, Vec::<String>::new(), "{way:?}");
        // The rest is refused by the tool itself, before the gate is asked: tabs for a shell, servers in the foreground.
        assert!(refused * 100 > dangers.len() * 95, "{way:?}: {refused} of {}", dangers.len());
        let (passed, refused) = offered(&stage, &shell, way, &ordinary).await;
        assert!(refused * 100 < ordinary.len() * 3, "{way:?}: {refused} of {} refused", ordinary.len());
        assert!(passed.len() * 100 > ordinary.len() * 95, "{way:?}: {} of {} passed", passed.len(), ordinary.len());
        stage.desk.shop.processes.close().await;
    }
}

/// Puts one of these commands in the place of what the model wrote: the call with the number of the command gets it.
struct Tempter(Vec<String>);

impl Hook for Tempter {
    fn name(&self) -> &str {
        "tempter"
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Block
    }

    fn before<'a>(&'a self, call: CallView<'a>) -> BoxFuture<'a, Result<Verdict, String>> {
        let number: Option<usize> = call.call.as_str().strip_prefix("call_").and_then(|number| number.parse().ok());
        let command = number.and_then(|number| self.0.get(number)).expect("a command for each call");
        let rewritten = json!({ "command": command }).as_object().expect("an object").clone();
        Box::pin(std::future::ready(Ok(Verdict::Rewrite(rewritten))))
    }
}

#[tokio::test]
async fn no_danger_passes_because_a_hook_wrote_it() {
    let (stage, _) = paper(Plan::default());
    std::fs::create_dir_all(stage.root().join("home/work")).expect("a folder");
    stage.desk.move_to(stage.root().join("home/work"));
    let home = stage.root().join("home").display().to_string();
    let at_home = |text| corpus(text).into_iter().map(|command| command.replace("/home/ada", &home)).collect();
    let dangers: Vec<String> = at_home(include_str!("../gate/dangers.txt"));
    let ordinary: Vec<String> = at_home(include_str!("../gate/ordinary.txt"));
    for tool in ["runner", "terminal"] {
        for (commands, most, least) in [(&dangers, 0, 0), (&ordinary, ordinary.len(), ordinary.len() * 95 / 100)] {
            let hands = stage.hands().with_hook(Arc::new(Tempter(commands.clone())));
            let call = |at| ToolCall::new(CallId::new(format!("call_{at}")), tool, r#"{"command": "true"}"#);
            let calls: Vec<ToolCall> = (0..commands.len()).map(call).collect();
            let threshold = Threshold::default();
            hands.run(&calls, &stage.desk, &threshold, &stage.stop).await.expect("no tool aborts");
            let passed = threshold.passed();
            let names = calls.iter().zip(commands).filter(|(call, _)| passed.contains(&call.id));
            let names: Vec<&String> = names.map(|(_, command)| command).collect();
            assert!((least..=most).contains(&names.len()), "{tool}: {} of {}: {names:?}", names.len(), commands.len());
        }
    }
}

fn rules(approvals: &Value) -> Plan {
    Plan { config: json!({ "approvals": approvals }), ..Plan::default() }
}

#[tokio::test]
async fn rules_speak_of_commands_tools_files_and_arguments() {
    let (stage, reached) = paper(rules(&json!({
        "allow": ["rm -rf build", "paper_pen(~/.bashrc)", "mcp__github__*"],
        "ask": ["paper_shell(cargo publish *)", "paper_pen(*.lock)"],
        "deny": ["git push *", "paper_*(**/private)", "paper_patch(~/notes/**)", "mcp__github__merge(*\"force\":true*)"],
    })));
    std::fs::create_dir_all(stage.root().join("home/notes")).expect("a folder");
    std::os::unix::fs::symlink(stage.root().join("home/notes"), stage.path("innocent")).expect("a link");
    let shell = |command: &str| ("paper_shell", json!({ "command": command }));
    let pen = |path: &str| ("paper_pen", json!({ "path": path }));
    let patch = |path: &str| ("paper_patch", json!({ "path": path }));
    let table = [
        (shell("rm -rf build"), Status::Done),
        (shell("rm -rf build; rm -rf src"), Status::Blocked),
        (shell("git status"), Status::Done),
        (shell("git push"), Status::Blocked),
        (shell("true && git push origin main"), Status::Blocked),
        (("runner", json!({"command": "git push origin main"})), Status::Blocked),
        (shell("cargo publish"), Status::Blocked),
        (("runner", json!({"command": "cargo publish"})), Status::Done),
        (pen("~/.bashrc"), Status::Done),
        (pen("~/.zshrc"), Status::Blocked),
        (patch("~/.bashrc"), Status::Blocked),
        (pen("a.txt"), Status::Done),
        (pen("Cargo.lock"), Status::Blocked),
        (pen("x/private/y/z.txt"), Status::Blocked),
        (patch("x/PRIVATE/y"), Status::Blocked),
        (patch("~/notes/a/b.md"), Status::Blocked),
        (patch("innocent/b.md"), Status::Blocked),
        (pen("~/notes/a.md"), Status::Done),
        (("mcp__github__merge", json!({"branch": "x", "force": false})), Status::Done),
        (("mcp__github__merge", json!({"force": true, "branch": "x"})), Status::Blocked),
    ];
    for ((tool, arguments), expected) in table {
        let before = reached.lock().expect("reached").len();
        let result = stage.batch(&[(tool, arguments.clone())]).await.remove(0);
        assert_eq!(result.status, expected, "{tool} {arguments}: {}", result.content.text());
        let passed = reached.lock().expect("reached").len() - before;
        assert_eq!(passed, usize::from(expected == Status::Done), "{tool} {arguments}");
    }
}

#[tokio::test]
async fn a_deny_rule_wins_over_everything_that_permits() {
    let config = json!({
        "approvals": {"mode": false, "allow": ["*", "paper_pen(**)"], "deny": ["git push *", "paper_pen(*.pem)"]},
        "command_allowlist": ["git push origin main"],
    });
    let variables = BTreeMap::from([("HERMES_YOLO_MODE".to_owned(), "1".to_owned())]);
    let (stage, reached) = paper(Plan { config, variables, answers: Some(Vec::new()), ..Plan::default() });
    let denied = stage.call("paper_shell", json!({"command": "git push origin main"})).await;
    let message = "BLOCKED: the owner's rule `git push *` forbids this. Do not reach the same effect another way.";
    assert_eq!(denied, json!({"error": message, "status": "blocked"}));
    assert_eq!(stage.batch(&[("paper_pen", json!({"path": "/tmp/key.pem"}))]).await[0].status, Status::Blocked);
    assert_eq!(stage.batch(&[("paper_shell", json!({"command": "rm -rf /"}))]).await[0].status, Status::Blocked);
    assert_eq!(*reached.lock().expect("reached"), Vec::<String>::new());
    assert_eq!(stage.batch(&[("paper_shell", json!({"command": "rm -rf build"}))]).await[0].status, Status::Done);
}

/// Writing by a tool is never easier than writing by a command.
#[tokio::test]
async fn a_file_is_as_well_guarded_from_a_tool_as_from_a_shell() {
    let (stage, reached) = paper(Plan::default());
    std::fs::write(stage.root().join("home/.profile"), "").expect("a file");
    std::os::unix::fs::symlink(stage.root().join("home/.profile"), stage.path("notes.txt")).expect("a link");
    // Not there yet: writing to the link would make it.
    std::os::unix::fs::symlink("../home/.zshrc", stage.path("later.txt")).expect("a link");
    let later = stage.batch(&[("paper_shell", json!({"command": "echo x >> later.txt"}))]).await.remove(0);
    assert_eq!(later.status, Status::Blocked, "{}", later.content.text());
    for path in [
        "~/.bashrc",
        "~/.ssh/authorized_keys",
        "~/.hermes/config.yaml",
        "~/.hermes/hooks/x.sh",
        "/etc/hosts",
        "/dev/sda",
        "/proc/sysrq-trigger",
        ".env",
        ".git/hooks/pre-commit",
        "notes.txt",
    ] {
        let shell = path.to_owned();
        let calls = [
            ("paper_pen", json!({ "path": path })),
            ("paper_shell", json!({"command": format!("echo x >> {shell}")})),
            ("paper_shell", json!({"command": format!("tee -a {shell}")})),
        ];
        for result in stage.batch(&calls).await {
            assert_eq!(result.status, Status::Blocked, "{path} {}: {}", result.name, result.content.text());
        }
    }
    assert_eq!(*reached.lock().expect("reached"), Vec::<String>::new());
}

#[tokio::test]
async fn a_person_sees_what_would_run_and_why() {
    let (stage, reached) = paper(Plan { answers: Some(vec![Answer::Once, Answer::Deny]), ..Plan::default() });
    let command = "rm -rf \u{202e}dliub\u{1b}[2K";
    stage.call("paper_shell", json!({ "command": command })).await;
    let asked = stage.person.asked.lock().expect("questions").pop().expect("a question");
    assert_eq!(
        asked,
        ApprovalQuestion {
            session: stage.desk.session.clone(),
            tool: "paper_shell".into(),
            what: "rm -rf ⟨U+202E⟩dliub⟨ESC⟩[2K".into(),
            cwd: Some(stage.path("").display().to_string().trim_end_matches('/').to_owned()),
            reasons: vec!["recursive delete".into()],
            permanence: Permanence::Offered,
            advice: None,
            timeout: Duration::from_secs(60),
        }
    );
    assert_eq!(*reached.lock().expect("reached"), [command], "what runs is the text itself, not what was shown");
    let denied = stage.call("paper_pen", json!({"path": "~/.bashrc"})).await;
    let message = "BLOCKED: the person said no. They have not consented. Do not try this again, rephrase it, or reach the \
                   same effect another way. Stop and wait for the person.";
    assert_eq!(denied, json!({"error": message, "status": "blocked"}));
    let asked = stage.person.asked.lock().expect("questions").pop().expect("a question");
    assert_eq!(asked.what, format!("write {}", stage.root().join("home/.bashrc").display()));
}

#[tokio::test]
async fn answers_are_remembered_as_far_as_they_were_meant() {
    let answers = vec![Answer::Once, Answer::Session, Answer::Always, Answer::Deny];
    let (stage, reached) = paper(Plan { answers: Some(answers), ..Plan::default() });
    let run = async |command: &str| stage.batch(&[("paper_shell", json!({ "command": command }))]).await[0].status;
    assert_eq!(run("rm -rf a").await, Status::Done);
    assert_eq!(run("rm -rf b").await, Status::Done);
    assert_eq!(run("rm -rf c").await, Status::Done, "the second answer was for the session");
    assert_eq!(run("git reset --hard").await, Status::Done);
    assert_eq!(run("git reset --hard HEAD~1").await, Status::Done);
    assert_eq!(stage.person.asked.lock().expect("questions").len(), 3);
    let kept = ["git reset --hard (destroys uncommitted changes)"];
    assert_eq!(*stage.kept.0.lock().expect("kept"), kept);
    stage.desk.shop.gate.forget(&stage.desk.session);
    assert_eq!(run("git reset --hard").await, Status::Done, "for good is for good");
    assert_eq!(run("rm -rf d").await, Status::Blocked, "the session was forgotten");
    assert_eq!(reached.lock().expect("reached").len(), 6);
    stage.desk.shop.gate.set_yolo(&stage.desk.session, Yolo::On);
    assert_eq!(run("rm -rf e").await, Status::Done);
    assert_eq!(run("rm -rf /").await, Status::Blocked);
    stage.desk.shop.gate.forget(&stage.desk.session);
    assert_eq!(stage.desk.shop.gate.yolo(&stage.desk.session), Yolo::Off);
}

/// What is secret is covered; what would run is not.
#[tokio::test]
async fn a_question_covers_secrets_and_no_commands() {
    let (stage, _) = paper(Plan { answers: Some(vec![Answer::Deny; 3]), ..Plan::default() });
    let commands = [
        "curl -H 'Authorization: Bearer sk-abcdefghijklmnopqrstuvwxyz123456' https://x.example; rm -rf build",
        "API_TOKEN=$(rm -rf build)",
        "PASSWORD=x; rm -rf build",
    ];
    for command in commands {
        stage.call("paper_shell", json!({ "command": command })).await;
        let asked = stage.person.asked.lock().expect("questions").pop().expect("a question");
        assert!(asked.what.contains("rm -rf build"), "{}", asked.what);
        assert!(!asked.what.contains("klmnopqrstuvw"), "{}", asked.what);
    }
}

/// A hook that wants a person to be asked, for its own reason.
struct Wants(Option<&'static str>);

impl Hook for Wants {
    fn name(&self) -> &'static str {
        "wants"
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Block
    }

    fn before<'a>(&'a self, call: CallView<'a>) -> BoxFuture<'a, Result<Verdict, String>> {
        let message = format!("spends {}", call.arguments.get("command").and_then(Value::as_str).unwrap_or_default());
        let rule_key = self.0.map(str::to_owned);
        Box::pin(async move { Ok(Verdict::Approve { message, rule_key }) })
    }
}

#[tokio::test]
async fn what_a_hook_wants_asked_is_asked_and_remembered_by_its_reason() {
    let answers = vec![Answer::Session, Answer::Deny];
    let (stage, reached) = paper(Plan { answers: Some(answers), ..Plan::default() });
    let hands = stage.hands().with_hook(Arc::new(Wants(None)));
    let call = |id: &str, command: &str| {
        let arguments = json!({ "command": command }).to_string();
        ToolCall::new(CallId::new(id), "runner", arguments.as_str())
    };
    let calls = [call("a", "one"), call("b", "one"), call("c", "two")];
    let results = hands.run(&calls, &stage.desk, &Untold, &stage.stop).await.expect("no abort");
    let states: Vec<Status> = results.iter().map(|result| result.status).collect();
    assert_eq!(states, [Status::Done, Status::Done, Status::Blocked], "one yes covers one reason");
    assert_eq!(*reached.lock().expect("reached"), ["one", "one"]);
    let reasons: Vec<_> =
        stage.person.asked.lock().expect("questions").iter().map(|asked| asked.reasons.clone()).collect();
    assert_eq!(reasons, [vec!["spends one".to_owned()], vec!["spends two".to_owned()]]);
    let nobody = paper(Plan::default());
    let hands = nobody.0.hands().with_hook(Arc::new(Wants(Some("money"))));
    let refused = hands.run(&calls[..1], &nobody.0.desk, &Untold, &nobody.0.stop).await.expect("no abort");
    assert_eq!(refused[0].status, Status::Blocked);
}

/// Somebody who takes their time: each question waits until it is answered from outside.
struct Slow {
    open: Mutex<VecDeque<tokio::sync::oneshot::Sender<Answer>>>,
    asked: Mutex<Vec<String>>,
    changed: tokio::sync::Notify,
}

impl Slow {
    fn new() -> Arc<Self> {
        Arc::new(Self { open: Mutex::default(), asked: Mutex::default(), changed: tokio::sync::Notify::new() })
    }

    async fn answer(&self, answer: Answer) {
        loop {
            let changed = self.changed.notified();
            if let Some(open) = self.open.lock().expect("open").pop_front() {
                open.send(answer).expect("somebody waits");
                return;
            }
            changed.await;
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("asked").clone()
    }
}

impl Face for Slow {
    fn channel(&self) -> Channel {
        Channel::Person
    }

    fn approve(&self, question: ApprovalQuestion) -> BoxFuture<'_, Answer> {
        self.asked.lock().expect("asked").push(question.what);
        let (answer, asked) = tokio::sync::oneshot::channel();
        self.open.lock().expect("open").push_back(answer);
        self.changed.notify_one();
        Box::pin(async move { asked.await.expect("an answer") })
    }

    fn clarify(&self, _question: Clarification) -> BoxFuture<'_, Reply> {
        Box::pin(std::future::ready(Reply::Silence))
    }

    fn password(&self, _reason: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

struct Says(Opinion);

impl Adviser for Says {
    fn consider(&self, _command: String, _reasons: Vec<String>) -> BoxFuture<'_, Opinion> {
        Box::pin(std::future::ready(self.0))
    }
}

fn around() -> Surroundings {
    Surroundings {
        home: "/home/ada".into(),
        hermes_home: "/home/ada/.hermes".into(),
        hermes_root: "/home/ada/.hermes".into(),
        cwd: "/home/ada/work".into(),
        temp: "/tmp".into(),
        variables: BTreeMap::new(),
        private_variables: BTreeSet::new(),
    }
}

fn gate(config: &Value, face: Arc<dyn Face>, adviser: Option<Opinion>) -> Gate {
    let approvals: ApprovalSettings = Settings::read(config, around()).0.approvals;
    let adviser = adviser.map(|opinion| Arc::new(Says(opinion)) as Arc<dyn Adviser>);
    let clock: Arc<dyn Clock> = Arc::new(RealClock::default());
    Gate::new(approvals, &around(), face, adviser, clock, Arc::new(Kept::default()))
}

async fn wish(gate: &Gate, session: &str, command: &str, stop: &Stop) -> Result<Approval, Refused> {
    let effects = Effects::command(command, "/home/ada/work", Company::Alone);
    let session = SessionId::new(session);
    let wanted: Option<Wanted> = None;
    let channel = Channel::Person;
    let wish = Wish { tool: "terminal", session: &session, channel, effects, arguments: "{}", wanted };
    gate.admit(wish, stop).await.map(|permit| permit.approval().clone())
}

fn by_a_person(key: &str) -> Result<Approval, Refused> {
    Ok(Approval::Person(vec![key.to_owned()]))
}

#[tokio::test]
async fn questions_of_one_conversation_wait_their_turn_and_are_not_put_twice() {
    let face = Slow::new();
    let gate = gate(&json!({}), face.clone(), None);
    let stop = Stop::new();
    let commands = ["rm -rf a", "git reset --hard", "rm -rf b", "rm -rf c"];
    let wishes = join_all(commands.iter().map(|command| wish(&gate, "one", command, &stop)));
    let answers = async {
        face.answer(Answer::Session).await;
        face.answer(Answer::Once).await;
    };
    let (ends, ()) = tokio::join!(wishes, answers);
    let remembered = Ok(Approval::Unasked(Reason::Remembered));
    let reset = by_a_person("git reset --hard (destroys uncommitted changes)");
    assert_eq!(ends, [by_a_person("recursive delete"), reset, remembered.clone(), remembered]);
    assert_eq!(face.asked(), ["rm -rf a", "git reset --hard"], "one at a time, in the order they came");
}

#[tokio::test]
async fn conversations_do_not_wait_for_each_other() {
    let face = Slow::new();
    let gate = gate(&json!({}), face.clone(), None);
    let stop = Stop::new();
    let both = async { tokio::join!(wish(&gate, "one", "rm -rf a", &stop), wish(&gate, "two", "rm -rf b", &stop)) };
    let answers = async {
        face.answer(Answer::Session).await;
        face.answer(Answer::Deny).await;
    };
    let ((one, two), ()) = tokio::join!(both, answers);
    assert_eq!(one, by_a_person("recursive delete"));
    assert_eq!(two.map_err(|refused| refused.cause), Err(Cause::Denied), "a session's consent is its own");
}

#[tokio::test]
async fn an_interrupt_and_a_forgotten_conversation_end_every_question_as_a_no() {
    let face = Slow::new();
    let gate = gate(&json!({}), face.clone(), None);
    let stop = Stop::new();
    let both = async { tokio::join!(wish(&gate, "one", "rm -rf a", &stop), wish(&gate, "one", "rm -rf b", &stop)) };
    let interrupt = async {
        face.changed.notified().await;
        stop.stop();
    };
    let ((asked, waiting), ()) = tokio::join!(both, interrupt);
    assert_eq!(asked.map_err(|refused| refused.cause), Err(Cause::Interrupted));
    assert_eq!(waiting.map_err(|refused| refused.cause), Err(Cause::Interrupted));
    assert_eq!(wish(&gate, "one", "rm -rf c", &stop).await.map_err(|refused| refused.cause), Err(Cause::Interrupted));
    let stop = Stop::new();
    let forget = async {
        face.changed.notified().await;
        gate.forget(&SessionId::new("two"));
    };
    let (ended, ()) = tokio::join!(wish(&gate, "two", "rm -rf a", &stop), forget);
    assert_eq!(ended.map_err(|refused| refused.cause), Err(Cause::Denied));
}

#[tokio::test]
async fn silence_is_no_consent() {
    let (face, clock, stop) = (Slow::new(), Arc::new(FakeClock::new()), Stop::new());
    let approvals = Settings::plain(around()).approvals;
    let gate = Gate::new(approvals, &around(), face.clone(), None, clock.clone(), Arc::new(Kept::default()));
    let time = async {
        face.changed.notified().await;
        clock.advance(Duration::from_secs(60));
    };
    let (ended, ()) = tokio::join!(wish(&gate, "one", "rm -rf a", &stop), time);
    let refused = ended.expect_err("nobody answered");
    assert_eq!((refused.cause.clone(), refused.outcome()), (Cause::TimedOut, "timeout"));
}

#[tokio::test]
async fn a_model_may_speed_a_person_up_but_never_replace_one() {
    let smart = json!({"approvals": {"mode": "smart"}});
    let stop = Stop::new();
    let nobody = gate(&smart, Arc::new(hermes_tools::face::Nobody), Some(Opinion::Approve));
    let refused = wish(&nobody, "one", "rm -rf a", &stop).await.expect_err("nobody is there");
    assert_eq!(refused.outcome(), "blocked");
    let face = Slow::new();
    let attended = gate(&smart, face.clone(), Some(Opinion::Approve));
    assert_eq!(wish(&attended, "one", "rm -rf a", &stop).await, Ok(Approval::Unasked(Reason::ModelApproved)));
    let against = gate(&smart, face.clone(), Some(Opinion::Deny));
    let (first, ()) = tokio::join!(wish(&against, "one", "rm -rf a", &stop), face.answer(Answer::Always));
    assert_eq!(first, by_a_person("recursive delete"));
    let (again, ()) = tokio::join!(wish(&against, "one", "rm -rf a", &stop), face.answer(Answer::Deny));
    assert_eq!(again.map_err(|refused| refused.cause), Err(Cause::Denied), "against advice, a yes holds once");
    let alone = gate(&smart, face.clone(), None);
    let (asked, ()) = tokio::join!(wish(&alone, "one", "rm -rf a", &stop), face.answer(Answer::Once));
    assert_eq!(asked, by_a_person("recursive delete"), "without a model, smart is manual");
}

#[test]
fn settings_say_what_is_wrong_with_them() {
    let config = json!({
        "approvals": {"mode": "sometimes", "timeout": -1, "deny": ["terminal(git push", 7], "ask": {"a": 1}, "allow": ["ls *", "read_file()"]},
        "command_allowlist": ["recursive delete"],
    });
    let (settings, odd) = Settings::read(&config, around());
    assert_eq!(
        odd,
        [
            "approvals.deny: 7 is no text. It is left out; put it in quotes.",
            "approvals.deny: `terminal(git push`: its parenthesis is not closed; write tool(pattern). It is taken for \
             `terminal(git push)`.",
            "approvals.ask: {\"a\":1} is no list of texts. It is left out.",
            "approvals.allow: `read_file()` is no rule: there is no pattern between its parentheses; tool(*) means every \
             call. It is left out.",
            "approvals.mode: \"sometimes\" is none of manual, smart, off; manual is used",
            "approvals.timeout: -1 is no number of seconds; 60 is used",
        ]
    );
    assert_eq!(settings.approvals.rules.len(), 2, "a line that forbids is not lost to a slip");
}
