//! `hermes -z`, `hermes chat -q`, `--resume` and `-c`: one turn of an agent, the truth in the exit code.
//!
//! Nothing is asked before the session is found and the tools are chosen. The answer is shown before anything is closed,
//! and somebody who interrupts waits for running tools to end, but never for the books.

mod input;
mod kept;
mod skills;

use crate::agent::{self, Parts, Session};
use crate::app::App;
use crate::args::{Asking, OutputFormat, Which, Whom};
use crate::commands::hooks;
use crate::commands::waiting::stop_on_signal;
use crate::commands::{Exit, Trouble};
use crate::hands::Hands;
use crate::log;
use crate::output::{Aside, GoOn, ONESHOT, Screen, Show};
use hermes_agent::Agent;
use hermes_core::ports::Listener;
use hermes_core::stop::Stop;
use hermes_core::store::SessionStore;
use hermes_core::turn::{Asked, End, Outcome};
use hermes_model::board::Board;
use hermes_model::catalog;
use hermes_model::provider::Provider;
use hermes_model::resolve::{Ask, ResolveError, Runtime};
use hermes_store::SqliteStore;
use hermes_tools::gate::Yolo;
use hermes_types::{EVENT_VERSION, EndReason, Event, Fault, FaultKind, OutcomeKind, SessionId};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use url::Url;

/// Names this alike are worth a mention when a model is not found.
const ALIKE: f64 = 0.8;
const MOST_SUGGESTIONS: usize = 3;
/// The endpoint has this long to say which models it has; the failure itself is known already.
const SUGGESTION_TIMEOUT: Duration = Duration::from_secs(2);
/// After an interrupt with no tool running, a turn is over by then or left as it is. A little longer than the turn itself
/// waits for its record.
const LONGEST_WAIT_FOR_NOTHING: Duration = Duration::from_millis(480);
/// The same with tools running: their grace, and a little for their results.
const LONGEST_WAIT_FOR_TOOLS: Duration = Duration::from_secs(4);

/// What to ask, and how to show it.
pub struct Question {
    /// Nothing: go on with what was cut off.
    pub prompt: Option<String>,
    pub asking: Asking,
    pub quiet: bool,
    /// How the person called us, for messages.
    pub command: &'static str,
}

pub async fn run(question: Question, profile: Option<&str>) -> ExitCode {
    let stop = stop_on_signal();
    let script = question.command == ONESHOT && !std::io::stderr().is_terminal();
    let show = Show {
        format: question.asking.form.format(),
        aside: match (question.quiet, script) {
            (true, _) => Aside::ErrorsAndSession,
            (false, true) => Aside::Errors,
            (false, false) => Aside::Everything,
        },
        command: question.command,
        usage_file: question.asking.form.usage_file.clone(),
    };
    let screen = Arc::new(Screen::new(show, new_session_id(), stop.clone()));
    let asked = tokio::select! {
        biased;
        asked = turn(&question, profile, &screen, &stop) => asked,
        never = screen.keep_time() => match never {},
    };
    match asked {
        Ok((outcome, used)) => {
            // The answer first: nobody waits for it because of what comes behind it.
            let code = screen.finish(&outcome);
            if let Some(used) = used {
                used.let_go(&outcome, &screen, &stop).await;
            }
            code
        }
        Err(trouble) => refuse(&trouble, question.asking.form.format(), &screen),
    }
}

/// Nothing was asked; says why in the form that was wanted.
fn refuse(trouble: &Trouble, format: OutputFormat, screen: &Screen) -> ExitCode {
    let refused = screen.unasked(Fault::new(FaultKind::NotConfigured, trouble.to_string()));
    if format != OutputFormat::Text && trouble.exit() == Exit::Failed {
        return screen.finish(&refused);
    }
    screen.complain(&trouble.to_string());
    if let Err(error) = screen.write_usage(&refused) {
        screen.complain(&error);
    }
    trouble.exit().into()
}

/// What a turn was run with; let go of behind its answer.
struct Used {
    app: App,
    board: Arc<Board>,
    agent: Agent,
    hands: Hands,
    store: Result<SqliteStore, String>,
}

