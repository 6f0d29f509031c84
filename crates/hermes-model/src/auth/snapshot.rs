//! Everything stored that the resolver may use, at one moment. Plain data: whoever holds it sees no file and no change.

use super::document::Document;
use super::pool::{self, Live};
use super::provider_id::{ANTHROPIC, CODEX, COPILOT, NOUS};
use super::renew::Renewal;
use super::row::{AuthType, Row};
use super::source::Source;
use super::store::{self, AuthStore, Loaded, StoreWarning};
use super::tokens::Pair;
use super::{AuthPaths, Endpoints, files, jwt, nous};
use crate::secret::Secret;
use hermes_types::Object;
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use url::Url;

/// In which order Anthropic's credentials are used when they are found.
const ANTHROPIC_ORDER: [&str; 5] =
    ["env:ANTHROPIC_TOKEN", "env:CLAUDE_CODE_OAUTH_TOKEN", "hermes_pkce", "claude_code", "env:ANTHROPIC_API_KEY"];

/// A login as it is stored.
#[derive(Debug, Clone)]
pub struct Login {
    pub secret: Secret,
    /// `None` when the token names no end.
    pub expires_at: Option<Timestamp>,
    /// `None` when it cannot be renewed.
    pub renewal: Option<Renewal>,
    /// The ChatGPT account of a Codex login.
    pub account_id: Option<String>,
    /// Where the token is used, if the login says so and the host is one that may see it.
    pub base_url: Option<Url>,
}

/// The contents the snapshot is made of.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    pub own: Document,
    /// The root's document, when `own` is that of a profile.
    pub root: Option<Document>,
    /// Claude Code's `.credentials.json`.
    pub claude_code: Option<Object>,
    /// Our own `.anthropic_oauth.json`.
    pub hermes_pkce: Option<Object>,
    /// That file is the root's, when `own` is the document of a profile.
    pub hermes_pkce_is_of_root: bool,
    /// The Codex program's `auth.json`.
    pub codex_cli: Option<Object>,
    /// The GitHub token of GitHub's own program, found by the caller.
    pub github: Option<Secret>,
    pub warnings: Vec<StoreWarning>,
}

#[derive(Debug, Clone, Default)]
pub struct Logins {
    own: Document,
    root: Option<Document>,
    codex: Option<Login>,
    nous: Option<Login>,
    claude_code: Option<Login>,
    hermes_pkce: Option<Login>,
    hermes_pkce_is_of_root: bool,
    github: Option<Secret>,
    warnings: Vec<StoreWarning>,
}

impl Parts {
    /// Everything but the GitHub token, which is not in a file of ours.
    fn read(paths: &AuthPaths) -> Self {
        let store = AuthStore::new(paths);
        let mut warnings = Vec::new();
        Self {
            own: document(&store.path(), &mut warnings),
            root: store.root().map(|root| document(&root.path(), &mut warnings)),
            hermes_pkce: object(Some(&paths.anthropic_file()), &mut warnings),
            hermes_pkce_is_of_root: paths.anthropic_file() != paths.own_anthropic_file(),
            claude_code: object(paths.claude_code.as_deref(), &mut warnings),
            codex_cli: object(paths.codex_cli.as_deref(), &mut warnings),
            github: None,
            warnings,
        }
    }
}

impl Logins {
    /// Reads everything. What cannot be read becomes a warning: a person with a key in the environment can go on.
    pub async fn load(paths: &AuthPaths, endpoints: &Endpoints, github: Option<Secret>) -> Self {
        let paths = paths.clone();
        // One visit to the disk for all of them: every start of the program comes this way.
        let read = files::off_thread(move || Ok(Parts::read(&paths))).await;
        Self::of(Parts { github, ..read.unwrap_or_default() }, endpoints)
    }

