//! Keys stay with their origins, whatever the person, the environment or an attacker writes into an endpoint.

use super::*;
use crate::provider::{Provider, table::PROVIDERS};
use crate::secret::{Origin, host_matches};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

/// Hosts an attacker would register or a person would mistype.
const HOSTILE: [&str; 12] = [
    "https://evil.test/v1",
    "http://evil.test/v1",
    "https://api.openai.com.evil.test/v1",
    "https://evilopenrouter.ai/api/v1",
    "https://openrouter.ai.evil.test/api/v1",
    "https://api.deepseek.xyz/v1",
    "https://anthropic.co/anthropic",
    "https://evil.test/api.anthropic.com/anthropic",
    "http://openrouter.ai/api/v1",
    "http://api.openai.com/v1",
    "http://169.254.169.254/v1",
    "http://127.0.0.1:9/v1",
];

/// Every variable that holds a key, with a value that names it.
fn all_keys() -> Vec<(String, String)> {
    let variables = PROVIDERS.iter().flat_map(|row| row.key_env.iter());
    variables.map(|name| ((*name).to_owned(), format!("key-of-{name}"))).collect()
}

/// The rows a variable belongs to.
fn owners(variable: &str) -> impl Iterator<Item = &'static Provider> {
    PROVIDERS.iter().filter(move |row| row.key_env.contains(&variable))
}

/// Whether the vendor of `variable` lives at `url`.
fn lives_at(variable: &str, url: &Url) -> bool {
    owners(variable).any(|row| endpoint::is_home(row, url))
}

/// A login of every vendor that has one, with a token that names it.
fn all_logins() -> Vec<StoredCredential> {
    let login_of = |id: &&str| login(id, "device_code", &format!("login-of-{id}"), None);
    ["openrouter", "nous", "openai-codex", "anthropic", "copilot", "deepseek"].iter().map(login_of).collect()
}

/// Whether the secret named in `shown` belongs at `url`.
fn belongs_at(shown: &str, url: &Url) -> bool {
    match (shown.strip_prefix("key-of-"), shown.strip_prefix("login-of-")) {
        (Some(variable), _) => lives_at(variable, url),
        (_, Some(id)) => Provider::find(id).is_some_and(|row| endpoint::is_home(row, url)),
        _ => false,
    }
}

/// The key an endpoint would see, opened at the runtime's own endpoint and refused everywhere else.
fn shown_key(runtime: &Runtime) -> Option<String> {
    let bound = runtime.credential.secret.as_ref()?;
    let everywhere = HOSTILE.map(|text| Url::parse(text).expect(text));
    for elsewhere in everywhere.iter().filter(|url| Origin::of(url) != Origin::of(&runtime.base_url)) {
        assert!(bound.for_url(elsewhere).is_err(), "{} is open to {elsewhere}", runtime.name);
    }
    Some(bound.for_url(&runtime.base_url).expect("bound to its endpoint").to_owned())
}

