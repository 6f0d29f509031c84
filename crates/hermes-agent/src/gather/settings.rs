//! What the owner set about the prompt, read once into plain values.

use super::scan::ContextScan;
use hermes_core::prompt::{Enforcement, Guidance, HintOverride};
use serde_json::Value;
use std::collections::BTreeMap;

/// Wins over `agent.environment_hint`.
const HINT_VARIABLE: &str = "HERMES_ENVIRONMENT_HINT";
/// Characters of a context file where the window of the model says nothing else.
const FEWEST: u64 = 20_000;
const MOST: u64 = 500_000;
/// A context file takes at most this part of the window, in percent, at this many characters for a token.
const PART_OF_WINDOW: u64 = 6;
const CHARACTERS_PER_TOKEN: u64 = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSettings {
    pub guidance: Guidance,
    pub environment_hint: Option<String>,
    /// `agent.environment_probe`
    pub describes_machine: bool,
    /// `security.context_scan`
    pub scan: ContextScan,
    /// `context_file_max_chars`
    pub context_file_max_chars: Option<usize>,
}

impl Default for PromptSettings {
    fn default() -> Self {
        Self {
            guidance: Guidance::default(),
            environment_hint: None,
            describes_machine: true,
            scan: ContextScan::default(),
            context_file_max_chars: None,
        }
    }
}

impl PromptSettings {
    /// Reads a whole `config.yaml`. What cannot be read is named and gets its default.
    pub fn read(config: &Value, variable: impl Fn(&str) -> Option<String>) -> (Self, Vec<String>) {
        let mut reading = Reading { config, odd: Vec::new() };
        let hint = reading.text("/agent/environment_hint");
        let settings = Self {
            guidance: Guidance {
                enforcement: reading.enforcement(),
                completion: reading.flag("/agent/task_completion_guidance"),
                parallel: reading.flag("/agent/parallel_tool_call_guidance"),
                platform_hints: reading.platform_hints(),
            },
            environment_hint: variable(HINT_VARIABLE).filter(|text| !text.trim().is_empty()).or(hint),
            describes_machine: reading.flag("/agent/environment_probe"),
            scan: reading.scan(),
            context_file_max_chars: reading.max_chars(),
        };
        (settings, reading.odd)
    }

    /// The most characters of a context file, for a model with this window.
    pub fn context_limit(&self, window: Option<u64>) -> usize {
        self.context_file_max_chars.unwrap_or_else(|| {
            let part =
                window.unwrap_or_default().saturating_mul(CHARACTERS_PER_TOKEN).saturating_mul(PART_OF_WINDOW) / 100;
            usize::try_from(part.clamp(FEWEST, MOST)).unwrap_or(usize::MAX)
        })
    }
}

struct Reading<'c> {
    config: &'c Value,
    odd: Vec<String>,
}

impl<'c> Reading<'c> {
    fn at(&self, place: &str) -> Option<&'c Value> {
        self.config.pointer(place).filter(|value| !value.is_null() && value.as_str() != Some(""))
    }

    fn wrong(&mut self, place: &str, value: &Value, wanted: &str) {
        let key = place.trim_start_matches('/').replace('/', ".");
        self.odd.push(format!("{key}: {value} is not {wanted}; its default is used"));
    }

    fn text(&self, place: &str) -> Option<String> {
        self.at(place).and_then(Value::as_str).map(str::to_owned).filter(|text| !text.trim().is_empty())
    }

    /// All of these are on unless somebody switched them off.
    fn flag(&mut self, place: &str) -> bool {
        let Some(value) = self.at(place) else { return true };
        switch(value).unwrap_or_else(|| {
            self.wrong(place, value, "true or false");
            true
        })
    }

    fn enforcement(&mut self) -> Enforcement {
        let place = "/agent/tool_use_enforcement";
        let Some(value) = self.at(place) else { return Enforcement::Auto };
        match (value, switch(value)) {
            (_, Some(true)) => Enforcement::On,
            (_, Some(false)) => Enforcement::Off,
            (Value::Array(parts), _) if parts.iter().all(Value::is_string) => {
                Enforcement::Models(parts.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            }
            (Value::String(word), _) if word.trim().eq_ignore_ascii_case("auto") => Enforcement::Auto,
            _ => {
                self.wrong(place, value, "auto, true, false or a list of model names");
                Enforcement::Auto
            }
        }
    }

    fn scan(&mut self) -> ContextScan {
        let place = "/security/context_scan";
        let Some(value) = self.at(place) else { return ContextScan::default() };
        let named = value.as_str().and_then(|word| ContextScan::named(&word.trim().to_lowercase()));
        named.unwrap_or_else(|| {
            self.wrong(place, value, "quarantine, block or warn");
            ContextScan::default()
        })
    }

    fn max_chars(&mut self) -> Option<usize> {
        let place = "/context_file_max_chars";
        let value = self.at(place)?;
        let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        let number = number.and_then(|number| usize::try_from(number).ok()).filter(|number| *number > 0);
        if number.is_none() {
            self.wrong(place, value, "a number of characters");
        }
        number
    }

    fn platform_hints(&mut self) -> BTreeMap<String, HintOverride> {
        let Some(Value::Object(hints)) = self.at("/platform_hints") else { return BTreeMap::new() };
        let mut read = BTreeMap::new();
        for (platform, value) in hints {
            let part = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
            let hint = match value {
                Value::String(text) => HintOverride { replace: None, append: Some(text.clone()) },
                Value::Object(_) => HintOverride { replace: part("replace"), append: part("append") },
                Value::Null => continue,
                _ => {
                    self.wrong(&format!("/platform_hints/{platform}"), value, "a text, or `replace` and `append`");
                    continue;
                }
            };
            read.insert(platform.clone(), hint);
        }
        read
    }
}