    pub fn of(parts: Parts, endpoints: &Endpoints) -> Self {
        let mut logins = Self {
            own: parts.own,
            root: parts.root,
            hermes_pkce_is_of_root: parts.hermes_pkce_is_of_root,
            github: parts.github,
            warnings: parts.warnings,
            ..Self::default()
        };
        let codex_cli = parts.codex_cli.map(|file| Pair { refresh: None, ..Pair::of_state(CODEX, &file) });
        let stored = logins.state(CODEX).map(|state| Pair::of_state(CODEX, state));
        logins.codex = stored
            .and_then(|pair| Login::of(&pair, Some(Renewal::Codex)))
            // A borrowed token is renewed by looking into the file again.
            .or_else(|| Some(Login { renewal: Some(Renewal::Codex), ..Login::of(&codex_cli?, None)? }));
        logins.nous = logins.state(NOUS).and_then(|state| {
            let base_url = nous::inference_url(state.get("inference_base_url").and_then(|url| url.as_str()), endpoints);
            let login = Login::of(&Pair::of_state(NOUS, state), Some(Renewal::Nous))?;
            Some(Login { base_url: Some(base_url), ..login })
        });
        let claude_code = parts.claude_code.map(|file| Pair::of_claude_code(&file));
        logins.claude_code = claude_code.and_then(|pair| Login::of(&pair, Some(Renewal::ClaudeCode)));
        let hermes_pkce = parts.hermes_pkce.map(|file| Pair::of_hermes_pkce(&file));
        logins.hermes_pkce = hermes_pkce.and_then(|pair| Login::of(&pair, Some(Renewal::HermesPkce)));
        logins
    }

    pub fn active_provider(&self) -> Option<&str> {
        self.own.active_provider().or_else(|| self.root.as_ref()?.active_provider())
    }

    /// Every provider something is stored for, each once.
    pub fn providers(&self) -> BTreeSet<String> {
        let documents = std::iter::once(&self.own).chain(&self.root);
        let pools = documents.flat_map(|document| document.pools().map(str::to_owned).collect::<Vec<_>>());
        pools.chain([ANTHROPIC, CODEX, COPILOT, NOUS].map(str::to_owned)).collect()
    }

    /// The stored state of a provider: the profile's, else the root's.
    pub fn state(&self, provider: &str) -> Option<&Object> {
        self.own.state(provider).or_else(|| self.root.as_ref()?.state(provider))
    }

    /// The stored rows of a provider's pool, as they are on disk.
    pub fn rows(&self, provider: &str) -> Vec<Row> {
        let rows = self.own.rows(provider);
        match &self.root {
            Some(root) if rows.is_empty() => root.rows(provider),
            _ => rows,
        }
    }

    /// The whole pool of a provider: stored rows, our logins, and what the caller found in environment and settings.
    /// Claude Code's login is among them; whether the person wants it used is for the resolver to decide.
    pub fn pool(&self, provider: &str, found: Vec<Live>) -> Vec<Row> {
        let mut live = found;
        let key_variable = Source::Env("ANTHROPIC_API_KEY".into());
        let has_key = live.iter().any(|one| one.source == key_variable);
        let has_token = live.iter().any(|one| one.source != key_variable && one.auth_type == AuthType::OAuth);
        // A key without any token beside it is a choice against logins.
        if !(provider == ANTHROPIC && has_key && !has_token) {
            live.extend(self.own_logins(provider));
        }
        if provider == ANTHROPIC {
            live.sort_by_key(|one| ANTHROPIC_ORDER.iter().position(|source| *source == one.source.to_string()));
        }
        pool::seeded(self.rows(provider), live, &self.suppressed(provider))
    }

    /// Whether a row of a profile's pool is kept by the root, where the default profile uses it too. What is borrowed
    /// from elsewhere belongs to neither.
    pub fn is_inherited(&self, provider: &str, row: &Row) -> bool {
        let Some(root) = &self.root else { return false };
        let source = row.source();
        let has_row = |document: &Document| document.rows(provider).iter().any(|known| known.id() == row.id());
        match source {
            Source::HermesPkce => self.hermes_pkce_is_of_root,
            Source::DeviceCode if self.own.state(provider).is_some() => false,
            Source::DeviceCode if root.state(provider).is_some() => true,
            _ => source.is_stored(provider) && !has_row(&self.own) && has_row(root),
        }
    }

