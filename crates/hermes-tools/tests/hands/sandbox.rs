//! Commands inside limits that the kernel enforces, each story once per keeper this machine has.

use crate::stage::{Plan, Stage};
use hermes_tools::settings::Surroundings;
use hermes_tools::terminal::sandbox::{Sandbox, SandboxMode, Wrapped};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Who keeps the limits in a story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Kernel,
    Bubblewrap,
}

/// A home with credentials, a project, a temp directory, and something outside that must stay as it is.
struct Yard {
    dir: TempDir,
}

impl Yard {
    fn new() -> Self {
        let yard = Self { dir: TempDir::new().expect("a directory") };
        for folder in ["home/.hermes", "home/.ssh", "project", "tmp", "outside"] {
            fs::create_dir_all(yard.path(folder)).expect("a folder");
        }
        fs::write(yard.path("home/.ssh/id"), "key").expect("a key");
        fs::write(yard.path("home/.hermes/.env"), "KEY=1").expect("a secret");
        fs::write(yard.path("home/.hermes/config.yaml"), "a: 1").expect("settings");
        fs::write(yard.path("outside/kept"), "kept").expect("a file");
        symlink(yard.path("outside"), yard.path("project/way-out")).expect("a link");
        symlink(yard.path("home/.ssh/id"), yard.path("project/way-to-key")).expect("a link");
        yard
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("its real path").join(below)
    }

    fn around(&self, path: &str) -> Surroundings {
        Surroundings {
            home: self.path("home"),
            hermes_home: self.path("home/.hermes"),
            hermes_root: self.path("home/.hermes"),
            cwd: self.path("project"),
            temp: self.path("tmp"),
            variables: BTreeMap::from([("PATH".to_owned(), path.to_owned())]),
            private_variables: BTreeSet::new(),
        }
    }

    fn sandbox(&self, mode: SandboxMode, by: By) -> Sandbox {
        let path = match by {
            By::Kernel => String::new(),
            By::Bubblewrap => std::env::var("PATH").unwrap_or_default(),
        };
        Sandbox::new(mode, &self.around(&path))
    }

