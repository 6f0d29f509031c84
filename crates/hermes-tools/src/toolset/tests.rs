use super::*;
use crate::registry::Replace;
use crate::tool::{Card, Output, Tool, ToolError};
use hermes_core::clock::RealClock;
use hermes_types::Object;
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::json;
use std::sync::Arc;

/// A tool that only has a name.
struct Named(&'static str, &'static str);

impl Tool for Named {
    type Args = Object;

    fn card(&self) -> Card {
        Card::new(self.0, self.1, "", json!({}))
    }

    fn effects(&self, _args: &Object, _cx: &crate::desk::Cx) -> Result<crate::effects::Effects, ToolError> {
        Ok(crate::effects::Effects::none())
    }

    async fn call(
        &self,
        _args: Object,
        _permit: crate::gate::Permit,
        _cx: &crate::desk::Cx,
    ) -> Result<Output, ToolError> {
        Ok(Output::Text(String::new()))
    }
}

fn registry(tools: &[(&'static str, &'static str)]) -> Registry {
    let registry = Registry::new(Arc::new(RealClock::default()));
    for (name, toolset) in tools {
        registry.register(Named(name, toolset), Replace::Refuse).unwrap();
    }
    registry
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn every_toolset_has_the_tools_it_always_had() {
    let registry = registry(&[]);
    let catalogue = Catalogue::new(&registry);
    let sizes: Vec<String> =
        catalogue.names().iter().map(|name| format!("{name} {}", catalogue.tools(name).len())).collect();
    let golden = "browser 13, clarify 1, code_execution 1, coding 32, computer_use 1, context_engine 0, cronjob 1, debugging 8, \
         delegation 1, discord 1, discord_admin 1, feishu_doc 1, feishu_drive 4, file 4, hermes-acp 29, hermes-api-server 35, \
         hermes-bluebubbles 52, hermes-cli 52, hermes-cron 52, hermes-dingtalk 52, hermes-discord 54, hermes-email 52, \
         hermes-feishu 57, hermes-gateway 64, hermes-homeassistant 52, hermes-matrix 52, hermes-mattermost 52, hermes-qqbot 52, \
         hermes-signal 52, hermes-slack 52, hermes-sms 52, hermes-telegram 52, hermes-webhook 4, hermes-wecom 52, \
         hermes-wecom-callback 52, hermes-weixin 52, hermes-whatsapp 52, hermes-yuanbao 57, homeassistant 4, image_gen 1, \
         kanban 12, memory 1, project 3, safe 4, search 1, session_search 1, skills 3, spotify 7, terminal 2, todo 1, tts 1, \
         video 1, video_gen 3, vision 1, web 2, x_search 1, yuanbao 5";
    assert_eq!(sizes.join(", "), golden);
    assert_eq!((catalogue.tools("all").len(), catalogue.tools("*").len()), (79, 79));
    assert_eq!(catalogue.tools("safe"), names(&["image_generate", "vision_analyze", "web_extract", "web_search"]));
    let debugging =
        ["patch", "process", "read_file", "search_files", "terminal", "web_extract", "web_search", "write_file"];
    assert_eq!(catalogue.tools("debugging"), names(&debugging));
    let missing: BTreeSet<String> =
        catalogue.tools("coding").difference(&catalogue.tools("hermes-acp")).cloned().collect();
    assert_eq!(missing, names(&["clarify", "close_terminal", "read_terminal"]));
}

#[test]
fn each_row_is_whole() {
    let registry = registry(&[]);
    let catalogue = Catalogue::new(&registry);
    for row in TOOLSETS {
        assert_eq!(TOOLSETS.iter().filter(|other| other.name == row.name).count(), 1, "{}", row.name);
        assert!(!row.description.is_empty(), "{}", row.name);
        for include in row.includes {
            assert!(catalogue.knows(include), "{} includes {include}", row.name);
        }
    }
    for name in table::CONFIGURABLE.iter().chain(table::OFF_BY_DEFAULT) {
        assert!(super::row(name).is_some(), "{name}");
    }
}

#[test]
fn a_selection_adds_takes_away_last_and_names_what_nobody_knows() {
    let registry = registry(&[]);
    let picked = select(&registry, &Selection::of(["file", "nope", "web_tools"]).without(["search", "neither"]));
    let tools = names(&["patch", "read_file", "search_files", "web_extract", "write_file"]);
    assert_eq!((picked.names, picked.unknown), (tools, vec!["nope".to_owned(), "neither".to_owned()]));
    let everything = select(&registry, &Selection::default().without(["spotify", "skills_tools"]));
    assert_eq!((everything.names.len(), everything.unknown), (79 - 7 - 3, vec![]));
}

#[test]
fn disabling_a_bundle_or_a_posture_leaves_the_core() {
    let registry = registry(&[]);
    let picked = |disabled| select(&registry, &Selection::of(["hermes-discord"]).without([disabled])).names.len();
    assert_eq!(["hermes-discord", "hermes-cli", "coding", "discord", "file"].map(picked), [52, 54, 54, 53, 50]);
}

#[test]
fn a_task_of_a_board_brings_the_board() {
    let task = BTreeMap::from([("HERMES_KANBAN_TASK".to_owned(), "7".to_owned())]);
    assert_eq!(Selection::of(["web"]).with_variables(&task), Selection::of(["web", "kanban"]));
    assert_eq!(Selection::of(["web"]).with_variables(&BTreeMap::new()), Selection::of(["web"]));
}

#[test]
fn plugins_and_servers_bring_toolsets_of_their_own() {
    let registry = registry(&[
        ("mcp__git__log", "mcp-git"),
        ("paint", "art"),
        ("read_terminal", "terminal"),
        ("irc_topic", "irc"),
    ]);
    registry.alias("git", "mcp-git");
    let catalogue = Catalogue::new(&registry).with_platform("irc");
    assert_eq!(catalogue.tools("git"), names(&["mcp__git__log"]));
    assert_eq!(catalogue.tools("terminal"), names(&["process", "read_terminal", "terminal"]));
    assert_eq!(catalogue.tools("all").len(), 79 + 3);
    assert_eq!(catalogue.tools("hermes-irc").len(), 53);
    assert_eq!(
        ["git", "art", "web", "all", "nope"].map(|name| catalogue.description(name)),
        [
            Some("MCP server 'git' tools".to_owned()),
            Some("Plugin toolset: art".to_owned()),
            Some("Search the web and read pages".to_owned()),
            Some("Every toolset".to_owned()),
            None,
        ]
    );
    assert_eq!(
        ["git", "mcp-git", "hermes-irc", "hermes-nope"].map(|name| catalogue.knows(name)),
        [true, true, true, false]
    );
}

#[test]
fn servers_and_plugins_can_be_chosen_before_they_are_there() {
    let registry = registry(&[]);
    let catalogue = Catalogue::new(&registry).expecting(["mcp-git", "art"]);
    let picked = catalogue.select(&Selection::of(["web", "git", "art"]).without(["mcp-mail"]));
    assert_eq!(picked.unknown, ["mcp-mail"]);
    let card = |name: &'static str, toolset: &'static str| Named(name, toolset).card();
    let table = [
        (card("mcp__git__log", "mcp-git"), true),
        (card("paint", "art"), true),
        (card("web_search", "web"), true),
        (card("web_weather", "web"), true),
        (card("mcp__mail__send", "mcp-mail"), false),
        (card("terminal", "terminal"), false),
        (card("rocket", "space"), false),
    ];
    for (card, expected) in table {
        assert_eq!(picked.grant.allows(&card), expected, "{} of {}", card.name, card.toolset);
    }
    let everything = catalogue.select(&Selection::default().without(["git", "terminal"])).grant;
    let refused = [card("mcp__git__log", "mcp-git"), card("process", "terminal"), card("terminal", "space")];
    assert!(everything.allows(&card("rocket", "space")), "whoever comes");
    assert_eq!(refused.map(|card| everything.allows(&card)), [false; 3]);
    let less = everything.without(["rocket"]).without_servers();
    let later = [card("rocket", "space"), card("mcp__new__x", "mcp-new"), card("other", "space")];
    assert_eq!(later.map(|card| less.allows(&card)), [false, false, true]);
}

#[test]
fn toolsets_made_at_run_time_may_go_in_circles() {
    let registry = registry(&[]);
    let custom = |tools: &[&str], includes: &[&str]| Custom {
        tools: names(tools),
        includes: includes.iter().map(|name| (*name).to_owned()).collect(),
        ..Custom::default()
    };
    let catalogue = Catalogue::new(&registry)
        .with("a", custom(&["one"], &["b", "search", "a"]))
        .with("b", custom(&["two"], &["a", "missing"]));
    assert_eq!(catalogue.tools("a"), names(&["one", "two", "web_search"]));
    assert_eq!(catalogue.tools("b"), catalogue.tools("a"));
    assert_eq!(catalogue.tools("all").len(), 81);
}

#[test]
fn a_platform_has_its_bundle_or_what_its_list_says() {
    let registry = registry(&[]);
    let catalogue = Catalogue::new(&registry);
    let around = Circumstances { mcp: vec!["mcp-git".to_owned()], ..Circumstances::default() };
    let chosen = |config: serde_json::Value, platform: &str| for_platform(&config, platform, &around, &catalogue);
    assert_eq!(chosen(json!({}), "telegram"), Selection::of(["hermes-telegram", "mcp-git"]));
    assert_eq!(chosen(json!({"toolsets": ["safe"]}), "cli"), Selection::of(["safe", "mcp-git"]));
    assert_eq!(chosen(json!({"toolsets": ["safe"]}), "sms"), Selection::of(["hermes-sms", "mcp-git"]));
    let config = json!({
        "platform_toolsets": {"slack": ["web", "git"], "cli": ["hermes-webhook", "todo", "todo"], "email": []},
        "agent": {"disabled_toolsets": ["browser"]},
    });
    assert_eq!(chosen(config.clone(), "slack"), Selection::of(["web", "git"]).without(["browser"]));
    let parts = Selection::of(["web", "vision", "clarify", "todo", "mcp-git"]).without(["browser"]);
    assert_eq!(chosen(config.clone(), "cli"), parts);
    assert_eq!(chosen(config, "email"), Selection::of(["mcp-git"]).without(["browser"]));
}

#[test]
fn a_bundle_among_parts_brings_no_part_that_is_off_by_default() {
    let registry = registry(&[]);
    let catalogue = Catalogue::new(&registry);
    let config = json!({"platform_toolsets": {"discord": ["hermes-discord", "video"]}});
    let enabled = |around: &Circumstances| for_platform(&config, "discord", around, &catalogue).enabled.unwrap();
    let usual = [
        "web",
        "browser",
        "terminal",
        "file",
        "code_execution",
        "vision",
        "image_gen",
        "tts",
        "skills",
        "todo",
        "memory",
        "session_search",
        "clarify",
        "delegation",
        "cronjob",
        "computer_use",
        "video",
    ];
    assert_eq!(enabled(&Circumstances::default()), usual);
    let with_token = Circumstances { credentials_for: names(&["homeassistant"]), ..Circumstances::default() };
    assert!(enabled(&with_token).contains(&"homeassistant".to_owned()));
}

#[test]
fn a_seed_draws_the_same_toolsets_and_never_none() {
    let registry = registry(&[]);
    let catalogue = Catalogue::new(&registry);
    let draw = |name: &str, seed| distribution(name).unwrap().draw(&mut StdRng::seed_from_u64(seed), &catalogue);
    for mix in distributions() {
        let sure: Vec<&str> = mix.chances.iter().filter(|(_, chance)| *chance == 100).map(|(name, _)| *name).collect();
        for seed in 0..50 {
            let drawn = draw(mix.name, seed);
            assert_eq!(drawn, draw(mix.name, seed), "{}", mix.name);
            assert!(
                !drawn.is_empty() && sure.iter().all(|name| drawn.iter().any(|drawn| drawn == name)),
                "{}",
                mix.name
            );
        }
    }
    let times = (0..2_000).filter(|seed| draw("development", *seed).contains(&"web".to_owned())).count();
    assert!((500..700).contains(&times), "30 of a hundred, and here {times} of 2000");
    let never = Distribution { name: "never", chances: &[("file", 0), ("web", 0), ("gone", 100)] };
    assert_eq!(never.draw(&mut StdRng::seed_from_u64(1), &catalogue), ["file"]);
    assert!(
        distribution("nope")
            .unwrap_err()
            .to_string()
            .starts_with("there is no distribution nope; there are: default, ")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn resolving_ends_for_every_graph(edges in proptest::collection::vec((0_u8..6, 0_u8..6), 0..20)) {
        let registry = registry(&[]);
        let mut catalogue = Catalogue::new(&registry);
        for node in 0..6_u8 {
            let includes = edges.iter().filter(|(from, _)| *from == node).map(|(_, to)| format!("n{to}")).collect();
            let custom = Custom { tools: BTreeSet::from([format!("t{node}")]), includes, ..Custom::default() };
            catalogue = catalogue.with(format!("n{node}"), custom);
        }
        for node in 0..6_u8 {
            let tools = catalogue.tools(&format!("n{node}"));
            let own = format!("t{node}");
            prop_assert!(tools.contains(&own));
            for (_, to) in edges.iter().filter(|(from, _)| *from == node) {
                let included = catalogue.tools(&format!("n{to}"));
                prop_assert!(included.is_subset(&tools));
            }
        }
    }

    #[test]
    fn it_does_not_matter_whether_a_tool_came_before_or_after_the_choice(
        enabled in proptest::option::of(proptest::collection::vec(proptest::sample::select(CHOICES.to_vec()), 0..4)),
        disabled in proptest::collection::vec(proptest::sample::select(CHOICES.to_vec()), 0..3),
    ) {
        let selection = Selection {
            enabled: enabled.map(|names| names.into_iter().map(str::to_owned).collect()),
            disabled: disabled.into_iter().map(str::to_owned).collect(),
        };
        let (empty, full) = (registry(&[]), registry(JOINING));
        full.alias("git", "mcp-git");
        let before = Catalogue::new(&empty).expecting(["mcp-git", "art"]).select(&selection).grant;
        let after = Catalogue::new(&full).select(&selection);
        for (name, toolset) in JOINING {
            let card = Named(name, toolset).card();
            prop_assert_eq!(before.allows(&card), after.grant.allows(&card), "{} in {:?}", name, &selection);
            prop_assert_eq!(after.names.contains(*name), after.grant.allows(&card), "{} in {:?}", name, &selection);
        }
    }
}

const CHOICES: [&str; 10] =
    ["all", "git", "mcp-git", "art", "web", "terminal", "hermes-cli", "coding", "terminal_tools", "nobody"];
const JOINING: &[(&str, &str)] = &[
    ("mcp__git__log", "mcp-git"),
    ("paint", "art"),
    ("web_search", "web"),
    ("web_weather", "web"),
    ("terminal", "terminal"),
    ("rocket", "nobody"),
];
