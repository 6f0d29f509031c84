//! All background processes of this program, with the tasks that read them and wait for them.

use super::checkpoint::{self, Record};
use super::input::Input;
use super::live::{Being, Bond, Origin, Tracked};
use super::news::{Happened, News};
use super::start::{self, Born, Password, Start, Started, Tell};
use super::watch::{Breaker, Passage, Sight};
use super::{LAST_OUTPUT, buffer, shown};
use crate::settings::Settings;
use crate::terminal::Needed;
use crate::terminal::family::{Family, Identity, tell_of};
use futures_util::future::join_all;
use hermes_core::clock::{Clock, RealClock};
use hermes_types::SessionId;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::sync::watch::Sender;
use tokio::task::JoinSet;

/// The exit code of what was killed on purpose.
pub(super) const KILLED: i32 = -15;
const MOST_TRACKED: usize = 64;
const FINISHED_KEPT: Duration = Duration::from_secs(1800);
/// After the end of a process its output is waited for until it is silent for so long, and no longer than the second.
const SILENCE: Duration = Duration::from_millis(300);
const LONGEST_LISTENING: Duration = Duration::from_secs(2);
/// What runs when the program ends gets at least so long to end by itself.
const LAST_GRACE: Duration = Duration::from_secs(2);
const LONGEST_GRACE: f64 = 60.0;
/// News that nobody fetches is kept up to this many; then the oldest goes.
const MOST_NEWS: usize = 1000;
const ENDING: &str = "the program is ending; nothing is started any more";

/// The registry. Clones are the same one.
#[derive(Clone)]
pub struct Processes {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) clock: Arc<dyn Clock>,
    file: PathBuf,
    /// This program; unknown where there is no `/proc`, and then nothing is written down.
    owner: Option<Identity>,
    grace: Duration,
    book: Mutex<Book>,
    /// Counts news.
    changes: Sender<u64>,
    tasks: Mutex<JoinSet<()>>,
    /// Keeps the file in the order of the changes.
    writing: Arc<Mutex<()>>,
}

#[derive(Default)]
struct Book {
    /// The oldest first.
    tracked: Vec<Arc<Tracked>>,
    /// Families of forgotten processes: somebody of them may live.
    forgotten: Vec<(SessionId, Family)>,
    news: Vec<(SessionId, News)>,
    breaker: Breaker,
    closed: bool,
}

impl Processes {
    pub fn new(settings: &Settings) -> Self {
        Self::with_clock(settings, Arc::new(RealClock::default()))
    }