    fn own_logins(&self, provider: &str) -> Vec<Live> {
        let list: &[(Source, &Option<Login>)] = match provider {
            ANTHROPIC => &[(Source::HermesPkce, &self.hermes_pkce), (Source::ClaudeCode, &self.claude_code)],
            CODEX => &[(Source::DeviceCode, &self.codex)],
            NOUS => &[(Source::DeviceCode, &self.nous)],
            COPILOT => {
                let github = self.github.iter().cloned();
                return github.map(|secret| live(Source::GhCli, AuthType::OAuth, secret, None, None)).collect();
            }
            _ => &[],
        };
        list.iter()
            .filter_map(|(source, login)| Some((source.clone(), login.as_ref()?)))
            .map(|(source, login)| {
                let base_url = login.base_url.as_ref().map(|url| url.as_str().trim_end_matches('/').to_owned());
                live(source, AuthType::OAuth, login.secret.clone(), base_url, login.expires_at)
            })
            .collect()
    }

    /// Sources the person took out of a pool.
    fn suppressed(&self, provider: &str) -> Vec<String> {
        let mut sources = self.own.suppressed(provider);
        sources.extend(self.root.iter().flat_map(|root| root.suppressed(provider)));
        sources
    }

    /// Our Codex login, else that of the Codex program.
    pub fn codex(&self) -> Option<&Login> {
        self.codex.as_ref()
    }

    /// How a row of a pool is renewed, if it can be. A login without a refresh token cannot.
    pub fn renewal(&self, provider: &str, row: &Row) -> Option<Renewal> {
        let kept_in_a_file = match (provider, row.source()) {
            (ANTHROPIC, Source::ClaudeCode) => &self.claude_code,
            (ANTHROPIC, Source::HermesPkce) => &self.hermes_pkce,
            _ => &None,
        };
        match kept_in_a_file {
            Some(login) => login.renewal.clone(),
            None => Renewal::of_row(provider, row),
        }
    }

    /// What a person should know about their files.
    pub fn warnings(&self) -> &[StoreWarning] {
        &self.warnings
    }
}

impl Login {
    fn of(pair: &Pair, renewal: Option<Renewal>) -> Option<Self> {
        let claims = pair.access.as_deref().and_then(jwt::Claims::of);
        Some(Self {
            secret: pair.secret()?,
            expires_at: pair.expires_at,
            renewal: renewal.filter(|_| pair.refresh.is_some()),
            account_id: claims.as_ref().and_then(jwt::Claims::chatgpt_account_id).map(str::to_owned),
            base_url: None,
        })
    }
}

fn live(
    source: Source,
    auth_type: AuthType,
    secret: Secret,
    base_url: Option<String>,
    expires_at: Option<Timestamp>,
) -> Live {
    Live { label: source.to_string(), source, auth_type, secret, base_url, expires_at }
}

fn document(path: &Path, warnings: &mut Vec<StoreWarning>) -> Document {
    match store::read(path) {
        Ok(Loaded { document, warning }) => {
            warnings.extend(warning);
            document
        }
        Err(error) => {
            warnings.push(unreadable(path, &error));
            Document::default()
        }
    }
}