    /// What a script prints, in its sandbox, started in the folder.
    async fn run(&self, sandbox: &Sandbox, folder: &str, script: &str) -> String {
        let mut words = sandbox.prefix().await.expect("a keeper");
        let wrapped = if words.is_empty() { Wrapped::No } else { Wrapped::Yes };
        words.extend(["bash", "-c", script].map(OsString::from));
        let mut command = Command::new(words.remove(0));
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.args(words).env_clear().env("PATH", path).env("YARD", self.path("")).env("HOME", self.path("home"));
        command.env("PARENT", std::process::id().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.current_dir(self.path(folder));
        let child = spawned(sandbox, wrapped, command).await.expect("a child");
        let output = child.wait_with_output().await.expect("its end");
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {complaints}", output.status);
        String::from_utf8(output.stdout).expect("text")
    }

    /// What of these attempts succeeds, by name.
    async fn attempts(&self, sandbox: &Sandbox, attempts: &[(&str, &str)]) -> Vec<(String, bool)> {
        let mut script = "cd \"$YARD/project\"\n".to_owned();
        for (name, attempt) in attempts {
            script += &format!("if ( {attempt} ) >/dev/null 2>&1; then echo '{name}:yes'; else echo '{name}:no'; fi\n");
        }
        let printed = self.run(sandbox, "project", &script).await;
        let lines = printed.lines().filter_map(|line| line.split_once(':'));
        lines.map(|(name, answer)| (name.to_owned(), answer == "yes")).collect()
    }
}

async fn spawned(sandbox: &Sandbox, wrapped: Wrapped, command: Command) -> std::io::Result<tokio::process::Child> {
    sandbox.inside(wrapped, move || tokio::process::Command::from(command).spawn()).await
}

/// Those that can keep limits here; what is left out is said.
#[allow(clippy::print_stderr, reason = "a story that is left out says so")]
fn keepers() -> Vec<By> {
    let yard = Yard::new();
    let kernel = yard.sandbox(SandboxMode::Strict, By::Kernel).report();
    let wrapped = yard.sandbox(SandboxMode::Strict, By::Bubblewrap).report();
    let mut found = Vec::new();
    if kernel.ready {
        found.push(By::Kernel);
    } else {
        eprintln!("skipped, Landlock and seccomp: {kernel}");
    }
    if wrapped.bubblewrap.is_some() {
        found.push(By::Bubblewrap);
    } else {
        eprintln!("skipped, bubblewrap: not installed or not usable here");
    }
    found
}

fn named(answers: &[(&str, bool)]) -> Vec<(String, bool)> {
    answers.iter().map(|(name, answer)| ((*name).to_owned(), *answer)).collect()
}

const FILES: [(&str, &str); 19] = [
    ("write inside", "echo x > a && mkdir -p d/e && mv a d/e/a && ln d/e/a hard && rm -r d"),
    ("write to the temp directory", "echo x > $YARD/tmp/a"),
    ("devices that hold nothing", "echo x > /dev/null && head -c 1 /dev/urandom"),
    ("read outside", "cat $YARD/outside/kept && ls $HOME && cat $HOME/.hermes/config.yaml"),
    ("create outside", "echo x > $YARD/outside/new"),
    ("overwrite outside", "echo x > $YARD/outside/kept"),
    ("truncate outside", "truncate -s 0 $YARD/outside/kept"),
    ("remove outside", "rm -f $YARD/outside/kept"),
    ("remove the folder outside", "rm -rf $YARD/outside"),
    ("follow a link out", "echo x > way-out/new"),
    ("make a way out", "ln -s $YARD/outside other && echo x > other/new"),
    ("rename to outside", "echo x > b; mv b $YARD/outside/b"),
    ("rename from outside", "mv $YARD/outside/kept kept"),
    ("hard link from outside", "ln $YARD/outside/kept linked"),
    ("grandchild in a session of its own", "setsid -w bash -c 'bash -c \"echo x > $YARD/outside/new\"'"),
    ("read a key", "cat $HOME/.ssh/id | grep key"),
    ("read a key through a link", "cat way-to-key | grep key"),
    ("read the secrets of Hermes", "cat $HOME/.hermes/.env | grep KEY"),
    ("read the variables of Hermes", "tr '\\0' '\\n' < /proc/$PARENT/environ | grep ="),
];

#[tokio::test]
async fn in_a_workspace_nothing_outside_changes_and_no_key_is_read() {
    for by in keepers() {
        let yard = Yard::new();
        let answers = yard.attempts(&yard.sandbox(SandboxMode::Workspace, by), &FILES).await;
        let expected: Vec<(&str, bool)> = FILES.iter().enumerate().map(|(at, (name, _))| (*name, at < 4)).collect();
        assert_eq!(answers, named(&expected), "{by:?}");
        let left: Vec<_> =
            fs::read_dir(yard.path("outside")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["kept"], "{by:?}");
        assert_eq!(fs::read_to_string(yard.path("outside/kept")).unwrap(), "kept", "{by:?}");
    }
}

#[tokio::test]
async fn new_namespaces_and_devices_open_no_way_out() {
    let attempts = [
        ("uncover a key", "unshare -Urm sh -c 'umount $HOME/.ssh; cat $HOME/.ssh/id | grep key'"),
        ("mount over it", "mkdir -p in; unshare -Urm sh -c 'mount --bind $HOME/.ssh in; cat in/id | grep key'"),
        ("write again", "unshare -Urm sh -c 'mount -o remount,bind,rw /; echo x > $YARD/outside/new'"),
        ("another root", "unshare -Ur chroot $YARD/outside /bin/sh -c 'echo x > /new'"),
        ("a disk", "mknod disk b 8 0 || mknod disk b 254 0"),
        ("gain rights", "grep 'NoNewPrivs:.*0' /proc/self/status"),
        ("the memory of Hermes", "head -c 1 /proc/$PARENT/maps | grep ."),
        ("the files of Hermes", "ls /proc/$PARENT/cwd/ | grep ."),
    ];
    for by in keepers() {
        for mode in [SandboxMode::Workspace, SandboxMode::Strict] {
            let yard = Yard::new();
            let answers = yard.attempts(&yard.sandbox(mode, by), &attempts).await;
            assert_eq!(answers, named(&attempts.map(|(name, _)| (name, false))), "{by:?} {mode}");
            assert!(!yard.path("outside/new").exists(), "{by:?} {mode}");
        }
    }
}

#[tokio::test]
async fn without_a_sandbox_every_attempt_succeeds() {
    let yard = Yard::new();
    // Otherwise the stories above would prove nothing. Those that take away what a later one needs are left out.
    let spoils =
        |name: &str| ["remove", "truncate", "overwrite", "from outside"].iter().any(|word| name.contains(word));
    let attempts: Vec<_> = FILES.into_iter().filter(|(name, _)| !spoils(name)).collect();
    let expected: Vec<(&str, bool)> = attempts.iter().map(|(name, _)| (*name, true)).collect();
    let off = yard.sandbox(SandboxMode::Off, By::Kernel);
    assert_eq!(yard.attempts(&off, &attempts).await, named(&expected));
}

#[tokio::test]
async fn going_elsewhere_widens_nothing() {
    for by in keepers() {
        let yard = Yard::new();
        let sandbox = yard.sandbox(SandboxMode::Workspace, by);
        let script = "pwd; echo x 2>/dev/null > new || echo refused; cd $YARD/project && echo x > new && echo written";
        let printed = yard.run(&sandbox, "outside", script).await;
        assert_eq!(printed, format!("{}\nrefused\nwritten\n", yard.path("outside").display()), "{by:?}");
    }
}

#[tokio::test]
async fn a_command_signals_nobody_outside() {
    for by in keepers() {
        let yard = Yard::new();
        let mut bystander = Command::new("sleep").arg("600").spawn().expect("a bystander");
        let attempts = [
            ("end another program", format!("kill {}", bystander.id())),
            ("end its own", "sleep 600 & kill $!".into()),
        ];
        let attempts: Vec<(&str, &str)> = attempts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let answers = yard.attempts(&yard.sandbox(SandboxMode::Workspace, by), &attempts).await;
        let lives = bystander.try_wait().expect("its state").is_none();
        bystander.kill().expect("its end");
        bystander.wait().expect("its end");
        assert_eq!((answers, lives), (named(&[("end another program", false), ("end its own", true)]), true), "{by:?}");
    }
}

/// Listeners outside, and attempts to reach them.
struct Ears {
    tcp: TcpListener,
    udp: UdpSocket,
    _abstract: UnixListener,
    _named: UnixListener,
    name: String,
}

impl Ears {
    fn new(yard: &Yard) -> Self {
        let name = format!("hermes-{}", yard.path("").display().to_string().replace('/', "-"));
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        Self {
            tcp: TcpListener::bind("127.0.0.1:0").expect("a port"),
            udp: UdpSocket::bind("127.0.0.1:0").expect("a port"),
            _abstract: UnixListener::bind_addr(&address).expect("a name"),
            _named: UnixListener::bind(yard.path("tmp/ear")).expect("a socket"),
            name,
        }
    }

