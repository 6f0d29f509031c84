//! `hermes -z` and `hermes chat -q`: one question, one answer, the truth in the exit code.

use crate::app::App;
use crate::args::{Asking, OutputFormat};
use crate::commands::waiting::stop_on_signal;
use crate::commands::{Exit, Trouble};
use crate::output::{Screen, Show};
use base64::Engine;
use hermes_core::ask::{Line, Manner, Ports, ask};
use hermes_core::ports::{Listener, Switchboard};
use hermes_model::catalog;
use hermes_model::provider::Provider;
use hermes_model::resolve::{Ask, ResolveError};
use hermes_types::{Content, EVENT_VERSION, Event, Fault, FaultKind, Message, Part, Reply, Request, SessionId};
use jiff::Zoned;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Text from standard input beyond this is not context any more.
const LARGEST_INPUT: u64 = 16 << 20;
const LARGEST_IMAGE: u64 = 20 << 20;
/// A person who forgot that we wait for standard input is told after this long.
const INPUT_REMINDER: Duration = Duration::from_secs(2);

/// What to ask, and how to show it.
pub struct Question {
    pub prompt: String,
    pub images: Vec<PathBuf>,
    pub asking: Asking,
    pub quiet: bool,
    /// How the person called us, for messages.
    pub command: &'static str,
}

pub async fn run(question: Question, profile: Option<&str>) -> ExitCode {
    let session = new_session_id();
    let notices = !question.quiet && (question.command != "hermes -z" || std::io::stderr().is_terminal());
    let screen = Screen::new(Show {
        format: question.asking.output_format,
        notices,
        command: question.command,
        session: session.clone(),
        usage_file: question.asking.usage_file.clone(),
    });
    match turn(&question, profile, session, &screen).await {
        Ok(result) => screen.finish(&result),
        Err(trouble) if question.asking.output_format == OutputFormat::Text || trouble.exit() == Exit::Usage => {
            screen.complain(&trouble.to_string());
            trouble.exit().into()
        }
        Err(trouble) => screen.finish(&Err(Fault::new(FaultKind::NotConfigured, trouble.to_string()))),
    }
}

/// Outer error: nothing was asked. Inner result: how the asking went.
async fn turn(
    question: &Question,
    profile: Option<&str>,
    session: SessionId,
    screen: &Screen,
) -> Result<Result<Reply, Fault>, Trouble> {
    let stop = stop_on_signal();
    let message = user_message(question, screen).await?;
    let app = App::load(profile, question.asking.provider.as_deref()).await?;
    for warning in &app.warnings {
        screen.remark(warning);
    }
    let wanted =
        Ask { provider: question.asking.provider.clone(), model: question.asking.model.clone(), ..Ask::default() };
    let wanted = choose(wanted, &app, screen).await?;
    let runtime = app.knowledge.resolve(&wanted)?;
    for note in &runtime.notes {
        screen.remark(note);
    }
    screen.hear(Event::Started {
        version: EVENT_VERSION,
        session_id: session.clone(),
        provider: runtime.name.clone(),
        model: runtime.model.clone(),
    });
    let request = Request {
        messages: vec![Arc::new(message)],
        reasoning: app.knowledge.config.reasoning_for(&runtime.model),
        max_output_tokens: runtime.limits.max_output_tokens,
        session: Some(session),
        ..Request::default()
    };
    let board = app.board(wanted);
    let switchboard: &dyn Switchboard = &board;
    let ports = Ports { switchboard, clock: &*app.clock, listener: screen };
    let retries =
        app.settings.u64_at("agent.api_max_retries")?.and_then(|times| u32::try_from(times).ok()).unwrap_or(3);
    let seed = u64::from(std::process::id()) ^ u64::from(app.clock.elapsed().subsec_nanos());
    let manner = Manner { retries, live: screen.is_live(), seed };
    Ok(ask(request, &mut Line::default(), manner, &ports, &stop).await)
}