proptest! {
    /// P7: a hostile endpoint that nobody paired with the vendor sees no vendor's key, whoever named it and however.
    #[test]
    fn no_vendor_key_reaches_a_stranger(
        chosen in proptest::sample::subsequence(all_keys(), 0..=all_keys().len()),
        hostile in select(&HOSTILE[..]),
        place in 0..5_usize,
        provider in select(vec!["", "custom", "openai", "openrouter", "deepseek", "anthropic", "ollama", "lmstudio", "my-proxy"]),
    ) {
        let mut settings = json!({
            "model": {"default": "m"},
            "auxiliary": {"mcp": {"base_url": hostile}},
        });
        let mut variables = chosen;
        let mut asked = Ask { model: Some("m".into()), ..Ask::default() };
        match place {
            // An endpoint without a provider, in the request or in the config.
            0 => asked.base_url = Some(hostile.into()),
            1 => settings["model"]["base_url"] = json!(hostile),
            // An endpoint of somebody else's choice: another provider's, or the custom one's.
            2 => {
                settings["model"] = json!({"provider": "custom", "base_url": hostile, "default": "m"});
                asked.provider = Some(provider.to_owned());
            }
            3 => {
                variables.push(("CUSTOM_BASE_URL".into(), hostile.into()));
                asked.provider = Some(if provider.is_empty() { "custom" } else { provider }.to_owned());
            }
            // An endpoint of the config, without a key.
            _ => {
                settings["providers"] = json!({"my-proxy": {"base_url": hostile}});
                asked.provider = Some("my-proxy".into());
            }
        }
        let (config, _) = ModelConfig::parse(&settings);
        let env = Env::new([], variables);
        let stored = Stored { rows: all_logins(), ..Stored::default() };
        let known = Known { config: &config, env: &env, stored: &stored, almanac: Almanac::blank() };
        let Ok(main) = resolve(&asked, &known) else { return Ok(()) };
        let side_jobs = ["compression", "vision", "mcp"].into_iter().flat_map(|task| route(task, &main, &known));
        for runtime in side_jobs.filter_map(|place| place.runtime.ok()).chain([main.clone()]) {
            if let Some(key) = shown_key(&runtime) {
                prop_assert!(belongs_at(&key, &runtime.base_url), "{key} was shown to {}", runtime.base_url);
            }
        }
    }

    /// A pairing by the person opens exactly that origin to exactly that vendor's keys and logins, and to no Claude
    /// subscription unless it is on this machine.
    #[test]
    fn a_pairing_opens_one_origin_to_one_vendor(
        row in select(PROVIDERS.iter().filter(|row| !row.key_env.is_empty()).collect::<Vec<_>>()),
        proxy in select(vec![
            "https://proxy.corp/anthropic",
            "https://api.z.ai/api/anthropic",
            "http://10.0.0.7:4000/anthropic",
            "http://127.0.0.1:4000/anthropic",
        ]),
        by_variable in any::<bool>(),
        keys in any::<bool>(),
    ) {
        prop_assume!(!by_variable || !row.base_env.is_empty());
        let url = Url::parse(proxy).expect("a URL");
        // Another vendor's home in the settings is taken for a leftover; in the variable it is meant.
        prop_assume!(by_variable || !proxy.contains("z.ai"));
        prop_assume!(!endpoint::is_home(row, &url));
        let mut variables = if keys { all_keys() } else { Vec::new() };
        let settings = if by_variable {
            variables.push((row.base_env[0].to_owned(), proxy.to_owned()));
            json!({"model": {"provider": row.id, "default": "m"}})
        } else {
            json!({"model": {"provider": row.id, "base_url": proxy, "default": "m"}})
        };
        let (config, _) = ModelConfig::parse(&settings);
        let env = Env::new([], variables);
        let stored = Stored { rows: vec![login(row.id, "device_code", &format!("login-of-{}", row.id), None)], ..Stored::default() };
        let outcome = resolve(&Ask::default(), &Known { config: &config, env: &env, stored: &stored, almanac: Almanac::blank() });
        if row.id == "anthropic" && !keys && !endpoint::is_loopback(&url) {
            prop_assert_eq!(outcome.err().map(|error| error.code()), Some("missing_api_key"));
            return Ok(());
        }
        let runtime = outcome.expect(row.id);
        prop_assert_eq!(Origin::of(&runtime.base_url), Origin::of(&url));
        if let Some(key) = shown_key(&runtime) {
            let own = match key.strip_prefix("key-of-") {
                Some(variable) => row.key_env.contains(&variable),
                None => key == format!("login-of-{}", row.id),
            };
            prop_assert!(own, "{} sent {key}", row.id);
        }
    }
}

/// The token of a Claude subscription stays with Anthropic, wherever it was found.
#[test]
fn a_subscription_is_not_shown_to_a_paired_stranger() {
    let stranger = ("ANTHROPIC_BASE_URL", "https://api.z.ai/api/anthropic");
    let code = |machine: &Machine| {
        machine.resolve(&ask("anthropic", "m")).map(|runtime| key_of(&runtime)).map_err(|error| error.code())
    };
    let stored = |variables: &[(&str, &str)]| {
        let token = login("anthropic", "claude_code", "sk-ant-oat-file", Some(Renewal::ClaudeCode));
        Machine::with(&json!({}), variables).login(token)
    };
    assert_eq!(code(&stored(&[stranger])), Err("missing_api_key"));
    for variable in ["ANTHROPIC_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"] {
        let machine = Machine::with(&json!({}), &[stranger, (variable, "sk-ant-oat-copied")]);
        assert_eq!(code(&machine), Err("missing_api_key"), "{variable}");
    }
    let own_key = stored(&[stranger, ("ANTHROPIC_API_KEY", "key-for-zai")]);
    assert_eq!(code(&own_key), Ok(Some("key-for-zai".into())));
    let at_home = stored(&[("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/anthropic")]);
    assert_eq!(code(&at_home), Ok(Some("sk-ant-oat-file".into())));
}

