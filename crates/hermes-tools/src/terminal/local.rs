//! Commands on this machine. One fresh bash per command and no process besides; what a shell leaves to the next lies in
//! a private directory that goes with the conversation.
//!
//! The first use runs a login bash once, so that commands find what the person's shell sets up. Every later bash starts
//! with an empty environment and takes everything from the state: what was unset stays unset.

use super::TerminalSettings;
use super::backend::{Backend, Capture, Ended, Executed, Memory, Request, Stdin, Unable};
use super::family::{Family, Origin, tell_of};
use super::first;
use super::launch::{Launch, Launched};
use super::private::Private;
use super::pty;
use super::sandbox::Sandbox;
use super::script::{Report, Script, departing};
use super::state::{StateFile, Testament, collect};
use super::surroundings::{background_variables, variables};
use super::watch::{GRACE, Watched, watched, watched_under_pty};
use crate::effects::Company;
use crate::gate::{Permit, Remembered};
use crate::process::Face;
use crate::settings::{Settings, Surroundings};
use futures_util::future::{BoxFuture, join_all};
use hermes_core::stop::Stop;
use rustix::fs::{Access, access};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::OnceCell;

/// The login shell that is asked once for its environment.
const LOGIN_LIMIT: Duration = Duration::from_secs(30);
/// Linux takes no single argument beyond 128 KiB.
const LONGEST_ARGUMENT: usize = 120 * 1024;
/// Where bash is when the path does not tell.
const USUAL_PLACES: [&str; 3] = ["/bin", "/usr/bin", "/usr/local/bin"];
const INTERRUPTED: &str = "[Command interrupted]";

/// How a shell tells where it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reporting {
    #[default]
    File,
    /// As backends do it that have nothing but the output.
    Marker,
}

pub struct Local {
    settings: TerminalSettings,
    around: Surroundings,
    /// Variables of this conversation.
    own: BTreeMap<String, String>,
    sandbox: Sandbox,
    reporting: Reporting,
    opened: OnceCell<Opened>,
    state: Mutex<Option<Arc<StateFile>>>,
    /// What the login shell set up, as bash wrote it.
    first: Mutex<String>,
    remembered: Mutex<Arc<Remembered>>,
    /// Carried by everybody a command of this conversation starts.
    mark: String,
    /// Commands whose group outlived them.
    left: Mutex<Vec<Family>>,
    calls: AtomicU64,
}

/// What the first use found out.
struct Opened {
    dir: Private,
    bash: PathBuf,
    /// Makes a session of its own, so that nothing asks for a password on the person's terminal behind our back. Only
    /// where there is such a terminal.
    setsid: Option<PathBuf>,
    login: Login,
    variables: BTreeMap<String, String>,
    /// The marks of families this program is part of.
    outer: Option<String>,
}

/// The shell of a conversation as it is at one moment, for processes that go on by themselves.
pub struct Shell {
    pub(crate) sandbox: Sandbox,
    pub(crate) setsid: Option<PathBuf>,
    bash: PathBuf,
    login: Login,
    variables: BTreeMap<String, String>,
    state: Option<Arc<StateFile>>,
    script: PathBuf,
}

/// Files that a shell may still have to read.
pub(crate) type Needed = (Option<Arc<StateFile>>, StateFile);

impl Shell {
    /// What runs the text of a permit in a directory. The files have to stay until it has read them.
    pub(crate) fn launch(self, text: &str, cwd: &Path) -> io::Result<(Launch, Needed)> {
        let script = departing(text, cwd, self.state.as_ref().map(|state| state.path()));
        let argument = carried(script, &self.script)?;
        let launch =
            Launch { program: self.bash, arguments: arguments(self.login, argument), variables: self.variables };
        Ok((launch, (self.state, StateFile::new(self.script))))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Login {
    No,
    /// Nothing but a login shell works here.
    Always,
}

/// The files of one command.
struct Files {
    state: PathBuf,
    cwd: PathBuf,
    snapshot: PathBuf,
    script: PathBuf,
    marker: String,
}

/// Everything one bash is started with.
struct Start<'a> {
    text: &'a str,
    cwd: &'a Path,
    login: Login,
    began: Option<Arc<StateFile>>,
    /// What was judged to only look changes nothing in its shell, so nothing is written down at its end.
    company: Company,
}

impl Local {
    pub fn new(settings: &Settings) -> Self {
        Self::reporting(settings, Reporting::default())
    }