impl Used {
    /// Ends what the agent started, then the session, and waits for what must not be cut off.
    async fn let_go(self, outcome: &Outcome, screen: &Screen, stop: &Stop) {
        let Self { app, board, agent, hands, store } = self;
        agent.desk().close().await;
        kept::unless_left(hands.extensions.finalize(agent.session()), stop).await;
        hands.close().await;
        // What was acknowledged is on disk; who interrupted leaves the rest to the next program. Nor do they wait twice
        // for a store that was busy already.
        if !(stop.stopped() && outcome.not_kept.is_some()) {
            kept::in_time(end(&agent, store.as_ref().ok()), screen, stop).await;
        }
        // Whoever lets go of the store last waits for its writer, and that must not be the thread everything runs on.
        tokio::task::spawn_blocking(move || drop((agent, store)));
        app.settle(Some(&board), |text| screen.complain(text)).await;
    }
}

/// The end of the session, on disk.
async fn end(agent: &Agent, store: Option<&SqliteStore>) {
    if let Err(error) = agent.close(EndReason::CLI_CLOSE).await {
        tracing::warn!(%error, "the end of the session was not written down");
    }
    if let Some(store) = store {
        store.close().await;
    }
}

/// How it went, and with what it was asked. An error means that nothing was asked.
async fn turn(
    question: &Question,
    profile: Option<&str>,
    screen: &Arc<Screen>,
    stop: &Stop,
) -> Result<(Outcome, Option<Used>), Trouble> {
    let interrupted = || screen.unasked(Fault::new(FaultKind::Interrupted, "interrupted"));
    let goes_on = which(&question.asking.which)?;
    let (asked, app, wanted, runtime) = tokio::select! {
        biased;
        () = stop.wait() => return Ok((interrupted(), None)),
        prepared = prepare(question, profile, screen) => prepared?,
    };
    let store = kept::open(&app, screen, stop).await;
    if stop.stopped() {
        return Ok((interrupted(), None));
    }
    let session = match (&store, goes_on) {
        (Ok(store), Some(name)) => Session::Kept(agent::meant(store, name, source(question, &app)).await?),
        (Err(reason), Some(_)) => return Err(Trouble::Refused(reason.clone())),
        (_, None) => Session::New { id: screen.session(), source: source(question, &app).to_owned() },
    };
    let mut cwd = app.knowledge.cwd.clone();
    if let (Session::Kept(id), Ok(store)) = (&session, &store) {
        screen.goes_on_with(id.clone());
        if !question.asking.which.no_restore_cwd {
            cwd = kept::place(store, id, cwd, screen).await?;
        }
    }
    if let Err(reason) = &store {
        screen.complain(&kept::not_kept(reason));
    }
    hooks::seek_consent(&app, question.asking.how.accept_hooks, screen).await?;
    let board = Arc::new(app.board(wanted));
    let yolo = if question.asking.how.yolo { Yolo::On } else { Yolo::Off };
    let past = store.as_ref().ok().map(|store| Arc::new(store.clone()) as Arc<dyn SessionStore>);
    let hands = Hands::at(&app, cwd, screen, past, yolo, stop);
    // A stream that has begun must end with what became of the turn; what is wrong with the command line is told before.
    let tools = agent::granted(&app, &hands, &question.asking.how)?;
    let how = &question.asking.how;
    skills::seed(&hands, &tools, stop).await;
    let asked = skills::with_skills(asked, &how.skills, &hands, (&tools, &screen.session()), stop).await?;
    begin(screen, &app, &runtime);
    hands.warnings.iter().for_each(|warning| screen.remark(warning));
    let parts = Parts {
        app: &app,
        runtime: &runtime,
        switchboard: board.clone(),
        hands: &hands,
        store: store.as_ref().map_err(Clone::clone),
        listener: screen.clone(),
        live: screen.is_live(),
        tools,
        max_turns: how.max_turns,
    };
    let mut agent = parts.agent(session).await?;
    hands.wake();
    let mut outcome = tokio::select! {
        biased;
        outcome = agent.run_conversation(asked, stop) => outcome,
        // Only a store that cannot be written to keeps a turn from ending; its future ends what was started.
        () = has_left(screen, stop) => interrupted(),
    };
    screen.can_go_on(go_on(&outcome, &agent, store.is_ok(), source(question, &app), screen));
    if let (Some(reason), true, false) = (&outcome.not_kept, store.is_ok(), stop.stopped()) {
        screen.complain(&kept::not_kept(reason));
    }
    if let End::Unanswered(fault) = &mut outcome.end
        && fault.kind == FaultKind::ModelNotFound
    {
        fault.message.push_str(&suggest_models(&runtime, &board, &app).await);
    }
    Ok((outcome, Some(Used { app, board, agent, hands, store })))
}

