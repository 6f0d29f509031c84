//! `hermes auth add`: what to ask for, asking for it, storing it, and what comes next.

use super::super::access::Who;
use super::super::person::{Line, Person};
use super::super::{Console, Exit, Trouble};
use super::login::{Browser, Flow, log_in};
use super::{AddArgs, Kind, TypedKey};
use crate::app::App;
use crate::settings::mask;
use hermes_model::auth::edit::NewKey;
use hermes_model::auth::{AuthType, anthropic};
use hermes_model::provider::AuthKind;
use hermes_model::resolve::{Ask, Source};
use hermes_model::secret::Secret;

pub(super) async fn run(args: AddArgs, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let app = App::load(profile, None).await?;
    let who = Who::find(&args.who, &app.knowledge.config)?;
    match kind(&who, &args, Person::present()).await? {
        Kind::OAuth => {
            if args.label.is_some() && who.row.auth != AuthKind::CopilotToken {
                return Err(Trouble::Usage(format!(
                    "--label names a key; the login of {} has its own name",
                    who.label
                )));
            }
            let browser = Browser::choose(&app.environment, args.no_browser);
            let flow = Flow::of(who.row.auth).ok_or_else(|| no_login(&who))?;
            log_in(flow, &app.auth, args.label, browser, Person::present(), console).await?;
            writeln!(console.out, "Logged in to {}.", who.label)?;
        }
        Kind::ApiKey => {
            let address = address(&who, &app)?;
            let key = match args.api_key {
                Some(TypedKey(dash)) if dash == "-" => console.read_line()?,
                Some(TypedKey(key)) => key,
                None => typed_key(&who, Person::present()).await?,
            };
            store_key(&app, &who, args.label, &key, address, console).await?;
        }
    }
    next_step(&who, profile, console).await?;
    Ok(Exit::Done)
}

/// Gets a credential for a provider that has none, from the person at the terminal.
pub(in super::super) async fn obtain(
    app: &App,
    who: &Who,
    person: Person,
    console: &mut Console<'_>,
) -> Result<(), Trouble> {
    let args = AddArgs { who: who.name.clone(), kind: None, label: None, api_key: None, no_browser: false };
    match kind(who, &args, Some(person)).await? {
        Kind::OAuth => {
            let flow = Flow::of(who.row.auth).ok_or_else(|| no_login(who))?;
            log_in(flow, &app.auth, None, Browser::choose(&app.environment, false), Some(person), console).await
        }
        Kind::ApiKey => {
            let key = typed_key(who, Some(person)).await?;
            store_key(app, who, None, &key, address(who, app)?, console).await
        }
    }
}

/// What the person wants to add: as they said, else what the provider takes.
async fn kind(who: &Who, args: &AddArgs, person: Option<Person>) -> Result<Kind, Trouble> {
    let asked = match (args.kind, &args.api_key) {
        (Some(Kind::OAuth), Some(_)) => {
            return Err(Trouble::Usage("--type oauth takes no --api-key; leave one of them out".into()));
        }
        (Some(kind), _) => Some(kind),
        (None, Some(_)) => Some(Kind::ApiKey),
        (None, None) => None,
    };
    let takes_key = match who.row.auth {
        AuthKind::CodexOAuth | AuthKind::ExternalProcess => false,
        AuthKind::ApiKey
        | AuthKind::OptionalKey
        | AuthKind::Anthropic
        | AuthKind::NousOAuth
        | AuthKind::CopilotToken => true,
    };
    let takes_login = Flow::of(who.row.auth).is_some();
    match (asked, takes_key, takes_login) {
        (Some(Kind::ApiKey), false, true) => Err(Trouble::Usage(format!(
            "{} takes a login, not a key: hermes auth add {} (a key for the OpenAI API goes to openai-api)",
            who.label, who.name
        ))),
        (_, false, false) => Err(Trouble::Refused(format!(
            "{} is a program with a login of its own; start that program once and log in there.",
            who.label
        ))),
        (Some(Kind::OAuth), _, false) => Err(no_login(who)),
        (Some(kind), ..) => Ok(kind),
        (None, true, true) if who.row.auth == AuthKind::Anthropic => match person {
            None => Ok(Kind::ApiKey),
            Some(person) => {
                let options =
                    vec![Line::plain("with an API key"), Line::plain("with the login of a Claude subscription")];
                let chosen = person.choose(&format!("How do you get in to {}?", who.label), options, 0).await?;
                Ok(if chosen == 0 { Kind::ApiKey } else { Kind::OAuth })
            }
        },
        (None, _, true) => Ok(Kind::OAuth),
        (None, true, false) => Ok(Kind::ApiKey),
    }
}

