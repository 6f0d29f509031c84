//! Everything that others add to a conversation: its plugins and shell hooks, found, and placed where they belong.

use crate::around::{Around, Ear, Overheard, Scene, Told};
use crate::child::Outside;
use crate::discover::{Found, Wish};
use crate::ear::PluginEar;
use crate::occasion::Occasion;
use crate::plugin::{Host, Plugin};
use crate::protocol::Registration;
use crate::record::Records;
use crate::settings::PluginSettings;
use crate::shell::{HookConfig, ShellEar};
use crate::tool::PluginTool;
use futures_util::future::join_all;
use hermes_core::clock::Clock;
use hermes_core::ports::Listener;
use hermes_core::turn::TurnHook;
use hermes_tools::face::Face;
use hermes_tools::registry::{Registry, Replace};
use hermes_tools::run::Hook;
use hermes_types::{Object, SessionId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What extensions are made of.
pub struct Parts<'a> {
    pub found: &'a [Found],
    pub settings: &'a PluginSettings,
    /// Shell hooks the person consented to.
    pub hooks: Vec<HookConfig>,
    pub outside: Outside,
    pub clock: Arc<dyn Clock>,
    /// The platform of the conversation, such as `cli`.
    pub platform: String,
    /// Who tells the person what goes wrong.
    pub listener: Arc<dyn Listener>,
}

/// The plugins and hooks of one process.
pub struct Extensions {
    plugins: Vec<Arc<Plugin>>,
    hooks: Vec<Arc<ShellEar>>,
    may_override: BTreeSet<String>,
    platform: String,
}

impl Extensions {
    /// Nothing is started.
    pub fn new(parts: Parts<'_>) -> Self {
        let Parts { found, settings, hooks, outside, clock, platform, listener } = parts;
        let records = Records::new(&outside.around.hermes_home);
        let host =
            Host { outside: outside.clone(), records, clock: clock.clone(), platform: platform.clone(), listener };
        let wanted = found.iter().filter(|one| one.wish == Wish::Enabled);
        let plugins = wanted.filter_map(|one| Plugin::new(one, host.clone())).collect();
        let outside = Arc::new(outside);
        let ear = |config| Arc::new(ShellEar { config, outside: outside.clone(), clock: clock.clone() });
        let hooks = hooks.into_iter().map(ear).collect();
        Self { plugins, hooks, may_override: settings.may_override.clone(), platform }
    }

    /// Puts the tools of plugins among the others, as far as they are known. What is odd about them comes back in words.
    pub fn register(&self, registry: &Registry) -> Vec<String> {
        let mut odd = Vec::new();
        for plugin in &self.plugins {
            match plugin.registered() {
                Some(registered) => odd.extend(join(plugin, &registered, registry, self.leave(plugin))),
                None => odd.push(format!(
                    "the plugin {} runs for the first time; its tools may not be there before the next conversation",
                    plugin.key
                )),
            }
        }
        odd
    }

    /// Whether the owner lets a plugin replace tools.
    fn leave(&self, plugin: &Plugin) -> Replace {
        if self.may_override.contains(&plugin.key) { Replace::Override } else { Replace::Refuse }
    }

    /// The toolsets that plugins bring.
    pub fn toolsets(&self) -> BTreeSet<String> {
        let of = |plugin: &Arc<Plugin>| {
            let registered = plugin.registered();
            let tools = registered.iter().flat_map(|registered| registered.tools.iter());
            tools.map(|tool| tool.toolset.clone().unwrap_or_else(|| plugin.key.clone())).collect::<Vec<_>>()
        };
        self.plugins.iter().flat_map(of).collect()
    }

    /// Starts, beside everything else, those that must be running: whoever was never asked what it registers, and
    /// whoever listens. The tools of a new one join here where a conversation can take in tools while it runs.
    pub fn wake(&self, joining: Option<&Arc<Registry>>) {
        for plugin in &self.plugins {
            match plugin.registered() {
                Some(registered) if registered.hooks.is_empty() => {}
                Some(_) => plugin.wake(|_| ()),
                None => {
                    let (new, registry, leave) = (plugin.clone(), joining.cloned(), self.leave(plugin));
                    plugin.wake(move |registered| {
                        let odd = registry.map(|registry| join(&new, registered, &registry, leave));
                        odd.into_iter().flatten().for_each(|odd| tracing::warn!("{odd}"));
                    });
                }
            }
        }
    }

    /// What stands around each call: plugins first, then shell hooks.
    pub fn call_hooks(&self) -> Vec<Arc<dyn Hook>> {
        self.around("").map(|around| around as Arc<dyn Hook>).collect()
    }

    /// What is told of each turn of a conversation with this model.
    pub fn turn_hooks(&self, model: &str) -> Vec<Arc<dyn TurnHook>> {
        self.around(model).map(|around| around as Arc<dyn TurnHook>).collect()
    }

    fn around(&self, model: &str) -> impl Iterator<Item = Arc<Around>> {
        let scene = Scene { platform: self.platform.clone(), model: model.to_owned() };
        self.ears().map(move |ear| Arc::new(Around { ear, scene: scene.clone() })).collect::<Vec<_>>().into_iter()
    }

    fn ears(&self) -> impl Iterator<Item = Arc<dyn Ear>> + '_ {
        let plugins = self.plugins.iter().map(|plugin| Arc::new(PluginEar(plugin.clone())) as Arc<dyn Ear>);
        plugins.chain(self.hooks.iter().map(|hook| hook.clone() as Arc<dyn Ear>))
    }

    /// The person, with those who listen to questions about consent.
    pub fn overhearing(&self, face: Arc<dyn Face>) -> Arc<dyn Face> {
        let ears: Vec<Arc<dyn Ear>> = self.ears().collect();
        if ears.is_empty() { face } else { Arc::new(Overheard { face, ears }) }
    }

    /// A conversation is over and nobody comes back to it here.
    pub async fn finalize(&self, session: &SessionId) {
        let occasion = Occasion::SessionFinalize;
        let payload = Object::from_iter([
            ("session_id".to_owned(), session.to_string().into()),
            ("platform".to_owned(), self.platform.clone().into()),
        ]);
        for ear in self.ears().filter(|ear| ear.hears(occasion)) {
            ear.tell(Told { occasion, tool: None, payload: payload.clone() }).await;
        }
    }

    /// Ends every plugin. Nothing of them lives on.
    pub async fn close(&self) {
        join_all(self.plugins.iter().map(|plugin| plugin.close())).await;
    }
}

/// Registers the tools of one plugin. What is odd about them comes back in words.
fn join(plugin: &Arc<Plugin>, registered: &Registration, registry: &Registry, leave: Replace) -> Vec<String> {
    let mut odd = Vec::new();
    for spec in &registered.tools {
        let replace = if spec.overrides { leave } else { Replace::Refuse };
        // Who has the same toolset would replace a tool without a word; a plugin chooses the name of its own.
        if registry.has(&spec.name) && replace == Replace::Refuse {
            odd.push(format!(
                "the plugin {0} has a tool {1}, and there is one already, which stays. To let the plugin replace it: \
                 `hermes plugins enable {0} --allow-tool-override`",
                plugin.key, spec.name
            ));
            continue;
        }
        let toolset = spec.toolset.clone().unwrap_or_else(|| plugin.key.clone());
        let tool = PluginTool { plugin: plugin.clone(), spec: spec.clone(), toolset };
        if let Err(collision) = registry.register(tool, replace) {
            odd.push(collision.to_string());
        }
    }
    odd
}
