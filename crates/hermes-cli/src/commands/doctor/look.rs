//! What each section of `hermes doctor` looks at.

use super::{Check, State};
use crate::app::App;
use crate::commands::config::report::findings;
use crate::commands::hooks::{checkup, outside};
use crate::commands::plugins::problem;
use crate::commands::{access, table};
use crate::extensions;
use crate::hands::{self, Hands};
use crate::settings::{Environment, Home};
use crate::web;
use futures_util::future::join_all;
use hermes_core::stop::Stop;
use hermes_mcp::settings as servers;
use hermes_model::resolve::Ask;
use hermes_plugins::{Found, Records, Start, Wish, introduce};
use hermes_store::Diagnosis;
use hermes_tools::gate::Yolo;
use hermes_tools::settings::Settings;
use hermes_tools::skills::bundled;
use hermes_tools::skills::hub::Hub;
use hermes_tools::skills::inventory::inventory;
use hermes_tools::tool::Availability;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Older falls are no news.
const FALLS_ARE_TOLD_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

/// The folder, and whether others can look into what is private in it.
pub(super) fn home(home: &Home) -> Vec<Check> {
    let folder = home.dir();
    if !folder.exists() {
        return vec![Check::odd(
            format!("{} is not there yet", folder.display()),
            "`hermes model` makes it and chooses a model",
        )];
    }
    let mut checks = vec![match tempfile::NamedTempFile::new_in(folder) {
        Ok(_) => Check::fine(format!("{} (profile {})", folder.display(), home.profile_label())),
        Err(error) => Check::broken(
            format!("{} cannot be written to: {error}", folder.display()),
            format!("`ls -ld {}` shows whose it is", folder.display()),
        ),
    }];
    checks.extend([home.env_file(), home.auth_file()].iter().filter_map(|file| open_to_others(file)));
    checks
}

fn open_to_others(file: &Path) -> Option<Check> {
    let mode = std::fs::metadata(file).ok()?.permissions().mode() & 0o777;
    let told = || format!("other users can read {} (mode {mode:o})", file.display());
    (mode & 0o077 != 0).then(|| Check::broken(told(), format!("`chmod 600 {}`", file.display())))
}

pub(super) fn settings(home: &Home, environment: &Environment) -> Vec<Check> {
    let found = match findings(home, environment) {
        Ok(found) => found,
        Err(trouble) => return vec![Check::broken(trouble.to_string(), "`hermes config edit`")],
    };
    let wrong = found.problems.into_iter().map(|text| Check::broken(text, "`hermes config edit`"));
    // A note says what to type itself.
    let odd = found.notes.into_iter().map(|text| Check { state: State::Odd, text, next: None });
    let mut checks: Vec<Check> = wrong.chain(odd).collect();
    if checks.is_empty() {
        checks.push(Check::fine(format!("{}: {} set", home.config_file().display(), found.count)));
    }
    checks
}

/// Whether somebody can be asked, as far as that is known without asking.
pub(super) fn model(app: &App) -> Vec<Check> {
    let mut checks = vec![match app.knowledge.resolve(&Ask::default()) {
        Ok(runtime) => {
            let from = access::origin(&runtime.credential, &app.environment);
            Check::fine(format!("{} at {}, {from}; `hermes status --deep` asks it", runtime.model, runtime.label))
        }
        Err(error) => Check::broken(format!("no model can be asked: {error}"), "`hermes model`"),
    }];
    checks.extend(app.warnings.iter().map(|warning| Check::odd(warning, "`hermes status`")));
    checks
}

pub(super) async fn sessions(home: &Home) -> Vec<Check> {
    let path = home.state_db();
    if !path.exists() {
        return vec![Check::fine("no conversations yet")];
    }
    if let Some(user) = hermes_store::user_of(&path) {
        return vec![Check::fine(format!("{} is in use by {user}, so it was not examined", path.display()))];
    }
    let name = path.display().to_string();
    let examined = tokio::task::spawn_blocking(move || hermes_store::diagnose(&path)).await;
    vec![match examined {
        Ok(Ok(Diagnosis::Sound)) => Check::fine(format!("{name} is sound")),
        Ok(Ok(Diagnosis::IndexUnfit)) => {
            Check::odd(format!("{name}: a search index does not fit; it is built anew by itself"), "nothing to do")
        }
        Ok(Ok(Diagnosis::Damaged(found))) => {
            Check::broken(format!("{name} is damaged: {found}"), "`hermes sessions recover`")
        }
        Ok(Err(error)) => Check::broken(error.to_string(), "`hermes sessions recover`"),
        Err(error) => Check::broken(format!("{name} could not be examined: {error}"), "`hermes sessions recover`"),
    }]
}

