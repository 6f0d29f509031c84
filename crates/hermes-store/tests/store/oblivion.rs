//! What was deleted is nowhere in the bytes of the file.

use crate::sessions::sid;
use crate::stage::{Kind, Stage};
use hermes_core::store::{Sessions, Tape, Transcript};
use hermes_store::SqliteStore;
use hermes_types::{EndReason, Message, NewMessage, NewSession, SessionFilter};

/// Small pieces of it are grams, whole words are in the word index, the rest is in rows.
const SECRETS: [&str; 3] = ["xylozephyrkey", "\u{79d8}\u{5bc6}\u{66b4}\u{9732}", "quixotiCPassphrase"];

/// The secrets that can be read in the file or its log, in whatever case an index keeps them.
fn readable(stage: &Stage) -> Vec<&'static str> {
    let mut bytes = std::fs::read(&stage.path).expect("the file");
    bytes.extend(std::fs::read(stage.path.with_extension("db-wal")).unwrap_or_default());
    bytes.make_ascii_lowercase();
    let holds = |secret: &str| {
        let secret = secret.to_ascii_lowercase();
        bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
    };
    SECRETS.into_iter().filter(|secret| holds(secret)).collect()
}

/// A session full of secrets between others, written so often that the indexes were merged meanwhile.
async fn tell_secrets(stage: &Stage) {
    let secret = SECRETS.join(" and ");
    for (session, text) in [("before", "weather"), ("secret", secret.as_str()), ("after", "garden")] {
        let new = NewSession { system_prompt: Some(format!("keep {text}")), ..NewSession::new(sid(session), "ours") };
        stage.store.create(new).await.expect("a session");
        stage.store.rename(&sid(session), &format!("about {text}")).await.expect("named");
        for round in 0..20 {
            let long = format!("{round} {text} {}", "padding ".repeat(round * 80));
            let mut new = NewMessage::from(Message::user(long));
            new.sent = Some(format!("sent {text}").into());
            stage.store.append(&sid(session), vec![new]).await.expect("kept");
            let sent = crate::tape::exchange(&sid(session), format!("{round} asking about {text}"));
            stage.store.record_exchange(sent).await.expect("kept");
        }
    }
    stage.store.catch_up().await.expect("indexed");
}

async fn delete(store: &SqliteStore) {
    assert_eq!(store.delete(&sid("secret")).await, Ok(true));
}

async fn clear(store: &SqliteStore) {
    assert_eq!(store.clear(&sid("secret")).await, Ok(20));
    store.rename(&sid("secret"), "").await.expect("unnamed");
}

async fn prune(store: &SqliteStore) {
    store.end(&sid("secret"), EndReason::USER_EXIT).await.expect("ended");
    let ours = SessionFilter { sources: vec!["ours".into()], ..SessionFilter::default() };
    assert_eq!(store.prune(ours, false).await.expect("pruned").sessions, [sid("secret")]);
}

#[tokio::test]
async fn what_was_deleted_cannot_be_read_in_the_file() {
    for mut stage in Stage::every().await {
        tell_secrets(&stage).await;
        stage.reopen().await;
        assert_eq!(readable(&stage), SECRETS, "{:?}", stage.kind);
        delete(&stage.store).await;
        stage.store.close().await;
        assert_eq!(readable(&stage), [""; 0], "{:?}", stage.kind);
    }
}

#[tokio::test]
async fn what_was_pruned_cannot_be_read_in_the_file() {
    for kind in [Kind::New, Kind::Python] {
        let stage = Stage::of(kind).await;
        tell_secrets(&stage).await;
        prune(&stage.store).await;
        stage.store.close().await;
        assert_eq!(readable(&stage), [""; 0], "{:?}", stage.kind);
    }
}

#[tokio::test]
async fn what_was_cleared_is_only_in_the_prompt_of_its_session() {
    for kind in [Kind::New, Kind::Python] {
        let stage = Stage::of(kind).await;
        tell_secrets(&stage).await;
        clear(&stage.store).await;
        stage.store.delete(&sid("secret")).await.expect("deleted");
        stage.store.close().await;
        assert_eq!(readable(&stage), [""; 0], "{:?}", stage.kind);
    }
}

#[tokio::test]
async fn a_store_shrinks_to_what_is_in_it() {
    for kind in [Kind::New, Kind::Python] {
        let stage = Stage::of(kind).await;
        tell_secrets(&stage).await;
        let many: Vec<NewMessage> = (0..200).map(|_| Message::user("ballast ".repeat(500)).into()).collect();
        stage.store.append(&sid("secret"), many).await.expect("kept");
        let kept = stage.store.export(&sid("after")).await.expect("read");
        delete(&stage.store).await;
        let freed = stage.store.shrink().await.expect("shrunk");
        assert!(freed > 400_000, "{freed} in {:?}", stage.kind);
        assert_eq!(stage.store.export(&sid("after")).await.expect("read"), kept, "{:?}", stage.kind);
        stage.store.append(&sid("after"), vec![Message::user("still writes").into()]).await.expect("kept");
    }
}
