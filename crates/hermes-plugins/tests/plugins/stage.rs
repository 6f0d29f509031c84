//! A home with plugins in it, and the hands of a conversation that has them.

use futures_util::future::BoxFuture;
use hermes_core::clock::{Clock, RealClock};
use hermes_core::stop::Stop;
use hermes_plugins::shell::{HookConfig, read};
use hermes_plugins::{Extensions, Found, Outside, Parts, Places, PluginSettings, discover, introduce};
use hermes_tools::desk::{Desk, Ports, Workshop};
use hermes_tools::face::{ApprovalQuestion, Clarification, Face, Reply};
use hermes_tools::gate::{Answer, Channel, LastingConsent};
use hermes_tools::registry::Registry;
use hermes_tools::run::{Finished, Hands, Untold};
use hermes_tools::settings::{Settings, Surroundings};
use hermes_types::{CallId, Event, Notice, SessionId, ToolCall};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// What every plugin of a story begins with: the wire, and answers by method. `answer` is the story's own.
pub(crate) const WIRE: &str = r#"
import json, os, sys, time
def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)
def dispatch(call, name, arguments):
    send({"id": "d", "method": "tools/dispatch", "params": {"call": call, "name": name, "arguments": arguments}})
    while True:
        message = read()
        if message.get("id") == "d" and "method" not in message:
            return message
        serve(message)
def serve(message):
    if "method" not in message:
        return
    result = answer(message["method"], message.get("params") or {}, message.get("id"))
    if "id" in message:
        send({"id": message["id"], "result": result})
    if message["method"] == "shutdown":
        sys.exit(0)
def run():
    while True:
        serve(read())
def tool(name, **more):
    return {"name": name, "description": "of a story", "source": "machine", **more}
"#;

/// A plugin of a story.
pub(crate) struct Story {
    pub(crate) name: &'static str,
    pub(crate) manifest: String,
    pub(crate) program: String,
}

impl Story {
    /// `answer` is the body of a Python function `answer(method, params, id)`.
    pub(crate) fn new(name: &'static str, answer: &str) -> Self {
        let body: String = answer.trim_matches('\n').lines().map(|line| format!("    {line}\n")).collect();
        let program = format!("{WIRE}\ndef answer(method, params, id):\n{body}\nrun()\n");
        Self { name, manifest: format!("name: {name}\n"), program }
    }

    /// The whole program, as it is.
    pub(crate) fn raw(name: &'static str, program: &str) -> Self {
        Self { name, manifest: format!("name: {name}\n"), program: program.to_owned() }
    }

    pub(crate) fn manifest(self, more: &str) -> Self {
        Self { manifest: format!("{}{more}", self.manifest), ..self }
    }
}

pub(crate) struct Stage {
    dir: TempDir,
    pub(crate) desk: Arc<Desk>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) extensions: Extensions,
    pub(crate) person: Arc<Person>,
    /// What was odd about the plugins when they were placed.
    pub(crate) odd: Vec<String>,
    heard: Arc<Mutex<Vec<String>>>,
    pub(crate) stop: Stop,
    calls: AtomicUsize,
}

/// What a stage is built from.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) stories: Vec<Story>,
    /// Folders with plugins that are used as they are.
    pub(crate) folders: Vec<PathBuf>,
    /// Besides that every plugin is enabled.
    pub(crate) config: Value,
    pub(crate) answers: Option<Vec<Answer>>,
    pub(crate) variables: BTreeMap<String, String>,
    /// Plugins that nobody started before.
    pub(crate) unknown: bool,
    pub(crate) clock: Option<Arc<dyn Clock>>,
}

impl Stage {
    pub(crate) async fn of(stories: impl Into<Vec<Story>>) -> Self {
        Self::build(Plan { stories: stories.into(), ..Plan::default() }).await
    }

    pub(crate) async fn build(plan: Plan) -> Self {
        let dir = TempDir::new().expect("a directory");
        let root = dir.path().canonicalize().expect("its real path");
        for folder in ["home/.hermes/plugins", "project", "tmp"] {
            std::fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        let plugins = root.join("home/.hermes/plugins");
        for story in &plan.stories {
            let folder = plugins.join(story.name);
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join("plugin.yaml"), &story.manifest).expect("a manifest");
            std::fs::write(folder.join("plugin.py"), &story.program).expect("a program");
        }
        for folder in &plan.folders {
            let name = folder.file_name().expect("a name");
            std::os::unix::fs::symlink(folder, plugins.join(name)).expect("a link");
        }
        let (settings, config) = settings(&root, &plan);
        let found = discover(
            &Places::new(&root.join("home/.hermes"), &root.join("project"), false),
            &wishes(&plugins, &config),
        );
        let own = BTreeSet::from(["OPENROUTER_API_KEY".to_owned()]);
        let outside = Outside::new(&settings, &settings.around.variables, &own);
        let clock = plan.clock.unwrap_or_else(|| Arc::new(RealClock::default()));
        if !plan.unknown {
            for one in &found {
                // A plugin that does not run is the story; what comes of it is told in the calls.
                let _ = introduce(one, outside.clone(), clock.clone()).await;
            }
        }
        let person = Arc::new(Person::new(plan.answers));
        let wishes = wishes(&plugins, &config);
        let hooks = read(&config, &mut Vec::new());
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let extensions = place(&found, &wishes, hooks, outside, &clock, heard.clone());
        let ports = Ports {
            face: extensions.overhearing(person.clone()),
            adviser: None,
            aide: None,
            lasting: Arc::new(Forgetful),
            clock: clock.clone(),
            listener: Arc::new(|_| {}),
        };
        let desk = Desk::new(Workshop::new(settings, ports), SessionId::new("20260101_000000_stage0"));
        let registry = Arc::new(hermes_tools::builtin::registry(clock, desk.settings(), None));
        let odd = extensions.register(&registry);
        Self { dir, desk, registry, extensions, person, odd, heard, stop: Stop::new(), calls: AtomicUsize::new(0) }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("its real path")
    }

