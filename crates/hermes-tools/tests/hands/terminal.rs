//! The terminal as a model uses it.

use crate::stage::{Plan, Stage};
use hermes_tools::gate::Answer;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

async fn run(stage: &Stage, command: &str) -> Value {
    stage.call("terminal", json!({ "command": command })).await
}

fn ran(output: &str) -> Value {
    json!({"output": output, "exit_code": 0, "error": null})
}

#[tokio::test]
async fn a_command_answers_with_its_fields_in_order() {
    let stage = Stage::new();
    let text = stage.call_text("terminal", json!({"command": "echo hi"})).await;
    assert_eq!(text, r#"{"output":"hi","exit_code":0,"error":null}"#);
    let missing = run(&stage, "echo one | grep two").await;
    assert_eq!(
        missing,
        json!({"output": "", "exit_code": 1, "error": null, "exit_code_meaning": "no matches (not an error)"})
    );
    let late = stage.call_text("terminal", json!({"command": "sleep 60", "timeout": 1})).await;
    assert_eq!(late, r#"{"output":"[Command timed out after 1s]","exit_code":124,"error":null}"#);
}

#[tokio::test]
async fn the_conversation_moves_with_cd_and_not_with_workdir() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.path("a/b")).expect("directories");
    let place = |below: &str| ran(&stage.path(below).display().to_string());
    run(&stage, "cd a; export X=1; exit 0").await;
    assert_eq!(run(&stage, "pwd").await, place("a"));
    assert_eq!(stage.desk.cwd(), stage.path("a"));
    assert_eq!(stage.call("terminal", json!({"command": "pwd", "workdir": "b"})).await, place("a/b"));
    assert_eq!(
        stage.call("terminal", json!({"command": "pwd", "workdir": "~"})).await,
        ran(&stage.root().join("home").display().to_string())
    );
    assert_eq!(run(&stage, "pwd; echo $X").await, ran(&format!("{}\n1", stage.path("a").display())));
}

#[tokio::test]
async fn a_directory_that_is_gone_is_told() {
    let stage = Stage::new();
    std::fs::create_dir(stage.path("gone")).expect("a directory");
    run(&stage, "cd gone").await;
    std::fs::remove_dir(stage.path("gone")).expect("removed");
    let (gone, project) = (stage.path("gone"), stage.root().join("project"));
    let wanted = json!({
        "output": project.display().to_string(),
        "exit_code": 0,
        "error": null,
        "cwd_note": format!("{} is no usable directory; ran in {}", gone.display(), project.display()),
    });
    assert_eq!(run(&stage, "pwd").await, wanted);
    assert_eq!(run(&stage, "pwd").await, ran(&project.display().to_string()));
}

#[tokio::test]
async fn what_cannot_work_is_refused_before_anything_runs() {
    let stage = Stage::new();
    let table = [
        (json!({}), "error", "command must be a text"),
        (json!({"command": ["ls"]}), "error", "command must be a text"),
        (json!({"command": "echo \u{0}"}), "error", "NUL"),
        (json!({"command": "touch made", "timeout": 0}), "error", "at least 1"),
        (json!({"command": "touch made; sleep 1 &"}), "error", "background=true"),
        (json!({"command": "npm run dev"}), "error", "background=true"),
        (json!({"command": "touch made", "workdir": "a;b"}), "blocked", "';'"),
    ];
    for (arguments, status, reason) in table {
        let refused = stage.call("terminal", arguments.clone()).await;
        assert_eq!((&refused["status"], &refused["exit_code"]), (&json!(status), &json!(-1)), "{arguments}: {refused}");
        assert!(refused["error"].as_str().is_some_and(|error| error.contains(reason)), "{arguments}: {refused}");
    }
    let long = stage.call("terminal", json!({"command": "touch made", "timeout": 601})).await;
    assert_eq!(
        long,
        json!({"error": "timeout 601 s is more than the 600 s a command may take in the foreground; use background=true"})
    );
    assert!(!stage.path("made").exists());
}

#[tokio::test]
async fn what_the_gate_refuses_has_the_shape_of_a_command_that_did_not_run() {
    let stage = Stage::new();
    let refused = run(&stage, "rm -rf /").await;
    assert_eq!(
        (&refused["output"], &refused["exit_code"], &refused["status"]),
        (&json!(""), &json!(-1), &json!("blocked"))
    );
    assert!(refused["error"].as_str().is_some_and(|error| error.starts_with("BLOCKED (hardline)")), "{refused}");
}

#[tokio::test]
async fn consent_is_in_the_result() {
    let stage = Stage::attended([Answer::Once]);
    std::fs::create_dir(stage.path("old")).expect("a directory");
    let removed = run(&stage, "rm -rf old").await;
    assert_eq!(removed["exit_code"], 0, "{removed}");
    assert!(removed["approval"].as_str().is_some_and(|text| text.starts_with("The person allowed it (")), "{removed}");
    assert!(!stage.path("old").exists());
}

