//! The resolver as a whole: what the person has on the left, what comes out on the right.

mod auxiliary;
mod golden;
mod keys;
mod settings;

use super::*;
use crate::auth::Renewal;
use serde_json::Value;

/// One machine: its settings, variables and logins.
#[derive(Default)]
pub(super) struct Machine {
    config: ModelConfig,
    env: Env,
    stored: Stored,
}

impl Machine {
    pub(super) fn with(settings: &Value, variables: &[(&str, &str)]) -> Self {
        let (config, _) = ModelConfig::parse(settings);
        Self { config, env: env(&[], variables), stored: Stored::default() }
    }

    pub(super) fn login(mut self, row: StoredCredential) -> Self {
        self.stored.rows.push(row);
        self
    }

    pub(super) fn known(&self) -> Known<'_> {
        Known { config: &self.config, env: &self.env, stored: &self.stored, almanac: Almanac::blank() }
    }

    pub(super) fn resolve(&self, ask: &Ask) -> Result<Runtime, ResolveError> {
        resolve(ask, &self.known())
    }
}

pub(super) fn env(dotenv: &[(&str, &str)], process: &[(&str, &str)]) -> Env {
    let owned = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    Env::new(owned(dotenv), owned(process))
}

pub(super) fn ask(provider: &str, model: &str) -> Ask {
    let word = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Ask { provider: word(provider), model: word(model), ..Ask::default() }
}

pub(super) fn secret(text: &str) -> Secret {
    Secret::usable(text).expect("a usable secret")
}

/// A stored subscription login.
pub(super) fn login(provider: &str, source: &str, token: &str, renewal: Option<Renewal>) -> StoredCredential {
    StoredCredential {
        id: format!("{provider}-{source}"),
        provider: provider.to_owned(),
        login: Login::OAuth,
        secret: secret(token),
        source: source.to_owned(),
        expires_at: Some(2_000_000_000),
        base_url: None,
        renewal,
        account: None,
        rests_until: None,
    }
}

/// The key as the endpoint would see it.
pub(super) fn key_of(runtime: &Runtime) -> Option<String> {
    let secret = runtime.credential.secret.as_ref()?;
    Some(secret.for_url(&runtime.base_url).expect("the key is bound to its endpoint").to_owned())
}
