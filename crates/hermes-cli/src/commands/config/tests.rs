use super::*;
use crate::settings::Root;
use clap::Parser;

/// A home in a temporary folder and a terminal to type commands into.
struct Desk {
    folder: tempfile::TempDir,
    home: Home,
    variables: Vec<(String, String)>,
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: ConfigArgs,
}

/// What a command printed and how it ended.
#[derive(Debug, PartialEq)]
struct Said {
    exit: Exit,
    out: String,
    err: String,
}

fn done(out: &str) -> Said {
    Said { exit: Exit::Done, out: out.into(), err: String::new() }
}

fn failed(err: &str) -> Said {
    Said { exit: Exit::Failed, out: String::new(), err: err.into() }
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Root::at(folder.path().join("home")).default_home();
        let managed = folder.path().join("managed").display().to_string();
        Self { folder, home, variables: vec![("HERMES_MANAGED_DIR".into(), managed)] }
    }

    fn with(config: &str) -> Self {
        let desk = Self::new();
        desk.home.create().expect("created");
        disk::replace(&desk.home.config_file(), config.as_bytes()).expect("written");
        desk
    }

    fn config(&self) -> String {
        std::fs::read_to_string(self.home.config_file()).expect("readable")
    }

    fn env(&self) -> String {
        std::fs::read_to_string(self.home.env_file()).expect("readable")
    }

    fn type_in(&self, words: &[&str], input: &str) -> Said {
        let args = Line::try_parse_from([&["config"], words].concat()).expect("a command").args;
        let environment = Environment::with_process(&self.home, self.variables.iter().cloned().collect());
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console = Console { out: &mut out, err: &mut err, input: &mut input.as_bytes() };
        let exit = run(args, &self.home, &environment, &mut console);
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes).expect("text").replace(&self.folder.path().display().to_string(), "~")
        };
        Said { exit, out: text(out), err: text(err) }
    }

    fn config_says(&self, words: &[&str]) -> Said {
        self.type_in(words, "")
    }
}

#[test]
fn reading_creates_nothing() {
    let desk = Desk::new();
    for words in [&["show"][..], &["get", "agent.max_turns"], &["path"], &["env-path"], &["check"], &["migrate"], &[]] {
        assert_eq!(desk.config_says(words).exit, Exit::Done, "{words:?}");
    }
    assert!(!desk.home.dir().exists());
    assert_eq!(desk.config_says(&["path"]), done("~/home/config.yaml\n"));
    assert_eq!(desk.config_says(&["env-path"]), done("~/home/.env\n"));
}

#[test]
fn what_was_set_is_shown_with_its_default_and_secrets_are_masked() {
    let mut desk = Desk::with(
        "# mine\nmodel: gpt-5\nagent:\n  max_turns: 50\nprovider: openrouter\nmcp_servers:\n  box:\n    command: x\n    env: {TOKEN_X: hush-hush}\n",
    );
    desk.variables.push(("OPENROUTER_API_KEY".into(), "sk-or-v1-0123456789abcdef".into()));
    desk.variables.push(("SOMEONE_ELSES_TOKEN".into(), "not ours to show".into()));
    std::fs::write(desk.home.env_file(), "FAL_KEY=short\n").expect("written");
    assert_eq!(
        desk.config_says(&["show"]),
        done(
            "\
Home      ~/home (profile default)
Settings  ~/home/config.yaml
Keys      ~/home/.env

Set
  model.default                gpt-5
  model.provider               openrouter
  agent.max_turns              50              default 90
  mcp_servers.box.command      x
  mcp_servers.box.env.TOKEN_X  «redacted:***»

Keys
  FAL_KEY             «redacted:***»        .env
  OPENROUTER_API_KEY  «redacted:sk-o…cdef»  environment

`hermes config show --all` lists every setting, `hermes config check` looks for mistakes.
"
        )
    );
    let json: Value = serde_json::from_str(&desk.config_says(&["show", "--json"]).out).expect("JSON");
    assert_eq!(
        json.get("settings").expect("settings").to_string(),
        r#"{"model":{"default":"gpt-5","provider":"openrouter"},"agent":{"max_turns":50},"mcp_servers":{"box":{"command":"x","env":{"TOKEN_X":"«redacted:***»"}}}}"#
    );
    assert!(desk.config_says(&["show", "--all"]).out.contains("agent.max_turns  "));
}

