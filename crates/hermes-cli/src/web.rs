//! The web, wired: settings and variables of this run turned into the tools that search, read pages and look at pictures,
//! and into the one that brings skills.

use crate::app::{App, CA_VARIABLES};
use futures_util::future::BoxFuture;
use hermes_tools::registry::Registry;
use hermes_tools::skills::hub::{Fetch, is_address};
use hermes_web::SideModel;
use hermes_web::fetch::{Ask, Extent, Fetcher};
use hermes_web::settings::WebSettings;
use serde_json::{Map, Value};
use std::path::PathBuf;

/// The parts of `config.yaml` that steer them.
const SECTIONS: [&str; 4] = ["auxiliary", "browser", "security", "web"];

/// Adds the tools of the web. What is odd about their settings is added to `warnings`.
pub(crate) fn register(app: &App, registry: &Registry, side_model: SideModel, warnings: &mut Vec<String>) {
    hermes_web::register(registry, &settings(app, warnings), side_model);
}

/// How the web may be used.
pub(crate) fn settings(app: &App, warnings: &mut Vec<String>) -> WebSettings {
    let found = SECTIONS.iter().filter_map(|name| Some(((*name).to_owned(), app.settings.get(name)?)));
    let config = Value::Object(found.collect::<Map<String, Value>>());
    let variable = |name: &str| app.environment.get(name).map(str::to_owned);
    let ca_bundle = CA_VARIABLES.iter().find_map(|name| app.environment.get(name)).map(PathBuf::from);
    WebSettings::read(&config, variable, app.home.dir(), ca_bundle, warnings)
}

/// Lists of skills, and skills of one file, from the web: by the rules that hold for every page.
pub(crate) struct Shop {
    fetcher: Fetcher,
}

impl Shop {
    /// What is odd about the settings is added to `warnings`.
    pub(crate) fn new(app: &App, warnings: &mut Vec<String>) -> Self {
        Self { fetcher: Fetcher::new(settings(app, warnings).rules) }
    }
}

impl Fetch for Shop {
    fn get<'a>(&'a self, url: &'a str, most: u64) -> BoxFuture<'a, Result<Vec<u8>, String>> {
        Box::pin(async move {
            let answer = self.fetcher.get(Ask::new(url)).await.map_err(|fault| fault.to_string())?;
            if !answer.is_success() {
                return Err(format!("the server answers {}", answer.status()));
            }
            if !is_address(answer.url().as_str()) {
                return Err(format!("it leads on to {}, which others could change on the way", answer.url()));
            }
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let body = answer.read(most).await.map_err(|fault| fault.to_string())?;
            match body.extent {
                Extent::Whole => Ok(body.bytes.to_vec()),
                Extent::Cut => Err(format!("it is larger than {} KiB", most >> 10)),
            }
        })
    }
}
