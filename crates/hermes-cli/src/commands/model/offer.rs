//! The models a provider offers: its own list when it answers, else the one built in.

use super::super::access::Who;
use super::super::waiting::watch;
use super::super::{Console, Trouble};
use crate::app::App;
use hermes_model::catalog::{self, ModelInfo};
use hermes_model::provider::names::bare;
use hermes_model::provider::table::PROVIDERS;
use hermes_model::resolve::Ask;
use hermes_types::Fault;
use url::Url;

/// How alike a name must be to be suggested.
const LIKENESS: f64 = 0.75;
const SUGGESTIONS: usize = 3;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Offer {
    /// What we know to be good first, then the provider's own order.
    pub(super) models: Vec<ModelInfo>,
    /// Models that count without being listed: curated ones, and those the config declares.
    vouched: Vec<String>,
    /// Why the provider's own list is not in here.
    pub(super) problem: Option<String>,
}

impl Offer {
    /// Asks the provider, within the limit of the catalogue. An interruption is the only failure.
    pub(super) async fn of(
        app: &App,
        who: &Who,
        base_url: Option<&Url>,
        console: &mut Console<'_>,
    ) -> Result<Self, Trouble> {
        let vouched = vouched(app, who);
        // Any name will do: only the address and the key count here.
        let ask = who.ask(vouched.first().map_or("any", String::as_str), base_url, &app.knowledge.config);
        let asked = watch(console, |_| format!("asking {} for its models", who.label), listed(app, ask)).await;
        console.settle(app).await;
        Ok(match asked? {
            Ok(live) if !live.is_empty() => Self { models: ordered(live, &vouched), vouched, problem: None },
            Ok(_) => Self::built_in(who, vouched, "it lists no models".into()),
            Err(fault) => Self::built_in(who, vouched, fault.message),
        })
    }

    /// What we know ourselves. A server at home has what was installed there, which nobody else knows.
    fn built_in(who: &Who, vouched: Vec<String>, problem: String) -> Self {
        let known = vouched.iter().filter(|_| !who.row.is_self_hosted() || who.name != who.row.id);
        let models = known.map(|id| ModelInfo::named(id)).collect();
        Self { models, vouched, problem: Some(problem) }
    }

    /// What a person should know about where the list is from.
    pub(super) fn notice(&self, who: &Who) -> Option<String> {
        let problem = self.problem.as_deref()?;
        let instead =
            if self.models.is_empty() { "" } else { " These are the models known here; there may be others." };
        Some(format!("{} could not be asked for its models ({problem}).{instead}", who.label))
    }

    pub(super) fn knows(&self, model: &str) -> bool {
        self.vouched.iter().any(|id| id == model) || self.models.iter().any(|known| is_same(&known.id, model))
    }

    /// That a model is not there, and what was probably meant.
    pub(super) fn refusal(&self, who: &Who, model: &str) -> String {
        let near = near(self.models.iter().map(|known| known.id.as_str()), model);
        let meant = match near.as_slice() {
            [] => String::new(),
            near => format!(" Did you mean {}?", near.join(", ")),
        };
        let elsewhere = PROVIDERS.iter().find(|row| row.id != who.row.id && row.models.contains(&model));
        let elsewhere = elsewhere.map_or_else(String::new, |row| {
            format!("\n{} has it: hermes model --provider {} {model}", row.label, row.id)
        });
        format!(
            "{} does not list the model `{model}`.{meant} Nothing was written.{elsewhere}\n\
             `hermes model --list --provider {}` shows all {}; `--force` takes it all the same.",
            who.label,
            who.name,
            self.models.len()
        )
    }
}

async fn listed(app: &App, ask: Ask) -> Result<Vec<ModelInfo>, Fault> {
    let endpoint = app.first_endpoint(ask).await?;
    catalog::refresh(&endpoint, &app.knowledge.almanac, &*app.transport, &*app.clock).await
}

