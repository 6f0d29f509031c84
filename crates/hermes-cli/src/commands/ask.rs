//! `hermes -z` and `hermes chat -q`: one question, one answer, the truth in the exit code.

mod diary;
mod input;

use crate::app::App;
use crate::args::{Asking, OutputFormat, Whom};
use crate::commands::waiting::stop_on_signal;
use crate::commands::{Exit, Trouble};
use crate::log;
use crate::output::{Aside, Screen, Show, Turn};
use diary::Diary;
use hermes_core::ask::{Line, Manner, Ports, ask};
use hermes_core::ports::{Listener, Switchboard, Unrecorded};
use hermes_core::stop::Stop;
use hermes_model::board::Board;
use hermes_model::catalog;
use hermes_model::provider::Provider;
use hermes_model::resolve::{Ask, ResolveError, Runtime};
use hermes_types::{EVENT_VERSION, Event, Fault, FaultKind, Request, SessionId};
use jiff::Zoned;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Names this alike are worth a mention when a model is not found.
const ALIKE: f64 = 0.8;
const MOST_SUGGESTIONS: usize = 3;
/// The endpoint has this long to say which models it has; the failure itself is known already.
const SUGGESTION_TIMEOUT: Duration = Duration::from_secs(2);

/// What to ask, and how to show it.
pub struct Question {
    pub prompt: String,
    pub asking: Asking,
    pub quiet: bool,
    /// How the person called us, for messages.
    pub command: &'static str,
}

pub async fn run(question: Question, profile: Option<&str>) -> ExitCode {
    let stop = stop_on_signal();
    let session = new_session_id();
    let script = question.command == "hermes -z" && !std::io::stderr().is_terminal();
    let screen = Screen::new(
        Show {
            format: question.asking.form.format(),
            aside: match (question.quiet, script) {
                (true, _) => Aside::ErrorsAndSession,
                (false, true) => Aside::Errors,
                (false, false) => Aside::Everything,
            },
            command: question.command,
            session: session.clone(),
            usage_file: question.asking.form.usage_file.clone(),
        },
        stop.clone(),
    );
    let asked = tokio::select! {
        biased;
        asked = turn(&question, profile, session, &screen, &stop) => asked,
        never = screen.keep_time() => match never {},
    };
    match asked {
        Ok((turn, asking)) => {
            // The answer first: nobody waits for it because of what comes behind it.
            let code = screen.finish(&turn);
            if let Some((app, board)) = asking {
                app.settle(Some(&board), |text| screen.complain(text)).await;
            }
            code
        }
        Err(trouble) => refuse(&trouble, question.asking.form.format(), &screen),
    }
}

/// Nothing was asked; says why in the form that was wanted.
fn refuse(trouble: &Trouble, format: OutputFormat, screen: &Screen) -> ExitCode {
    let refused = Turn::refused(Fault::new(FaultKind::NotConfigured, trouble.to_string()));
    if format != OutputFormat::Text && trouble.exit() == Exit::Failed {
        return screen.finish(&refused);
    }
    screen.complain(&trouble.to_string());
    if let Err(error) = screen.write_usage(&refused) {
        screen.complain(&error);
    }
    trouble.exit().into()
}

/// How it went, and with what it was asked. An error means that nothing was asked.
async fn turn(
    question: &Question,
    profile: Option<&str>,
    session: SessionId,
    screen: &Screen,
    stop: &Stop,
) -> Result<(Turn, Option<(App, Board)>), Trouble> {
    let preparing = prepare(question, profile, &session, screen);
    let (app, wanted, runtime, request) = tokio::select! {
        biased;
        () = stop.wait() => return Ok((Turn::refused(Fault::new(FaultKind::Interrupted, "interrupted")), None)),
        prepared = preparing => prepared?,
    };
    let retries =
        app.settings.u64_at("agent.api_max_retries")?.and_then(|times| u32::try_from(times).ok()).unwrap_or(3);
    screen.show_reasoning(app.settings.bool_at("display.show_reasoning")?);
    let board = app.board(wanted);
    let switchboard: &dyn Switchboard = &board;
    let ports = Ports { switchboard, clock: &*app.clock, listener: screen, recorder: &Unrecorded };
    let seed = u64::from(std::process::id()) ^ u64::from(app.clock.elapsed().subsec_nanos());
    let manner = Manner { retries, live: screen.is_live(), seed };
    let mut line = Line::default();
    let diary = Diary::begin(&app, &session, &runtime, &request, screen, stop).await;
    let mut result = ask(request, &mut line, manner, &ports, stop).await;
    let not_kept = diary.end(&result, &line, screen).await;
    if let Err(fault) = &mut result
        && fault.kind == FaultKind::ModelNotFound
    {
        fault.message.push_str(&suggest_models(&runtime, &board, &app).await);
    }
    Ok((Turn { result, calls: line.calls(), not_kept }, Some((app, board))))
}

/// Everything up to the first byte that is sent.
async fn prepare(
    question: &Question,
    profile: Option<&str>,
    session: &SessionId,
    screen: &Screen,
) -> Result<(App, Ask, Runtime, Request), Trouble> {
    let Asking { whom: Whom { provider, model }, image, .. } = &question.asking;
    let message = input::message(&question.prompt, image, screen).await?;
    let app = App::load(profile, provider.as_deref()).await?;
    log::start(&app.home, &app.settings, session.as_str());
    for warning in &app.warnings {
        screen.remark(warning);
    }
    let wanted = Ask { provider: provider.clone(), model: model.clone(), ..Ask::default() };
    let (wanted, runtime) = choose(wanted, &app, screen).await?;
    for note in &runtime.notes {
        screen.remark(note);
    }
    if runtime.tls.unverified {
        let danger =
            "its certificate is not verified (ssl_verify: false), so anybody on the way can read and change this";
        screen.complain(&format!("{}: {danger}", runtime.label));
    }
    screen.hear(Event::Started {
        version: EVENT_VERSION,
        session_id: session.clone(),
        provider: runtime.name.clone(),
        model: runtime.model.clone(),
    });
    screen.key_is_from(runtime.credential.source.clone());
    let request = Request { messages: vec![Arc::new(message)], session: Some(session.clone()), ..Request::default() };
    Ok((app, wanted, runtime, request))
}

/// What will be asked for. With nothing configured, a server on this machine will do.
async fn choose(wanted: Ask, app: &App, screen: &Screen) -> Result<(Ask, Runtime), Trouble> {
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
            screen.remark(&format!(
                "using {name} at {} ({}); `hermes model` makes it a choice",
                local.provider.label, local.base_url
            ));
            let base_url = Some(local.base_url.to_string());
            Ask { provider: Some(local.provider.id.into()), model, base_url, ..wanted }
        }
        // A server the person runs knows best which model it has loaded.
        ResolveError::NoModel { base_url, .. } => {
            let Some(model) = first_listed(base_url, app).await else { return Err(error.into()) };
            screen.remark(&format!("using {model}, the first model at {base_url}"));
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
  hermes config set OPENROUTER_API_KEY <key>            a key of any provider
  hermes config set model.base_url http://host:8000/v1  any compatible server
  hermes model                                          choose from a list
  hermes demo                                           see it work without";

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
    let random: [u8; 3] = rand::random();
    SessionId::new(format!("{}_{}", Zoned::now().strftime("%Y%m%d_%H%M%S"), hex::encode(random)))
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
