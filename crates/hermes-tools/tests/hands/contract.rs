//! What every backend promises, as stories that take any backend. A new one adds a line to `backends!`.

use crate::stage::{Plan, Stage};
use hermes_core::stop::Stop;
use hermes_tools::effects::{Company, Effects};
use hermes_tools::gate::{Permit, Wish};
use hermes_tools::process::Face;
use hermes_tools::settings::Settings;
use hermes_tools::terminal::{Backend, Capture, Ended, Executed, Local, Memory, Reporting, Request, Stdin, Unable};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Make = fn(&Settings) -> Arc<dyn Backend>;

fn local(settings: &Settings) -> Arc<dyn Backend> {
    Arc::new(Local::new(settings))
}

fn local_with_markers(settings: &Settings) -> Arc<dyn Backend> {
    Arc::new(Local::reporting(settings, Reporting::Marker))
}

/// Every story for every backend.
macro_rules! backends {
    ($($story:ident),* $(,)?) => {
        mod here { $(#[tokio::test] async fn $story() { super::$story(super::local).await; })* }
        mod by_markers { $(#[tokio::test] async fn $story() { super::$story(super::local_with_markers).await; })* }
    };
}

backends![
    exit_does_not_lose_what_came_before_it,
    directory_and_exports_last,
    functions_aliases_and_options_last,
    what_was_unset_stays_unset,
    strictness_ends_with_its_command,
    two_conversations_have_two_directories,
    a_command_reads_its_input,
    nobody_gives_input_to_a_command_without,
    a_lost_directory_becomes_the_nearest_above,
    a_slow_command_is_ended_with_its_family,
    an_interrupt_ends_the_family,
    a_dropped_call_leaves_nobody,
    long_output_keeps_its_beginning_and_its_end,
    endless_output_stays_small,
    colours_and_odd_bytes,
    a_child_that_holds_the_output_holds_nobody_up,
    a_command_may_close_its_streams,
    a_list_in_the_background_runs_its_first_part_here,
    a_command_may_replace_the_shell,
    traps_of_a_command_run_and_cost_nothing,
    quotes_heredocs_and_line_numbers,
    a_command_may_have_a_terminal,
    a_very_long_command,
    nul_is_refused,
    calls_side_by_side_do_not_tear_the_state,
];

struct World {
    stage: Stage,
    backend: Arc<dyn Backend>,
}

impl World {
    fn new(make: Make) -> Self {
        Self::plan(make, Plan { config: json!({"approvals": {"mode": "off"}}), ..Plan::default() })
    }

    fn plan(make: Make, plan: Plan) -> Self {
        let stage = Stage::build(plan);
        let backend = make(stage.desk.settings());
        Self { stage, backend }
    }

    async fn permit(&self, command: &str, cwd: &Path) -> Permit {
        let effects = Effects::command(command, cwd, Company::Alone);
        let (session, channel) = (&self.stage.desk.session, self.stage.desk.face().channel());
        let wish = Wish { tool: "terminal", session, channel, effects, arguments: "", wanted: None };
        self.stage.desk.shop.gate.admit(wish, &Stop::new()).await.expect("a permit")
    }

    async fn run_in(&self, cwd: &Path, command: &str) -> Executed {
        self.run_with(cwd, command, request()).await.expect("it runs")
    }

    async fn run_with(&self, cwd: &Path, command: &str, request: Request) -> Result<Executed, Unable> {
        let permit = self.permit(command, cwd).await;
        self.backend.execute(&permit, request).await
    }

    async fn run(&self, command: &str) -> Executed {
        self.run_in(&self.stage.path(""), command).await
    }

    /// The output alone.
    async fn say(&self, command: &str) -> String {
        self.run(command).await.output
    }

    fn project(&self) -> PathBuf {
        self.stage.root().join("project")
    }
}

fn request() -> Request {
    Request {
        timeout: Duration::from_secs(60),
        stdin: Stdin::Empty,
        capture: Capture::Within(50_000),
        face: Face::Pipes,
        sudo: None,
        stop: Stop::new(),
    }
}

/// Whether a process with this number lives. One that has ended and is not yet waited for does not.
fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Waits for a file that another process writes.
async fn appears(path: &Path) -> String {
    for _ in 0..2_000 {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
    panic!("{} did not appear", path.display());
}

async fn exit_does_not_lose_what_came_before_it(make: Make) {
    let world = World::new(make);
    let first = world.run("cd /usr; export QQ=5; exit 3").await;
    let wanted = Executed {
        output: String::new(),
        exit_code: 3,
        ended: Ended::Exited,
        cwd: Some("/usr".into()),
        state: Memory::Kept,
    };
    assert_eq!(first, wanted);
    assert_eq!(world.run_in(Path::new("/usr"), "pwd; echo $QQ").await.output, "/usr\n5\n");
    let strict = world.run("set -e; cd /; export AFTER=1; false; echo never").await;
    assert_eq!((strict.exit_code, strict.cwd, strict.output.as_str()), (1, Some("/".into()), ""));
    assert_eq!(world.say("echo $AFTER").await, "1\n");
    let failed = world.run("cd /nowhere/at/all").await;
    assert_eq!((failed.exit_code, failed.cwd), (1, Some(world.project())));
}

async fn directory_and_exports_last(make: Make) {
    let world = World::new(make);
    let odd = world.stage.path("a b\n'c' $d");
    std::fs::create_dir(&odd).expect("a directory");
    let moved = world.run("export TEXT=$'two\\nlines \"and\" $more'; cd a*").await;
    assert_eq!(moved.cwd, Some(odd.clone()));
    let after = world.run_in(&odd, "printf %s \"$TEXT\"; cd -").await;
    assert_eq!(after.output, format!("two\nlines \"and\" $more{}\n", world.project().display()));
    assert_eq!(world.say("PLAIN=1; echo $SHLVL").await, world.say("echo $PLAIN$SHLVL").await);
}

async fn functions_aliases_and_options_last(make: Make) {
    let world = World::new(make);
    world.run("greet() { echo \"hello $1\"; }; _own() { echo own; }; export -f greet; alias hi='greet you'").await;
    world.run("shopt -s nullglob; set -o pipefail; set -f; umask 027; exit 0").await;
    assert_eq!(world.say("hi; _own; bash -c 'greet child'").await, "hello you\nown\nhello child\n");
    assert_eq!(
        world.say("echo *; false | true; echo $?; umask; shopt nullglob").await,
        "*\n1\n0027\nnullglob       \ton\n"
    );
    world.run("set +f; unset -f greet; unalias hi").await;
    assert_eq!(world.say("declare -F; alias; set | grep -c '^__hermes_'").await, "declare -f _own\n0\n");
}

async fn what_was_unset_stays_unset(make: Make) {
    let mut plan = Plan { config: json!({"approvals": {"mode": "off"}}), ..Plan::default() };
    plan.variables.insert("GIVEN".to_owned(), "yes".to_owned());
    plan.variables.insert("odd.name".to_owned(), "kept".to_owned());
    let world = World::plan(make, plan);
    assert_eq!(world.say("echo $GIVEN; unset GIVEN").await, "yes\n");
    assert_eq!(world.say("echo \"[$GIVEN]\"; env | grep odd").await, "[]\nodd.name=kept\n");
}

async fn strictness_ends_with_its_command(make: Make) {
    let world = World::new(make);
    let traced = world.run("set -euxv; echo one").await;
    assert_eq!((traced.exit_code, traced.output.as_str()), (0, "++ echo one\none\n"));
    assert_eq!(world.say("false; echo $nothing two").await, "two\n");
    world.run("set -C; alias builtin=false eval=false set=false").await;
    assert_eq!(world.say("echo still here; cd /").await, "still here\n");
}

async fn two_conversations_have_two_directories(make: Make) {
    let world = World::new(make);
    let (one, two) = (world.stage.path("one"), world.stage.path("two"));
    std::fs::create_dir(&one).and_then(|()| std::fs::create_dir(&two)).expect("directories");
    assert_eq!(world.run_in(&one, "pwd").await.cwd, Some(one.clone()));
    assert_eq!(world.run_in(&two, "pwd").await.output, format!("{}\n", two.display()));
    assert_eq!(world.run_in(&one, "pwd").await.output, format!("{}\n", one.display()));
}

async fn a_command_reads_its_input(make: Make) {
    let world = World::new(make);
    let text = "line\n".repeat(200_000);
    let stdin = Stdin::Text(text.clone().into_bytes());
    let counted = world.run_with(&world.project(), "wc -c", Request { stdin: stdin.clone(), ..request() }).await;
    assert_eq!(counted.expect("it runs").output.trim(), text.len().to_string());
    // Who does not read holds nobody up.
    let deaf = world.run_with(&world.project(), "exec <&-; echo deaf", Request { stdin, ..request() }).await;
    assert_eq!(deaf.expect("it runs").output, "deaf\n");
}

async fn nobody_gives_input_to_a_command_without(make: Make) {
    let world = World::new(make);
    assert_eq!(world.say("cat; read line || echo end").await, "end\n");
}

async fn a_lost_directory_becomes_the_nearest_above(make: Make) {
    let world = World::new(make);
    let deep = world.stage.path("x/y/z");
    assert_eq!(world.backend.usable(&deep), world.project());
    assert_eq!(world.backend.usable(&world.project()), world.project());
    assert_eq!(world.backend.usable(Path::new("/nowhere/at/all")), world.stage.root().join("tmp"));
    assert_eq!(world.backend.usable(Path::new("relative")), world.stage.root().join("tmp"));
    assert_eq!(world.backend.usable(Path::new("/")), Path::new("/"));
    // What was judged for one directory runs in no other.
    let gone = world.run_in(&deep, "echo ran").await;
    assert_eq!((gone.exit_code, gone.output.contains("ran")), (126, false));
    let deleted = world.run("mkdir d; cd d; rmdir ../d").await;
    assert_eq!(deleted.cwd, Some(world.stage.path("d")));
}

async fn a_slow_command_is_ended_with_its_family(make: Make) {
    let world = World::new(make);
    let slow =
        "trap '' TERM; sleep 300 & echo $! > child; setsid sleep 301 & echo $! > far; echo begun; wait; sleep 300";
    let limit = Request { timeout: Duration::from_secs(1), ..request() };
    let ended = world.run_with(&world.project(), slow, limit.clone()).await.expect("it ran");
    assert_eq!(ended.output, "begun\n[Command timed out after 1s]");
    assert_eq!((ended.exit_code, ended.ended), (124, Ended::TimedOut));
    assert!(!lives(&world.stage.read("child")) && !lives(&world.stage.read("far")), "nobody of the family lives");
    let silent = world.run_with(&world.project(), "sleep 300", limit).await.expect("it ran");
    assert_eq!(silent.output, "[Command timed out after 1s]");
}

async fn an_interrupt_ends_the_family(make: Make) {
    let world = World::new(make);
    let stop = Stop::new();
    let (pid, project) = (world.stage.path("pid"), world.project());
    let command = "(sleep 300 & echo $! > pid; wait)";
    let running = world.run_with(&project, command, Request { stop: stop.clone(), ..request() });
    let interrupt = async {
        let pid = appears(&pid).await;
        stop.stop();
        (pid, Instant::now())
    };
    let (executed, (pid, stopped)) = tokio::join!(running, interrupt);
    let executed = executed.expect("it ran");
    assert_eq!((executed.output.as_str(), executed.exit_code), ("[Command interrupted]", 130));
    assert_eq!(executed.ended, Ended::Interrupted);
    assert!(!lives(&pid), "the grandchild lives");
    assert!(stopped.elapsed() < Duration::from_secs(3), "within the patience of the dispatcher");
}

async fn a_dropped_call_leaves_nobody(make: Make) {
    let world = World::new(make);
    let pid = world.stage.path("pid");
    let project = world.project();
    let running = world.run_with(&project, "sleep 300 & echo $! > pid; wait", request());
    let pid = tokio::select! {
        _ = running => panic!("it cannot end"),
        pid = appears(&pid) => pid,
    };
    assert!(!lives(&pid), "the child outlived its call");
}

async fn long_output_keeps_its_beginning_and_its_end(make: Make) {
    let world = World::new(make);
    let limit = Request { capture: Capture::Within(1_000), ..request() };
    let long = world.run_with(&world.project(), "seq 100000; cd /", limit).await.expect("it runs");
    assert_eq!(long.output.chars().count(), 1_000);
    assert!(long.output.starts_with("1\n2\n3\n") && long.output.ends_with("99999\n100000\n"), "{}", long.output);
    assert!(long.output.contains("bytes of output left out here"), "{}", long.output);
    assert_eq!(long.cwd, Some("/".into()));
    let whole = world.run_with(&world.project(), "seq 100000", Request { capture: Capture::Whole, ..request() }).await;
    assert_eq!(whole.expect("it runs").output.len(), 588_895);
}

async fn endless_output_stays_small(make: Make) {
    let world = World::new(make);
    let before = resident();
    let flood = world.run("yes | head -c 200000000").await;
    assert_eq!(flood.output.chars().count(), 50_000);
    assert!(resident() < before + 60_000, "{} kB before, {} kB after", before, resident());
}

/// Kilobytes of memory this process holds.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

async fn colours_and_odd_bytes(make: Make) {
    let world = World::new(make);
    let output = world.say("printf 'a\\t\\033[31mred\\033[0m \\377 \\303\\244\\n' >&2; echo out").await;
    assert_eq!(output, "a\tred \u{fffd} ä\nout\n");
}

async fn a_child_that_holds_the_output_holds_nobody_up(make: Make) {
    let world = World::new(make);
    world.run("true").await;
    let began = Instant::now();
    let held = world.run("sleep 300 & echo $!").await;
    assert!(began.elapsed() < Duration::from_secs(20), "it was waited for");
    assert_eq!((held.exit_code, held.cwd), (0, Some(world.project())));
    assert!(lives(&held.output), "what was started on purpose goes on");
    world.run(&format!("kill {}", held.output)).await;
    let talking = world.run("(while :; do echo more; done) & echo $! > pid").await;
    assert_eq!(talking.exit_code, 0);
    world.run("kill $(cat pid)").await;
}

async fn a_command_may_close_its_streams(make: Make) {
    let world = World::new(make);
    let closed = world.run("cd /usr; echo before; exec <&- >/dev/null 2>&1; echo lost; exit 4").await;
    assert_eq!((closed.output.as_str(), closed.exit_code), ("before\n", 4));
    assert_eq!(world.say("echo next").await, "next\n");
}

async fn a_list_in_the_background_runs_its_first_part_here(make: Make) {
    let world = World::new(make);
    let list = world.run("cd /usr && sleep 0 & wait; echo done").await;
    assert_eq!((list.output.as_str(), list.cwd), ("done\n", Some("/usr".into())));
}

async fn a_command_may_replace_the_shell(make: Make) {
    let world = World::new(make);
    world.run("export KEPT=1").await;
    let replaced = world.run("cd /usr; export LOST=1; exec sh -c 'echo other; exit 7'").await;
    let wanted =
        Executed { output: "other\n".into(), exit_code: 7, ended: Ended::Exited, cwd: None, state: Memory::Lost };
    assert_eq!(replaced, wanted);
    let killed = world.run("kill -9 $$").await;
    assert_eq!((killed.exit_code, killed.state), (137, Memory::Lost));
    assert_eq!(world.say("echo $KEPT$LOST").await, "1\n");
}

async fn traps_of_a_command_run_and_cost_nothing(make: Make) {
    let world = World::new(make);
    let own = world.run("trap 'echo bye $?' EXIT; cd /usr; export T=1; echo hi").await;
    assert_eq!((own.output.as_str(), own.cwd), ("hi\nbye 0\n", Some("/usr".into())));
    let leaving = world.run("trap 'echo bye $?; exit' EXIT; cd /; export T=2; (exit 5); exit 6").await;
    assert_eq!((leaving.output.as_str(), leaving.exit_code, leaving.cwd), ("bye 6\n", 6, Some("/".into())));
    let bare = world.run("trap 'true' EXIT; false; exit").await;
    assert_eq!(bare.exit_code, 1);
    assert_eq!(world.say("echo $T; declare -F; type exit").await, "2\nexit is a shell builtin\n");
    assert_eq!(world.say("(trap 'echo inner' EXIT; exit 2); echo $?").await, "inner\n2\n");
}

async fn quotes_heredocs_and_line_numbers(make: Make) {
    let world = World::new(make);
    let text = "cat <<'END'\nit's \"so\" $HOME `x` \\\nEND\ncat <<END\n$((1+1))\nEND\n";
    assert_eq!(world.say(text).await, "it's \"so\" $HOME `x` \\\n2\n");
    let open = world.run("cd /; echo 'open").await;
    assert_eq!((open.exit_code, open.cwd), (2, Some(world.project())));
    assert!(open.output.contains("line 1"), "{}", open.output);
    let missing = world.run("true\n\nno-such-program-at-all").await;
    assert_eq!((missing.exit_code, missing.output.contains("line 3: no-such-program")), (127, true), "{missing:?}");
    assert_eq!(world.run("").await.exit_code, 0);
}

async fn a_command_may_have_a_terminal(make: Make) {
    let world = World::new(make);
    let face = Request { face: Face::Pty, ..request() };
    let seen =
        world.run_with(&world.project(), "test -t 0 && tty -s && echo yes; cd /usr; export P=1", face.clone()).await;
    let seen = seen.expect("it runs");
    assert_eq!((seen.output.as_str(), seen.exit_code, seen.cwd), ("yes\n", 0, Some("/usr".into())));
    assert_eq!(world.say("echo $P; test -t 0 || echo no").await, "1\nno\n");
    let limit = Request { timeout: Duration::from_secs(1), ..face };
    let slow = world.run_with(&world.project(), "sleep 300", limit).await.expect("it ran");
    assert_eq!((slow.output.as_str(), slow.exit_code), ("[Command timed out after 1s]", 124));
}

async fn a_very_long_command(make: Make) {
    let world = World::new(make);
    // A tab is one character for us and four in the script: longer than an argument may be.
    let executed = world.run(&format!("printf %s '{}' | wc -c; cd /usr", "\t".repeat(40_000))).await;
    assert_eq!((executed.output.as_str(), executed.cwd), ("40000\n", Some("/usr".into())));
}

async fn nul_is_refused(make: Make) {
    let world = World::new(make);
    let refused = world.run_with(&world.project(), "echo \0", request()).await;
    assert!(matches!(&refused, Err(Unable::Disabled(reason)) if reason.contains("NUL")), "{refused:?}");
}

async fn calls_side_by_side_do_not_tear_the_state(make: Make) {
    let world = Arc::new(World::new(make));
    world.run("export BASE=base").await;
    let calls = (0..8).map(|call| {
        let world = world.clone();
        async move { world.run(&format!("export MINE={call}; f{call}() {{ :; }}; echo $BASE")).await }
    });
    for executed in futures_util::future::join_all(calls).await {
        assert_eq!((executed.output.as_str(), executed.exit_code), ("base\n", 0));
    }
    // One of them was the last, and it is there as a whole.
    let last = world.say("echo $BASE; declare -F f$MINE").await;
    assert_eq!(last.lines().collect::<Vec<_>>(), ["base", &format!("f{}", world.say("echo $MINE").await.trim())]);
}
