//! Who may have a name, who is offered, and what the model sees.

use crate::stage::Stage;
use hermes_core::clock::Clock;
use hermes_testkit::{FakeClock, golden};
use hermes_tools::desk::Cx;
use hermes_tools::effects::Effects;
use hermes_tools::gate::Permit;
use hermes_tools::registry::{Collision, Registry, Replace};
use hermes_tools::tool::{Availability, Card, Check, Look, Output, Tool, ToolError};
use hermes_types::Object;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A tool that is only a card.
struct Dummy {
    name: &'static str,
    toolset: &'static str,
    says: &'static str,
    check: Option<Arc<Check>>,
    parameters: Value,
}

impl Dummy {
    fn new(name: &'static str, toolset: &'static str, says: &'static str) -> Self {
        let parameters = json!({"type": "object", "required": ["z"], "properties": {"z": {"type": "string"}, "a": {"type": "integer"}}});
        Self { name, toolset, says, check: None, parameters }
    }
}

impl Tool for Dummy {
    type Args = Object;

    fn card(&self) -> Card {
        Card::new(self.name, self.toolset, self.says, self.parameters.clone())
    }

    fn check(&self) -> Option<Arc<Check>> {
        self.check.clone()
    }

    fn adapt(&self, look: &mut Look, offered: &BTreeSet<String>) {
        assert!(!self.says.contains("cannot adapt"), "this one panics");
        let others: Vec<&str> = offered.iter().map(String::as_str).filter(|name| *name != self.name).collect();
        look.description = format!("{} beside {}", self.says, others.join(", "));
    }

    fn effects(&self, _args: &Object, _cx: &Cx) -> Result<Effects, ToolError> {
        Ok(Effects::none())
    }

    async fn call(&self, _args: Object, _permit: Permit, _cx: &Cx) -> Result<Output, ToolError> {
        Output::json("done")
    }
}

fn registry() -> (Registry, Arc<FakeClock>) {
    let clock = Arc::new(FakeClock::default());
    (Registry::new(clock.clone()), clock)
}