/// The tools that cannot be used, and what keeps commands inside limits.
pub(super) fn at_hand(app: &App) -> (Vec<Check>, Vec<Check>) {
    let hands = Hands::new(app, Arc::new(|_| {}), Yolo::Off, &Stop::new());
    let tools = hands.registry.describe();
    let ready = tools.iter().filter(|tool| tool.availability == Availability::Ready).count();
    let mut checks = vec![Check::fine(table::count(ready as u64, "tool"))];
    for tool in &tools {
        if let Availability::Missing(reason) = &tool.availability {
            checks.push(Check {
                state: State::Odd,
                text: format!("{} cannot be used: {reason}", tool.card.name),
                next: None,
            });
        }
    }
    let (_, odd) = Settings::read(&hands::effective(app), hands::surroundings(app));
    checks.extend(odd.into_iter().map(|warning| Check::odd(warning, "`hermes config check`")));
    let mut odd = Vec::new();
    web::settings(app, &mut odd);
    checks.extend(odd.into_iter().map(|warning| Check::odd(warning, "`hermes config edit`")));
    (checks, vec![Check::fine(hands.shop.sandbox_report())])
}

/// What the settings say about MCP servers; none is started.
pub(super) fn mcp(app: &App) -> Vec<Check> {
    let servers::Found { servers, disabled, problems } = hands::servers(app);
    let set =
        servers.iter().map(|server| Check::fine(format!("{} is set; `hermes mcp test {0}` starts it", server.name)));
    let off = disabled.iter().map(|name| Check::fine(format!("{name} is switched off")));
    let wrong = problems.iter().map(|problem| {
        let is_used = servers.iter().any(|server| server.name == problem.server) || disabled.contains(&problem.server);
        match is_used {
            true => Check::odd(problem.to_string(), "`hermes config edit`"),
            false => Check::broken(problem.to_string(), "`hermes config edit`"),
        }
    });
    set.chain(off).chain(wrong).collect()
}

/// The skills there are, and those whose frontmatter cannot be read as it was meant.
pub(super) fn skills(app: &App) -> Vec<Check> {
    let stop = Stop::new();
    let hands = Hands::new(app, Arc::new(|_| {}), Yolo::Off, &stop);
    let (settings, scanner) = (&hands.shop.settings, &hands.shop.scanner);
    let held = inventory(settings, scanner, &Hub::new(settings, scanner, app.now(), &stop));
    let mut checks = vec![Check::fine(match held.len() {
        0 if bundled::is_unwanted(&settings.around) => "none".to_owned(),
        0 => "none yet; those that come along are there from the first conversation on".to_owned(),
        some => table::count(some as u64, "skill"),
    })];
    checks.extend(held.iter().filter_map(|one| {
        let told = format!("{}; it is read line by line", one.misread.as_ref()?);
        Some(Check::odd(told, "correct it there"))
    }));
    checks
}

/// Every plugin that is enabled, started once.
pub(super) async fn plugins(app: &App) -> Vec<Check> {
    let mut odd = Vec::new();
    let (found, wishes) = extensions::plugins(app, &mut odd);
    let mut checks: Vec<Check> = odd.into_iter().map(|text| Check::broken(text, "`hermes config edit`")).collect();
    let enabled: Vec<&Found> = found.iter().filter(|one| one.wish == Wish::Enabled).collect();
    checks.extend(join_all(enabled.iter().map(|one| plugin(app, one))).await.into_iter().flatten());
    let is_there = |name: &String| {
        found.iter().any(|one| one.key == *name || one.read.as_ref().is_ok_and(|read| read.manifest.name == *name))
    };
    let gone = wishes.enabled.iter().filter(|name| !is_there(name) && !wishes.disabled.contains(*name));
    checks.extend(gone.map(|name| {
        Check::odd(
            format!("{name} is enabled and not there"),
            "`hermes plugins install …`, or take it out of plugins.enabled",
        )
    }));
    let asleep = found.iter().filter(|one| one.wish == Wish::NotEnabled).count();
    if asleep > 0 {
        let told = format!("{} not enabled; `hermes plugins list`", table::count(asleep as u64, "plugin"));
        checks.push(Check::fine(told));
    }
    checks
}

