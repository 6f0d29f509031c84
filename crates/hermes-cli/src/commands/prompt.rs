//! `hermes prompt`: the system prompt as a conversation would get it here and now, and what a first request costs.
//!
//! It is built by the same code that builds it for a conversation. No model has to be configured, none is asked, and
//! nothing is written.

mod show;
mod size;

use super::tools::{self, Platform};
use super::{Console, Exit, Trouble, paper};
use crate::agent;
use crate::app::App;
use crate::args::Whom;
use crate::hands::Hands;
use hermes_agent::gather::Answerer;
use hermes_core::prompt::{Name, Prompt};
use hermes_model::resolve::{Ask, ResolveError};
use hermes_types::{SessionId, ToolDefinition};

#[derive(Debug, clap::Args)]
pub struct PromptArgs {
    #[command(subcommand)]
    pub command: PromptCommand,
}

#[derive(Debug, clap::Subcommand)]
pub enum PromptCommand {
    /// Print the system prompt
    Show {
        /// Only this layer
        #[arg(long, value_name = "NAME", value_parser = layers())]
        layer: Option<Name>,
        #[command(flatten)]
        scene: Scene,
    },
    /// Show what each layer and each toolset costs in a request
    Size {
        #[command(flatten)]
        scene: Scene,
    },
}

/// For whom and where the prompt is built.
#[derive(Debug, clap::Args)]
pub struct Scene {
    #[command(flatten)]
    pub whom: Whom,
    #[command(flatten)]
    pub platform: Platform,
    /// As JSON, for programs
    #[arg(long)]
    pub json: bool,
}

/// A prompt and what it was built for.
struct Built {
    prompt: Prompt,
    platform: String,
    answerer: Option<Answerer>,
    hands: Hands,
    definitions: Vec<ToolDefinition>,
}

pub async fn run(args: PromptArgs, before: Whom, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = dispatch(args, before, profile, console).await;
    console.finish(outcome)
}

async fn dispatch(
    args: PromptArgs,
    before: Whom,
    profile: Option<&str>,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    match args.command {
        PromptCommand::Show { layer, scene } => {
            let json = scene.json;
            let built = build(scene, before, profile, console).await?;
            show::run(&built, layer, json, console)
        }
        PromptCommand::Size { scene } => {
            let json = scene.json;
            let built = build(scene, before, profile, console).await?;
            size::run(&built, json, console)
        }
    }
}

/// Builds the prompt; what the person should know about it goes to stderr.
async fn build(scene: Scene, before: Whom, profile: Option<&str>, console: &mut Console<'_>) -> Result<Built, Trouble> {
    let whom = scene.whom.or(before);
    let app = App::load(profile, whom.provider.as_deref()).await?;
    let answerer = answerer(&app, whom)?;
    let hands = tools::to_look_at(&app);
    hands.tell_warnings(console)?;
    let platform = scene.platform.platform;
    let catalogue = hands.catalogue();
    if let Some(doubt) = tools::doubt(&app, &platform, &catalogue) {
        writeln!(console.err, "{doubt}")?;
    }
    let grant = catalogue.select(&agent::chosen(&app, &platform, &catalogue)).grant;
    let definitions = hands.for_conversation(grant.clone()).definitions();
    let offered = hands.known(grant);
    let session = SessionId::new("prompt");
    let (prompt, notices) =
        agent::prompt(&app, &hands, agent::Scene { session, platform: &platform, offered, answerer: answerer.clone() })
            .await;
    notices.iter().try_for_each(|notice| writeln!(console.err, "… {}", paper::shown(notice)))?;
    Ok(Built { prompt, platform, answerer, hands, definitions })
}

/// Who would be asked. Where that cannot be settled yet, such as without a key, the names as they were given.
fn answerer(app: &App, whom: Whom) -> Result<Option<Answerer>, Trouble> {
    let ask = Ask { provider: whom.provider, model: whom.model, ..Ask::default() };
    match app.knowledge.resolve(&ask) {
        Ok(runtime) => Ok(Some(Answerer {
            model: runtime.model,
            provider: runtime.name,
            context_window: Some(runtime.limits.context_window),
        })),
        Err(error @ ResolveError::UnknownProvider { .. }) if ask.provider.is_some() => {
            Err(Trouble::of_choice(error, ask.provider.as_deref()))
        }
        Err(_) => {
            let configured = &app.knowledge.config.model;
            let model = ask.model.or_else(|| configured.default.clone());
            let provider = ask.provider.or_else(|| configured.provider.clone());
            Ok(model.zip(provider).map(|(model, provider)| Answerer { model, provider, context_window: None }))
        }
    }
}

fn layers() -> impl clap::builder::TypedValueParser<Value = Name> {
    use clap::builder::{PossibleValuesParser, TypedValueParser as _};
    let known = PossibleValuesParser::new(Name::ALL.map(Name::as_str));
    known.try_map(|name| Name::named(&name).ok_or("no layer has this name"))
}