#[test]
fn get_prints_value_default_or_a_suggestion() {
    let desk = Desk::with("agent:\n  max_turns: 50\nmodel:\n  api_key: sk-0123456789abcdefgh\n  default: m\n");
    assert_eq!(desk.config_says(&["get", "agent.max_turns"]), done("50\n"));
    assert_eq!(desk.config_says(&["get", "terminal.timeout"]), done("180\n"));
    assert_eq!(desk.config_says(&["get", "terminal.backend"]), done("local\n"));
    assert_eq!(desk.config_says(&["get", "terminal.backend", "--json"]), done("\"local\"\n"));
    assert_eq!(desk.config_says(&["get", "prompt_caching"]), done("{\n  \"cache_ttl\": \"5m\"\n}\n"));
    assert_eq!(desk.config_says(&["get", "model.api_key"]), done("«redacted:sk-0…efgh»\n"));
    assert_eq!(
        desk.config_says(&["get", "agent.max_turn"]),
        failed(
            "hermes does not know `agent.max_turn`. Did you mean `agent.max_turns`?\n`hermes config show --all` lists every setting.\n"
        )
    );
    assert_eq!(
        desk.config_says(&["get", "OPENROUTER_API_KEY"]),
        failed("`OPENROUTER_API_KEY` is not set. Save it with `hermes config set OPENROUTER_API_KEY …`.\n")
    );
    let Said { exit, err, .. } = desk.config_says(&["get", "a..b"]);
    assert_eq!((exit, err.as_str()), (Exit::Usage, "`a..b` has an empty part; write it like `agent.max_turns`.\n"));
}

#[test]
fn set_writes_what_was_meant_and_says_where() {
    let desk = Desk::with("# mine\nagent: # how\n  max_turns: 90 # enough\n");
    assert_eq!(
        desk.config_says(&["set", "agent.max_turns", "50"]),
        done("Set agent.max_turns to 50 in ~/home/config.yaml.\n")
    );
    assert_eq!(desk.config(), "# mine\nagent: # how\n  max_turns: 50 # enough\n");
    assert_eq!(
        desk.config_says(&["set", "agent.max_turns", "many"]),
        failed(
            "`agent.max_turns` must be a whole number, got \"many\". Nothing was written.\n`--force` writes it all the same.\n"
        )
    );
    assert_eq!(
        desk.config_says(&["set", "agent", "fast"]),
        failed(
            "`agent` must be a section of `key: value` lines, got \"fast\". Nothing was written.\n`--force` writes it all the same.\n"
        )
    );
    assert_eq!(
        desk.config_says(&["set", "compresion.enabled", "no"]),
        Said {
            exit: Exit::Done,
            out: "Set compresion.enabled to false in ~/home/config.yaml.\n".into(),
            err: "Note: hermes does not know `compresion.enabled`. Did you mean `compression.enabled`? It was written all the \
                  same; `hermes config unset compresion.enabled` removes it.\n"
                .into(),
        }
    );
    assert_eq!(desk.config_says(&["unset", "compresion"]), done("Removed compresion from ~/home/config.yaml.\n"));
    assert_eq!(
        desk.config_says(&["unset", "agent.max_turns"]),
        done("Removed agent.max_turns from ~/home/config.yaml. Its default 90 counts again.\n")
    );
    assert_eq!(
        desk.config_says(&["unset", "agent.max_turns"]),
        failed(
            "`agent.max_turns` is not set, so there is nothing to remove. `hermes config show` lists what is set.\n"
        )
    );
    assert_eq!(
        desk.config_says(&["set", "model.api_key", "«redacted:sk-0…efgh»"]),
        failed("That is a masked secret, not the secret itself. Nothing was written.\n")
    );
}

#[test]
fn keys_go_to_the_env_file_and_are_never_echoed() {
    let desk = Desk::new();
    assert_eq!(
        desk.config_says(&["set", "OPENROUTER_API_KEY", "sk-or-v1-0123456789abcdef"]),
        done("Saved OPENROUTER_API_KEY («redacted:sk-o…cdef») in ~/home/.env.\n")
    );
    assert_eq!(
        desk.type_in(&["set", "fal_api_key", "-"], "from-a-pipe\n"),
        done("Saved FAL_API_KEY («redacted:***») in ~/home/.env.\n")
    );
    assert_eq!(desk.env(), "OPENROUTER_API_KEY=sk-or-v1-0123456789abcdef\nFAL_API_KEY=from-a-pipe\n");
    assert_eq!(desk.config_says(&["get", "OPENROUTER_API_KEY"]), done("«redacted:sk-o…cdef»\n"));
    assert_eq!(desk.config_says(&["unset", "FAL_API_KEY"]), done("Removed FAL_API_KEY from ~/home/.env.\n"));
    assert_eq!(
        desk.config_says(&["unset", "FAL_API_KEY"]),
        failed("FAL_API_KEY is not in ~/home/.env, so there is nothing to remove.\n")
    );
    assert_eq!(
        desk.config_says(&["set", "HF_TOKEN", "hf_“x”"]),
        failed("HF_TOKEN has characters no key can have. Copy it again; nothing was written.\n")
    );
    assert_eq!(
        desk.config_says(&["set", "HF_TOKEN", "two words"]),
        failed("HF_TOKEN has characters no key can have. Copy it again; nothing was written.\n")
    );
    assert_eq!(
        desk.config_says(&["set", "HF_TOKEN", " "]),
        failed("An empty HF_TOKEN opens nothing; nothing was written. To remove it: hermes config unset HF_TOKEN\n")
    );
    assert!(!desk.env().contains("HF_TOKEN"));
    assert!(!desk.home.config_file().exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &std::path::Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(desk.home.dir()), mode(&desk.home.env_file())), (0o700, 0o600));
    }
}