    pub fn reporting(settings: &Settings, reporting: Reporting) -> Self {
        Self {
            settings: settings.terminal.clone(),
            around: settings.around.clone(),
            own: BTreeMap::new(),
            sandbox: Sandbox::new(settings.terminal.sandbox, &settings.around),
            reporting,
            opened: OnceCell::new(),
            state: Mutex::default(),
            first: Mutex::default(),
            remembered: Mutex::default(),
            mark: Family::new_mark(),
            left: Mutex::default(),
            calls: AtomicU64::new(0),
        }
    }

    #[must_use]
    pub(super) fn with(mut self, variables: BTreeMap<String, String>) -> Self {
        self.own = variables;
        self
    }

    async fn run(&self, permit: &Permit, request: Request) -> Result<Executed, Unable> {
        let Some(command) = permit.command() else {
            return Err(Unable::Disabled("the permit is for no command".to_owned()));
        };
        if command.text.contains('\0') {
            return Err(Unable::Disabled("bash cannot read a command with a NUL character in it".to_owned()));
        }
        let opened = self.opened.get_or_try_init(|| self.open()).await?;
        let timeout = request.timeout;
        let sudo = request.sudo.clone();
        let text = sudo.as_ref().map_or(command.text.as_str(), |sudo| sudo.instead_of(&command.text));
        let company = permit.effects().company;
        let start = Start { text, cwd: &command.cwd, login: opened.login, began: self.state(), company };
        let (watched, testament) = self.bash(opened, start, request).await?;
        let (output, exit_code) = match watched.ended {
            Ended::Exited => (watched.output, watched.exit_code),
            Ended::TimedOut => (with_note(watched.output, &timed_out(timeout)), 124),
            Ended::Interrupted => (with_note(watched.output, INTERRUPTED), 130),
        };
        let (cwd, state) = self.keep(testament);
        Ok(Executed { output, exit_code, ended: watched.ended, cwd, state })
    }

    /// Starts one bash and stays with it to its end.
    async fn bash(&self, opened: &Opened, start: Start<'_>, request: Request) -> Result<(Text, Testament), Unable> {
        let files = self.files(opened);
        let began = start.began.clone().filter(|state| state.path().exists());
        let snapshot = match self.reporting {
            Reporting::File => began.as_ref().map(|state| state.path()),
            Reporting::Marker => Some(files.snapshot.as_path()).filter(|snapshot| snapshot.exists()),
        };
        let (report, marker) = match self.reporting {
            Reporting::File => (Report::File { cwd: &files.cwd }, None),
            Reporting::Marker => {
                (Report::Marker { marker: &files.marker, snapshot: &files.snapshot }, Some(files.marker.as_str()))
            }
        };
        let script = Script {
            command: start.text,
            cwd: start.cwd,
            snapshot,
            state: &files.state,
            report,
            mark: Family::VARIABLE,
        };
        let only_looks = self.reporting == Reporting::File && began.is_some() && start.company == Company::Welcome;
        let text = if only_looks { departing(start.text, start.cwd, snapshot) } else { script.text() };
        let argument = carried(text, &files.script).map_err(|error| unable(&error))?;
        let stays = start.cwd.to_owned();
        let given = opened.given(snapshot.is_some());
        let face = request.face;
        let watched = match face {
            Face::Pipes => self.through_pipes(opened, &start, argument, given, request).await,
            Face::Pty => self.under_pty(opened, start.login, argument, given, request).await,
        };
        let (Watched { output, exit_code, ended }, family) = watched.map_err(|error| unable(&error))?;
        self.remember(family);
        let (output, told) = output.finish(marker);
        let output = if face == Face::Pty { output.replace("\r\n", "\n") } else { output };
        let testament = match self.reporting {
            Reporting::Marker => told.map_or(Testament::None, |cwd| Testament::Unchanged { cwd }),
            Reporting::File if only_looks => {
                // Only a long command has this file.
                let _ = fs::remove_file(&files.script);
                Testament::Unchanged { cwd: stays }
            }
            Reporting::File => tokio::task::spawn_blocking(move || {
                // The same here.
                let _ = fs::remove_file(&files.script);
                collect(files.state, &files.cwd, began.as_deref())
            })
            .await
            .unwrap_or(Testament::None),
        };
        Ok((Text { output, exit_code, ended }, testament))
    }

