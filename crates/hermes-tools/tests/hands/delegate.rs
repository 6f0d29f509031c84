//! Work that is handed to others: what the tool asks of a crew, and what a sub-agent's desk withholds.

use crate::stage::Stage;
use futures_util::future::BoxFuture;
use hermes_tools::delegate::{Crew, Errand, Fate, Report, Role};
use hermes_tools::desk::Cx;
use hermes_tools::gate::{Answer, Channel};
use hermes_tools::run::Untold;
use hermes_types::{CallId, Event, SessionId, ToolCall};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// A crew that only notes what it was asked for.
#[derive(Default)]
struct Clerk(Mutex<Vec<Errand>>);

impl Crew for Clerk {
    fn send<'a>(&'a self, errands: Vec<Errand>, _cx: &'a Cx) -> BoxFuture<'a, Result<Vec<Report>, String>> {
        let noted = |errand: &Errand| Report::without_work(Fate::Failed, format!("{} is noted", errand.goal));
        let reports = errands.iter().map(noted).collect();
        self.0.lock().expect("errands").extend(errands);
        Box::pin(std::future::ready(Ok(reports)))
    }
}

#[tokio::test]
async fn without_a_crew_nothing_can_be_delegated() {
    let told = Stage::new().call("delegate_task", json!({"goal": "anything"})).await;
    assert_eq!(told, json!({"error": "Nothing can be delegated here. Do the work yourself."}));
}

#[tokio::test]
async fn a_crew_gets_the_tasks_and_its_reports_are_told_in_their_order() {
    let stage = Stage::new();
    let clerk = Arc::new(Clerk::default());
    stage.desk.give_crew(clerk.clone());
    let told = stage
        .call("delegate_task", json!({"tasks": "[{\"goal\": \"a\"}, {\"goal\": \"b\", \"role\": \"orchestrator\"}]"}))
        .await;
    let errors: Vec<&Value> =
        told["results"].as_array().expect("results").iter().map(|entry| &entry["error"]).collect();
    assert_eq!(errors, ["a is noted", "b is noted"]);
    let roles: Vec<Role> = clerk.0.lock().expect("errands").iter().map(|errand| errand.role).collect();
    assert_eq!(roles, [Role::Leaf, Role::Orchestrator]);
}

#[tokio::test]
async fn at_the_desk_of_a_sub_agent_nobody_is_asked_and_its_own_listener_hears_it() {
    let stage = Stage::attended([Answer::Always]);
    stage.write("notes.txt", "hello");
    let heard: Arc<Mutex<Vec<Event>>> = Arc::default();
    let listener = {
        let heard = heard.clone();
        Arc::new(move |event: Event| heard.lock().expect("events").push(event))
    };
    let desk = stage.desk.of_child(SessionId::new("20260101_000000_child0"), listener);
    assert_eq!((stage.desk.face().channel(), desk.face().channel()), (Channel::Person, Channel::Nobody));
    assert_eq!(desk.cwd(), stage.desk.cwd());
    let calls = [("terminal", json!({"command": "chmod 777 notes.txt"})), ("clarify", json!({"question": "May I?"}))];
    let calls: Vec<ToolCall> = calls
        .iter()
        .map(|(tool, arguments)| ToolCall::new(CallId::new(*tool), *tool, arguments.to_string().as_str()))
        .collect();
    let results = stage.hands().run(&calls, &desk, &Untold, &stage.stop).await.expect("no tool aborts");
    assert!(results[0].content.text().contains("blocked"), "{}", results[0].content.text());
    assert!(results[1].content.text().contains("Nobody is there"), "{}", results[1].content.text());
    assert!(stage.person.asked.lock().expect("questions").is_empty());
    assert!(stage.person.clarified.lock().expect("questions").is_empty());
    assert!(stage.events.lock().expect("events").is_empty(), "the parent's listener hears of it through the crew");
    assert_eq!(heard.lock().expect("events").len(), 3, "one call was refused, one began and ended");
}
