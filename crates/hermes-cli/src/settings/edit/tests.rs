use super::*;
use crate::settings::home::Root;
use proptest::prelude::*;
use serde_json::json;

fn path(text: &str) -> KeyPath {
    KeyPath::parse(text).expect("a path")
}

fn set_in(text: &str, key: &str, value: Value) -> Result<String, Refusal> {
    apply(text, &[Change::Set(path(key), value)])
}

fn unset_in(text: &str, key: &str) -> Result<String, Refusal> {
    apply(text, &[Change::Unset(path(key))])
}

#[test]
fn a_change_touches_its_own_line_only() {
    let before = "# mine\nagent: # how it works\n  max_turns: 90 # enough\n\n# the rest\ntoolsets: [web, file] # two\n";
    assert_eq!(
        set_in(before, "agent.max_turns", json!(50)),
        Ok("# mine\nagent: # how it works\n  max_turns: 50 # enough\n\n# the rest\ntoolsets: [web, file] # two\n"
            .into())
    );
    assert_eq!(
        set_in(before, "toolsets.2", json!("terminal")),
        Ok("# mine\nagent: # how it works\n  max_turns: 90 # enough\n\n# the rest\ntoolsets: [web, file, terminal] # two\n".into())
    );
    assert_eq!(
        unset_in(before, "toolsets"),
        Ok("# mine\nagent: # how it works\n  max_turns: 90 # enough\n\n# the rest\n".into())
    );
    assert_eq!(
        set_in("", "display.timestamp_format", json!("%H: #x")),
        Ok("display:\n  timestamp_format: '%H: #x'\n".into())
    );
}

#[test]
fn a_model_id_becomes_a_section_when_one_is_needed() {
    assert_eq!(
        set_in("model: gpt-5 # good\nx: 1\n", "model.provider", json!("openai")),
        Ok("model: # good\n  default: gpt-5\n  provider: openai\nx: 1\n".into())
    );
    assert_eq!(set_in("model: ''\n", "model.provider", json!("nous")), Ok("model:\n  provider: nous\n".into()));
}

#[test]
fn numbers_are_places_in_lists_and_names_elsewhere() {
    let text = "discord:\n  channel_prompts: {}\nfallback_providers:\n  - provider: a\n";
    let after = set_in(text, "discord.channel_prompts.1234567890", json!("hi")).expect("set");
    assert_eq!(
        document::parse_text(&after).expect("read"),
        json!({"discord": {"channel_prompts": {"1234567890": "hi"}}, "fallback_providers": [{"provider": "a"}]})
    );
    let after = set_in(text, "fallback_providers.0.model", json!("m")).expect("set");
    assert_eq!(after, "discord:\n  channel_prompts: {}\nfallback_providers:\n  - provider: a\n    model: m\n");
    assert_eq!(
        set_in(text, "fallback_providers.5", json!("x")).expect_err("no such place").to_string(),
        "`fallback_providers.5` cannot be set: `fallback_providers` is a list of 1. Its next free place is `fallback_providers.1`."
    );
    assert_eq!(unset_in("l:\n  - a\n  - b # bee\n", "l.0"), Ok("l:\n  - b # bee\n".into()));
    assert_eq!(
        set_in("", "providers.\"my.host\".base_url", json!("http://x")),
        Ok("providers:\n  my.host:\n    base_url: http://x\n".into())
    );
}

#[test]
fn whole_lists_and_sections_can_be_set() {
    let after = set_in("# top\n", "toolsets", json!(["web", "file"])).expect("set");
    assert_eq!(after, "# top\ntoolsets:\n- web\n- file\n");
    let after = set_in("a: 1\n", "provider_routing", json!({"sort": "price", "only": ["x"]})).expect("set");
    assert_eq!(
        document::parse_text(&after).expect("read"),
        json!({"a": 1, "provider_routing": {"only": ["x"], "sort": "price"}})
    );
    assert_eq!(
        set_in("a: 1\n", "compression.threshold", json!(0.25)),
        Ok("a: 1\ncompression:\n  threshold: 0.25\n".into())
    );
    assert_eq!(set_in("a: 1\n", "a", json!(2.0)), Ok("a: 2.0\n".into()));
    assert_eq!(set_in("a: 1\n", "a", Value::Null), Ok("a: null\n".into()));
    // Readers differ on these; quotes leave no doubt.
    for text in ["Y", "12:30", "2001-01-01", "0o7", "-", "off"] {
        assert_eq!(set_in("a: 1\n", "a", text.into()), Ok(format!("a: \"{text}\"\n")));
    }
}

