//! `hermes model` as a conversation: who, how to get in, which model. Everything that can be used at once stands first.

use super::super::access::{Access, Who};
use super::super::auth;
use super::super::person::{Line, Person};
use super::super::waiting::watch;
use super::super::{Console, Exit, Trouble, table};
use super::check_url;
use super::offer::Offer;
use super::save::{self, Choice};
use crate::app::App;
use hermes_model::catalog::{self, LocalServer, ModelInfo};
use hermes_model::provider::names::wire_name;
use hermes_model::provider::table::PROVIDERS;
use hermes_model::provider::{AuthKind, Provider};
use hermes_model::resolve::{Ask, ResolveError, Runtime};
use url::Url;

/// `who` is given when the command line names the provider.
pub(super) async fn run(
    app: App,
    who: Option<Who>,
    base_url: Option<Url>,
    person: Person,
    profile: Option<&str>,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let current = app.knowledge.resolve(&Ask::default()).ok();
    let who = match who {
        Some(who) => who,
        None => provider(&app, current.as_ref(), person, console).await?,
    };
    let base_url = match base_url {
        None if who.needs_address() => Some(address(&app, &who, person).await?),
        given => given,
    };
    let app = enter(app, &who, base_url.as_ref(), person, profile, console).await?;
    let offer = Offer::of(&app, &who, base_url.as_ref(), console).await?;
    if let Some(notice) = offer.notice(&who) {
        writeln!(console.err, "{notice}")?;
    }
    let current = current.filter(|runtime| runtime.name == who.name).map(|runtime| runtime.model);
    let model = wire_name(who.row, &model(&who, &offer, current.as_deref(), person).await?);
    save::write(&app, &Choice { who, model, base_url }, console)
}

async fn provider(
    app: &App,
    current: Option<&Runtime>,
    person: Person,
    console: &mut Console<'_>,
) -> Result<Who, Trouble> {
    let places = places(app);
    let looking = catalog::list_local(places.clone(), &*app.transport, &*app.clock);
    let local = watch(console, |_| "looking for model servers on this machine".to_owned(), looking).await?;
    let mut rows: Vec<(Group, String, Who)> = Who::all(&app.knowledge.config)
        .into_iter()
        .map(|who| {
            let place = places.iter().find(|(row, _)| row.id == who.name).map(|(_, url)| url);
            let running = local.iter().find(|server| server.provider.id == who.name);
            let (group, remark) = describe(&who, who.access(app), place, running);
            (group, remark, who)
        })
        .collect();
    rows.sort_by_key(|(group, ..)| *group);
    let start = current.and_then(|runtime| rows.iter().position(|(.., who)| who.name == runtime.name)).unwrap_or(0);
    let width = rows.iter().map(|(.., who)| who.label.chars().count()).max().unwrap_or(0);
    let lines = rows.iter().map(|(group, remark, who)| Line {
        shown: format!("{} {:<width$}  {remark}", group.mark(), who.label),
        answer: who.label.clone(),
        found_by: Some(format!("{} {}", who.name, who.row.aliases.join(" "))),
    });
    let chosen = person.choose("Who should answer?", lines.collect(), start).await?;
    let (.., who) = rows.into_iter().nth(chosen).ok_or(Trouble::Interrupted)?;
    Ok(who)
}

/// Where servers of one's own may be: at the usual addresses, or at the one configured.
fn places(app: &App) -> Vec<(&'static Provider, Url)> {
    let config = &app.knowledge.config;
    let mut places = app.local_servers();
    for row in PROVIDERS.iter().filter(|row| row.is_self_hosted()) {
        let Ok(who) = Who::find(row.id, config) else { continue };
        if let Some(url) = who.configured_address(config).and_then(|text| check_url(text).ok()) {
            places.retain(|(known, _)| known.id != row.id);
            places.push((row, url));
        }
    }
    places
}

/// In which order providers are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Ready,
    Needs,
    /// Servers at home that do not answer now.
    Silent,
}

impl Group {
    fn mark(self) -> char {
        match self {
            Self::Ready => '●',
            Self::Needs | Self::Silent => '○',
        }
    }
}

/// What to say about a provider: what opens it, where it would be asked, and what was found there.
fn describe(who: &Who, access: Access, place: Option<&Url>, running: Option<&LocalServer>) -> (Group, String) {
    match (access, running) {
        (_, Some(server)) => (Group::Ready, format!("{} models at {}", server.models.len(), server.base_url)),
        (Access::Ready(origin), None) => match place.filter(|_| who.needs_address()) {
            Some(url) => (Group::Ready, format!("{url}, {origin}")),
            None => (Group::Ready, origin),
        },
        (Access::Open, None) if who.name.starts_with("custom:") => (Group::Ready, "your endpoint".into()),
        (Access::Open, None) if who.row.is_self_hosted() => match place {
            Some(url) => (Group::Silent, format!("no list of models at {url}")),
            None => (Group::Needs, "any address you name".into()),
        },
        (Access::Open, None) => (Group::Needs, "the program `copilot`, with its own login".into()),
        (Access::Missing(_), None) if who.needs_address() => (Group::Needs, "any address you name".into()),
        (Access::Missing(ResolveError::Exhausted { .. }), None) => {
            (Group::Needs, "its keys are resting after an error".into())
        }
        (Access::Missing(_), None) => (Group::Needs, needs(who).into()),
    }
}