    async fn through_pipes(
        &self,
        opened: &Opened,
        start: &Start<'_>,
        script: OsString,
        given: BTreeMap<String, String>,
        mut request: Request,
    ) -> io::Result<(Watched, Family)> {
        if let Some(sudo) = request.sudo.take().filter(|sudo| sudo.gives_password()) {
            let rest = match request.stdin {
                Stdin::Empty => Vec::new(),
                Stdin::Text(text) => text,
            };
            request.stdin = Stdin::Text([sudo.input(), rest].concat());
        }
        let stdin = if request.stdin == Stdin::Empty { Stdio::null() } else { Stdio::piped() };
        let launch =
            Launch { program: opened.bash.clone(), arguments: arguments(start.login, script), variables: given };
        let streams = [stdin, Stdio::piped(), Stdio::piped()];
        let launched: Launched = launch.piped(&self.sandbox, opened.setsid.as_deref(), streams).await?;
        Ok(watched(launched, request).await)
    }

    async fn under_pty(
        &self,
        opened: &Opened,
        login: Login,
        script: OsString,
        given: BTreeMap<String, String>,
        request: Request,
    ) -> io::Result<(Watched, Family)> {
        let launch = Launch { program: opened.bash.clone(), arguments: arguments(login, script), variables: given };
        let (sandbox, limit) = (&self.sandbox, request.timeout);
        let run = pty::Run { launch, sandbox, limit, grace: GRACE, stop: &request.stop };
        watched_under_pty(run, request.capture).await
    }

    /// Keeps an eye on a family that is not over with its command.
    fn remember(&self, family: Family) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(Family::has_group);
        left.extend(Some(family).filter(Family::has_group));
    }

    /// The shell as the last command left it.
    pub(super) async fn shell(&self) -> Result<Shell, Unable> {
        let opened = self.opened.get_or_try_init(|| self.open()).await?;
        let state = self.state().filter(|state| state.path().exists());
        let mut variables = opened.given(state.is_some());
        // It outlives this conversation's commands: only its own mark counts.
        match opened.outer.clone() {
            Some(outer) => variables.insert(Family::VARIABLE.to_owned(), outer),
            None => variables.remove(Family::VARIABLE),
        };
        for (name, value) in background_variables() {
            variables.entry(name).or_insert(value);
        }
        Ok(Shell {
            sandbox: self.sandbox.clone(),
            setsid: opened.setsid.clone(),
            bash: opened.bash.clone(),
            login: opened.login,
            variables,
            state,
            script: self.files(opened).script,
        })
    }

