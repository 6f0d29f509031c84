//! Keys, models, fallbacks and status as people use them: the real program in a throw-away home, its words held against
//! golden files.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a stage that cannot be set up reports itself by a panic"
)]

#[path = "commands/backup.rs"]
mod backup;

use hermes_testkit::{ModelServer, OAuthServer, Ran, World, gateway_entry, golden, model_entry};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const HERMES: &str = env!("CARGO_BIN_EXE_hermes");
const KEY: &str = "gsk_rehearsal_0123456789";

/// Runs command after command and writes down what a person would see.
struct Story {
    world: World,
    told: String,
    /// What differs from run to run, and what stands for it.
    names: Vec<(String, &'static str)>,
}

impl Story {
    fn new(world: World) -> Self {
        let names = vec![(world.home().display().to_string(), "~")];
        Self { world: quiet(world), told: String::new(), names }
    }

    fn naming(mut self, text: &str, name: &'static str) -> Self {
        self.names.push((text.to_owned(), name));
        self
    }

    async fn run(&mut self, words: &[&str], code: i32) -> Ran {
        let ran = self.world.run(HERMES, words).await.expect_code(code);
        let complaints: String = ran.stderr.lines().map(|line| format!("! {line}\n")).collect();
        self.told.push_str(&format!("$ hermes {}\n{}{complaints}[{code}]\n\n", words.join(" "), ran.stdout));
        ran
    }

    fn config(&self) -> String {
        std::fs::read_to_string(self.world.hermes_home().join("config.yaml")).expect("a config")
    }