/// What will be asked for. With nothing configured, a server on this machine will do.
async fn choose(wanted: Ask, app: &App, screen: &Screen) -> Result<Ask, Trouble> {
    let error = match app.knowledge.resolve(&wanted) {
        Ok(_) => return Ok(wanted),
        Err(error) => error,
    };
    match &error {
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
            Ok(Ask { provider: Some(local.provider.id.into()), model, base_url, ..wanted })
        }
        // A server the person runs knows best which model it has loaded.
        ResolveError::NoModel { base_url, .. } => {
            let row = Provider::find("custom").into_iter().map(|row| (row, base_url.clone())).collect();
            let found = catalog::find_local(row, &*app.transport, &*app.clock).await;
            let model = found.and_then(|server| server.models.into_iter().next());
            let Some(model) = model else { return Err(error.into()) };
            screen.remark(&format!("using {}, the first model at {base_url}", model.id));
            Ok(Ask { model: Some(model.id), ..wanted })
        }
        _ => Err(error.into()),
    }
}

pub(super) const NOTHING_CONFIGURED: &str = "\
no model is configured and no local model server answers on this machine. One of these is enough:
  hermes config set OPENROUTER_API_KEY <key>       a key of any provider: OpenRouter, OpenAI, Anthropic, Gemini, …
  hermes config set model.base_url http://host:8000/v1     any OpenAI-compatible server
  hermes model                                     choose from a list
  hermes demo                                      see it work without any of these";

/// The prompt, with whatever was piped in as context behind it and the images as parts.
async fn user_message(question: &Question, screen: &Screen) -> Result<Message, Trouble> {
    let piped = read_input(screen).await?;
    let text = match (question.prompt.as_str(), piped.trim()) {
        ("-", "") => return Err(Trouble::Usage("the prompt is `-`, but nothing came in on standard input".into())),
        ("-", text) => text.to_owned(),
        (prompt, "") if prompt.trim().is_empty() => return Err(Trouble::Usage("the prompt is empty".into())),
        (prompt, "") => prompt.to_owned(),
        (prompt, context) => format!("{prompt}\n\n{context}"),
    };
    if question.images.is_empty() {
        return Ok(Message::user(text));
    }
    let mut parts = vec![Part::of_text(text)];
    for path in &question.images {
        parts.push(Part::of_image(image_url(path)?));
    }
    Ok(Message::user(Content::Parts(parts)))
}

/// Standard input, unless it is a terminal. Reading happens beside the runtime, and a person is told what we wait for.
async fn read_input(screen: &Screen) -> Result<String, Trouble> {
    if std::io::stdin().is_terminal() {
        return Ok(String::new());
    }
    let mut reading = tokio::task::spawn_blocking(|| {
        let mut bytes = Vec::new();
        std::io::stdin().lock().take(LARGEST_INPUT + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    let read = tokio::select! {
        read = &mut reading => read,
        () = tokio::time::sleep(INPUT_REMINDER) => {
            screen.remark("reading standard input until it ends; add `</dev/null` if there is none");
            reading.await
        }
    };
    let unreadable = |reason: String| Trouble::Refused(format!("standard input cannot be read: {reason}"));
    let bytes = read.map_err(|error| unreadable(error.to_string()))?.map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > LARGEST_INPUT {
        return Err(Trouble::Usage(
            "standard input is larger than 16 MiB; save it and name the file in the prompt".into(),
        ));
    }
    String::from_utf8(bytes).map_err(|_| Trouble::Usage("standard input is not text (UTF-8)".into()))
}

fn image_url(path: &Path) -> Result<String, Trouble> {
    let unusable = |reason: &dyn std::fmt::Display| Trouble::Usage(format!("image {}: {reason}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| unusable(&error))?.len();
    if size > LARGEST_IMAGE {
        return Err(unusable(&"larger than 20 MiB"));
    }
    let bytes = std::fs::read(path).map_err(|error| unusable(&error))?;
    let kind = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => "png",
        [0xFF, 0xD8, 0xFF, ..] => "jpeg",
        [b'G', b'I', b'F', b'8', ..] => "gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "webp",
        _ => return Err(unusable(&"not a PNG, JPEG, GIF or WebP file")),
    };
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    Ok(format!("data:image/{kind};base64,{data}"))
}

fn new_session_id() -> SessionId {
    let random: [u8; 3] = rand::random();
    SessionId::new(format!("{}_{}", Zoned::now().strftime("%Y%m%d_%H%M%S"), hex::encode(random)))
}
