//! One result for each call, whatever the call is.

use crate::stage::Stage;
use serde_json::json;

#[tokio::test]
async fn a_tool_nobody_knows_is_an_answer_and_not_an_end() {
    let stage = Stage::new();
    assert_eq!(stage.call("nope", json!({})).await, json!({"error": "Unknown tool: nope"}));
}
