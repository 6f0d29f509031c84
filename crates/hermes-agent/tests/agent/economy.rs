//! Conversations that grow beyond the window of their model.

use crate::stage::{MODES, Plan, Stage, only};
use hermes_core::store::{Sessions, Tape, Transcript};
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move};
use hermes_types::{EndReason, Event, Message, OutcomeKind, SessionId};
use serde_json::json;

const FIRST: &str = "20260102_030405_5ce4e0";
const RULE: &str = "Read all the files. Never touch secret.txt.";

async fn stage(server: &ModelServer, mode: ApiMode, window: u64) -> Stage {
    let mut models = only(server, mode);
    models["model"]["context_length"] = json!(window);
    let stage = Stage::build(Plan { models, ..Plan::default() }).await;
    for n in 0..60 {
        stage.write(&format!("file{n}.txt"), &format!("{n:04} {}\n", "some words in a line ".repeat(5)).repeat(36));
    }
    stage
}

fn reading(n: usize) -> Move {
    Move::say("").call("read_file", json!({"path": format!("file{n}.txt")})).no_usage()
}

fn compressions(events: &[Event]) -> Vec<(String, String)> {
    let told = events.iter().filter_map(|event| match event {
        Event::Compressed { trigger, phase, .. } => Some((trigger.clone(), phase.clone())),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn old_results_make_room_and_can_be_read_again() {
    for mode in MODES {
        let server =
            ModelServer::start((0..14).map(reading).chain([Move::say("All read.").no_usage()]).collect::<Vec<_>>())
                .await;
        for _ in 0..4 {
            server.allow_prefix_break("compression");
        }
        let stage = stage(&server, mode, 24_000).await;
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, RULE).await;
        assert_eq!((outcome.kind(), outcome.text.as_deref()), (OutcomeKind::Answered, Some("All read.")), "{mode:?}");
        let told = compressions(&stage.events());
        assert!(!told.is_empty() && told.iter().all(|one| *one == ("threshold".into(), "prune".into())), "{told:?}");

        // The conversation goes on in another session; the old one keeps everything.
        assert_ne!(agent.session().as_str(), FIRST);
        let first = SessionId::new(FIRST);
        let old = stage.store.session(&first).await.unwrap().unwrap();
        assert_eq!(old.end_reason, Some(EndReason::COMPRESSION));
        assert_eq!(stage.store.tip(&first).await.unwrap(), *agent.session());
        let breaks = stage.store.breaks(agent.session()).await.unwrap();
        assert!(breaks.is_empty(), "each session is a prefix of itself: {breaks:?}");

        // What was left out is named in its place, and is there.
        let history = stage.on_disk(agent.session()).await;
        assert_eq!(history[0].text(), RULE);
        let line = history.iter().map(Message::text).find(|text| text.starts_with("[left out: ")).expect("a line");
        let row: i64 =
            line.split("\"message_id\": ").nth(1).and_then(|rest| rest.split('}').next()).unwrap().parse().unwrap();
        let kept = stage.store.messages(&first).await.unwrap();
        let whole = kept.iter().find(|kept| kept.id.0 == row).expect("it is kept");
        assert!(whole.message.text().contains("some words in a line"), "{mode:?}");
        drop(server.take_violations());
    }
}