#[test]
fn the_host_names_a_variable_only_where_it_owns_it() {
    let table = [
        ("https://api.sambanova.ai/v1", Some("SAMBANOVA_API_KEY")),
        ("https://my-vendor.com/v1", Some("MY_VENDOR_API_KEY")),
        ("http://api.sambanova.ai/v1", None),
        ("https://api.deepseek.xyz/v1", None),
        ("https://api.openai.org/v1", None),
        ("https://10.0.0.1/v1", None),
        ("https://localhost/v1", None),
    ];
    for (endpoint, variable) in table {
        let names = ["SAMBANOVA", "MY_VENDOR", "DEEPSEEK", "OPENAI", "0", "LOCALHOST"];
        let variables: Vec<(String, String)> =
            names.iter().map(|name| (format!("{name}_API_KEY"), format!("key-of-{name}"))).collect();
        let (config, _) = ModelConfig::parse(&json!({}));
        let (env, stored) = (Env::new([], variables), Stored::default());
        let asked = Ask { base_url: Some(endpoint.into()), ..ask("custom", "m") };
        let runtime =
            resolve(&asked, &Known { config: &config, env: &env, stored: &stored, almanac: Almanac::blank() })
                .expect(endpoint);
        let expected = variable.map_or("none".to_owned(), |name| format!("env:{name}"));
        assert_eq!(runtime.credential.source.to_string(), expected, "{endpoint}");
    }
}

#[test]
fn configured_headers_and_keys_go_to_their_endpoint_only() {
    let settings = json!({"providers": {"p": {
        "base_url": "https://p.test/v1", "api_key": "p-key-1", "model": "m", "extra_headers": {"X-Tenant": "1"},
    }}});
    let machine = Machine::with(&settings, &[]);
    let at_home = machine.resolve(&ask("p", "")).expect("resolves");
    let endpoint = crate::voice::Endpoint::of(&at_home);
    let (name, value) = &endpoint.headers[0];
    assert_eq!((name.as_str(), value.for_url(&at_home.base_url)), ("X-Tenant", Ok("1")));
    assert!(value.for_url(&Url::parse("https://evil.test").expect("a URL")).is_err());
    assert_eq!(key_of(&at_home).as_deref(), Some("p-key-1"));

    let moved = Ask { base_url: Some("https://evil.test/v1".into()), ..ask("p", "") };
    let moved = machine.resolve(&moved).expect("resolves");
    assert_eq!((key_of(&moved), moved.headers), (None, Vec::new()));
}

#[test]
fn a_stored_key_of_an_endpoint_stays_at_that_endpoint() {
    let settings = json!({"providers": {"p": {"base_url": "https://p.test/v1", "model": "m"}}});
    let machine = Machine::with(&settings, &[]).login(login("custom:p", "manual", "stored-p", None));
    let key_at = |base_url: Option<&str>| {
        let asked = Ask { base_url: base_url.map(str::to_owned), ..ask("p", "") };
        key_of(&machine.resolve(&asked).expect("resolves"))
    };
    assert_eq!(key_at(None).as_deref(), Some("stored-p"));
    assert_eq!(key_at(Some("https://evil.test/v1")), None);
}

#[test]
fn printing_a_runtime_shows_no_secret() {
    let settings = json!({
        "model": {"api_key": "hidden-config-key", "provider": "custom", "base_url": "https://p.test/v1", "default": "m",
                  "extra_headers": {"X-Token": "hidden-header"}},
        "providers": {"q": {"base_url": "https://q.test", "api_key": "hidden-entry-key"}},
    });
    let machine = Machine::with(&settings, &[("OPENROUTER_API_KEY", "hidden-env-key")]).login(login(
        "nous",
        "device_code",
        "hidden-login",
        None,
    ));
    let asked = Ask { api_key: Some(secret("hidden-explicit")), ..Ask::default() };
    let runtime = machine.resolve(&Ask::default()).expect("resolves");
    for printed in [format!("{runtime:?}"), format!("{:?}", machine.known()), format!("{asked:?}")] {
        assert!(!printed.contains("hidden"), "{printed}");
    }
}

