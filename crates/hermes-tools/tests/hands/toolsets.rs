//! Which tools a conversation has, from the settings to the definitions.

use crate::stage::Stage;
use hermes_tools::toolset::{Catalogue, Circumstances, for_platform, select};
use serde_json::json;

#[tokio::test]
async fn the_settings_decide_which_registered_tools_a_model_sees() {
    let stage = Stage::new();
    let catalogue = Catalogue::new(&stage.registry);
    let config = json!({
        "platform_toolsets": {"cli": ["file", "terminal"]},
        "agent": {"disabled_toolsets": ["terminal"]},
    });
    let selection = for_platform(&config, "cli", &Circumstances::default(), &catalogue);
    let selected = select(&stage.registry, &selection);
    assert_eq!(selected.unknown, Vec::<String>::new());
    assert_eq!(selected.names.into_iter().collect::<Vec<_>>(), ["patch", "read_file", "search_files", "write_file"]);
}

#[tokio::test]
async fn every_registered_tool_belongs_to_a_toolset_that_can_be_chosen() {
    let stage = Stage::new();
    let catalogue = Catalogue::new(&stage.registry);
    let everything = catalogue.tools("all");
    for tool in stage.registry.describe() {
        let card = tool.card;
        assert!(everything.contains(card.name.as_ref()), "{}", card.name);
        assert!(catalogue.tools(&card.toolset).contains(card.name.as_ref()), "{} of {}", card.name, card.toolset);
    }
}