/// Returns when somebody interrupted, and what is still going on is not worth their time any more.
async fn has_left(screen: &Screen, stop: &Stop) {
    stop.wait().await;
    let begun = Instant::now();
    loop {
        tokio::time::sleep(LONGEST_WAIT_FOR_NOTHING).await;
        if !screen.is_working() || begun.elapsed() > LONGEST_WAIT_FOR_TOOLS {
            return;
        }
    }
}

/// How the conversation can go on behind a turn.
fn go_on(outcome: &Outcome, agent: &Agent, is_kept: bool, source: &str, screen: &Screen) -> GoOn {
    // After an interrupt only the record of the turn may be missing: its messages were kept one by one.
    let is_kept = is_kept && (outcome.not_kept.is_none() || outcome.kind() == OutcomeKind::Interrupted);
    // A script asks again by itself; only work that was done is worth a word to it.
    let is_worth_it = outcome.tool_calls > 0 || screen.has_visitor();
    match outcome.kind() {
        _ if !is_kept => GoOn::Unsaid,
        _ if is_worth_it && agent.conversation().is_unfinished() => GoOn::WithTheTurn,
        OutcomeKind::Partial if is_worth_it => GoOn::FromThere,
        _ if outcome.completed() && source == agent::CLI => GoOn::WithAQuestion,
        _ => GoOn::Unsaid,
    }
}

/// The conversation that is to go on, if one is: the newest where it has no name.
fn which(which: &Which) -> Result<Option<Option<&str>>, Trouble> {
    match (which.resume.as_deref(), which.continue_last.as_deref()) {
        (None, None) => Ok(None),
        (None, Some("")) => Ok(Some(None)),
        // A variable of a script that was never set must not lead into somebody else's conversation.
        (Some(name), _) | (None, Some(name)) if name.trim().is_empty() => {
            let told =
                "the name of the session is blank; `hermes sessions list` shows them, `-c` alone takes the newest";
            Err(Trouble::Usage(told.into()))
        }
        (Some(name), _) | (None, Some(name)) => Ok(Some(Some(name))),
    }
}

/// Where the conversation is said to be held.
fn source<'a>(question: &'a Question, app: &'a App) -> &'a str {
    let named = question.asking.which.source.as_deref().or_else(|| app.environment.get("HERMES_SESSION_SOURCE"));
    named.filter(|name| !name.is_empty()).unwrap_or(agent::CLI)
}

/// Everybody hears who will answer.
fn begin(screen: &Screen, app: &App, runtime: &Runtime) {
    log::start(&app.home, &app.settings, screen.session().as_str());
    screen.hear(Event::Started {
        version: EVENT_VERSION,
        session_id: screen.session(),
        provider: runtime.name.clone(),
        model: runtime.model.clone(),
    });
    screen.key_is_from(runtime.credential.source.clone());
}

/// Everything up to the first byte that is sent.
async fn prepare(
    question: &Question,
    profile: Option<&str>,
    screen: &Screen,
) -> Result<(Asked, App, Ask, Runtime), Trouble> {
    let Asking { whom: Whom { provider, model }, image, .. } = &question.asking;
    let asked = match &question.prompt {
        Some(prompt) => Asked::Question(Box::new(input::content(prompt, image, screen).await?.into())),
        None if !image.is_empty() => {
            return Err(Trouble::Usage("an image belongs to a question; add one with `-z` or `chat -q`".into()));
        }
        None => Asked::GoOn,
    };
    let app = App::load(profile, provider.as_deref()).await?;
    for warning in &app.warnings {
        screen.remark(warning);
    }
    screen.show_reasoning(app.settings.bool_at("display.show_reasoning")?);
    let wanted = Ask { provider: provider.clone(), model: model.clone(), ..Ask::default() };
    let (wanted, runtime) = choose(wanted, &app, &|text| screen.remark(text)).await?;
    for note in &runtime.notes {
        screen.remark(note);
    }
    if runtime.tls.unverified {
        let danger =
            "its certificate is not verified (ssl_verify: false), so anybody on the way can read and change this";
        screen.complain(&format!("{}: {danger}", runtime.label));
    }
    Ok((asked, app, wanted, runtime))
}