    /// Finds bash, makes the private directory and asks a login shell for its environment.
    async fn open(&self) -> Result<Opened, Unable> {
        let mut variables = variables(&self.around, &self.settings);
        variables.extend(self.own.clone());
        let bash = find("bash", &variables).ok_or_else(|| {
            Unable::Disabled("bash was not found in PATH; commands need it. Install bash and try again".to_owned())
        })?;
        let (temp, mark) = (self.around.temp.clone(), self.mark.clone());
        let dir = tokio::task::spawn_blocking(move || Private::make(&temp, &mark)).await.map_err(io::Error::other);
        let dir = dir.flatten().map_err(|error| {
            let temp = self.around.temp.display();
            Unable::Disabled(format!("the shell needs a private directory in {temp}: {error}. Free it or set TMPDIR"))
        })?;
        let outer = variables.get(Family::VARIABLE).cloned();
        let marks = outer.iter().chain([&self.mark]).map(String::as_str).collect::<Vec<_>>().join(":");
        variables.insert(Family::VARIABLE.to_owned(), marks);
        let setsid = own_session(&variables);
        let mut opened = Opened { dir, bash, setsid, login: Login::No, variables, outer };
        let first = first::steps(&self.settings, &self.around);
        if self.first(&opened, &first, Login::Always).await {
            return Ok(opened);
        }
        tracing::warn!("the login shell did not tell its environment; commands start without what it sets up");
        if !self.first(&opened, "true", Login::No).await {
            opened.login = Login::Always;
        }
        Ok(opened)
    }

    /// Lets a shell run this and keeps what it leaves. Whether it left something.
    async fn first(&self, opened: &Opened, text: &str, login: Login) -> bool {
        let request = Request {
            timeout: LOGIN_LIMIT,
            stdin: Stdin::Empty,
            capture: Capture::Within(2_000),
            face: Face::Pipes,
            sudo: None,
            stop: Stop::new(),
        };
        let start = Start { text, cwd: Path::new("/"), login, began: None, company: Company::Alone };
        match self.bash(opened, start, request).await {
            Ok((_, Testament::Changed { state, .. })) => {
                *self.first.lock().unwrap_or_else(PoisonError::into_inner) = state.text();
                *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
                true
            }
            Ok((_, Testament::Unchanged { .. })) => true,
            Ok((_, Testament::None)) => false,
            Err(error) => {
                tracing::warn!(%error, "the first shell");
                false
            }
        }
    }

    fn keep(&self, testament: Testament) -> (Option<PathBuf>, Memory) {
        if !self.settings.persistent_shell {
            return (None, Memory::Unchanged);
        }
        match (testament, self.reporting) {
            (Testament::None, _) => (None, Memory::Lost),
            (Testament::Unchanged { cwd }, Reporting::File) => (Some(cwd), Memory::Unchanged),
            (Testament::Unchanged { cwd }, Reporting::Marker) => (Some(cwd), Memory::Kept),
            (Testament::Changed { cwd, state }, _) => {
                let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let remembered = Arc::new(Remembered::since(&first, &state.text()));
                *self.remembered.lock().unwrap_or_else(PoisonError::into_inner) = remembered;
                *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
                (Some(cwd), Memory::Kept)
            }
        }
    }

    /// What commands left in the shell, for whoever judges the next one.
    pub(super) fn remembered(&self) -> Arc<Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn state(&self) -> Option<Arc<StateFile>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn files(&self, opened: &Opened) -> Files {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let file = |kind: &str| opened.dir.path().join(format!("{call}.{kind}"));
        Files {
            state: file("state"),
            cwd: file("cwd"),
            script: file("script"),
            snapshot: opened.dir.path().join("snapshot"),
            marker: format!("__HERMES_CWD_{:012x}__", rand::random::<u64>() >> 16),
        }
    }

    /// Ends everything that commands left running.
    pub async fn close(&self) {
        let grace = Duration::from_secs_f64(self.settings.daemon_term_grace_seconds.clamp(0.0, 60.0));
        let families = self.everybody();
        for survivors in join_all(families.iter().map(|family| family.end(grace))).await {
            tell_of(&survivors);
        }
    }

