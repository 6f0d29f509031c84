//! What providers are asked to keep: each request is found again by the next one, whoever is asked and whatever came in
//! between. The server holds the marks against the rules of the providers in every test.

use crate::puppet::Puppet;
use crate::reroute::Rerouted;
use crate::stage::{Plan, Stage, only, with_spare};
use hermes_agent::Agent;
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move, Received};
use serde_json::{Value, json};
use std::sync::Arc;

/// A vendor's own host, with its key in the environment.
fn at(server: &ModelServer, host: &'static str, variable: &str, models: Value) -> Plan {
    let variables = vec![(variable.to_owned(), "sk-stage-key-0001".to_owned())];
    Plan { models, variables, transport: Some(Arc::new(Rerouted::new(host, server))), ..Plan::default() }
}

fn at_anthropic(server: &ModelServer) -> Plan {
    let models = json!({
        "model": {"provider": "anthropic", "default": "claude-opus-4-6"},
        "prompt_caching": {"cache_ttl": "1h"},
    });
    at(server, "api.anthropic.com", "ANTHROPIC_API_KEY", models)
}

fn at_openrouter(server: &ModelServer) -> Plan {
    let models = json!({"model": {"provider": "openrouter", "default": "anthropic/claude-opus-4.6"}});
    at(server, "openrouter.ai", "OPENROUTER_API_KEY", models)
}

/// Where the marks of each request stand.
fn marks(requests: &[Received]) -> Vec<Vec<String>> {
    let places = |request: &Received| {
        let mut found = Vec::new();
        for field in ["system", "messages"] {
            find(&request.json()[field], field, &mut found);
        }
        found
    };
    requests.iter().map(places).collect()
}

fn find(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                find(item, &format!("{place}[{at}]"), found);
            }
        }
        Value::Object(fields) => {
            if fields.contains_key("cache_control") {
                found.push(place.to_owned());
            }
            for (key, field) in fields {
                find(field, &format!("{place}.{key}"), found);
            }
        }
        _ => {}
    }
}

/// A look, thirty looks at once, an answer; then another question.
async fn looks_around(server: &ModelServer, plan: Plan) -> Vec<Received> {
    let look = |times: usize| (0..times).fold(Move::say(""), |reply, at| reply.call("look", json!({ "at": at })));
    server.extend([look(1), look(30), Move::say("Seen."), Move::say("Again.")]);
    let stage = Stage::build(plan).await;
    Puppet::looking("look").on(&stage);
    let mut agent = stage.agent();
    assert_eq!(stage.turn(&mut agent, "Look around.").await.text.as_deref(), Some("Seen."));
    assert_eq!(stage.turn(&mut agent, "And again?").await.text.as_deref(), Some("Again."));
    server.model_requests()
}

#[tokio::test]
async fn claude_finds_what_it_read_before_also_behind_thirty_results() {
    let server = ModelServer::start([]).await;
    let requests = looks_around(&server, at_anthropic(&server)).await;
    assert_eq!(
        marks(&requests),
        [
            &["system[0]", "messages[0].content[0]"][..],
            &["system[0]", "messages[0].content[0]", "messages[1].content[0]", "messages[2].content[0]"],
            // The first result is where the request before ended.
            &["system[0]", "messages[2].content[0]", "messages[4].content[28]", "messages[4].content[29]"],
            &["system[0]", "messages[4].content[29]", "messages[5].content[0]", "messages[6].content[0]"],
        ]
    );
    assert_eq!(requests[0].json()["system"][0]["cache_control"], json!({"type": "ephemeral", "ttl": "1h"}));
    server.finish();
}

#[tokio::test]
async fn a_router_gets_its_marks_in_the_content() {
    let server = ModelServer::start([]).await;
    let requests = looks_around(&server, at_openrouter(&server)).await;
    let content = |at: usize| format!("messages[{at}].content[0]");
    assert_eq!(
        marks(&requests),
        [
            [0, 1].map(content).to_vec(),
            // A reply of nothing but calls has no content that could bear a mark.
            [0, 1, 3].map(content).to_vec(),
            [0, 3, 33, 34].map(content).to_vec(),
            [0, 34, 35, 36].map(content).to_vec(),
        ]
    );
    assert_eq!(requests[0].json()["messages"][0]["content"][0]["cache_control"], json!({"type": "ephemeral"}));
    assert!(requests[3].json()["messages"][1]["content"].is_string(), "a mark that moved on leaves plain text behind");
    server.finish();
}