/// What will be asked for. With nothing configured, a server on this machine will do.
pub(super) async fn choose(wanted: Ask, app: &App, remark: &(dyn Fn(&str) + Sync)) -> Result<(Ask, Runtime), Trouble> {
    let error = match app.knowledge.resolve(&wanted) {
        Ok(runtime) => return Ok((wanted, runtime)),
        Err(error) => error,
    };
    let wanted = match &error {
        ResolveError::NoProvider => {
            let Some(local) = catalog::find_local(app.local_servers(), &*app.transport, &*app.clock).await else {
                return Err(Trouble::Refused(NOTHING_CONFIGURED.into()));
            };
            let first = local.models.first().map(|model| model.id.clone());
            let model = wanted.model.clone().or(first);
            let name = model.as_deref().unwrap_or_default();
            remark(&format!(
                "using {name} at {} ({}); `hermes model` makes it a choice",
                local.provider.label, local.base_url
            ));
            let base_url = Some(local.base_url.to_string());
            Ask { provider: Some(local.provider.id.into()), model, base_url, ..wanted }
        }
        // A server the person runs knows best which model it has loaded.
        ResolveError::NoModel { base_url, .. } => {
            let Some(model) = first_listed(base_url, app).await else {
                return Err(Trouble::Refused(format!(
                    "{base_url} lists no model. Is a server running there? If it is, name the model: \
                     `hermes config set model.default MODEL`, or `-m MODEL` for once"
                )));
            };
            remark(&format!("using {model}, the first model at {base_url}"));
            Ask { model: Some(model), ..wanted }
        }
        _ => return Err(Trouble::of_choice(error, wanted.provider.as_deref())),
    };
    let runtime = app.knowledge.resolve(&wanted)?;
    Ok((wanted, runtime))
}

/// The model that is asked at an endpoint when nobody chose one: the first it lists.
pub(super) async fn first_listed(base_url: &Url, app: &App) -> Option<String> {
    let row = Provider::find("custom").into_iter().map(|row| (row, base_url.clone())).collect();
    let found = catalog::find_local(row, &*app.transport, &*app.clock).await?;
    found.models.into_iter().next().map(|model| model.id)
}

pub(super) const NOTHING_CONFIGURED: &str = "\
no model is set up, no local server answers. Any of these will do:
  - a key of any provider: hermes config set OPENROUTER_API_KEY <key>
  - any server: hermes config set model.base_url http://host:8000/v1
  - a choice from a list: hermes model
Or see it work without: hermes demo";

/// Models of the endpoint whose names are close to the one that was not found, as the end of a sentence.
async fn suggest_models(runtime: &Runtime, board: &Board, app: &App) -> String {
    let listing = async {
        let endpoint = board.first_endpoint().await?;
        catalog::list_models(&endpoint, &*app.transport, &*app.clock).await
    };
    let listed = tokio::time::timeout(SUGGESTION_TIMEOUT, listing).await;
    let names: Vec<String> = match listed {
        Ok(Ok(models)) if !models.is_empty() => models.into_iter().map(|model| model.id).collect(),
        _ => runtime.provider.models.iter().map(|name| (*name).to_owned()).collect(),
    };
    let near = alike(&runtime.model, names);
    if near.is_empty() { String::new() } else { format!(" (did you mean {}?)", near.join(" or ")) }
}

/// The names most like the wanted one, best first.
fn alike(wanted: &str, names: Vec<String>) -> Vec<String> {
    let likeness = |name: &str| strsim::jaro_winkler(&name.to_lowercase(), &wanted.to_lowercase());
    let mut scored: Vec<(f64, String)> = names.into_iter().map(|name| (likeness(&name), name)).collect();
    scored.retain(|(score, _)| *score >= ALIKE);
    scored.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    scored.into_iter().take(MOST_SUGGESTIONS).map(|(_, name)| name).collect()
}

pub(super) fn new_session_id() -> SessionId {
    hermes_agent::session_id(std::time::SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_model_is_answered_with_names_like_it() {
        let names = || ["gpt-5", "gpt-5-mini", "claude-sonnet-4-5", "text-embedding-3"].map(str::to_owned).to_vec();
        assert_eq!(alike("gtp-5", names()), ["gpt-5"]);
        assert_eq!(alike("gpt-5-min", names()), ["gpt-5-mini", "gpt-5"]);
        assert_eq!(alike("Claude-Sonet-4.5", names()), ["claude-sonnet-4-5"]);
        assert!(alike("zzz", names()).is_empty());
    }

    #[test]
    fn the_first_words_fit_a_screen() {
        let lines: Vec<&str> = NOTHING_CONFIGURED.lines().collect();
        assert_eq!(lines.len(), 5);
        let told = format!("hermes chat: {NOTHING_CONFIGURED}");
        assert!(told.lines().all(|line| line.chars().count() < 80), "{told}");
    }
}