#[test]
fn only_secrets_are_typed_unseen() {
    for (key, unseen) in [
        ("OPENROUTER_API_KEY", true),
        ("hf_token", true),
        ("model.api_key", true),
        ("agent.max_turns", false),
        ("HERMES_TIMEZONE", false),
    ] {
        assert_eq!(is_secret(key), unseen, "{key}");
    }
}

#[test]
fn what_the_administrator_fixed_stays_fixed() {
    let desk = Desk::with("agent:\n  max_turns: 5\n");
    let managed = desk.folder.path().join("managed");
    std::fs::create_dir(&managed).expect("created");
    std::fs::write(managed.join("config.yaml"), "agent:\n  max_turns: 7\n").expect("written");
    std::fs::write(managed.join(".env"), "HF_TOKEN=theirs\n").expect("written");
    assert_eq!(desk.config_says(&["get", "agent.max_turns"]), done("7\n"));
    assert_eq!(
        desk.config_says(&["set", "agent.max_turns", "9"]),
        failed(
            "`agent.max_turns` is fixed by the administrator in ~/managed/config.yaml. Nothing was written; ask them to change it.\n"
        )
    );
    assert_eq!(
        desk.config_says(&["set", "HF_TOKEN", "mine"]),
        failed(
            "`HF_TOKEN` is fixed by the administrator in ~/managed/.env. Nothing was written; ask them to change it.\n"
        )
    );
    assert_eq!(desk.config_says(&["set", "agent.api_max_retries", "4"]).exit, Exit::Done);
}

#[test]
fn check_tells_wrong_from_odd() {
    let desk = Desk::with("agent:\n  max_turns: many\ncompresion: {enabled: true}\nmodel:\n  name: old\nhonk: 1\n");
    std::fs::write(desk.home.env_file(), "FAL_KEY=x\nnonsense\n").expect("written");
    let environment_note = "  note  other users can read it (mode 644); `chmod 600 ~/home/.env`\n";
    let said = desk.config_says(&["check"]);
    assert_eq!(
        Said { out: said.out.replace(environment_note, ""), ..said },
        Said {
            exit: Exit::Failed,
            out: "\
~/home/config.yaml: 4 set
  wrong `agent.max_turns` must be a whole number, got \"many\"
  note  `compresion` is not known; did you mean `compression`?
  note  `honk` is not known; it is kept and has no effect
  note  the layout is an older one, which still works; `hermes config migrate --dry-run` shows what would change
  note  ~/home/.env: line 2 is not `NAME=value` and was skipped
1 setting is wrong. Change with `hermes config set KEY VALUE` or `hermes config edit`.
"
            .into(),
            err: String::new(),
        }
    );
    assert_eq!(
        Desk::with("agent: {max_turns: 5}\n").config_says(&["check"]),
        done("~/home/config.yaml: 1 set\nAll is well.\n")
    );
}

#[test]
fn check_lists_what_cannot_work() {
    let table = [
        ("model: {provider: nowhere, default: m}\n", "`model.provider`: `nowhere` is not a provider"),
        (
            "model: {provider: custom, default: m, base_url: \"box/v1\"}\n",
            "`model.base_url`: not a usable endpoint: it has no scheme",
        ),
        ("providers: {box: {base_url: box}}\n", "`providers.box.base_url`: not a usable endpoint"),
        ("model: {provider: custom, default: m}\n", "`model.base_url`: the endpoint of"),
        ("model: {api_mode: carrier_pigeon}\n", "`model.api_mode`"),
        ("agent: {reasoning_effort: hgih}\n", "`agent.reasoning_effort` must be none, minimal,"),
        ("prompt_caching: {cache_ttl: 2h}\n", "`prompt_caching.cache_ttl` must be 5m or 1h, got \"2h\""),
        ("approvals: {mode: sometimes}\n", "`approvals.mode` must be manual, smart or off, got \"sometimes\""),
    ];
    for (config, complaint) in table {
        let said = Desk::with(config).config_says(&["check"]);
        assert_eq!(said.exit, Exit::Failed, "{config}: {}", said.out);
        assert!(said.out.contains(&format!("  wrong {complaint}")), "{config}: {}", said.out);
        assert!(said.out.contains("\n1 setting is wrong."), "{config}: {}", said.out);
    }
    let odd = Desk::with("honk: 1\n").config_says(&["check"]);
    assert!(odd.exit == Exit::Done && odd.out.ends_with("No wrong values; 1 note.\n"), "{}", odd.out);
}

