//! The environment that children see.

use super::TerminalSettings;
use crate::settings::Surroundings;
use std::collections::BTreeMap;

/// Everything but what belongs to Hermes.
pub fn variables(around: &Surroundings, _settings: &TerminalSettings) -> BTreeMap<String, String> {
    let public = around.variables.iter().filter(|(name, _)| !around.private_variables.contains(*name));
    public.map(|(name, value)| (name.clone(), value.clone())).collect()
}
