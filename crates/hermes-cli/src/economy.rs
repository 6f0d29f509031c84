//! How long conversations are kept short: `compression.*`, `context.engine` and `auxiliary.compression`.

use crate::app::App;
use crate::commands::Trouble;
use crate::hands::Hands;
use crate::settings::Settings;
use futures_util::future::BoxFuture;
use hermes_agent::EngineName;
use hermes_core::context::{Material, Policy, Scribe};
use hermes_core::stop::Stop;
use hermes_model::auxiliary::Auxiliary;
use hermes_model::resolve::Runtime;
use hermes_types::{Fault, Message, Reply, Request};
use std::sync::Arc;

/// The job as the settings name it.
const JOB: &str = "compression";

pub(crate) fn policy(settings: &Settings) -> Result<Policy, Trouble> {
    let usual = Policy::default();
    let part = |key: &str, usual: f64| -> Result<f64, Trouble> {
        let part = settings.f64_at(key)?.unwrap_or(usual);
        // Without a word it would never begin, or with every message.
        if part > 0.0 && part < 1.0 {
            return Ok(part);
        }
        let wrong = format!(
            "`{key}` must be a part between 0 and 1, got {part}.\nChange it with `hermes config set {key} {usual}`."
        );
        Err(Trouble::Refused(wrong))
    };
    let count = |key: &str, usual: usize| -> Result<usize, Trouble> {
        Ok(settings.u64_at(key)?.map_or(usual, |count| usize::try_from(count).unwrap_or(usize::MAX)))
    };
    Ok(Policy {
        enabled: settings.bool_at("compression.enabled")?,
        threshold: part("compression.threshold", usual.threshold)?,
        target_ratio: part("compression.target_ratio", usual.target_ratio)?,
        protect_first: count("compression.protect_first_n", usual.protect_first)?,
        protect_last: count("compression.protect_last_n", usual.protect_last)?,
        in_place: settings.bool_at("compression.in_place")?,
        most_messages: count("compression.hygiene_hard_message_limit", usual.most_messages)?,
        abort_on_failure: settings.bool_at("compression.abort_on_summary_failure")?,
    })
}

pub(crate) fn engine(settings: &Settings) -> Result<EngineName, Trouble> {
    let Some(name) = settings.str_at("context.engine")? else { return Ok(EngineName::default()) };
    EngineName::parse(name.trim()).ok_or_else(|| {
        let known: Vec<&str> = EngineName::ALL.iter().map(|engine| engine.as_str()).collect();
        let known = known.join(" and ");
        Trouble::Refused(format!("`context.engine`: there is no engine {name}; there are {known}."))
    })
}

/// Who writes summaries, where `auxiliary.compression` names somebody. The model of the conversation has read all of it
/// already, so without a wish it is the cheapest and best informed.
pub(crate) fn scribe(app: &App, hands: &Hands, main: &Runtime) -> Result<Option<Arc<dyn Scribe>>, Trouble> {
    let set = |name: &str| -> Result<bool, Trouble> {
        let value = app.settings.str_at(&format!("auxiliary.{JOB}.{name}"))?.unwrap_or_default();
        Ok(!matches!(value.trim(), "" | "auto" | "main"))
    };
    if !(set("provider")? || set("model")? || set("base_url")?) {
        return Ok(None);
    }
    let auxiliary = Auxiliary::new(app.knowledge.clone(), app.auth.clone(), app.transport.clone(), app.clock.clone())
        .paid_at(hands.till.clone());
    Ok(Some(Arc::new(Chosen { auxiliary, main: main.clone() })))
}

struct Chosen {
    auxiliary: Auxiliary,
    main: Runtime,
}

impl Scribe for Chosen {
    fn summarise<'a>(&'a self, material: Material<'a>) -> BoxFuture<'a, Result<Reply, Fault>> {
        Box::pin(async move {
            // Without the name of the session: it is asked once, so nothing of it should be kept for the next time.
            let request = Request::new("", [Message::user(material.alone())]);
            // Whoever waits for it drops it when the person stops the turn.
            self.auxiliary.ask(JOB, request, &self.main, &Stop::new()).await
        })
    }
}
