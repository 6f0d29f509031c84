//! The web, wired: settings and variables of this run turned into the tools that search, read pages and look at pictures.

use crate::app::{App, CA_VARIABLES};
use hermes_tools::registry::Registry;
use hermes_web::SideModel;
use hermes_web::settings::WebSettings;
use serde_json::{Map, Value};
use std::path::PathBuf;

/// The parts of `config.yaml` that steer them.
const SECTIONS: [&str; 4] = ["auxiliary", "browser", "security", "web"];

/// Adds the tools of the web. What is odd about their settings is added to `warnings`.
pub(crate) fn register(app: &App, registry: &Registry, side_model: SideModel, warnings: &mut Vec<String>) {
    let found = SECTIONS.iter().filter_map(|name| Some(((*name).to_owned(), app.settings.get(name)?)));
    let config = Value::Object(found.collect::<Map<String, Value>>());
    let variable = |name: &str| app.environment.get(name).map(str::to_owned);
    let ca_bundle = CA_VARIABLES.iter().find_map(|name| app.environment.get(name)).map(PathBuf::from);
    let settings = WebSettings::read(&config, variable, app.home.dir(), ca_bundle, warnings);
    hermes_web::register(registry, &settings, side_model);
}
