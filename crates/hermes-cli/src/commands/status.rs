//! `hermes status`: what would be asked now and with what, as far as it can be known without asking it.
//!
//! One report, told in words or as JSON. No secret is in it. The exit code says whether a model can be asked. The
//! network is used for lists of models alone, which cost nothing: with `--deep`, and when an endpoint is configured without
//! a model, because then the first one it lists is asked.

mod report;

use super::access::{self, Who};
use super::ask::{NOTHING_CONFIGURED, first_listed};
use super::waiting::watch;
use super::{Console, Exit, Trouble, fallback};
use crate::app::App;
use crate::args::Whom;
use hermes_model::auth::edit;
use hermes_model::catalog;
use hermes_model::resolve::{Ask, ResolveError, Runtime, route};
use hermes_types::Fault;
use report::{Job, Local, Main, Place, Probe, Report, Stored};

#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// Also look for servers on this machine, and see whether the provider answers
    #[arg(long)]
    pub deep: bool,
}

pub async fn run(args: StatusArgs, whom: &Whom, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = look(&args, whom, profile, console).await;
    console.finish(outcome)
}

async fn look(
    args: &StatusArgs,
    whom: &Whom,
    profile: Option<&str>,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let app = App::load(profile, whom.provider.as_deref()).await?;
    let mut ask = Ask { provider: whom.provider.clone(), model: whom.model.clone(), ..Ask::default() };
    let mut resolved = app.knowledge.resolve(&ask);
    let mut is_first_listed = false;
    if let Err(ResolveError::NoModel { base_url, .. }) = &resolved {
        let listing = first_listed(base_url, &app);
        let first = watch(console, |_| format!("asking {base_url} for its models"), listing).await?;
        if let Some(model) = first {
            ask.model = Some(model);
            resolved = app.knowledge.resolve(&ask);
            is_first_listed = true;
        }
    }
    if let Err(error @ ResolveError::UnknownProvider { .. }) = &resolved
        && ask.provider.is_some()
    {
        return Err(Trouble::of_choice(error.clone(), ask.provider.as_deref()));
    }
    let local = if args.deep { Some(probe_local(&app, console).await?) } else { None };
    let mut report = Report {
        config_file: app.home.config_file(),
        profile: app.home.profile_label().to_owned(),
        main: resolved.as_ref().ok().map(|runtime| main(runtime, is_first_listed, &app)),
        problem: None,
        fallbacks: fallbacks(&app),
        auxiliary: resolved.as_ref().map(|runtime| auxiliary(runtime, &app)).unwrap_or_default(),
        environment: variables(&app),
        stored: stored(&app),
        local_servers: local,
        probe: None,
        warnings: app.warnings.clone(),
    };
    match &resolved {
        Ok(runtime) => {
            report.warnings.extend(runtime.notes.iter().cloned());
            if args.deep {
                report.probe = Some(probe(&app, ask, console).await?);
            }
        }
        Err(error) => {
            report.problem = problem(error, report.local_servers.as_deref());
            if args.deep && matches!(error, ResolveError::NoModel { .. }) {
                // The list is the same whichever model is named; this says why there was none.
                ask.model = Some("any".into());
                report.probe = Some(probe(&app, ask, console).await?);
            }
        }
    }
    if args.json {
        let text = serde_json::to_string_pretty(&report).unwrap_or_default();
        writeln!(console.out, "{text}")?;
    } else {
        report.print(&mut *console.sentences())?;
    }
    Ok(if report.problem.is_none() { Exit::Done } else { Exit::Failed })
}

/// Why nothing can be asked. A server at home that answers is asked when nobody chose anything.
fn problem(error: &ResolveError, local: Option<&[Local]>) -> Option<String> {
    match (error, local) {
        (ResolveError::NoProvider, Some([_, ..])) => None,
        (ResolveError::NoProvider, Some([])) => Some(NOTHING_CONFIGURED.to_owned()),
        (ResolveError::NoProvider, None) => {
            Some(format!("{error}. `hermes status --deep` looks for a model server on this machine"))
        }
        _ => Some(error.to_string()),
    }
}