    fn auth(&self) -> Value {
        let bytes = std::fs::read(self.world.hermes_home().join("auth.json")).expect("a store");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// Holds the story against its golden file. No story ever tells a key.
    #[track_caller]
    fn end(mut self, name: &str) -> World {
        for (text, stands_for) in &self.names {
            self.told = self.told.replace(text, stands_for);
        }
        assert!(!self.told.contains(KEY), "a key was shown:\n{}", self.told);
        golden(format!("tests/golden/commands/{name}.txt"), &self.told);
        self.world
    }
}

/// Servers that happen to run on this machine are no part of a story.
fn quiet(world: World) -> World {
    let nobody = "http://127.0.0.1:9/v1";
    ["OLLAMA_HOST", "LM_BASE_URL", "LLAMACPP_BASE_URL"].into_iter().fold(world, |world, name| world.env(name, nobody))
}

#[tokio::test]
async fn a_key_is_stored_listed_rested_and_forgotten() {
    let mut story = Story::new(World::new().stdin(&format!("{KEY}\n")));
    story.run(&["auth"], 0).await;
    story.run(&["auth", "add", "gorq"], 2).await;
    story.run(&["auth", "add", "groq"], 2).await;
    story.run(&["auth", "add", "groq", "--api-key", "-"], 0).await;
    story.run(&["auth", "add", "groq", "--api-key", "-"], 1).await;
    story.run(&["auth", "add", "groq", "--label", "spare", "--api-key", "gsk-another-key"], 0).await;
    story.run(&["auth", "list"], 0).await;
    story.run(&["auth", "status", "groq"], 0).await;
    story.run(&["auth", "status", "anthropic"], 1).await;
    let pool = &story.auth()["credential_pool"]["groq"];
    assert_eq!((&pool[0]["access_token"], &pool[0]["source"]), (&json!(KEY), &json!("manual")));
    story.run(&["auth", "reset", "groq"], 0).await;
    story.run(&["auth", "remove", "groq", "spare"], 0).await;
    story.run(&["auth", "remove", "groq", "7"], 1).await;
    story.run(&["auth", "logout", "groq"], 0).await;
    story.run(&["auth", "list", "groq"], 0).await;
    story.run(&["login"], 0).await;
    story.run(&["logout"], 0).await;
    story.end("auth_keys");
}

#[tokio::test]
async fn what_cannot_be_a_key_is_refused() {
    let mut story = Story::new(World::new());
    story.run(&["auth", "add", "groq", "--api-key", "«redacted:gsk-…6789»"], 1).await;
    story.run(&["auth", "add", "groq", "--api-key", "two words"], 1).await;
    story.run(&["auth", "add", "groq", "--api-key", "***"], 1).await;
    story.run(&["auth", "add", "groq", "--api-key", "abc"], 1).await;
    story.run(&["auth", "add", "groq", "--api-key", "-"], 1).await;
    story.run(&["auth", "add", "groq", "--type", "oauth"], 2).await;
    story.run(&["auth", "add", "anthropic", "--api-key", "sk-ant-oat01-subscription"], 1).await;
    story.run(&["auth", "add", "openai-codex", "--api-key", "sk-key"], 2).await;
    story.run(&["auth", "add", "copilot", "--api-key", "ghp_classic_token"], 1).await;
    story.run(&["auth", "add", "copilot-acp"], 1).await;
    story.run(&["auth", "add", "custom", "--api-key", "key-for-nowhere"], 2).await;
    let world = story.end("auth_refusals");
    assert!(!world.hermes_home().join("auth.json").exists());
}

#[tokio::test]
async fn a_variable_is_listed_but_removed_where_it_is_set() {
    let world = World::new().dotenv("GROQ_API_KEY=gsk-from-the-file\n").env("MISTRAL_API_KEY", "from-the-shell");
    let mut story = Story::new(world);
    story.run(&["auth", "list"], 0).await;
    story.run(&["auth", "remove", "groq", "1"], 1).await;
    story.run(&["auth", "remove", "mistral", "MISTRAL_API_KEY"], 1).await;
    story.run(&["auth", "add", "groq", "--api-key", "gsk-stored-beside-it"], 0).await;
    story.end("auth_variables");
}

#[tokio::test]
async fn a_key_of_an_endpoint_is_named_by_its_variable() {
    let world = World::new()
        .config(
            "model: {provider: lab, default: m}\n\
             providers:\n  lab: {base_url: \"http://127.0.0.1:9/v1\", key_env: LAB_KEY}\n  \
             open: {base_url: \"http://127.0.0.1:9/v1\"}\n",
        )
        .dotenv(&format!("LAB_KEY={KEY}\n"));
    let mut story = Story::new(world);
    story.run(&["auth", "list"], 0).await;
    story.run(&["auth", "status", "lab"], 0).await;
    story.run(&["auth", "status", "open"], 0).await;
    story.run(&["auth", "remove", "lab", "LAB_KEY"], 1).await;
    story.run(&["status"], 0).await;
    story.run(&["status", "--provider", "open", "--model", "m"], 0).await;
    story.end("auth_endpoints");
}

#[tokio::test]
async fn a_profile_cannot_remove_what_the_default_profile_lends_it() {
    let mut story = Story::new(World::new());
    story.run(&["auth", "add", "groq", "--label", "mine", "--api-key", "gsk-of-the-default"], 0).await;
    let id = story.auth()["credential_pool"]["groq"][0]["id"].as_str().expect("an id").to_owned();
    story.run(&["profile", "create", "work"], 0).await;
    story.run(&["-p", "work", "auth", "list"], 0).await;
    story.run(&["-p", "work", "auth", "remove", "groq", "mine"], 1).await;
    assert_eq!(story.auth()["credential_pool"]["groq"][0]["access_token"], json!("gsk-of-the-default"));
    story.run(&["-p", "work", "auth", "add", "groq", "--label", "own", "--api-key", "gsk-of-the-profile"], 0).await;
    story.run(&["-p", "work", "auth", "list"], 0).await;
    story.run(&["-p", "work", "auth", "remove", "groq", "own"], 0).await;
    story.naming(&id, "ID").end("auth_profile");
}

#[tokio::test]
async fn credentials_that_rest_or_belong_to_others_are_told_apart() {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
    let row = |id: &str, label: &str, verdict: Value| {
        let mut row = json!({"id": id, "label": label, "source": "manual", "auth_type": "api_key", "access_token": id});
        row.as_object_mut().expect("an object").extend(verdict.as_object().expect("an object").clone());
        row
    };
    let tired = json!({"last_status": "exhausted", "last_status_at": now, "last_error_code": 429});
    let dead = json!({"last_status": "dead", "last_status_at": now, "last_error_reason": "token_revoked"});
    let world = World::new()
        .auth(&json!({"version": 1, "credential_pool": {
            "groq": [row("gsk-one-key", "tired", tired)], "zai": [row("zai-one-key", "revoked", dead)]}}))
        .config("model: {provider: groq, default: m}\n");
    let claude = world.home().join(".claude");
    std::fs::create_dir(&claude).expect("a folder");
    let login = json!({"claudeAiOauth": {"accessToken": "sk-ant-oat-theirs", "refreshToken": "r"}});
    std::fs::write(claude.join(".credentials.json"), login.to_string()).expect("a file");

    let mut story = Story::new(world);
    story.run(&["auth", "list"], 0).await;
    story.run(&["auth", "status"], 0).await;
    story.run(&["status"], 1).await;
    story.run(&["auth", "reset", "groq"], 0).await;
    story.run(&["status"], 0).await;
    story.run(&["auth", "reset", "zai"], 0).await;
    story.run(&["auth", "remove", "anthropic", "1"], 0).await;
    story.run(&["auth", "status", "anthropic"], 1).await;
    story.end("auth_standing");
}

#[tokio::test]
async fn a_login_at_the_portal_is_confirmed_elsewhere_and_ends_in_the_store() {
    let oauth = OAuthServer::start().await;
    oauth.pending(1);
    let world = World::new().env("HERMES_PORTAL_BASE_URL", &oauth.root_url());
    let mut story = Story::new(world);
    story.run(&["auth", "add", "nous", "--label", "x"], 2).await;
    story.run(&["auth", "add", "nous"], 0).await;
    story.run(&["auth", "list", "nous"], 0).await;
    let state = &story.auth()["providers"]["nous"];
    assert_eq!((&state["client_id"], state["access_token"].is_string()), (&json!("hermes-cli"), true));
    story.run(&["model", "--provider", "nous", "--force", "z-ai/glm-5.2"], 0).await;
    story.run(&["logout"], 0).await;
    assert_eq!(story.config(), "");
    story.end("auth_nous");
    oauth.finish();
}

#[test]
fn leaving_a_login_leaves_no_trace() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let oauth = runtime.block_on(OAuthServer::start());
    oauth.pending(1_000);
    let home = tempfile::tempdir().expect("a home");
    let mut command = Command::new(HERMES);
    command.args(["auth", "add", "nous"]).env_clear().env("HERMES_HOME", home.path());
    command.env("HERMES_PORTAL_BASE_URL", oauth.root_url()).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("started");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    assert!(lines.any(|line| line.expect("text").contains("Waiting for you to confirm")));
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(interrupt.success());
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
    assert_eq!(rest, ["Left; what is not confirmed above was not done."]);
    assert!(!home.path().join("auth.json").exists());
}

#[tokio::test]
async fn a_model_is_chosen_from_what_the_endpoint_lists() {
    let server = ModelServer::start([]).await;
    server.list_models(["qwen3-coder-30b", "qwen3-32b", "glm-4.7-flash"].map(model_entry));
    server.expect_key("box-key-for-the-server");
    let world = World::new().config(&format!(
        "# my box\nmodel:\n  provider: custom\n  base_url: {0}\n  api_key: box-key-for-the-server\n\
         model_aliases:\n  flash: {{model: glm-4.7-flash, provider: custom, base_url: \"{0}\"}}\n",
        server.base_url()
    ));
    let mut story = Story::new(world).naming(&server.root_url(), "http://server");
    story.run(&["model", "--list"], 0).await;
    story.run(&["model", "qwen3-33b"], 1).await;
    story.run(&["model", "qwen3-32b"], 0).await;
    story.run(&["model", "qwen3-32b"], 0).await;
    story.run(&["model", "flash"], 0).await;
    story.run(&["model"], 0).await;
    story.run(&["model", "--force", "not-listed-yet"], 0).await;
    let listed = story.run(&["model", "--list", "--json"], 0).await.stdout;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!((&listed["live"], &listed["models"][1]["id"]), (&json!(true), &json!("qwen3-32b")));
    let config = story.config().replace(&server.root_url(), "http://server");
    assert_eq!(
        config,
        "# my box\nmodel:\n  provider: custom\n  base_url: http://server/v1\n  api_key: box-key-for-the-server\n  \
         default: not-listed-yet\nmodel_aliases:\n  flash: {model: glm-4.7-flash, provider: custom, base_url: \"http://server/v1\"}\n"
    );
    story.end("model_choice");
    assert!(server.model_requests().is_empty(), "choosing a model costs nothing");
    server.finish();
}

#[tokio::test]
async fn another_provider_takes_nothing_of_the_one_before() {
    let server = ModelServer::start([]).await;
    server.list_models([
        gateway_entry("openai/gpt-5.4", "language", &["tool-use"]),
        gateway_entry("openai/whisper", "transcription", &[]),
        gateway_entry("zai/glm-5", "language", &["tool-use"]),
    ]);
    server.expect_key("vck-rehearsal-key");
    server.never_show("box-key");
    let world = World::new()
        .config("model:\n  default: m\n  provider: custom\n  base_url: http://box:8000/v1\n  api_key: box-key\n")
        .env("AI_GATEWAY_API_KEY", "vck-rehearsal-key")
        .env("AI_GATEWAY_BASE_URL", &server.base_url());
    let mut story = Story::new(world).naming(&server.root_url(), "http://server");
    story.run(&["model", "--list", "--provider", "vercel"], 0).await;
    story.run(&["model", "--provider", "vercel", "openai/whisper"], 1).await;
    story.run(&["model", "vercel:openai/gpt-5.4"], 0).await;
    assert_eq!(story.config(), "model:\n  default: openai/gpt-5.4\n  provider: ai-gateway\n");
    story.run(&["model", "--provider", "nowhere", "x"], 2).await;
    story.run(&["model", "--provider", "custom", "--base-url", "ftp://box", "x"], 2).await;
    story.end("model_switch");
    server.finish();
}

#[tokio::test]
async fn a_custom_endpoint_is_not_chosen_without_an_address() {
    let mut story = Story::new(World::new().config("model:\n  provider: groq\n  default: m\n"));
    story.run(&["model", "--provider", "custom", "m2"], 2).await;
    story.run(&["model", "--force", "--provider", "custom", "m2"], 2).await;
    assert_eq!(story.config(), "model:\n  provider: groq\n  default: m\n");
    story.end("model_no_address");

    for provider in ["", "  provider: auto\n", "  provider: local\n"] {
        let config = format!("model:\n{provider}  default: m\n  base_url: http://127.0.0.1:9/v1\n");
        let mut story = Story::new(World::new().config(&config));
        story.run(&["model", "--provider", "custom", "m2"], 0).await;
        assert!(story.config().contains("base_url: http://127.0.0.1:9/v1"), "{}", story.config());
    }
}

#[tokio::test]
async fn without_a_terminal_the_choice_names_endpoints_of_the_config_too() {
    let mut story = Story::new(World::new());
    story.run(&["model"], 0).await;
    let world = story.end("model_nothing");
    let config = "providers:\n  lab: {base_url: \"http://127.0.0.1:9/v1\"}\n\
                  custom_providers:\n  - {name: My Box, base_url: \"http://127.0.0.1:9/v1\"}\n";
    let mut story = Story::new(world.config(config));
    let told = story.run(&["model"], 0).await.stdout;
    assert!(told.contains(" custom:lab custom:my-box"), "{told}");
}

#[tokio::test]
async fn an_endpoint_that_does_not_list_leaves_the_choice_to_the_person() {
    let server = ModelServer::start([]).await;
    server.refuse_models(503);
    let world = World::new().env("GROQ_API_KEY", KEY).env("GROQ_BASE_URL", &server.base_url());
    let mut story = Story::new(world).naming(&server.root_url(), "http://server");
    story.run(&["model", "--list", "--provider", "groq"], 0).await;
    story.run(&["model", "--provider", "groq", "brand-new"], 0).await;
    story.run(&["model", "--list", "--provider", "ollama"], 1).await;
    story.run(&["model", "--provider", "mistral"], 0).await;
    assert_eq!(story.config(), "model:\n  provider: mistral\n  default: mistral-large-latest\n");
    story.end("model_offline");
    server.finish();
}

#[tokio::test]
async fn status_says_what_would_be_asked_and_what_is_missing() {
    let mut story = Story::new(World::new());
    story.run(&["status"], 1).await;
    story.run(&["status", "--provider", "anthropic"], 1).await;
    story.end("status_nothing");

    let server = ModelServer::start([]).await;
    let world = World::new()
        .config(
            "model:\n  provider: groq\n  default: openai/gpt-oss-120b\n\
             fallback_providers:\n  - {provider: mistral, model: mistral-large-latest}\n  - {provider: nous, model: x}\n  \
             - {provider: groq}\n\
             auxiliary:\n  compression: {provider: mistral, model: mistral-medium-latest}\n  vision: {provider: nous}\n",
        )
        .dotenv(&format!("GROQ_API_KEY={KEY}\n"))
        .auth(&json!({"version": 1, "credential_pool": {"mistral": [
            {"id": "aaa111", "label": "work", "source": "manual", "auth_type": "api_key", "access_token": "mistral-key-1"}]}}))
        .env("GROQ_BASE_URL", &server.base_url())
        .env("VLLM_BASE_URL", &server.base_url());
    let mut story = Story::new(world).naming(&server.root_url(), "http://server");
    story.run(&["status"], 0).await;
    assert_eq!(server.requests().len(), 0, "status asks nobody");
    story.run(&["status", "--deep"], 0).await;
    let report = story.world.run(HERMES, &["status", "--json"]).await.expect_code(0).stdout;
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["main"]["model"], "openai/gpt-oss-120b");
    assert_eq!((&report["fallbacks"][0]["problem"], &report["local_servers"]), (&Value::Null, &Value::Null));
    assert!(!report.to_string().contains(KEY) && !report.to_string().contains("mistral-key-1"));
    story.end("status_full");
    assert!(server.model_requests().is_empty());
    server.finish();
}

