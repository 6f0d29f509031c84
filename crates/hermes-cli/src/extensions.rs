//! Plugins and shell hooks, from what the person has set to what a conversation is given.
//!
//! Nothing is started here. A hook of `config.yaml` that nobody consented to is left out; `commands/hooks.rs` asks.

use crate::agent::CLI;
use crate::app::App;
use crate::hands;
use hermes_core::ports::Listener;
use hermes_mcp::settings::SAFE_MODE;
use hermes_model::provider::table::PROVIDERS;
use hermes_plugins::shell::consent::Consents;
use hermes_plugins::shell::{self, HookConfig};
use hermes_plugins::{Extensions, Found, Outside, PROJECT_VARIABLE, Parts, Places, PluginSettings, Wish, discover};
use hermes_tools::settings::Settings;
use hermes_types::{anything_but_no, switch, yes_or_no};
use std::sync::Arc;

const ACCEPT_VARIABLE: &str = "HERMES_ACCEPT_HOOKS";
const ACCEPT_SETTING: &str = "hooks_auto_accept";

/// Everything others add to a conversation of this program. Nothing is started yet.
pub(crate) fn load(app: &App, settings: &Settings, listener: Arc<dyn Listener>, odd: &mut Vec<String>) -> Extensions {
    let (found, wishes) = plugins(app, odd);
    let hooks = consented(app, odd);
    for one in found.iter().filter(|one| one.wish == Wish::Enabled) {
        if let Err(fault) = &one.read {
            odd.push(format!("the plugin {} does not run: {fault}", one.key));
        }
    }
    let parts = Parts {
        found: &found,
        settings: &wishes,
        hooks,
        outside: outside(app, settings),
        clock: app.clock.clone(),
        platform: CLI.to_owned(),
        listener,
    };
    Extensions::new(parts)
}

/// The plugins there are, and what the owner wants of them.
pub(crate) fn plugins(app: &App, odd: &mut Vec<String>) -> (Vec<Found>, PluginSettings) {
    let wishes = PluginSettings::read(&hands::effective(app), odd);
    if is_safe(app) {
        return (Vec::new(), wishes);
    }
    let places = Places::new(app.home.dir(), &app.knowledge.cwd, says_yes(app, PROJECT_VARIABLE));
    (discover(&places, &wishes), wishes)
}

/// What programs of others may see.
pub(crate) fn outside(app: &App, settings: &Settings) -> Outside {
    let mut all = app.environment.process().clone();
    let written = app.environment.written().filter_map(|name| Some((name.to_owned(), app.environment.get(name)?)));
    all.extend(written.map(|(name, value)| (name, value.to_owned())));
    let of_models = PROVIDERS.iter().flat_map(|row| row.key_env.iter().chain(row.base_env));
    Outside::new(settings, &all, &of_models.map(|name| (*name).to_owned()).collect())
}

/// The hooks of `config.yaml`.
pub(crate) fn hooks(app: &App, odd: &mut Vec<String>) -> Vec<HookConfig> {
    shell::read(&hands::effective(app), odd)
}

/// Those of them that may run.
fn consented(app: &App, odd: &mut Vec<String>) -> Vec<HookConfig> {
    let consents = Consents::of(app.home.dir());
    hooks(app, odd).into_iter().filter(|hook| consents.find(hook).is_some()).collect()
}

/// Whether the person accepts new hooks in advance, besides `--accept-hooks`.
pub(crate) fn accepts_hooks(app: &App) -> bool {
    says_yes(app, ACCEPT_VARIABLE) || app.settings.get(ACCEPT_SETTING).as_ref().and_then(switch) == Some(true)
}

/// Whether nothing that others wrote may run.
pub(crate) fn is_safe(app: &App) -> bool {
    app.environment.get(SAFE_MODE).is_some_and(anything_but_no)
}

fn says_yes(app: &App, variable: &str) -> bool {
    app.environment.get(variable).and_then(yes_or_no) == Some(true)
}
