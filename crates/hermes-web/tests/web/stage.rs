//! A home, a registry with the tools of the web, a name server that obeys, and a model for side jobs that says what was
//! written down. `call` goes the whole way of a call of a model.

use futures_util::future::BoxFuture;
use hermes_core::clock::{Clock, RealClock};
use hermes_core::stop::Stop;
use hermes_tools::aide::Aide;
use hermes_tools::desk::{Desk, Ports, Workshop};
use hermes_tools::face::Nobody;
use hermes_tools::gate::LastingConsent;
use hermes_tools::registry::Registry;
use hermes_tools::run::{Finished, Hands, Untold};
use hermes_tools::settings::{Settings, Surroundings};
use hermes_types::{Assistant, CallId, Event, Fault, Reply, Request, SessionId, ToolCall};
use hermes_web::SideModel;
use hermes_web::fetch::{Fetcher, Lookup};
use hermes_web::settings::WebSettings;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

pub(crate) struct Stage {
    dir: TempDir,
    pub(crate) registry: Arc<Registry>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) stop: Stop,
    pub(crate) aide: Arc<Sayer>,
    pub(crate) odd: Vec<String>,
}

#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) config: Value,
    pub(crate) variables: Vec<(&'static str, String)>,
    pub(crate) names: Names,
    /// What the model for side jobs says, in this order.
    pub(crate) says: Vec<Result<&'static str, Fault>>,
}

impl Stage {
    pub(crate) fn with(config: Value) -> Self {
        Self::build(Plan { config, ..Plan::default() })
    }

    pub(crate) fn build(plan: Plan) -> Self {
        let dir = TempDir::new().expect("a directory");
        let root = dir.path().canonicalize().expect("its real path");
        for folder in ["home/.hermes", "project", "tmp"] {
            std::fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        let around = Surroundings {
            home: root.join("home"),
            hermes_home: root.join("home/.hermes"),
            hermes_root: root.join("home/.hermes"),
            cwd: root.join("project"),
            temp: root.join("tmp"),
            variables: BTreeMap::new(),
            private_variables: BTreeSet::new(),
        };
        let clock: Arc<dyn Clock> = Arc::new(RealClock::default());
        let aide = Arc::new(Sayer { says: Mutex::new(plan.says.into()), asked: Mutex::default() });
        let ports = Ports {
            face: Arc::new(Nobody),
            adviser: None,
            aide: Some(aide.clone()),
            lasting: Arc::new(Forgetful),
            clock: clock.clone(),
            listener: Arc::new(|_: Event| {}),
        };
        let desk =
            Desk::new(Workshop::new(Settings::plain(around.clone()), ports), SessionId::new("20260101_000000_stage0"));
        let registry = Arc::new(hermes_tools::builtin::registry(clock, desk.settings(), None));
        let variable = |name: &str| plan.variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
        let mut odd = Vec::new();
        let settings = WebSettings::read(&plan.config, variable, &around.hermes_home, None, &mut odd);
        let fetcher = Fetcher::with_lookup(settings.rules.clone(), Arc::new(plan.names));
        hermes_web::register_with(&registry, &settings, fetcher, SideModel::There);
        Self { dir, registry, desk, stop: Stop::new(), aide, odd }
    }

    pub(crate) fn hermes_home(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("its real path").join("home/.hermes")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("its real path").join("project")
    }

    /// The result as the model reads it.
    pub(crate) async fn call_text(&self, tool: &str, arguments: Value) -> String {
        self.finished(tool, arguments).await.content.text()
    }

    pub(crate) async fn finished(&self, tool: &str, arguments: Value) -> Finished {
        self.desk.guardrail.begin_turn();
        let names: std::collections::BTreeSet<String> =
            self.registry.describe().iter().map(|tool| tool.card.name.to_string()).collect();
        let call = ToolCall::new(CallId::new("call_1"), tool, arguments.to_string().as_str());
        let hands = Hands::new(self.registry.clone(), names);
        hands.run(&[call], &self.desk, &Untold, &self.stop).await.expect("no tool aborts").remove(0)
    }

    /// The JSON in the result, without the frame around what strangers wrote.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        unframed(&self.call_text(tool, arguments).await)
    }
}

/// The JSON inside of a frame, or the JSON itself.
pub(crate) fn unframed(text: &str) -> Value {
    let inside = text.lines().find(|line| line.starts_with('{')).unwrap_or(text);
    serde_json::from_str(inside).unwrap_or_else(|error| panic!("no JSON ({error}): {text}"))
}

/// A name server: each look-up of a name takes the next answer, and the last one stays.
#[derive(Default)]
pub(crate) struct Names {
    answers: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
    pub(crate) lookups: Arc<Mutex<Vec<String>>>,
}

impl Names {
    pub(crate) fn of(names: &[(&str, &[&[&str]])]) -> Self {
        let parse = |ips: &&[&str]| ips.iter().map(|ip| ip.parse().expect("an address")).collect();
        let answers = names.iter().map(|(name, answers)| ((*name).to_owned(), answers.iter().map(parse).collect()));
        Self { answers: Mutex::new(answers.collect()), lookups: Arc::default() }
    }
}

impl Lookup for Names {
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.lookups.lock().expect("lookups").push(name.to_owned());
        let mut answers = self.answers.lock().expect("answers");
        let found = answers
            .get_mut(name.trim_end_matches('.'))
            .and_then(|answers| if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() });
        Box::pin(std::future::ready(found.ok_or_else(|| io::Error::other("no such name"))))
    }
}

/// A model that says what was written down.
pub(crate) struct Sayer {
    says: Mutex<VecDeque<Result<&'static str, Fault>>>,
    pub(crate) asked: Mutex<Vec<(String, Request)>>,
}

impl Aide for Sayer {
    fn ask<'a>(&'a self, task: &'a str, request: Request, _stop: &'a Stop) -> BoxFuture<'a, Result<Reply, Fault>> {
        self.asked.lock().expect("asked").push((task.to_owned(), request));
        let said = self.says.lock().expect("says").pop_front().expect("an answer for every question");
        let reply = said.map(|text| Reply {
            message: Assistant { content: Some(text.into()), ..Assistant::default() },
            usage: None,
            model: None,
            id: None,
            dropped: Vec::new(),
            cut_off: false,
        });
        Box::pin(std::future::ready(reply))
    }
}

struct Forgetful;

impl LastingConsent for Forgetful {
    fn keep(&self, _keys: &[String]) -> Result<(), String> {
        Ok(())
    }
}