    /// What a person was warned of.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.heard.lock().expect("heard").clone()
    }

    pub(crate) fn project(&self, below: &str) -> PathBuf {
        self.root().join("project").join(below)
    }

    pub(crate) fn hands(&self) -> Hands {
        let names: BTreeSet<String> = self.registry.describe().iter().map(|tool| tool.card.name.to_string()).collect();
        let hands = Hands::new(self.registry.clone(), names);
        self.extensions.call_hooks().into_iter().fold(hands, Hands::with_hook)
    }

    /// One call of a model, as it ends.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Finished {
        self.desk.guardrail.begin_turn();
        let id = CallId::new(format!("call_{}", self.calls.fetch_add(1, Ordering::Relaxed)));
        let call = ToolCall::new(id, tool, arguments.to_string().as_str());
        let results = self.hands().run(&[call], &self.desk, &Untold, &self.stop).await;
        results.expect("no tool aborts").remove(0)
    }

    pub(crate) async fn text(&self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments).await.content.text()
    }

    /// What a plugin wrote into the folder for its data.
    pub(crate) fn data(&self, plugin: &str, file: &str) -> String {
        let path = self.root().join("home/.hermes/plugin-data").join(plugin).join(file);
        std::fs::read_to_string(path).unwrap_or_default()
    }
}

fn wishes(plugins: &Path, config: &Value) -> PluginSettings {
    let names = std::fs::read_dir(plugins).expect("plugins").flatten();
    let enabled = names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    PluginSettings { enabled, ..PluginSettings::read(config, &mut Vec::new()) }
}

fn settings(root: &Path, plan: &Plan) -> (Settings, Value) {
    let mut variables = plan.variables.clone();
    variables.insert("PATH".to_owned(), std::env::var("PATH").unwrap_or_default());
    variables.insert("HOME".to_owned(), root.join("home").display().to_string());
    let around = Surroundings {
        home: root.join("home"),
        hermes_home: root.join("home/.hermes"),
        hermes_root: root.join("home/.hermes"),
        cwd: root.join("project"),
        temp: root.join("tmp"),
        variables,
        private_variables: BTreeSet::from(["OPENROUTER_API_KEY".to_owned(), "WEATHER_KEY".to_owned()]),
    };
    let config = if plan.config.is_null() { json!({}) } else { plan.config.clone() };
    (Settings::read(&config, around).0, config)
}

fn place(
    found: &[Found],
    settings: &PluginSettings,
    hooks: Vec<HookConfig>,
    outside: Outside,
    clock: &Arc<dyn Clock>,
    heard: Arc<Mutex<Vec<String>>>,
) -> Extensions {
    let listener = Arc::new(move |event| {
        if let Event::Notice { notice: Notice::Warning { text } } = event {
            heard.lock().expect("heard").push(text);
        }
    });
    let platform = "cli".to_owned();
    Extensions::new(Parts { found, settings, hooks, outside, clock: clock.clone(), platform, listener })
}

/// Somebody who answers as it was written down, or nobody.
pub(crate) struct Person {
    channel: Channel,
    answers: Mutex<Vec<Answer>>,
    pub(crate) asked: Mutex<Vec<ApprovalQuestion>>,
}

impl Person {
    fn new(answers: Option<Vec<Answer>>) -> Self {
        let channel = if answers.is_some() { Channel::Person } else { Channel::Nobody };
        Self { channel, answers: Mutex::new(answers.unwrap_or_default()), asked: Mutex::default() }
    }
}

impl Face for Person {
    fn channel(&self) -> Channel {
        self.channel
    }

    fn approve(&self, question: ApprovalQuestion) -> BoxFuture<'_, Answer> {
        self.asked.lock().expect("questions").push(question);
        let answer = self.answers.lock().expect("answers").pop();
        Box::pin(async move { answer.expect("an answer was written down for every question") })
    }

    fn clarify(&self, _question: Clarification) -> BoxFuture<'_, Reply> {
        Box::pin(std::future::ready(Reply::Silence))
    }

    fn password(&self, _reason: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

struct Forgetful;

impl LastingConsent for Forgetful {
    fn keep(&self, _keys: &[String]) -> Result<(), String> {
        Ok(())
    }
}