#[tokio::test]
async fn a_local_server_is_enough() {
    let server = ModelServer::start([]).await;
    let world = World::new().env("VLLM_BASE_URL", &server.base_url());
    let mut story = Story::new(world).naming(&server.root_url(), "http://server");
    story.run(&["status", "--deep"], 0).await;
    story.run(&["model", "--provider", "vllm"], 0).await;
    story.run(&["status"], 0).await;
    story.end("status_local");
    server.finish();
}

#[tokio::test]
async fn an_endpoint_without_a_model_is_asked_which_it_has() {
    let server = ModelServer::start([]).await;
    server.list_models(["gpt-4", "gpt-5"].map(model_entry));
    let world = World::new().config(&format!("model:\n  base_url: {}\n", server.base_url()));
    let mut story = Story::new(world).naming(&server.root_url(), "http://server");
    story.run(&["status"], 0).await;
    let report = story.world.run(HERMES, &["status", "--json"]).await.expect_code(0).stdout;
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!((&report["main"]["model"], &report["main"]["is_first_listed"]), (&json!("gpt-4"), &json!(true)));
    story.run(&["status", "--deep"], 0).await;
    server.refuse_models(503);
    story.run(&["status", "--deep"], 1).await;
    story.end("status_endpoint");
    assert!(server.model_requests().is_empty());
    server.finish();
}