fn names(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

fn offered(registry: &Registry, all: &[&str]) -> Vec<String> {
    registry.definitions(&names(all)).into_iter().map(|definition| definition.name).collect()
}

#[test]
fn a_name_belongs_to_whoever_came_first() {
    let (registry, _) = registry();
    let says = |registry: &Registry| registry.describe()[0].card.description.clone();
    registry.register(Dummy::new("read", "file", "first"), Replace::Refuse).unwrap();
    let shadow = registry.register(Dummy::new("read", "plugin", "shadow"), Replace::Refuse).unwrap_err();
    assert_eq!(shadow, Collision { name: "read".into(), owner: "file".into(), newcomer: "plugin".into() });
    assert!(shadow.to_string().contains("would shadow the one of file"), "{shadow}");
    assert_eq!((says(&registry), registry.generation()), ("first".into(), 1));
    registry.register(Dummy::new("read", "file", "second"), Replace::Refuse).unwrap();
    assert_eq!((says(&registry), registry.generation()), ("second".into(), 2));
    registry.register(Dummy::new("read", "plugin", "on purpose"), Replace::Override).unwrap();
    assert_eq!((says(&registry), registry.generation()), ("on purpose".into(), 3));
    assert!(
        registry.register(Dummy::new("read", "mcp-x", "server"), Replace::Refuse).is_err(),
        "MCP shadows nobody else"
    );
}

#[test]
fn one_mcp_server_may_take_the_name_of_another() {
    let (registry, _) = registry();
    registry.register(Dummy::new("t", "mcp-a", "a"), Replace::Refuse).unwrap();
    registry.register(Dummy::new("t", "mcp-b", "b"), Replace::Refuse).unwrap();
    assert_eq!(registry.tools_of("mcp-b"), names(&["t"]));
    assert_eq!(registry.tools_of("mcp-a"), names(&[]));
}

#[test]
fn the_aliases_of_a_toolset_go_with_its_last_tool() {
    let (registry, _) = registry();
    registry.register(Dummy::new("one", "mcp-s", ""), Replace::Refuse).unwrap();
    registry.register(Dummy::new("two", "mcp-s", ""), Replace::Refuse).unwrap();
    registry.alias("s", "mcp-s");
    assert_eq!(registry.aliased("s").as_deref(), Some("mcp-s"));
    registry.deregister("one");
    registry.deregister("unknown");
    assert_eq!((registry.aliased("s").as_deref(), registry.generation()), (Some("mcp-s"), 4));
    registry.deregister("two");
    assert_eq!((registry.aliased("s"), registry.generation()), (None, 5));
}

#[test]
fn definitions_are_sorted_to_the_last_key_and_speak_only_of_what_is_there() {
    let (registry, _) = registry();
    registry.register(Dummy::new("zebra", "s", "stripes"), Replace::Refuse).unwrap();
    registry.register(Dummy::new("ant", "s", "legs"), Replace::Refuse).unwrap();
    let gone = Check::new(|| Availability::Missing("no key".into()));
    registry.register(Dummy { check: Some(gone), ..Dummy::new("bee", "s", "wings") }, Replace::Refuse).unwrap();
    registry.register(Dummy::new("cow", "s", "cannot adapt"), Replace::Refuse).unwrap();
    let definitions = registry.definitions(&names(&["zebra", "unknown", "ant", "bee", "cow"]));
    let parameters = r#""parameters":{"properties":{"a":{"type":"integer"},"z":{"type":"string"}},"required":["z"],"type":"object"}"#;
    let expected = format!(
        r#"[{{"name":"ant","description":"legs beside cow, zebra",{parameters}}},{{"name":"cow","description":"cannot adapt",{parameters}}},{{"name":"zebra","description":"stripes beside ant, cow",{parameters}}}]"#
    );
    assert_eq!(serde_json::to_string(&definitions).unwrap(), expected);
}

#[test]
fn a_schema_that_providers_refuse_is_sent_in_another_form() {
    let (registry, _) = registry();
    let parameters = json!({"properties": {"x": {"type": ["string", "null"]}}, "required": ["x", "gone"], "anyOf": []});
    registry.register(Dummy { parameters, ..Dummy::new("odd", "mcp-s", "") }, Replace::Refuse).unwrap();
    let sent = json!({"properties": {"x": {"nullable": true, "type": "string"}}, "required": ["x"], "type": "object"});
    assert_eq!(registry.definitions(&names(&["odd"]))[0].parameters, sent);
}

/// Most tokens that all built-in tools together may cost in a request, also those that stand behind the loader.
const BUDGET: usize = 3_200;

#[test]
fn what_the_tools_cost_in_every_request_is_written_down() {
    let stage = Stage::new();
    let described = stage.registry.describe();
    let all = described.iter().map(|tool| tool.card.name.to_string()).collect();
    let mut report = String::from("tool            bytes  about tokens\n");
    let mut sets: BTreeMap<String, usize> = BTreeMap::new();
    let row = |name: &str, bytes: usize| format!("{name:<15} {bytes:>5} {:>13}\n", bytes.div_ceil(4));
    for definition in stage.registry.definitions(&all) {
        let bytes = serde_json::to_string(&definition).unwrap().len();
        report.push_str(&row(&definition.name, bytes));
        let owner = described.iter().find(|tool| tool.card.name == definition.name).unwrap();
        *sets.entry(owner.card.toolset.to_string()).or_default() += bytes;
    }
    report.push_str("\ntoolset\n");
    report.extend(sets.iter().map(|(set, bytes)| row(set, *bytes)));
    let total: usize = sets.values().sum();
    report.push_str(&format!("\n{}", row("everything", total)));
    golden("tests/hands/golden/definitions.txt", &report);
    assert!(total.div_ceil(4) < BUDGET, "{report}");
}

#[test]
fn a_check_is_asked_once_for_all_who_share_it_and_kept_for_half_a_minute() {
    let (registry, clock) = registry();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let check = Check::new(move || {
        counter.fetch_add(1, Ordering::SeqCst);
        Availability::Ready
    });
    for name in ["a", "b"] {
        registry.register(Dummy { check: Some(check.clone()), ..Dummy::new(name, "s", "") }, Replace::Refuse).unwrap();
    }
    for (pause, total) in [(0, 1), (29, 1), (1, 2), (29, 2)] {
        clock.advance(Duration::from_secs(pause));
        assert_eq!(offered(&registry, &["a", "b"]), ["a", "b"]);
        assert_eq!(asked.load(Ordering::SeqCst), total, "after {:?}", clock.elapsed());
    }
    registry.forget_checks();
    offered(&registry, &["a"]);
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[test]
fn a_hiccup_takes_no_tool_away_and_a_failure_does() {
    let (registry, clock) = registry();
    let up = Arc::new(AtomicBool::new(true));
    let state = up.clone();
    let check =
        Check::new(move || if state.load(Ordering::SeqCst) { Availability::Ready } else { panic!("no daemon") });
    registry.register(Dummy { check: Some(check), ..Dummy::new("docker", "s", "") }, Replace::Refuse).unwrap();
    let story = [(0, true, true), (31, false, true), (20, false, true), (10, false, false), (31, true, true)];
    for (pause, is_up, is_offered) in story {
        clock.advance(Duration::from_secs(pause));
        up.store(is_up, Ordering::SeqCst);
        let seen = offered(&registry, &["docker"]);
        assert_eq!(!seen.is_empty(), is_offered, "at {:?}", clock.elapsed());
    }
    up.store(false, Ordering::SeqCst);
    clock.advance(Duration::from_secs(61));
    assert_eq!(registry.describe()[0].availability, Availability::Missing("its check failed".into()));
}

#[test]
fn many_threads_may_register_and_read() {
    let (registry, _) = registry();
    let registry = Arc::new(registry);
    let refused = Arc::new(Mutex::new(0));
    std::thread::scope(|scope| {
        for toolset in ["a", "b", "c", "d"] {
            let (registry, refused) = (registry.clone(), refused.clone());
            scope.spawn(move || {
                for _ in 0..50 {
                    if registry.register(Dummy::new("same", toolset, ""), Replace::Refuse).is_err() {
                        *refused.lock().unwrap() += 1;
                    }
                    registry.definitions(&names(&["same"]));
                }
            });
        }
    });
    assert_eq!((registry.generation(), *refused.lock().unwrap()), (50, 150));
}