fn main(runtime: &Runtime, is_first_listed: bool, app: &App) -> Main {
    Main {
        provider: runtime.name.clone(),
        label: runtime.label.clone(),
        model: runtime.model.clone(),
        is_first_listed,
        base_url: runtime.base_url.to_string(),
        api_mode: runtime.api_mode.as_str(),
        credential: access::origin(&runtime.credential, &app.environment),
        secret: runtime.credential.secret.as_ref().map(|secret| format!("{secret:?}")),
        context_window: runtime.limits.context_window,
    }
}

fn fallbacks(app: &App) -> Vec<Place> {
    let places = fallback::places(app.settings.value());
    let place = |entry| {
        let (provider, model) = fallback::names(entry);
        Place { provider: provider.to_owned(), model: model.to_owned(), problem: fallback::obstacle(entry, app) }
    };
    places.iter().map(place).collect()
}

/// The side jobs somebody configured, and who would do each.
fn auxiliary(main: &Runtime, app: &App) -> Vec<Job> {
    let configured = app.knowledge.config.auxiliary.iter().filter(|(_, task)| {
        task.ask.provider.is_some()
            || task.ask.model.is_some()
            || task.ask.base_url.is_some()
            || !task.fallbacks.is_empty()
    });
    configured
        .map(|(name, _)| {
            let places = route(name, main, &app.knowledge.known());
            let first = places.iter().find_map(|place| place.runtime.as_ref().ok());
            let refused = places.iter().find_map(|place| place.runtime.as_ref().err());
            Job {
                task: name.clone(),
                provider: first.map(|runtime| runtime.name.clone()),
                model: first.map(|runtime| runtime.model.clone()),
                problem: refused.map(ToString::to_string),
            }
        })
        .collect()
}

/// Names only.
fn variables(app: &App) -> Vec<String> {
    let known = Who::all(&app.knowledge.config);
    let mut names: Vec<String> = known
        .iter()
        .flat_map(|who| who.row.key_env)
        .filter(|name| app.env().credential(name).is_some())
        .map(|name| (*name).to_owned())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn stored(app: &App) -> Vec<Stored> {
    let is_variable = |source: &str| source.starts_with("env:");
    let mut found = Vec::new();
    for (who, rows) in access::with_credentials(app) {
        for listed in edit::list(&rows, app.now()) {
            let source = listed.source.to_string();
            if !is_variable(&source) {
                let state = access::standing(&listed);
                found.push(Stored { provider: who.name.clone(), label: listed.label, source, state });
            }
        }
    }
    found
}

async fn probe_local(app: &App, console: &mut Console<'_>) -> Result<Vec<Local>, Trouble> {
    let looking = catalog::list_local(app.local_servers(), &*app.transport, &*app.clock);
    let found = watch(console, |_| "looking for model servers on this machine".to_owned(), looking).await?;
    let local = |server: catalog::LocalServer| Local {
        provider: server.provider.id.to_owned(),
        base_url: server.base_url.to_string(),
        models: server.models.into_iter().map(|model| model.id).collect(),
    };
    Ok(found.into_iter().map(local).collect())
}

/// Whether the endpoint answers and takes the key: its list of models is free.
async fn probe(app: &App, ask: Ask, console: &mut Console<'_>) -> Result<Probe, Trouble> {
    let asking = async {
        let models = catalog::list_models(&app.first_endpoint(ask).await?, &*app.transport, &*app.clock).await?;
        Ok::<_, Fault>(models.len())
    };
    let listed = watch(console, |_| "asking the provider for its models".to_owned(), asking).await;
    console.settle(app).await;
    let listed = listed?;
    Ok(match listed {
        Ok(models) => Probe { answers: true, models: Some(models), problem: None },
        Err(fault) => Probe { answers: false, models: None, problem: Some(fault.message) },
    })
}
