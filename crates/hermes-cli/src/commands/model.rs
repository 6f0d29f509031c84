//! `hermes model`: which provider and model are asked from now on.
//!
//! With a terminal it is a conversation (provider, key if one is missing, model); with arguments it is one step. The
//! choice is written to `config.yaml` and nowhere else. Lists of models are asked for, a model never is: nothing here
//! costs money.

mod offer;
mod pick;
mod save;

use super::access::{Access, Who};
use super::config::refuse_managed;
use super::person::Person;
use super::{Console, Exit, Trouble, table};
use crate::app::App;
use crate::args::Whom;
use crate::settings::KeyPath;
use hermes_model::catalog::ModelInfo;
use hermes_model::provider::names::wire_name;
use hermes_model::resolve::{Ask, ResolveError, split_model};
use offer::Offer;
use save::Choice;
use serde_json::json;
use url::Url;

#[derive(Debug, clap::Args)]
pub struct ModelArgs {
    /// The model to ask from now on; `provider:model` names both
    #[arg(value_name = "MODEL")]
    pub name: Option<String>,
    /// List the models of the provider
    #[arg(long, conflicts_with_all = ["name", "force"])]
    pub list: bool,
    /// Ask the provider anew what its models take and cost, and keep it
    #[arg(long, conflicts_with_all = ["name", "force", "list"])]
    pub refresh: bool,
    /// As JSON
    #[arg(long, requires = "list")]
    pub json: bool,
    /// Where the provider is, when it is not at its usual place
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Take a model that the provider does not list
    #[arg(long)]
    pub force: bool,
}

pub async fn run(args: ModelArgs, whom: &Whom, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = dispatch(args, whom, profile, console).await;
    console.finish(outcome)
}

async fn dispatch(
    args: ModelArgs,
    whom: &Whom,
    profile: Option<&str>,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    // An address alone names the endpoint nobody else has.
    let provider = whom.provider.as_deref().or(args.base_url.as_ref().map(|_| "custom"));
    let name = args.name.as_deref().or(whom.model.as_deref());
    let app = App::load(profile, provider).await?;
    let base_url = args.base_url.as_deref().map(check_url).transpose()?;
    if args.list {
        let wanted = Wanted::read(provider, None, &app)?;
        return list(&app, &wanted.who, base_url.as_ref(), args.json, console).await;
    }
    if args.refresh {
        let wanted = Wanted::read(provider, None, &app)?;
        return refresh(&app, &wanted.who, base_url.as_ref(), console).await;
    }
    if (name, provider, Person::present().is_some()) == (None, None, false) {
        return current(&app, console);
    }
    for key in ["model.default", "model.provider"] {
        refuse_managed(&app.home, &app.environment, &KeyPath::parse(key)?)?;
    }
    match (Person::present(), name) {
        (Some(person), None) => {
            let who = provider.map(|name| Who::find(name, &app.knowledge.config)).transpose()?;
            pick::run(app, who, base_url, person, profile, console).await
        }
        (_, name) => set(&app, Wanted::read(provider, name, &app)?, base_url, args.force, console).await,
    }
}

/// What the command line names.
struct Wanted {
    who: Who,
    /// As the person wrote it, without its provider.
    model: Option<String>,
    /// Where an alias says it is.
    base_url: Option<Url>,
}

impl Wanted {
    /// The provider said, else the one the model's name brings along, else the one in use.
    fn read(provider: Option<&str>, model: Option<&str>, app: &App) -> Result<Self, Trouble> {
        let config = &app.knowledge.config;
        let model = model.map(str::trim).filter(|model| !model.is_empty());
        if let Some(name) = provider {
            return Ok(Self { who: Who::find(name, config)?, model: model.map(str::to_owned), base_url: None });
        }
        let (mut named, mut base_url) = (None, None);
        let model = match model.map(|word| (word, config.aliases.get(&word.to_lowercase()))) {
            None => None,
            Some((_, Some(alias))) => {
                base_url = alias.base_url.as_deref().map(check_url).transpose()?;
                named = alias.provider.clone().or(base_url.as_ref().map(|_| "custom".into()));
                Some(alias.model.clone())
            }
            Some((word, None)) => {
                let (provider, model) = split_model(word, config);
                named = provider;
                Some(model)
            }
        };
        let name = match named.or_else(|| config.model.provider.clone()) {
            Some(name) => name,
            None => {
                let any = Ask { model: Some("any".into()), ..Ask::default() };
                app.knowledge.resolve(&any)?.name
            }
        };
        Ok(Self { who: Who::find(&name, config)?, model, base_url })
    }
}

pub(super) fn check_url(text: &str) -> Result<Url, Trouble> {
    let wrong = |reason: &dyn std::fmt::Display| {
        Trouble::Usage(format!("{text} is not an address: {reason}. Write it like http://127.0.0.1:8000/v1"))
    };
    let url: Url = text.trim().parse().map_err(|error| wrong(&error))?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() {
        Ok(url)
    } else {
        Err(wrong(&"it needs http:// or https://"))
    }
}

