//! The window of Hermes: searching the web, reading its pages and looking at pictures.
//!
//! Everything that a model or a page names is fetched by one guarded client ([`fetch`]): an address is checked once and
//! then connected to, so no redirect and no second look-up leads to a place that is not public. Search engines are the
//! owner's own choice and are asked with keys that open for their own origin alone ([`search`]). Pages are taken apart on
//! this machine ([`extract`]); pictures are shown to the model for that job ([`vision`]).

pub mod extract;
pub mod fetch;
pub mod key;
pub mod search;
pub mod settings;
pub mod vision;

use extract::WebExtract;
use fetch::Fetcher;
use hermes_core::stop::Stop;
use hermes_tools::registry::{Registry, Replace};
use hermes_tools::tool::{Tool, ToolError};
use search::WebSearch;
use search::desk::SearchDesk;
use settings::WebSettings;
use vision::VisionAnalyze;

/// Whether there is a model for side jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideModel {
    There,
    Missing,
}

/// Adds the tools of the web to a registry.
pub fn register(registry: &Registry, settings: &WebSettings, side_model: SideModel) {
    register_with(registry, settings, Fetcher::new(settings.rules.clone()), side_model);
}

/// The same with a client of the caller's.
pub fn register_with(registry: &Registry, settings: &WebSettings, fetcher: Fetcher, side_model: SideModel) {
    add(registry, WebSearch::new(settings.search.clone(), SearchDesk::new(settings.rules.clone())));
    add(registry, WebExtract::new(settings, fetcher.clone()));
    add(registry, VisionAnalyze::new(fetcher, settings.picture_patience, side_model));
}

fn add<T: Tool>(registry: &Registry, tool: T) {
    // The registry tells the log of a name that is taken.
    let _ = registry.register(tool, Replace::Refuse);
}

/// Work that ends when somebody stops it.
async fn until_stopped<T>(stop: &Stop, work: impl Future<Output = T>) -> Result<T, ToolError> {
    tokio::select! {
        biased;
        () = stop.wait() => Err(ToolError::told("Interrupted before it was done.")),
        done = work => Ok(done),
    }
}
