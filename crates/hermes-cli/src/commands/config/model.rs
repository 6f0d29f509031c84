//! What the settings say about the model, held against what the model side makes of it.

use crate::settings::Environment;
use hermes_model::provider::almanac::Almanac;
use hermes_model::resolve::{self, Ask, Known, ModelConfig, ResolveError, Stored};
use serde_json::Value;
use std::fmt;

/// A setting that is left out, or that keeps the chosen model from being asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) key: String,
    pub(super) message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.key, self.message)
    }
}

/// Everything that is wrong with the choice of the model. A missing key or login is not: those are no settings.
pub(super) fn faults(settings: &Value, environment: &Environment) -> Vec<Fault> {
    let (config, warnings) = ModelConfig::parse(settings);
    let mut faults: Vec<Fault> =
        warnings.into_iter().map(|warning| Fault { key: warning.key, message: warning.message }).collect();
    let (env, stored) = (environment.for_resolver(), Stored::default());
    let known = Known { config: &config, env: &env, stored: &stored, almanac: Almanac::blank() };
    faults.extend(resolve::resolve(&Ask::default(), &known).err().and_then(of_choice));
    for entry in &config.entries {
        let ask = Ask { provider: Some(entry.key.clone()), model: Some("any".into()), ..Ask::default() };
        let fault =
            resolve::resolve(&ask, &known).err().filter(|error| matches!(error, ResolveError::BadBaseUrl { .. }));
        faults.extend(fault.and_then(of_choice).filter(|fault| !faults.contains(fault)));
    }
    faults
}

/// The setting that stands in the way, if one does.
fn of_choice(error: ResolveError) -> Option<Fault> {
    let message = error.to_string();
    match error {
        ResolveError::UnknownProvider { .. } | ResolveError::Disabled { .. } => {
            Some(Fault { key: "model.provider".into(), message })
        }
        ResolveError::MissingBaseUrl { setting, .. } => Some(Fault { key: setting, message }),
        ResolveError::BadBaseUrl { from, reason } => {
            Some(Fault { key: from, message: format!("not a usable endpoint: {reason}") })
        }
        _ => None,
    }
}