fn object(path: Option<&Path>, warnings: &mut Vec<StoreWarning>) -> Option<Object> {
    match files::read_object(path?) {
        Ok(object) => object,
        Err(error) => {
            warnings.push(unreadable(path?, &error));
            None
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> StoreWarning {
    StoreWarning::Unreadable { path: path.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::rehearsal::START;
    use super::*;
    use serde_json::{Value, json};

    fn document(value: &Value) -> Document {
        Document::parse(value.to_string().as_bytes()).expect("an object")
    }

    #[test]
    fn a_profile_sees_the_roots_logins_where_it_has_none() {
        let token =
            jwt::token(&json!({"exp": START + 60, "https://api.openai.com/auth": {"chatgpt_account_id": "acc"}}));
        let parts = Parts {
            own: document(
                &json!({"active_provider": "groq", "credential_pool": {"groq": [{"id": "own", "access_token": "gsk-own"}]}}),
            ),
            root: Some(document(&json!({"active_provider": "nous",
                "providers": {"openai-codex": {"tokens": {"access_token": token, "refresh_token": "r"}}},
                "credential_pool": {"groq": [{"id": "root"}], "xai": [{"id": "x", "access_token": "xai-key"}]}}))),
            ..Parts::default()
        };
        let logins = Logins::of(parts, &Endpoints::default());
        let ids = |provider: &str| logins.rows(provider).iter().map(|row| row.id().to_owned()).collect::<Vec<_>>();
        assert_eq!((ids("groq"), ids("xai")), (vec!["own".to_owned()], vec!["x".to_owned()]));
        assert_eq!(logins.active_provider(), Some("groq"));
        let names: Vec<String> = logins.providers().into_iter().collect();
        assert_eq!(names, ["anthropic", "copilot", "groq", "nous", "openai-codex", "xai"]);
        let codex = logins.codex().expect("borrowed from the root");
        assert_eq!((codex.account_id.as_deref(), &codex.renewal), (Some("acc"), &Some(Renewal::Codex)));
        assert_eq!(codex.expires_at.map(Timestamp::as_second), Some(START + 60));
    }

    #[test]
    fn the_codex_programs_login_fills_a_gap_only() {
        let cli = json!({"tokens": {"access_token": "cli-token", "refresh_token": "r"}}).as_object().cloned();
        let ours = document(&json!({"providers": {"openai-codex": {"tokens": {"access_token": "our-token"}}}}));
        let with = |own: Document| {
            let logins = Logins::of(Parts { own, codex_cli: cli.clone(), ..Parts::default() }, &Endpoints::default());
            logins.codex().map(|login| (login.secret.has_prefix("our"), login.renewal.clone()))
        };
        assert_eq!(with(ours), Some((true, None)));
        assert_eq!(with(Document::default()), Some((false, Some(Renewal::Codex))));
    }

    #[tokio::test]
    async fn broken_files_become_warnings_and_secrets_stay_out_of_sight() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("claude.json"), "{\"claudeAiOauth\": {\"accessToken\": \"sk-ant-oat-x")
            .expect("written");
        std::fs::write(
            folder.path().join("auth.json"),
            json!({"providers": {"nous": {"access_token": "nous-token-1", "refresh_token": "r-secret"}},
            "credential_pool": {"groq": [{"id": "1", "access_token": "gsk-one"}]}})
            .to_string(),
        )
        .expect("written");
        let claude = folder.path().join("claude.json");
        let paths = AuthPaths { claude_code: Some(claude.clone()), ..AuthPaths::root(folder.path()) };
        let logins = Logins::load(&paths, &Endpoints::default(), Secret::usable("gho_secret")).await;
        let warning = StoreWarning::Unreadable { path: claude, reason: "not a JSON object".into() };
        assert_eq!(logins.warnings(), [warning]);
        let shown = format!("{logins:?} {:?}", logins.pool("groq", Vec::new()));
        for secret in ["nous-token-1", "r-secret", "gsk-one", "gho_secret", "sk-ant-oat-x"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }

    #[test]
    fn a_borrowed_login_without_a_refresh_token_cannot_be_renewed() {
        let renewal = |record: Value| {
            let claude_code = json!({"claudeAiOauth": record}).as_object().cloned();
            let logins = Logins::of(Parts { claude_code, ..Parts::default() }, &Endpoints::default());
            let rows = logins.pool(ANTHROPIC, Vec::new());
            logins.renewal(ANTHROPIC, &rows[0])
        };
        assert_eq!(renewal(json!({"accessToken": "sk-ant-oat-x"})), None);
        let whole = json!({"accessToken": "sk-ant-oat-x", "refreshToken": "r"});
        assert_eq!(renewal(whole), Some(Renewal::ClaudeCode));
    }

    #[test]
    fn an_anthropic_key_alone_keeps_logins_out_of_the_pool() {
        let hermes_pkce = json!({"accessToken": "sk-ant-oat-own"}).as_object().cloned();
        let logins = Logins::of(Parts { hermes_pkce, ..Parts::default() }, &Endpoints::default());
        let variable = |name: &str, kind, text: &str| {
            live(Source::Env(name.into()), kind, Secret::usable(text).expect("usable"), None, None)
        };
        let key = || variable("ANTHROPIC_API_KEY", AuthType::ApiKey, "sk-ant-api-1");
        let token = variable("ANTHROPIC_TOKEN", AuthType::OAuth, "sk-ant-oat-2");
        let sources =
            |found| logins.pool(ANTHROPIC, found).iter().map(|row| row.source().to_string()).collect::<Vec<_>>();
        assert_eq!(sources(vec![key()]), ["env:ANTHROPIC_API_KEY"]);
        assert_eq!(sources(vec![token, key()]), ["env:ANTHROPIC_TOKEN", "hermes_pkce", "env:ANTHROPIC_API_KEY"]);
        assert_eq!(sources(vec![]), ["hermes_pkce"]);
    }
}