#[test]
fn the_last_key_leaves_an_empty_file_that_grows_again() {
    let empty = unset_in("# mine\na: 1\n", "a").expect("unset");
    assert_eq!(empty, "# mine\n");
    assert_eq!(set_in(&empty, "b.c", json!(true)), Ok("# mine\nb:\n  c: true\n".into()));
}

#[test]
fn an_edit_that_would_touch_more_is_refused() {
    let shared = "base: &base\n  k: 1\none: *base\ntwo:\n  <<: *base\n";
    let after = set_in(shared, "one.k", json!(2)).expect("one is given its own copy");
    assert_eq!(
        document::parse_text(&after).expect("read"),
        json!({"base": {"k": 1}, "one": {"k": 2}, "two": {"k": 1}})
    );
    assert_eq!(unset_in(shared, "two.k"), Err(Refusal::Entangled("two.k".into())));
    assert_eq!(unset_in("a: 1\n", "b"), Err(Refusal::NotSet("b".into())));
    assert_eq!(
        set_in("agent: fast\n", "agent.max_turns", json!(1)).expect_err("in the way").to_string(),
        "`agent.max_turns` cannot be set: `agent` holds \"fast\", not a section.\nRemove that first with `hermes config unset agent`."
    );
}

#[test]
fn what_a_person_types_becomes_the_value_they_mean() {
    let table = [
        ("agent.max_turns", "50", json!(50)),
        ("agent.max_turns", "many", json!("many")),
        ("compression.threshold", "0.6", json!(0.6)),
        ("display.compact", "yes", json!(true)),
        ("display.compact", "Off", json!(false)),
        ("agent.verify_on_stop", "true", json!("true")),
        ("model.default", "4", json!("4")),
        ("toolsets", "web, file", json!(["web", "file"])),
        ("toolsets", r#"["web"]"#, json!(["web"])),
        ("model.context_length", "65536", json!(65536)),
        ("unknown.thing", "1e3", json!(1000.0)),
        ("unknown.thing", "nan", json!("nan")),
        ("unknown.thing", "1.2.3", json!("1.2.3")),
        ("unknown.thing", "null", json!(null)),
    ];
    for (key, text, expected) in table {
        assert_eq!(coerce(text, &path(key)), expected, "{key} {text}");
    }
}

#[test]
fn many_writers_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Root::at(folder.path()).default_home();
    std::fs::write(home.config_file(), "# shared\nstart: here\n").expect("written");
    std::thread::scope(|scope| {
        for writer in 0..6 {
            let home = &home;
            scope.spawn(move || {
                for turn in 0..5 {
                    let change = Change::Set(path(&format!("w{writer}.k{turn}")), json!(turn));
                    change_config(home, |_| Ok::<_, EditError>(vec![change])).expect("changed");
                }
            });
        }
    });
    let text = std::fs::read_to_string(home.config_file()).expect("readable");
    assert!(text.starts_with("# shared\nstart: here\n"), "{text}");
    let settings = document::parse_text(&text).expect("read");
    for writer in 0..6 {
        let expected = json!({"k0": 0, "k1": 1, "k2": 2, "k3": 3, "k4": 4});
        assert_eq!(settings.get(format!("w{writer}")), Some(&expected));
    }
}

#[test]
fn a_broken_file_is_never_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Root::at(folder.path()).default_home();
    std::fs::write(home.config_file(), "a: [1\n").expect("written");
    let refused = change_config(&home, |_| Ok::<_, EditError>(vec![Change::Set(path("b"), json!(1))]));
    assert!(matches!(refused, Err(EditError::Document(_))), "{refused:?}");
    assert_eq!(std::fs::read_to_string(home.config_file()).expect("readable"), "a: [1\n");
}