async fn plugin(app: &App, found: &Found) -> Vec<Check> {
    let key = &found.key;
    let way_out = format!("`hermes plugins info {key}`, or `hermes plugins disable {key}`");
    let Ok(read) = &found.read else {
        let told = problem(found).unwrap_or_default();
        return vec![Check::broken(format!("{key}: {told}"), way_out)];
    };
    if let Some(told) = problem(found) {
        let check = match read.start {
            // It is fine where it is: the other program shares this home.
            Start::NeedsPython => Check::odd(format!("{key}: {told}"), way_out),
            Start::Command(_) | Start::Nothing => Check::broken(format!("{key}: {told}"), way_out),
        };
        return vec![check];
    }
    let world = outside(app);
    let mut checks = Vec::new();
    let missing = world.missing(&read.manifest.requires_env);
    if !missing.is_empty() {
        let next = format!("`hermes config set {} …`", missing.first().copied().unwrap_or_default());
        checks.push(Check::odd(format!("{key} asks for {}, which it does not get", missing.join(", ")), next));
    }
    if !read.manifest.unknown.is_empty() {
        let fields = read.manifest.unknown.join(", ");
        checks.push(Check::odd(format!("{key}: nobody knows these fields of its manifest: {fields}"), way_out.clone()));
    }
    checks.push(match introduce(found, world, app.clock.clone()).await {
        Ok(registered) => {
            let told = (
                table::count(registered.tools.len() as u64, "tool"),
                table::count(registered.hooks.len() as u64, "hook"),
            );
            Check::fine(format!("{key} runs: {}, {}", told.0, told.1))
        }
        Err(reason) => Check::broken(format!("{key} does not run: {reason}"), way_out),
    });
    checks.extend(fall(app, key));
    checks
}

/// A plugin that fell over in a conversation cost it a call, and nobody but the model may have seen that.
fn fall(app: &App, key: &str) -> Option<Check> {
    let (at, reason) = Records::new(app.home.dir()).last_fall(key)?;
    let is_news = app.clock.now().duration_since(at).is_ok_and(|since| since < FALLS_ARE_TOLD_FOR);
    let day = jiff::Timestamp::try_from(at).ok()?.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M");
    let next = format!("logs/agent.log tells more; `hermes plugins enable {key}` tries it and forgets this");
    is_news.then(|| Check::odd(format!("{key} fell over in a conversation on {day}: {reason}"), next))
}

/// The hooks of the settings. None is run: that is `hermes hooks doctor`.
pub(super) async fn hooks(app: &App) -> Vec<Check> {
    let mut odd = Vec::new();
    let hooks = extensions::hooks(app, &mut odd);
    let mut checks: Vec<Check> = odd.into_iter().map(|text| Check::odd(text, "`hermes config edit`")).collect();
    for hook in &hooks {
        let report = checkup(app, hook, None).await;
        let name = format!("{} {}", hook.occasion.name(), hook.command);
        let told = |mark: char| {
            let lines = report.lines.iter().filter_map(|line| line.strip_prefix(mark));
            lines.map(str::trim).collect::<Vec<_>>().join("; ")
        };
        checks.push(match (report.is_broken, told('!')) {
            (true, _) => Check::broken(format!("{name}: {}", told('✗')), "`hermes hooks doctor`"),
            (false, odd) if !odd.is_empty() => Check::odd(format!("{name}: {odd}"), "`hermes hooks doctor`"),
            (false, _) => Check::fine(name),
        });
    }
    checks
}