fn needs(who: &Who) -> &'static str {
    match who.row.auth {
        AuthKind::Anthropic => "needs a key or a login",
        AuthKind::CodexOAuth | AuthKind::NousOAuth | AuthKind::CopilotToken => "needs a login",
        AuthKind::ApiKey | AuthKind::OptionalKey | AuthKind::ExternalProcess => "needs a key",
    }
}

async fn address(app: &App, who: &Who, person: Person) -> Result<Url, Trouble> {
    let known = who.configured_address(&app.knowledge.config).unwrap_or_default();
    let text = person.line("Address:", "with its version, like http://127.0.0.1:8000/v1", known).await?;
    check_url(&text)
}

/// Gets the credential that is missing, and reads everything again with it.
async fn enter(
    app: App,
    who: &Who,
    base_url: Option<&Url>,
    person: Person,
    profile: Option<&str>,
    console: &mut Console<'_>,
) -> Result<App, Trouble> {
    if let Some(url) = base_url.filter(|_| who.needs_address()) {
        let ask = who.ask("any", Some(url), &app.knowledge.config);
        let opened = app.knowledge.resolve(&ask).is_ok_and(|runtime| runtime.credential.secret.is_some());
        if !opened {
            let key = person.secret("Key:", "empty if it needs none; it does not appear as you paste it").await?;
            if !key.trim().is_empty() {
                auth::store_key(&app, who, None, &key, Some(url.to_string()), console).await?;
                return App::load(profile, Some(&who.name)).await;
            }
        }
        return Ok(app);
    }
    match who.access(&app) {
        Access::Ready(_) | Access::Open => Ok(app),
        Access::Missing(error @ ResolveError::Exhausted { .. }) => {
            writeln!(console.err, "{error}")?;
            Ok(app)
        }
        Access::Missing(_) => {
            auth::obtain(&app, who, person, console).await?;
            App::load(profile, Some(&who.name)).await
        }
    }
}

async fn model(who: &Who, offer: &Offer, current: Option<&str>, person: Person) -> Result<String, Trouble> {
    let by_hand = "Model:";
    if offer.models.is_empty() {
        return typed(person, by_hand, current.unwrap_or_default()).await;
    }
    let start = current.and_then(|id| offer.models.iter().position(|model| model.id == id)).unwrap_or(0);
    let mut lines: Vec<Line> = offer.models.iter().map(|model| line(model, current)).collect();
    lines.push(Line { found_by: None, ..Line::plain("another one: type its name") });
    let chosen = person.choose(&format!("Which model of {}?", who.label), lines, start).await?;
    match offer.models.get(chosen) {
        Some(model) => Ok(model.id.clone()),
        None => typed(person, by_hand, "").await,
    }
}

async fn typed(person: Person, question: &str, initial: &str) -> Result<String, Trouble> {
    let name = person.line(question, "as the provider names it", initial).await?;
    if name.is_empty() { Err(Trouble::Interrupted) } else { Ok(name) }
}

fn line(model: &ModelInfo, current: Option<&str>) -> Line {
    let window = model.context_window.map(|tokens| format!("{} tokens", table::grouped(tokens)));
    let is_current = current == Some(model.id.as_str());
    let marks = [window, model.is_free().then(|| "free".into()), is_current.then(|| "current".into())];
    let marks: Vec<String> = marks.into_iter().flatten().collect();
    let remark = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
    Line { shown: format!("{}{remark}", model.id), ..Line::plain(model.id.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_model::resolve::ModelConfig;

    #[test]
    fn a_custom_endpoint_is_shown_with_the_address_it_has() {
        let who = Who::find("custom", &ModelConfig::default()).expect("a provider");
        let url: Url = "http://box:8000/v1".parse().expect("a URL");
        let model = ModelInfo::named("m");
        let server = LocalServer { provider: who.row, base_url: url.clone(), models: vec![model] };
        let shown = |access, place, running| describe(&who, access, place, running);
        let (open, ready) = (Access::Open, Access::Ready("BOX_KEY (.env)".into()));
        assert_eq!(
            shown(open.clone(), Some(&url), Some(&server)),
            (Group::Ready, "1 models at http://box:8000/v1".into())
        );
        assert_eq!(
            shown(open.clone(), Some(&url), None),
            (Group::Silent, "no list of models at http://box:8000/v1".into())
        );
        assert_eq!(shown(ready, Some(&url), None), (Group::Ready, "http://box:8000/v1, BOX_KEY (.env)".into()));
        assert_eq!(shown(open, None, None), (Group::Needs, "any address you name".into()));
    }
}