#[test]
fn rotating_is_resolving_again() {
    let machine = Machine::with(&json!({}), &[("OPENROUTER_API_KEY", "sk-or-1")])
        .login(StoredCredential { login: Login::ApiKey, ..login("openrouter", "manual", "sk-or-2", None) });
    let listed = candidates(&ask("openrouter", ""), &machine.known()).expect("listed");
    let ids: Vec<&str> = listed.iter().map(|credential| credential.id.as_str()).collect();
    assert_eq!(ids, ["env:OPENROUTER_API_KEY", "openrouter-manual"]);

    let avoiding =
        |ids: &[&str]| Ask { avoid: ids.iter().map(|id| (*id).to_owned()).collect(), ..ask("openrouter", "") };
    let key = |asked: &Ask| machine.resolve(asked).map(|runtime| key_of(&runtime));
    assert_eq!(key(&avoiding(&[])), Ok(Some("sk-or-1".into())));
    assert_eq!(key(&avoiding(&["env:OPENROUTER_API_KEY"])), Ok(Some("sk-or-2".into())));
    assert_eq!(key(&avoiding(&ids)).map_err(|error| error.code()), Err("credentials_exhausted"));
}

/// A key that rests is there: the person hears that it rests, not that it is missing.
#[test]
fn a_resting_key_is_not_a_missing_one() {
    let rests_until = Some(jiff::Timestamp::MAX);
    let resting = StoredCredential { rests_until, ..login("deepseek", "manual", "ds-key-1", None) };
    let mut machine = Machine::with(&json!({}), &[]).login(resting);
    machine.stored.active_provider = Some("deepseek".into());
    let code = |asked: &Ask| machine.resolve(asked).map(|runtime| runtime.name).map_err(|error| error.code());
    assert_eq!(code(&ask("deepseek", "")), Err("credentials_exhausted"));
    assert_eq!(code(&Ask::default()), Err("credentials_exhausted"), "the person is still logged in");
    let rested = Ask { rested: ["deepseek-manual".to_owned()].into(), ..ask("deepseek", "") };
    assert_eq!(code(&rested), Ok("deepseek".to_owned()));
}

/// A token for GitHub at large buys Copilot sessions, behind logins made for Copilot; it is never shown itself.
#[test]
fn github_tokens_are_exchanged_and_stand_behind_stored_logins() {
    let variables =
        [("COPILOT_GITHUB_TOKEN", "gho_meant"), ("GH_TOKEN", "gho_general"), ("GITHUB_TOKEN", "github_pat_1")];
    let stored = StoredCredential { login: Login::ApiKey, ..login("copilot", "manual", "gho_stored", None) };
    let machine = Machine::with(&json!({}), &variables).login(stored);
    let listed = candidates(&ask("copilot", "gpt-4.1"), &machine.known()).expect("listed");
    let brief: Vec<_> = listed.iter().map(|one| (one.id.as_str(), one.renewal.is_some())).collect();
    let expected = [
        ("env:COPILOT_GITHUB_TOKEN", true),
        ("copilot-manual", false),
        ("env:GH_TOKEN", true),
        ("env:GITHUB_TOKEN", true),
    ];
    assert_eq!(brief, expected);
}

#[test]
fn a_login_says_where_it_is_served_but_only_among_its_own() {
    let served = |url: &str| StoredCredential {
        base_url: Some(Url::parse(url).expect(url)),
        ..login("copilot", "gh_cli", "gho_token", None)
    };
    let host = |url: &str| {
        let machine = Machine::with(&json!({}), &[]).login(served(url));
        let runtime = machine.resolve(&ask("copilot", "gpt-4.1")).expect("resolves");
        assert!(host_matches(&runtime.base_url, "githubcopilot.com"));
        runtime.base_url.host_str().map(str::to_owned)
    };
    assert_eq!(host("https://api.business.githubcopilot.com").as_deref(), Some("api.business.githubcopilot.com"));
    assert_eq!(host("https://evil.test").as_deref(), Some("api.githubcopilot.com"));
}