fn vouched(app: &App, who: &Who) -> Vec<String> {
    let entry = app.knowledge.config.entry(who.name.strip_prefix("custom:").unwrap_or(&who.name));
    let declared = entry
        .into_iter()
        .flat_map(|entry| entry.default_model.iter().cloned().chain(entry.models.iter().map(|model| model.id.clone())));
    let mut ids: Vec<String> = Vec::new();
    for id in declared.chain(who.row.models.iter().map(|id| (*id).to_owned())) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

/// Those we know to be good first, the others as the provider lists them.
fn ordered(live: Vec<ModelInfo>, vouched: &[String]) -> Vec<ModelInfo> {
    let (mut good, rest): (Vec<_>, Vec<_>) = live.into_iter().partition(|model| vouched.contains(&model.id));
    good.sort_by_key(|model| vouched.iter().position(|id| *id == model.id));
    good.into_iter().chain(rest).collect()
}

/// Whether a listed model is the one a name means. Dates (`-20250929`), Ollama's `:latest` and variants of an aggregator
/// (`:free`, `:online`) name the same model.
fn is_same(listed: &str, name: &str) -> bool {
    if listed.eq_ignore_ascii_case(name) {
        return true;
    }
    let is_date =
        |rest: &str| rest.strip_prefix('-').is_some_and(|date| date.len() == 8 && date.parse::<u32>().is_ok());
    if listed.strip_prefix(name).is_some_and(|rest| rest == ":latest" || is_date(rest)) {
        return true;
    }
    let variant = name.rsplit_once(':').filter(|(model, _)| model.contains('/'));
    variant.is_some_and(|(model, _)| listed == model)
}

/// The listed ids most like a name, best first. The vendor's prefix does not count against a likeness.
fn near<'a>(listed: impl Iterator<Item = &'a str>, name: &str) -> Vec<&'a str> {
    let wanted = bare(name).to_ascii_lowercase();
    let likeness = |id: &str| strsim::jaro_winkler(&bare(id).to_ascii_lowercase(), &wanted);
    let mut ranked: Vec<(f64, &str)> =
        listed.map(|id| (likeness(id), id)).filter(|(score, _)| *score >= LIKENESS).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.into_iter().take(SUGGESTIONS).map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_a_listed_model_through_dates_tags_and_variants() {
        let table = [
            ("gpt-5.4", "gpt-5.4", true),
            ("GPT-5.4", "gpt-5.4", true),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5", true),
            ("claude-sonnet-4-5-preview", "claude-sonnet-4-5", false),
            ("qwen3:latest", "qwen3", true),
            ("qwen3:32b", "qwen3", false),
            ("z-ai/glm-5.2", "z-ai/glm-5.2:free", true),
            ("qwen3", "qwen3:32b", false),
            ("gpt-5.4-mini", "gpt-5.4", false),
        ];
        for (listed, name, same) in table {
            assert_eq!(is_same(listed, name), same, "{listed} {name}");
        }
    }

    #[test]
    fn suggestions_are_few_and_look_past_the_vendor() {
        let listed =
            ["anthropic/claude-sonnet-4.6", "openai/gpt-5.4", "openai/gpt-5.4-mini", "meta/llama-4", "openai/gpt-5"];
        let near = |name: &str| near(listed.into_iter(), name);
        assert_eq!(near("gpt-5.4-min"), ["openai/gpt-5.4-mini", "openai/gpt-5.4", "openai/gpt-5"]);
        assert_eq!(near("claude-sonet-4.6"), ["anthropic/claude-sonnet-4.6"]);
        assert_eq!(near("zzz"), Vec::<&str>::new());
    }

    #[test]
    fn curated_models_lead_and_nothing_is_lost() {
        let model = |id: &str| ModelInfo::named(id);
        let live = ["b", "x", "a", "y"].map(model).to_vec();
        let vouched = ["a", "missing", "b"].map(str::to_owned);
        let ids: Vec<String> = ordered(live, &vouched).into_iter().map(|model| model.id).collect();
        assert_eq!(ids, ["a", "b", "x", "y"]);
    }
}