fn no_login(who: &Who) -> Trouble {
    Trouble::Usage(format!("{} has no login to offer, only keys: hermes auth add {}", who.label, who.name))
}

/// Where a key may go that does not say so itself.
fn address(who: &Who, app: &App) -> Result<Option<String>, Trouble> {
    if !who.needs_address() {
        return Ok(None);
    }
    match who.configured_address(&app.knowledge.config) {
        Some(url) => Ok(Some(url.to_owned())),
        None => Err(Trouble::Usage(format!(
            "a key for {} goes to one endpoint only, and none is chosen yet. Choose it first:\n  \
             hermes model --provider {} --base-url https://host/v1 MODEL",
            who.label, who.name
        ))),
    }
}

async fn typed_key(who: &Who, person: Option<Person>) -> Result<String, Trouble> {
    let Some(person) = person else {
        return Err(Trouble::Usage(format!(
            "there is no terminal to ask for the key on. Pipe it in:\n  \
             hermes auth add {} --api-key - < file-with-the-key",
            who.name
        )));
    };
    let page = who.row.keys_page;
    let help = if page.is_empty() { String::new() } else { format!("; keys are made at {page}") };
    person.secret(&format!("Key for {}:", who.label), &format!("it does not appear as you paste it{help}")).await
}

pub(in super::super) async fn store_key(
    app: &App,
    who: &Who,
    label: Option<String>,
    key: &str,
    base_url: Option<String>,
    console: &mut Console<'_>,
) -> Result<(), Trouble> {
    let key = key.trim();
    check_key(who, key)?;
    let new = NewKey { provider: who.name.clone(), label, key: key.into(), base_url };
    let stored = app.auth.store().add_key(&*app.clock, new).await?;
    let file = app.home.auth_file();
    writeln!(console.out, "Stored the key for {} as \"{}\" in {}.", who.label, stored.label, file.display())?;
    Ok(())
}

/// What cannot be a key is refused before it is written.
fn check_key(who: &Who, key: &str) -> Result<(), Trouble> {
    let refuse = |what: &str| Err(Trouble::Refused(format!("{}: {what} Nothing was stored.", who.name)));
    if key.is_empty() {
        return refuse("no key was given.");
    }
    if mask::is_masked(key) {
        return refuse("that is a masked secret, not the secret itself.");
    }
    if key.contains(|c: char| !c.is_ascii_graphic()) {
        return refuse("this has characters no key can have; copy it again.");
    }
    let is_token = who.row.auth == AuthKind::Anthropic
        && Secret::usable(key).is_some_and(|secret| anthropic::shape(&secret) == AuthType::OAuth);
    if is_token {
        return refuse(
            "this is the token of a subscription, not a key. Save it with `hermes config set ANTHROPIC_TOKEN -`.",
        );
    }
    Ok(())
}

/// What to type now, from what would really happen.
async fn next_step(who: &Who, profile: Option<&str>, console: &mut Console<'_>) -> Result<(), Trouble> {
    let app = App::load(profile, None).await?;
    let name = &who.name;
    match app.knowledge.resolve(&Ask::default()) {
        Ok(runtime) if runtime.name == *name => {
            if let Source::Env(variable) = &runtime.credential.source {
                writeln!(console.err, "Note: {variable} is set too and is used first.")?;
            }
            writeln!(
                console.out,
                "Next: hermes -z \"why is the sky blue?\" asks {}; `hermes model` chooses another model.",
                runtime.model
            )?;
        }
        Ok(runtime) => writeln!(
            console.out,
            "Next: hermes asks {} at {} as before; `hermes model --provider {name}` switches to {}.",
            runtime.model, runtime.label, who.label
        )?,
        Err(_) => writeln!(console.out, "Next: `hermes model --provider {name}` chooses a model of {}.", who.label)?,
    }
    Ok(())
}