#[tokio::test]
async fn fallbacks_are_listed_added_removed_and_cleared() {
    let world = World::new()
        .config("# the plan\nfallback_model: # older\n  provider: openrouter\n  model: z-ai/glm-5.2\nagent:\n  max_turns: 9 # few\n")
        .env("OPENROUTER_API_KEY", KEY);
    let mut story = Story::new(world);
    story.run(&["fallback"], 0).await;
    story.run(&["fallback", "add", "claude", "claude-sonnet-4.6"], 0).await;
    assert_eq!(
        story.config(),
        "# the plan\nagent:\n  max_turns: 9 # few\nfallback_providers:\n- provider: openrouter\n  model: z-ai/glm-5.2\n\
         - provider: anthropic\n  model: claude-sonnet-4-6\n"
    );
    story.run(&["fallback", "add", "anthropic", "claude-sonnet-4-6"], 1).await;
    story.run(&["fallback", "add", "custom", "m"], 2).await;
    story.run(&["fallback", "add", "custom", "m", "--base-url", "http://box:8000/v1"], 0).await;
    story.run(&["fallback", "list"], 0).await;
    story.run(&["fallback", "remove", "or"], 0).await;
    story.run(&["fallback", "remove", "5"], 1).await;
    story.run(&["fallback", "clear"], 0).await;
    story.run(&["fallback", "clear"], 0).await;
    assert_eq!(story.config(), "# the plan\nagent:\n  max_turns: 9 # few\n");
    story.end("fallback");
}