#[tokio::test]
async fn readers_run_side_by_side_and_writers_alone() {
    let stage = Stage::new();
    run(&stage, "true").await;
    let began = Instant::now();
    let naps = vec![("terminal", json!({"command": "sleep 2"})); 4];
    let results = stage.batch(&naps).await;
    let nothing = ran("").to_string();
    assert!(results.iter().all(|result| result.content.text() == nothing));
    assert!(began.elapsed() < Duration::from_secs(6), "four naps of two seconds took {:?}", began.elapsed());
    let steps: Vec<(&str, Value)> =
        (0..5).map(|step| ("terminal", json!({"command": format!("echo {step} >> log; cat log | tail -1")}))).collect();
    let said: Vec<String> = stage.batch(&steps).await.iter().map(|result| result.content.text()).collect();
    assert_eq!(said, (0..5).map(|step| ran(&step.to_string()).to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_interrupt_gives_what_was_said_until_then() {
    let stage = Stage::new();
    let begun = stage.path("begun");
    let interrupt = async {
        while !begun.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stage.stop.stop();
    };
    let (result, ()) = tokio::join!(run(&stage, "echo so far; touch begun; sleep 300"), interrupt);
    assert_eq!(result, json!({"output": "so far\n[Command interrupted]", "exit_code": 130, "error": null}));
}

#[tokio::test]
async fn the_shell_of_the_person_is_asked_once() {
    let stage = Stage::with(json!({"approvals": {"mode": "off"}}));
    let home = stage.root().join("home");
    let profile = "echo noise; export FROM_PROFILE=1; echo x >> ~/read; PATH=/usr/bin:/bin; _completion() { :; }\n";
    std::fs::write(home.join(".bash_profile"), profile).expect("a profile");
    std::fs::write(home.join(".bashrc"), "alias greet='echo hello'; tool() { echo tool; }\n").expect("an rc file");
    assert_eq!(run(&stage, "echo $FROM_PROFILE; greet; tool").await, ran("1\nhello\ntool"));
    assert_eq!(run(&stage, "wc -l < ~/read; declare -F").await, ran("1\ndeclare -f tool"));
    let given = stage.desk.settings().around.variables["PATH"].clone();
    let path = run(&stage, "echo $PATH").await["output"].as_str().unwrap_or_default().to_owned();
    let entries: Vec<&str> = path.split(':').collect();
    given.split(':').for_each(|entry| assert!(entries.contains(&entry), "{entry} is in {path}"));
}

#[tokio::test]
async fn a_start_file_that_ends_the_shell_costs_nothing_before_it() {
    let stage = Stage::new();
    let rc = "export EARLY=1; alias greet='echo hello'; exit 3; export LATE=1\n";
    std::fs::write(stage.root().join("home/.bashrc"), rc).expect("a file");
    assert_eq!(run(&stage, "echo $EARLY$LATE; greet").await, ran("1\nhello"));
    let other = Stage::new();
    std::fs::write(other.root().join("home/.bashrc"), "exec true\n").expect("a file");
    assert_eq!(run(&other, "echo works; export X=1").await, ran("works"));
    assert_eq!(run(&other, "echo $X").await, ran("1"));
}

#[tokio::test]
async fn files_of_the_owner_come_instead_of_those_of_the_shell() {
    let stage = Stage::with(json!({"terminal": {"shell_init_files": ["~/mine.sh"], "cwd": "sub"}}));
    std::fs::create_dir(stage.path("sub")).expect("a directory");
    let home = stage.root().join("home");
    std::fs::write(home.join("mine.sh"), "export WHO=mine\n").expect("a file");
    std::fs::write(home.join(".bashrc"), "export WHO=rc\n").expect("a file");
    assert_eq!(run(&stage, "echo $WHO; pwd").await, ran(&format!("mine\n{}", stage.path("sub").display())));
}

#[tokio::test]
async fn a_shell_that_need_not_remember_does_not() {
    let stage = Stage::with(json!({"terminal": {"persistent_shell": false}}));
    run(&stage, "cd /usr; export X=1").await;
    assert_eq!(run(&stage, "pwd; echo $X").await, ran(&stage.root().join("project").display().to_string()));
}

#[tokio::test]
async fn another_backend_is_never_replaced_by_this_machine() {
    let stage = Stage::with(json!({"terminal": {"backend": "docker"}}));
    let refused = run(&stage, "touch made").await;
    assert_eq!(refused["status"], "disabled", "{refused}");
    assert!(!stage.path("made").exists());
}

#[tokio::test]
async fn a_background_command_is_handed_over() {
    let stage = Stage::new();
    let started = stage.call("terminal", json!({"command": "echo over there", "background": true})).await;
    let id = started["session_id"].as_str().unwrap_or_default().to_owned();
    assert!(id.starts_with("proc_"), "{started}");
    assert_eq!((&started["output"], &started["exit_code"]), (&json!("Background process started"), &json!(0)));
    let waited = stage.call("process", json!({"action": "wait", "session_id": id})).await;
    assert_eq!((&waited["status"], &waited["exit_code"]), (&json!("exited"), &json!(0)), "{waited}");
    assert!(waited["output"].as_str().is_some_and(|output| output.contains("over there")), "{waited}");
}

#[tokio::test]
async fn secrets_are_covered_and_private_variables_not_there() {
    let mut plan = Plan::default();
    plan.variables.insert("PLAIN".to_owned(), "seen".to_owned());
    let stage = Stage::build(plan);
    let key = format!("sk-ant-api03-{}", "a1B2".repeat(12));
    stage.write("notes", &key);
    let shown = run(&stage, "cat notes; echo $PLAIN; echo $HERMES_SESSION_ID").await;
    let output = shown["output"].as_str().unwrap_or_default();
    assert!(!output.contains(&key) && output.contains("seen") && output.contains("stage0"), "{output}");
}

#[tokio::test]
async fn nothing_stays_in_the_temp_directory() {
    let stage = Stage::new();
    run(&stage, "export SECRET=1").await;
    let temp = stage.root().join("tmp");
    let made: Vec<_> = std::fs::read_dir(&temp).expect("a directory").flatten().collect();
    assert_eq!(made.len(), 1);
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(made[0].metadata().expect("its data").permissions().mode() & 0o777, 0o700);
    let files: Vec<_> = std::fs::read_dir(made[0].path()).expect("a directory").flatten().collect();
    assert_eq!(files.len(), 1, "the one state: {files:?}");
    let Stage { desk, .. } = stage;
    drop(desk);
    assert!(!made[0].path().exists());
}

#[tokio::test]
async fn what_a_killed_program_left_goes_with_the_next_start() {
    use std::os::unix::process::CommandExt;
    let stage = Stage::new();
    let temp = stage.root().join("tmp");
    let old = std::time::SystemTime::now() - Duration::from_secs(3600);
    let folder = |mark: &str, random: &str| {
        let path = temp.join(format!("hermes-shell-{mark}-{random}"));
        std::fs::create_dir(&path).and_then(|()| std::fs::write(path.join("0.state"), "x")).expect("a directory");
        let opened = std::fs::File::open(&path).expect("opened");
        opened.set_modified(old).expect("an age");
        (path, opened)
    };
    let mark = "0123456789abcdef01234567";
    let (dead, lock) = folder(mark, "dead");
    drop(lock);
    let (owned, lock) = folder("76543210fedcba9876543210", "owned");
    lock.lock().expect("a lock");
    let (strange, _) = folder("no-mark", "strange");
    let mut command = std::process::Command::new("sleep");
    command.arg("3600").env("HERMES_FAMILY", format!("outer:{mark}")).process_group(0);
    let mut left = command.spawn().expect("a process that was left behind");
    assert_eq!(run(&stage, "echo works").await, ran("works"));
    let ended = left.try_wait().expect("its state").is_some();
    left.kill().expect("its end");
    left.wait().expect("its end");
    assert_eq!((ended, dead.exists(), owned.exists(), strange.exists()), (true, false, true, true));
}

/// `cargo test --release -p hermes-tools --test hands what_a_command_costs -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement, for a quiet machine"]
#[allow(clippy::print_stdout, reason = "the numbers are what it is for")]
async fn what_a_command_costs() {
    let stage = Stage::new();
    run(&stage, "true").await;
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let (mut alone, mut eight, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    let batch = vec![("terminal", json!({"command": "true"})); 8];
    for _ in 0..40 {
        let began = Instant::now();
        run(&stage, "true").await;
        alone.push(began.elapsed());
        let began = Instant::now();
        tokio::process::Command::new("bash").args(["--norc", "-c", "true"]).status().await.expect("bash");
        bare.push(began.elapsed());
        let began = Instant::now();
        stage.batch(&batch).await;
        eight.push(began.elapsed());
    }
    let (alone, eight, bare) = (median(alone), median(eight), median(bare));
    println!("one {alone:?}, bash itself {bare:?}, eight {eight:?}");
    assert!(alone < bare + Duration::from_millis(4), "one takes {alone:?}, bash itself {bare:?}");
    assert!(eight < Duration::from_millis(20), "eight take {eight:?}");
}