#[tokio::test]
async fn everybody_else_is_sent_no_marks() {
    for mode in crate::stage::MODES {
        let server = ModelServer::start([]).await;
        let requests = looks_around(&server, Plan { models: only(&server, mode), ..Plan::default() }).await;
        assert_eq!(marks(&requests), vec![Vec::<String>::new(); 4], "{mode:?}");
        server.finish();
    }
}

#[tokio::test]
async fn a_model_that_steps_in_is_written_to_in_its_own_way() {
    let broke = Move::status(402).body(json!({"error": {"message": "Insufficient credits"}}));
    let (server, spare) = (ModelServer::start(broke).await, ModelServer::start(Move::say("Here.")).await);
    let mut models = with_spare(&server, &spare, ApiMode::AnthropicMessages);
    models["model"]["default"] = json!("claude-opus-4-6");
    let stage = Stage::build(Plan { models, ..Plan::default() }).await;
    let mut agent = stage.agent();
    assert_eq!(stage.turn(&mut agent, "Go.").await.text.as_deref(), Some("Here."));
    let (asked, helped) = (marks(&server.model_requests()), marks(&spare.model_requests()));
    assert_eq!((asked[0].len(), helped), (2, vec![Vec::new()]));
    server.finish();
    spare.finish();
}

#[tokio::test]
async fn whoever_refuses_marks_is_asked_without_them() {
    let refusal = json!({"type": "error", "error": {"type": "invalid_request_error",
        "message": "system.0.cache_control: Extra inputs are not permitted"}});
    let moves = [Move::status(400).body(refusal), Move::say("Fine."), Move::say("Still fine.")];
    let server = ModelServer::start(moves).await;
    let mut models = only(&server, ApiMode::AnthropicMessages);
    models["model"]["default"] = json!("claude-opus-4-6");
    let stage = Stage::build(Plan { models, ..Plan::default() }).await;
    let mut agent = stage.agent();
    assert_eq!(stage.turn(&mut agent, "Go.").await.text.as_deref(), Some("Fine."));
    assert_eq!(stage.turn(&mut agent, "And now?").await.text.as_deref(), Some("Still fine."));
    let counts: Vec<usize> = marks(&server.model_requests()).iter().map(Vec::len).collect();
    assert_eq!(counts, [2, 0, 0]);
    server.finish();
}

#[tokio::test]
async fn sub_agents_are_kept_like_everybody() {
    let errand = Move::say("").call("delegate_task", json!({"goal": "Count the leaves."}));
    let server = ModelServer::start([errand, Move::say("Nine leaves."), Move::say("Nine.")]).await;
    let stage = Stage::build(at_anthropic(&server)).await;
    let mut agent = stage.agent();
    assert_eq!(stage.turn(&mut agent, "Please see to it.").await.text.as_deref(), Some("Nine."));
    let counts: Vec<usize> = marks(&server.model_requests()).iter().map(Vec::len).collect();
    assert_eq!(counts, [2, 2, 4]);
    server.finish();
}

#[tokio::test]
async fn conversations_that_open_alike_share_a_key_at_openai() {
    let server = ModelServer::start([Move::say("One."), Move::say("Two.")]).await;
    let models = json!({"model": {"provider": "openai", "default": "gpt-4.1", "api_mode": "chat_completions"}});
    let stage = Stage::build(at(&server, "api.openai.com", "OPENAI_API_KEY", models)).await;
    for (id, question) in [("20260102_030405_5ce4e0", "First?"), ("20260102_030405_5ce4e1", "Second?")] {
        let mut agent = Agent::begin(Arc::new(stage.kit.clone()), stage.beginning(id));
        stage.turn(&mut agent, question).await;
    }
    let keys: Vec<Value> = server.model_requests().iter().map(|it| it.json()["prompt_cache_key"].clone()).collect();
    assert!(keys[0].is_string() && keys[0] == keys[1], "{keys:?}");
    server.finish();
}