/// Without a terminal and without a wish: what is chosen, and how to choose.
fn current(app: &App, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    match app.knowledge.resolve(&Ask::default()) {
        Ok(runtime) => {
            let from = if app.knowledge.config.model.default.is_some() { "" } else { ", nobody chose it" };
            writeln!(console.out, "{} at {} ({}{from})", runtime.model, runtime.label, runtime.name)?;
        }
        // Its own words send the person to `hermes model`, which is here.
        Err(ResolveError::NoProvider) => writeln!(
            console.out,
            "No model can be asked: no provider is chosen and no key is there.\n\n\
             Save a key:\n  hermes auth add PROVIDER --api-key - < file-with-the-key"
        )?,
        Err(error) => writeln!(console.out, "No model can be asked: {error}.")?,
    }
    let names: Vec<String> = Who::all(&app.knowledge.config).into_iter().map(|who| who.name).collect();
    writeln!(
        console.out,
        "\nChoose without a terminal:\n  hermes model --provider PROVIDER MODEL\n  \
         hermes model --base-url http://127.0.0.1:8000/v1 MODEL\n  \
         hermes model --list [--provider PROVIDER]\n\nProviders:"
    )?;
    for line in wrapped(&names, 100) {
        writeln!(console.out, "  {line}")?;
    }
    Ok(Exit::Done)
}

fn wrapped(words: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

async fn list(
    app: &App,
    who: &Who,
    base_url: Option<&Url>,
    as_json: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let offer = Offer::of(app, who, base_url, console).await?;
    let current = app.knowledge.resolve(&Ask::default()).ok().filter(|runtime| runtime.name == who.name);
    let is_current = |id: &str| current.as_ref().is_some_and(|runtime| runtime.model == id);
    if as_json {
        let models: Vec<_> = offer
            .models
            .iter()
            .map(|model| {
                json!({"id": model.id, "context_window": model.context_window, "free": model.is_free(), "current": is_current(&model.id)})
            })
            .collect();
        let report = json!({"provider": who.name, "label": who.label, "live": offer.problem.is_none(), "problem": offer.problem, "models": models});
        writeln!(console.out, "{report:#}")?;
    } else {
        let rows: Vec<[String; 3]> = offer
            .models
            .iter()
            .map(|model| {
                let window = model.context_window.map(|tokens| format!("{} tokens", table::grouped(tokens)));
                let marks = [("free", model.is_free()), ("current", is_current(&model.id))];
                let marks: Vec<&str> = marks.into_iter().filter(|(_, is)| *is).map(|(mark, _)| mark).collect();
                [model.id.clone(), window.unwrap_or_default(), marks.join(", ")]
            })
            .collect();
        table::write(console.out, &rows)?;
        if let Some(notice) = offer.notice(who) {
            writeln!(console.err, "{notice}")?;
        }
    }
    Ok(if offer.models.is_empty() { Exit::Failed } else { Exit::Done })
}

/// What the provider says about its models, asked now instead of by the way.
async fn refresh(app: &App, who: &Who, base_url: Option<&Url>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let offer = Offer::of(app, who, base_url, console).await?;
    if let Some(problem) = &offer.problem {
        return Err(Trouble::Refused(format!("{} could not be asked for its models ({problem}).", who.label)));
    }
    let having =
        |has: fn(&ModelInfo) -> bool| table::grouped(offer.models.iter().filter(|model| has(model)).count() as u64);
    let windows = having(|model| model.context_window.is_some());
    let prices = having(|model| model.prices.is_some());
    let models = table::count(offer.models.len() as u64, "model");
    writeln!(console.out, "{}: {models}, {windows} with a context window, {prices} with prices.", who.label)?;
    Ok(Exit::Done)
}

/// Writes the choice, if the provider knows the model.
async fn set(
    app: &App,
    wanted: Wanted,
    base_url: Option<Url>,
    force: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let Wanted { who, model, base_url: of_alias } = wanted;
    let base_url = base_url.or(of_alias);
    require_address(app, &who, base_url.as_ref())?;
    if let (Some(model), true) = (&model, force) {
        let choice = Choice { model: wire_name(who.row, model), who, base_url };
        return save::write(app, &choice, console);
    }
    let offer = Offer::of(app, &who, base_url.as_ref(), console).await?;
    let model = match model {
        Some(model) => wire_name(who.row, &model),
        None => offer.models.first().map(|model| model.id.clone()).ok_or_else(|| nothing_offered(&who, &offer))?,
    };
    if let Some(problem) = &offer.problem {
        // What is missing is said after the choice, once.
        if !matches!(who.access(app), Access::Missing(_)) {
            writeln!(console.err, "Note: {} could not be asked whether it has {model} ({problem}).", who.label)?;
        }
    } else if !offer.knows(&model) {
        return Err(Trouble::Refused(offer.refusal(&who, &model)));
    }
    save::write(app, &Choice { model, who, base_url }, console)
}

/// A provider that is wherever the person says cannot be chosen before they said where.
fn require_address(app: &App, who: &Who, base_url: Option<&Url>) -> Result<(), Trouble> {
    let is_unknown = || matches!(who.access(app), Access::Missing(ResolveError::MissingBaseUrl { .. }));
    if base_url.is_some() || !who.needs_address() || !is_unknown() {
        return Ok(());
    }
    Err(Trouble::Usage(format!(
        "no address is known for {}, so nothing was written. Say where it is:\n  \
         hermes model --provider {} --base-url http://127.0.0.1:8000/v1 MODEL",
        who.label, who.name
    )))
}

fn nothing_offered(who: &Who, offer: &Offer) -> Trouble {
    let reason = offer.problem.as_deref().unwrap_or("it lists no models");
    Trouble::Refused(format!(
        "{} names no model to choose: {reason}. Name one: hermes model --provider {} MODEL",
        who.label, who.name
    ))
}