#[test]
fn what_cannot_work_is_not_written() {
    let desk = Desk::with("model: {provider: custom, default: m}\n");
    for (key, value) in [
        ("agent.reasoning_effort", "hgih"),
        ("terminal.backend", "moon"),
        ("model.base_url", "box/v1"),
        ("model.provider", "nowhere"),
    ] {
        let said = desk.config_says(&["set", key, value]);
        assert!(said.exit == Exit::Failed && said.err.contains("Nothing was written."), "{key}: {}", said.err);
    }
    assert_eq!(desk.config_says(&["set", "model.base_url", "http://box/v1"]).exit, Exit::Done);
    assert_eq!(desk.config_says(&["set", "--force", "terminal.backend", "moon"]).exit, Exit::Done);
}

#[test]
fn a_broken_file_stops_reading_and_writing_and_stays_as_it_is() {
    let desk = Desk::with("agent: {max_turns: 5\n");
    let complaint = "~/home/config.yaml, line 1, column 8: unclosed bracket '{'.\n  1 | agent: {max_turns: 5\nCheck the indentation, the \
                     quotes and the brackets there. `hermes config edit` opens the file. It was not changed.\n";
    for words in
        [&["show"][..], &["get", "x"], &["check"], &["set", "agent.max_turns", "1"], &["unset", "agent"], &["migrate"]]
    {
        assert_eq!(desk.config_says(words), failed(complaint), "{words:?}");
    }
    assert_eq!(desk.config(), "agent: {max_turns: 5\n");
}

#[test]
fn migration_is_announced_copied_and_done_once() {
    let before = "# mine\ncustom_providers:\n  - name: My Box # home\n    base_url: http://box\ncompression:\n  summary_model: m\n";
    let desk = Desk::with(before);
    std::fs::write(desk.home.env_file(), "LLM_MODEL=x\nKEEP=1\n").expect("written");
    let plan = "\
the list `custom_providers` becomes the section `providers` (layout 12)
  set providers.my-box to {\"name\":\"My Box\",\"base_url\":\"http://box\"}
  remove custom_providers
model variables that are no longer read go (layout 13)
  remove LLM_MODEL from .env
`compression.summary_*` moves to `auxiliary.compression` (layout 17)
  set auxiliary.compression.model to \"m\"
  remove compression.summary_model
";
    assert_eq!(
        desk.config_says(&["migrate", "--dry-run"]),
        done(&format!("{plan}Nothing was written. `hermes config migrate` makes these changes.\n"))
    );
    assert_eq!(desk.config(), before);
    assert_eq!(
        desk.config_says(&["migrate"]),
        done(&format!(
            "{plan}Kept a copy in ~/home/config.yaml.before-migration.\nKept a copy in ~/home/.env.before-migration.\nDone.\n"
        ))
    );
    assert_eq!(
        document::parse_text(&desk.config()).expect("read"),
        serde_json::json!({
            "providers": {"my-box": {"base_url": "http://box", "name": "My Box"}},
            "compression": {},
            "auxiliary": {"compression": {"model": "m"}},
        })
    );
    assert!(desk.config().starts_with("# mine\n"), "{}", desk.config());
    assert_eq!(desk.env(), "KEEP=1\n");
    assert_eq!(desk.config_says(&["migrate"]), done("Nothing to do: the settings are in the present layout.\n"));
}

#[cfg(unix)]
#[test]
fn edit_opens_the_editor_and_checks_what_was_saved() {
    let mut desk = Desk::new();
    desk.variables.push(("EDITOR".into(), "tee -a".into()));
    // `tee -a FILE` with no input leaves the file as it was made.
    desk.variables.push(("VISUAL".into(), "sed -i s/Settings/Choices/".into()));
    assert_eq!(desk.config_says(&["edit"]), done("~/home/config.yaml: 0 set\nAll is well.\n"));
    assert!(desk.config().starts_with("# Choices of hermes."), "{}", desk.config());
    desk.variables.push(("VISUAL".into(), "no-such-editor".into()));
    let said = desk.config_says(&["edit"]);
    assert!(
        said.exit == Exit::Failed && said.err.starts_with("The editor `no-such-editor` could not be started"),
        "{said:?}"
    );
}