    async fn reached(&self, yard: &Yard, sandbox: &Sandbox) -> Vec<(String, bool)> {
        let connect = |address: &str| {
            format!(
                "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) or die; connect(S, pack_sockaddr_un({address})) or die'"
            )
        };
        let port = |address: std::io::Result<std::net::SocketAddr>| address.expect("an address").port();
        let attempts = [
            ("tcp", format!("exec 3<>/dev/tcp/127.0.0.1/{}", port(self.tcp.local_addr()))),
            ("udp", format!("exec 3<>/dev/udp/127.0.0.1/{0} && echo x >&3", port(self.udp.local_addr()))),
            ("abstract", connect(&format!("\"\\0{}\"", self.name))),
            ("named", connect("\"$ENV{YARD}/tmp/ear\"")),
            ("pair", "perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die'".to_owned()),
        ];
        let attempts: Vec<(&str, &str)> = attempts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let mut reached = yard.attempts(sandbox, &attempts).await;
        // A datagram is sent before anybody knows whether it arrives: in a network of its own it does not.
        self.udp.set_nonblocking(true).expect("a switch");
        let arrived = self.udp.recv(&mut [0; 8]).is_ok();
        for (name, answer) in &mut reached {
            *answer = if name == "udp" { arrived } else { *answer };
        }
        reached
    }
}

#[tokio::test]
async fn the_network_is_closed_in_strict_and_programs_outside_are_out_of_reach() {
    let answers = |tcp, udp, hidden, named_, pair| {
        named(&[("tcp", tcp), ("udp", udp), ("abstract", hidden), ("named", named_), ("pair", pair)])
    };
    let yard = Yard::new();
    let off = Ears::new(&yard).reached(&yard, &yard.sandbox(SandboxMode::Off, By::Kernel)).await;
    assert_eq!(off, answers(true, true, true, true, true), "without a sandbox everything is reached");
    for by in keepers() {
        let yard = Yard::new();
        let ears = Ears::new(&yard);
        let strict = ears.reached(&yard, &yard.sandbox(SandboxMode::Strict, by)).await;
        assert_eq!(strict, answers(false, false, false, false, true), "{by:?}");
        let workspace = ears.reached(&yard, &yard.sandbox(SandboxMode::Workspace, by)).await;
        // Names without a file belong to the network, which is open; a kernel before 6.12 cannot tell them apart.
        let old = yard.sandbox(SandboxMode::Workspace, by).report().landlock_abi.is_none_or(|abi| abi < 6);
        assert_eq!(workspace, answers(true, true, by == By::Bubblewrap && old, false, true), "{by:?}");
    }
}

#[tokio::test]
async fn strict_reads_the_workspace_and_the_system_and_no_more() {
    for by in keepers() {
        let yard = Yard::new();
        fs::write(yard.path("project/mine"), "mine").unwrap();
        let attempts = [
            ("the workspace", "cat mine && echo x > mine"),
            ("the system", "ls /usr/bin/env && cat /etc/passwd && cat /proc/self/status"),
            ("its neighbours", "cat $YARD/outside/kept"),
            ("the settings of Hermes", "cat $HOME/.hermes/config.yaml"),
            ("passwords", "cat /etc/shadow | grep :"),
        ];
        let answers = yard.attempts(&yard.sandbox(SandboxMode::Strict, by), &attempts).await;
        let expected = named(&[
            ("the workspace", true),
            ("the system", true),
            ("its neighbours", false),
            ("the settings of Hermes", false),
            ("passwords", false),
        ]);
        assert_eq!(answers, expected, "{by:?}");
    }
}

#[tokio::test]
async fn a_command_without_the_words_of_the_wrapper_is_inside_all_the_same() {
    if !keepers().contains(&By::Kernel) {
        return;
    }
    let yard = Yard::new();
    let sandbox = yard.sandbox(SandboxMode::Workspace, By::Bubblewrap);
    let mut command = Command::new("bash");
    command.arg("-c").arg("echo x > $YARD/outside/new").env("YARD", yard.path("")).stderr(Stdio::null());
    let mut child = spawned(&sandbox, Wrapped::No, command).await.expect("a child");
    assert!(!child.wait().await.expect("its end").success());
    assert!(!yard.path("outside/new").exists());
}

#[tokio::test]
async fn a_workspace_with_credentials_in_it_is_refused() {
    let yard = Yard::new();
    let mut around = yard.around("");
    around.cwd = yard.path("home");
    let sandbox = Sandbox::new(SandboxMode::Workspace, &around);
    let refused = spawned(&sandbox, Wrapped::No, Command::new("true")).await.expect_err("a refusal");
    let text = refused.to_string();
    assert!(text.starts_with("terminal.sandbox is workspace, but commands may change "), "{text}");
    assert!(text.ends_with("Start Hermes in a project directory of its own, or set terminal.sandbox to off"), "{text}");
}

#[test]
fn a_wrapper_that_a_command_could_have_made_is_not_trusted() {
    let yard = Yard::new();
    let fake = yard.path("project/bwrap");
    fs::write(&fake, "#!/bin/sh\necho fake > \"$(dirname \"$0\")/ran\"; echo bubblewrap 9\n").unwrap();
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let report = Sandbox::new(SandboxMode::Strict, &yard.around(&yard.path("project").display().to_string())).report();
    assert_eq!(report.bubblewrap, None);
    assert!(!yard.path("project/ran").exists());
}

/// What a command says, however it is run.
async fn said(stage: &Stage, command: &str, background: bool, pty: bool) -> String {
    let ran = stage.call("terminal", json!({"command": command, "background": background, "pty": pty})).await;
    assert_eq!((&ran["error"], &ran["pty_note"]), (&Value::Null, &Value::Null), "{ran}");
    let over = match ran["session_id"].as_str() {
        Some(id) => stage.call("process", json!({"action": "wait", "session_id": id, "timeout": 60})).await,
        None => ran,
    };
    over["output"].as_str().expect("text").trim_end().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_way_a_tool_starts_a_command_it_is_inside() {
    for (by, mode) in keepers().into_iter().flat_map(|by| [(by, "workspace"), (by, "strict")]) {
        let mut plan =
            Plan { config: json!({"terminal": {"sandbox": mode}, "approvals": {"mode": "off"}}), ..Plan::default() };
        if by == By::Kernel {
            plan.variables.insert("PATH".to_owned(), String::new());
        }
        let stage = Stage::build(plan);
        let outside = stage.root().join("outside");
        fs::create_dir(&outside).expect("a directory");
        for (background, pty) in [(false, false), (false, true), (true, false), (true, true)] {
            let way = format!("{background}-{pty}");
            let command = format!(
                "echo x > in-{way} && echo wrote; (echo x > {}/{way}) 2>/dev/null || echo kept out; test -t 0 && echo at a terminal",
                outside.display()
            );
            let mut expected = "wrote\nkept out".to_owned();
            if pty {
                expected.push_str("\nat a terminal");
            }
            assert_eq!(said(&stage, &command, background, pty).await, expected, "{by:?} {mode} {way}");
            assert_eq!(stage.read(&format!("in-{way}")), "x\n");
        }
        assert_eq!(fs::read_dir(&outside).expect("a directory").count(), 0, "{by:?} {mode}");
        let report = stage.desk.shop.sandbox_report();
        let (begins, keeper) = match (mode, by) {
            ("workspace", By::Kernel) => ("Commands change files only in the workspace", "Landlock"),
            ("workspace", By::Bubblewrap) => ("Commands change files only in the workspace", "bubblewrap"),
            (_, By::Kernel) => ("Commands see and change only the workspace", "Landlock"),
            (_, By::Bubblewrap) => ("Commands see and change only the workspace", "bubblewrap"),
        };
        assert!(report.starts_with(begins) && report.contains(keeper), "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_in_the_background_ends_with_all_it_started_in_there() {
    for by in keepers() {
        let mut plan = Plan { config: json!({"terminal": {"sandbox": "workspace"}}), ..Plan::default() };
        if by == By::Kernel {
            plan.variables.insert("PATH".to_owned(), String::new());
        }
        let stage = Stage::build(plan);
        let token = if by == By::Kernel { "3600.771" } else { "3600.772" };
        stage.write("brood.sh", format!("setsid sleep {token} & (sleep {token} &); sleep {token}"));
        let started = stage.call("terminal", json!({"command": "bash brood.sh", "background": true})).await;
        let id = started["session_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
        crate::family::wait_for("three sleepers", || crate::family::table(token).len() == 3).await;
        let killed = stage.call("process", json!({"action": "kill", "session_id": id})).await;
        assert_eq!((&killed["status"], crate::family::table(token).len()), (&json!("killed"), 0), "{by:?}: {killed}");
    }
}