    /// Who may still be there: groups that outlived their command, and whoever left them with the mark.
    fn everybody(&self) -> Vec<Family> {
        let mut left = std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner));
        if self.opened.initialized() {
            left.push(Family::marked(self.mark.as_str(), Origin::Ours));
        }
        left
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        for family in self.everybody() {
            tell_of(&family.kill());
        }
    }
}

/// A command that has ended, with its output as text.
struct Text {
    output: String,
    exit_code: i32,
    ended: Ended,
}

impl Opened {
    /// The environment of a bash: everything, or what no state can hold.
    fn given(&self, has_state: bool) -> BTreeMap<String, String> {
        // Names that bash cannot hold as variables pass through it to its children, but are in no state.
        let foreign = |name: &str| !is_identifier(name) && !name.starts_with("BASH_FUNC_");
        let wanted = |name: &str| !has_state || foreign(name) || name == Family::VARIABLE;
        let given = self.variables.iter().filter(|(name, _)| wanted(name));
        given.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

fn arguments(login: Login, script: OsString) -> Vec<OsString> {
    let login = (login == Login::Always).then(|| OsString::from("-l"));
    login.into_iter().chain(["-c".into(), script, "bash".into()]).collect()
}

impl Backend for Local {
    fn execute<'a>(&'a self, permit: &'a Permit, request: Request) -> BoxFuture<'a, Result<Executed, Unable>> {
        Box::pin(self.run(permit, request))
    }

    fn usable(&self, cwd: &Path) -> PathBuf {
        let enterable = |path: &Path| path.is_dir() && access(path, Access::EXEC_OK).is_ok();
        let above = cwd.ancestors().find(|path| path.is_absolute() && enterable(path));
        match above {
            // The root is above everything; nobody meant it who named something else.
            Some(root) if root.parent().is_none() && cwd != root => self.around.temp.clone(),
            Some(path) => path.to_owned(),
            None => self.around.temp.clone(),
        }
    }
}

/// The script itself, or a word that reads it from a file when it is too long for an argument.
fn carried(script: OsString, file: &Path) -> io::Result<OsString> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    if script.len() <= LONGEST_ARGUMENT {
        return Ok(script);
    }
    fs::write(file, script.as_bytes())?;
    let mut short = b"\\builtin source ".to_vec();
    short.extend(super::script::quoted(file.as_os_str().as_bytes()));
    Ok(OsString::from_vec(short))
}

/// What gives a program a session of its own, where there is a terminal it must not reach.
pub(crate) fn own_session(variables: &BTreeMap<String, String>) -> Option<PathBuf> {
    let watched = fs::File::open("/dev/tty").is_ok();
    if watched { find("setsid", variables) } else { None }
}

/// Where a program is: in the path of these variables, or where it usually is.
pub(crate) fn find(program: &str, variables: &BTreeMap<String, String>) -> Option<PathBuf> {
    let path = variables.get("PATH").map(String::as_str).unwrap_or_default();
    let listed = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let places = listed.chain(USUAL_PLACES.iter().map(PathBuf::from));
    places.map(|folder| folder.join(program)).find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
}

fn is_identifier(name: &str) -> bool {
    let fits = |character: char| character == '_' || character.is_ascii_alphanumeric();
    name.chars().all(fits) && !name.starts_with(|first: char| first.is_ascii_digit()) && !name.is_empty()
}

/// A machine without free processes or memory recovers; everything else stays as it is.
fn unable(error: &io::Error) -> Unable {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory | io::ErrorKind::ResourceBusy => {
            Unable::Busy(error.to_string())
        }
        _ => Unable::Disabled(format!("the command could not be started: {error}")),
    }
}

fn timed_out(limit: Duration) -> String {
    format!("[Command timed out after {}s]", limit.as_secs())
}

fn with_note(mut output: String, note: &str) -> String {
    if !output.is_empty() && !output.ends_with('\n') {
        output.push('\n');
    }
    output.push_str(note);
    output
}