/// Small documents as people write them: sections, lists, flow style, comments everywhere.
fn any_document() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec![
        "1",
        "yes",
        "text here",
        "'quoted # not a comment'",
        "\"x: y\"",
        "0.5",
        "~",
        "[a, b]",
        "{k: v}",
        "",
    ]);
    let tail = prop::sample::select(vec!["", "  # tail", " # it's: odd", "   "]);
    let leaf = (scalar, tail)
        .prop_map(|(value, tail)| if value.is_empty() { tail.to_owned() } else { format!(" {value}{tail}") });
    let section = prop::collection::vec((prop::sample::select(vec!["  # inner", "", "# left"]), leaf.clone()), 1..4);
    let entry = prop_oneof![
        leaf.prop_map(|leaf| format!("{leaf}\n")),
        section.clone().prop_map(|rows| {
            let rows: Vec<String> =
                rows.iter().enumerate().map(|(n, (note, leaf))| format!("{note}\n  k{n}:{leaf}\n")).collect();
            format!("\n{}", rows.concat())
        }),
        section.prop_map(|rows| {
            let rows: Vec<String> = rows.iter().map(|(note, leaf)| format!("{note}\n  -{leaf}\n")).collect();
            format!(" # list\n{}", rows.concat())
        }),
    ];
    let head = prop::sample::select(vec!["", "# head\n", "\n# two\n# lines\n", "\n"]);
    prop::collection::vec((head, entry), 0..5).prop_map(|entries| {
        let parts: Vec<String> =
            entries.iter().enumerate().map(|(n, (head, entry))| format!("{head}s{n}:{entry}")).collect();
        parts.concat()
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["ä€😀", "- x", "a: b", "# no", "null", "yes", "1e3", "two\nlines", " pad "])
            .prop_map(Value::from),
        Just(json!(["a", 1, true])),
    ]
}

fn comments(text: &str) -> Vec<String> {
    let is_comment = |line: &&str| line.trim_start().starts_with('#');
    let mut lines: Vec<String> = text.lines().filter(is_comment).map(|line| line.trim().to_owned()).collect();
    lines.sort();
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Setting a key changes that key, no other value and no comment line.
    #[test]
    fn a_set_keeps_every_other_value_and_every_comment(
        text in any_document(),
        key in prop::sample::select(vec!["s0", "s1.k0", "s2.k1", "s1.new", "new", "new.deep.er", "s3.k2"]),
        value in any_value(),
    ) {
        let before = match document::parse_text(&text) { Ok(Value::Null) => json!({}), Ok(value) => value, Err(_) => return Ok(()) };
        let path = path(key);
        let replaced = path.find(&before).is_some_and(|old| old.is_object() || old.is_array());
        let mut expected = before.clone();
        if let Err(refusal) = check_way(&before, &path) {
            prop_assert_eq!(set_in(&text, key, value), Err(refusal));
            return Ok(());
        }
        prop_assert!(path.put(&mut expected, value.clone()));
        let after = set_in(&text, key, value).map_err(|refusal| TestCaseError::fail(format!("{refusal}\n{text}")))?;
        prop_assert_eq!(document::parse_text(&after).expect("read"), expected);
        if !replaced {
            prop_assert_eq!(comments(&after), comments(&text), "{}\n=>\n{}", text, after);
        }
    }

    /// Removing a key that was just added gives the old settings back.
    #[test]
    fn an_unset_undoes_a_set(text in any_document(), value in any_value()) {
        let before = match document::parse_text(&text) { Ok(Value::Null) => json!({}), Ok(value) => value, Err(_) => return Ok(()) };
        let added = set_in(&text, "zz", value).expect("set");
        let back = unset_in(&added, "zz").expect("unset");
        let after = match document::parse_text(&back).expect("read") { Value::Null => json!({}), value => value };
        prop_assert_eq!(after, before);
        prop_assert_eq!(comments(&back), comments(&text));
    }
}