    pub fn with_clock(settings: &Settings, clock: Arc<dyn Clock>) -> Self {
        let file = settings.around.hermes_home.join("processes.json");
        let (now, today) = (clock.elapsed(), clock.now());
        let orphans = checkpoint::orphans(&file);
        let tracked = orphans.iter().filter_map(|record| Tracked::detached(record, now, today)).map(Arc::new).collect();
        let inner = Inner {
            clock,
            file,
            owner: Identity::of(std::process::id()),
            grace: Duration::from_secs_f64(settings.terminal.daemon_term_grace_seconds.clamp(0.0, LONGEST_GRACE)),
            book: Mutex::new(Book { tracked, ..Book::default() }),
            changes: Sender::new(0),
            tasks: Mutex::new(JoinSet::new()),
            writing: Arc::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Starts what the permit allows.
    pub async fn start(&self, start: Start) -> Result<Started, String> {
        let Start { permit, session, shell, cwd, face, tell, password } = start;
        let command = permit.command().ok_or("no command was permitted; nothing was started")?;
        if !same_place(&command.cwd, &cwd) {
            let (judged, wanted) = (command.cwd.display(), cwd.display());
            return Err(format!("the command was judged in {judged} and does not run in {wanted}"));
        }
        self.inner.make_room()?;
        let prepared = password.as_ref().map(|password| &password.prepared);
        let born = start::spawn(command, shell, face, prepared).await?;
        let pid = born.child.id().ok_or("the process ended before it could be tracked; try again")?;
        let id = format!("proc_{}", hex::encode(rand::random::<[u8; 6]>()));
        let origin = Origin {
            id: id.clone(),
            session,
            command: command.text.clone(),
            cwd: cwd.display().to_string(),
            pid,
            started: self.inner.clock.now(),
            began: self.inner.clock.elapsed(),
        };
        self.inner.take_in(origin, born, tell, password)?;
        self.inner.write_down().await;
        Ok(Started { id, pid })
    }

    /// What happened since the last time, for this conversation.
    pub fn news(&self, session: &SessionId) -> Vec<News> {
        self.inner.release();
        let mut book = self.inner.book();
        let (mine, others) = std::mem::take(&mut book.news).into_iter().partition(|(whose, _)| whose == session);
        book.news = others;
        let mine: Vec<(SessionId, News)> = mine;
        mine.into_iter().map(|(_, news)| news).collect()
    }

    /// Waits until there is news for this conversation.
    pub async fn next_news(&self, session: &SessionId) -> Vec<News> {
        let mut changes = self.inner.changes.subscribe();
        loop {
            let news = self.news(session);
            if !news.is_empty() || changes.changed().await.is_err() {
                return news;
            }
        }
    }

    /// How many processes of this conversation still run.
    pub fn running(&self, session: &SessionId) -> usize {
        let now = self.inner.clock.elapsed();
        self.of(session).iter().filter(|tracked| tracked.end(now).is_none()).count()
    }

    /// Ends everything this program started, with all descendants. Nothing can be started afterwards.
    pub async fn close(&self) {
        let (tracked, forgotten) = {
            let mut book = self.inner.book();
            book.closed = true;
            (book.tracked.clone(), std::mem::take(&mut book.forgotten))
        };
        let own: Vec<Arc<Tracked>> = tracked.into_iter().filter(|tracked| tracked.bond == Bond::Own).collect();
        own.iter().for_each(|tracked| tracked.state().killed_by = Some("program.end"));
        self.inner.end_families(&own, forgotten).await;
        let mut tasks = std::mem::take(&mut *self.inner.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let all_done = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(LONGEST_LISTENING, all_done).await.is_err() {
            tasks.shutdown().await;
        }
        self.inner.write_down().await;
    }

    /// Ends everything this conversation started, with all descendants.
    pub async fn end_all_of(&self, session: &SessionId) {
        let (own, forgotten) = {
            let mut book = self.inner.book();
            let (mine, others) =
                std::mem::take(&mut book.forgotten).into_iter().partition(|(whose, _)| whose == session);
            book.forgotten = others;
            let own = book.tracked.iter().filter(|tracked| tracked.bond == Bond::Own && tracked.session == *session);
            (own.cloned().collect::<Vec<_>>(), mine)
        };
        if own.is_empty() && forgotten.is_empty() {
            return;
        }
        own.iter().for_each(|tracked| tracked.state().killed_by = Some("conversation.end"));
        self.inner.end_families(&own, forgotten).await;
        let all_noticed = join_all(own.iter().map(|tracked| async {
            let mut ended = tracked.ended();
            // Its sender is `tracked`.
            let _noticed = ended.wait_for(|ended| *ended).await;
        }));
        if tokio::time::timeout(LONGEST_LISTENING, all_noticed).await.is_err() {
            tracing::warn!(%session, "a background process has ended and was not noticed in time");
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.inner.clock.elapsed()
    }

    /// The processes of a conversation, the oldest first.
    pub(super) fn of(&self, session: &SessionId) -> Vec<Arc<Tracked>> {
        let book = self.inner.book();
        book.tracked.iter().filter(|tracked| tracked.session == *session).cloned().collect()
    }

    pub(super) fn find(&self, session: &SessionId, id: &str) -> Option<Arc<Tracked>> {
        self.of(session).into_iter().find(|tracked| tracked.id == id)
    }

    /// Ends one process with its family. Gives back who could not be ended.
    pub(super) async fn kill(&self, tracked: &Tracked, source: &'static str) -> Vec<Identity> {
        tracked.state().killed_by = Some(source);
        // Without a grace the owner wants nobody to be forced.
        let left = if self.inner.grace.is_zero() {
            tracked.family.ask().await;
            Vec::new()
        } else {
            tracked.family.end(self.inner.grace).await
        };
        let mut ended = tracked.ended();
        if tracked.end(self.now()).is_none() {
            let noticed = tokio::time::timeout(LONGEST_LISTENING, ended.wait_for(|ended| *ended)).await;
            if noticed.is_err() && left.is_empty() {
                let leader = tracked.family.leader().filter(Identity::lives);
                return leader.into_iter().collect();
            }
        }
        left
    }

    /// The conversation has seen the end of this process; it need not be told.
    pub(super) fn knows(&self, tracked: &Tracked) {
        tracked.state().known = true;
        let is_end = |news: &News| news.process == tracked.id && matches!(news.what, Happened::Ended { .. });
        self.inner.book().news.retain(|(_, news)| !is_end(news));
    }
}

impl Inner {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what ended long ago, and the oldest that ended when there are too many.
    fn make_room(&self) -> Result<(), String> {
        let now = self.clock.elapsed();
        let mut book = self.book();
        if book.closed {
            return Err(ENDING.to_owned());
        }
        let old =
            |tracked: &Arc<Tracked>| tracked.end(now).is_some_and(|end| now.saturating_sub(end.at) >= FINISHED_KEPT);
        let (mut gone, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut book.tracked).into_iter().partition(old);
        book.tracked = kept;
        while book.tracked.len() >= MOST_TRACKED {
            let Some(place) = book.tracked.iter().position(|tracked| tracked.end(now).is_some()) else {
                return Err(format!(
                    "{MOST_TRACKED} background processes run already. End one with the process tool, then try again."
                ));
            };
            gone.push(book.tracked.remove(place));
        }
        let own = gone.iter().filter(|tracked| tracked.bond == Bond::Own);
        book.forgotten.extend(own.map(|tracked| (tracked.session.clone(), tracked.family.clone())));
        Ok(())
    }

    async fn end_families(&self, own: &[Arc<Tracked>], forgotten: Vec<(SessionId, Family)>) {
        let forgotten = forgotten.into_iter().map(|(_, family)| family);
        let families = own.iter().map(|tracked| tracked.family.clone()).chain(forgotten).collect::<Vec<_>>();
        let grace = self.grace.max(LAST_GRACE);
        for survivors in join_all(families.iter().map(|family| family.end(grace))).await {
            tell_of(&survivors);
        }
    }

    /// From here on the registry looks after the process. One that comes too late is ended.
    fn take_in(
        self: &Arc<Self>,
        origin: Origin,
        born: Born,
        tell: Tell,
        password: Option<Password>,
    ) -> Result<(), String> {
        let Born { child, mut leash, mark, input, outputs, face, needed } = born;
        let being = Being { family: leash.family.clone(), mark, face, input, tell, password, bond: Bond::Own };
        let tracked = Arc::new(Tracked::new(origin, being));
        {
            let mut book = self.book();
            if book.closed {
                return Err(ENDING.to_owned());
            }
            book.tracked.push(tracked.clone());
        }
        leash.let_go();
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        let (open, closed) = mpsc::channel(1);
        for output in outputs {
            tasks.spawn(listen(Arc::downgrade(self), tracked.clone(), output, open.clone()));
        }
        tasks.spawn(attend(Arc::downgrade(self), tracked, child, closed, needed));
        Ok(())
    }

    /// Tells the conversation what was seen.
    fn tell(&self, tracked: &Tracked, sights: Vec<Sight>) {
        self.release();
        for sight in sights {
            let what = match sight {
                Sight::GivenUp => Happened::WatchGivenUp,
                Sight::Line { pattern, line, dropped } => {
                    let passage = self.book().breaker.pass(&tracked.session, self.clock.elapsed());
                    match passage {
                        Passage::Held => continue,
                        Passage::Closing => Happened::MatchesPaused,
                        Passage::Through => {
                            let line = tracked.covered(&line);
                            Happened::Matched { pattern, line: buffer::tail(&line, LAST_OUTPUT), dropped }
                        }
                    }
                }
            };
            self.publish(tracked, what);
        }
    }

    fn publish(&self, tracked: &Tracked, what: Happened) {
        let news = News { process: tracked.id.clone(), command: shown(&tracked.command), what };
        let mut book = self.book();
        if book.news.len() >= MOST_NEWS {
            let (session, lost) = book.news.remove(0);
            tracing::warn!(%session, process = lost.process, "news of a process was never fetched and is dropped");
        }
        book.news.push((tracked.session.clone(), news));
        drop(book);
        self.changes.send_modify(|count| *count += 1);
    }

    /// After a pause each conversation hears how much it missed.
    fn release(&self) {
        let mut book = self.book();
        for (session, held) in book.breaker.release(self.clock.elapsed()) {
            let what = Happened::MatchesResumed { held };
            book.news.push((session, News { process: String::new(), command: String::new(), what }));
        }
    }

    /// Puts what runs into the file. A failure costs the recovery after a crash, never the process.
    async fn write_down(&self) {
        let Some(owner) = self.owner else { return };
        let now = self.clock.elapsed();
        let running = self.book().tracked.iter().filter(|tracked| tracked.end(now).is_none()).cloned().collect();
        let running: Vec<Arc<Tracked>> = running;
        let (file, writing) = (self.file.clone(), self.writing.clone());
        let written = tokio::task::spawn_blocking(move || {
            let _turn = writing.lock().unwrap_or_else(PoisonError::into_inner);
            // Looked at again behind the lock: an end may have come since.
            let running = running.iter().filter(|tracked| tracked.end(now).is_none());
            let records: Vec<Record> = running.filter_map(|tracked| record(tracked, owner)).collect();
            checkpoint::replace(&file, owner, &records)
        });
        match written.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(file = %self.file.display(), %error, "background processes could not be written down");
            }
            Err(error) => tracing::warn!(%error, "background processes could not be written down"),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let book = std::mem::take(self.book.get_mut().unwrap_or_else(PoisonError::into_inner));
        if book.closed {
            return;
        }
        let own = book.tracked.iter().filter(|tracked| tracked.bond == Bond::Own);
        let forgotten = book.forgotten.iter().map(|(_, family)| family);
        for family in own.map(|tracked| &tracked.family).chain(forgotten) {
            tell_of(&family.kill());
        }
    }
}

/// Reads one end of a process until nobody holds it any more, also beyond the end of the process: those it left behind
/// would die of a closed pipe.
async fn listen(
    inner: Weak<Inner>,
    tracked: Arc<Tracked>,
    mut output: Box<dyn AsyncRead + Send + Unpin>,
    _open: mpsc::Sender<()>,
) {
    let mut portion = vec![0; 8192];
    // A terminal whose other side is closed is an error, not an end.
    while let Ok(count @ 1..) = output.read(&mut portion).await {
        let Some(inner) = inner.upgrade() else { return };
        let sights = tracked.hear(portion.get(..count).unwrap_or_default(), inner.clock.elapsed());
        inner.tell(&tracked, sights);
    }
}

/// Waits for the end of a process, listens to its last words, and tells.
async fn attend(
    inner: Weak<Inner>,
    tracked: Arc<Tracked>,
    mut child: Child,
    mut closed: mpsc::Receiver<()>,
    needed: Needed,
) {
    let status = child.wait().await;
    drop(needed);
    let exit_code = status.ok().and_then(|status| status.code().or_else(|| status.signal().map(|signal| -signal)));
    let mut heard = tracked.heard();
    let last_words = async {
        loop {
            tokio::select! {
                _ = closed.recv() => return,
                _ = heard.changed() => {}
                () = tokio::time::sleep(SILENCE) => return,
            }
        }
    };
    let _silent = tokio::time::timeout(LONGEST_LISTENING, last_words).await;
    let Some(inner) = inner.upgrade() else { return };
    let sights = tracked.finish(exit_code, inner.clock.elapsed());
    inner.tell(&tracked, sights);
    let due = {
        let state = tracked.state();
        state.end.filter(|_| state.tell == Tell::OnEnd && !state.known && state.killed_by.is_none())
    };
    if let Some(end) = due {
        let output = buffer::tail(&tracked.text(), LAST_OUTPUT);
        inner.publish(&tracked, Happened::Ended { exit_code: end.exit_code, reason: end.reason, output });
    }
    inner.write_down().await;
    // Last of all: somebody may still be writing to it.
    *tracked.input.lock().await = Input::Closed;
}

fn record(tracked: &Tracked, owner: Identity) -> Option<Record> {
    let leader = tracked.family.leader()?;
    let started_at = tracked.started.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs_f64();
    Some(Record {
        session_id: tracked.id.clone(),
        command: tracked.command.clone(),
        cwd: tracked.cwd.clone(),
        pid: leader.pid,
        host_start_time: leader.born,
        started_at,
        session_key: tracked.session.as_str().to_owned(),
        mark: tracked.mark.clone(),
        owner_pid: owner.pid,
        owner_start_time: owner.born,
    })
}

fn same_place(judged: &Path, wanted: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    judged == wanted || real(judged).is_some_and(|judged| real(wanted) == Some(judged))
}