/// A switch; those about how the agent works also take words for how often.
fn switch(value: &Value) -> Option<bool> {
    let often = |word: &str| match word.trim().to_ascii_lowercase().as_str() {
        "always" => Some(true),
        "never" => Some(false),
        _ => None,
    };
    hermes_types::switch(value).or_else(|| often(value.as_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(config: &Value) -> (PromptSettings, Vec<String>) {
        PromptSettings::read(config, |_| None)
    }

    #[test]
    fn what_is_not_set_has_its_default_and_what_is_wrong_is_named() {
        assert_eq!(read(&Value::Null), (PromptSettings::default(), Vec::new()));
        let (settings, odd) = read(&json!({
            "agent": {"tool_use_enforcement": 5, "task_completion_guidance": "perhaps", "environment_hint": "  "},
            "security": {"context_scan": "ignore"},
            "context_file_max_chars": -1,
            "platform_hints": {"sms": 7, "cli": null},
        }));
        assert_eq!(settings, PromptSettings::default());
        assert_eq!(
            odd,
            [
                "agent.tool_use_enforcement: 5 is not auto, true, false or a list of model names; its default is used",
                "agent.task_completion_guidance: \"perhaps\" is not true or false; its default is used",
                "platform_hints.sms: 7 is not a text, or `replace` and `append`; its default is used",
                "security.context_scan: \"ignore\" is not quarantine, block or warn; its default is used",
                "context_file_max_chars: -1 is not a number of characters; its default is used",
            ]
        );
    }

    #[test]
    fn what_is_set_counts() {
        let config = json!({
            "agent": {"tool_use_enforcement": ["opus"], "parallel_tool_call_guidance": "off", "environment_hint": "file"},
            "security": {"context_scan": "Block"},
            "context_file_max_chars": "300",
            "platform_hints": {"sms": "short", "cli": {"replace": "x"}},
        });
        let (settings, odd) = PromptSettings::read(&config, |name| (name == HINT_VARIABLE).then(|| "variable".into()));
        assert_eq!(odd, Vec::<String>::new());
        assert_eq!(settings.guidance.enforcement, Enforcement::Models(vec!["opus".into()]));
        assert!(!settings.guidance.parallel && settings.guidance.completion);
        assert_eq!(settings.environment_hint.as_deref(), Some("variable"));
        assert_eq!(settings.scan, ContextScan::Block);
        let short = HintOverride { replace: None, append: Some("short".into()) };
        let other = HintOverride { replace: Some("x".into()), append: None };
        assert_eq!(settings.guidance.platform_hints, [("sms".into(), short), ("cli".into(), other)].into());
        assert_eq!(settings.context_limit(Some(1_000_000)), 300, "a number is a number, whatever the window");
    }

    #[test]
    fn the_window_decides_how_much_of_a_file_is_read() {
        let limits = [None, Some(8_192), Some(200_000), Some(1_000_000), Some(u64::MAX)];
        let read = limits.map(|window| PromptSettings::default().context_limit(window));
        assert_eq!(read, [20_000, 20_000, 48_000, 240_000, 500_000]);
    }
}
