//! Many tasks of one process at once.

use crate::stage::{Kind, Stage, open, said};
use hermes_core::store::{Sessions, StoreError, Transcript};
use hermes_types::{Message, MessageId, NewMessage, SessionId, Span};
use std::collections::BTreeMap;
use std::time::Instant;

const TASKS: usize = 100;
const EACH: usize = 100;

fn say(text: String) -> NewMessage {
    Message::user(text).into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_writes_at_once_are_all_acknowledged() {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("busy").await;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let (store, id) = (stage.store.clone(), id.clone());
        tasks.spawn(async move {
            let writes = (0..EACH).map(|n| store.append(&id, vec![say(format!("{task}.{n}"))]));
            let written = futures_util::future::join_all(writes).await;
            let ids = written.into_iter().map(|ids| ids.expect("kept")[0]);
            ids.enumerate().map(|(n, id)| (id, format!("{task}.{n}"))).collect::<Vec<_>>()
        });
    }
    let start = Instant::now();
    let acknowledged: BTreeMap<MessageId, String> = tasks.join_all().await.into_iter().flatten().collect();
    assert_eq!(acknowledged.len(), TASKS * EACH);
    let kept: BTreeMap<MessageId, String> = stage
        .store
        .messages(&id)
        .await
        .expect("read")
        .into_iter()
        .map(|stored| (stored.id, stored.message.text()))
        .collect();
    assert_eq!(kept, acknowledged);
    let session = stage.store.session(&id).await.expect("read").expect("there");
    assert_eq!(session.message_count, (TASKS * EACH) as u64, "after {:?}", start.elapsed());
}

#[tokio::test]
async fn a_store_that_is_dropped_has_written_what_it_was_given() {
    let stage = Stage::of(Kind::New).await;
    let id: SessionId = stage.session("dropped").await;
    let store = open(&stage.path).await;
    let (begun, id_of_task) = (tokio::sync::oneshot::channel(), id.clone());
    let task = tokio::spawn(async move {
        let writes: Vec<_> = (0..500).map(|n| store.append(&id_of_task, vec![say(n.to_string())])).collect();
        let mut writes = futures_util::future::join_all(writes);
        // Everything is in the queue after the first look.
        let pending = std::future::poll_fn(|context| {
            std::task::Poll::Ready(std::pin::Pin::new(&mut writes).poll(context).is_pending())
        });
        begun.0.send(pending.await).expect("somebody listens");
        drop(writes);
        drop(store);
    });
    assert_eq!(begun.1.await, Ok(true), "it was written before it could be dropped");
    task.await.expect("dropped");
    let kept = said(&stage.store, &id, Span::Own).await.expect("read");
    assert_eq!(kept, (0..500).map(|n| Message::user(n.to_string())).collect::<Vec<_>>());
}

/// The files beside the database: the log and its index.
fn beside(stage: &Stage) -> Vec<String> {
    let folder = stage.path.parent().expect("a folder").read_dir().expect("a folder");
    let names = folder.map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("state.db-")).collect()
}

#[tokio::test]
async fn a_closed_store_has_let_go_and_says_so() {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("closed").await;
    stage.store.append(&id, vec![say("kept".into())]).await.expect("kept");
    assert_eq!(said(&stage.store, &id, Span::Own).await.map(|said| said.len()), Ok(1));
    stage.store.close().await;
    assert_eq!(beside(&stage), Vec::<String>::new());
    assert_eq!(stage.store.append(&id, vec![say("late".into())]).await, Err(StoreError::Closed));
    assert_eq!(stage.store.messages(&id).await, Err(StoreError::Closed));
    stage.store.close().await;
    let again = open(&stage.path).await;
    assert_eq!(said(&again, &id, Span::Own).await, Ok(vec![Message::user("kept")]));
    drop(again);
    assert_eq!(beside(&stage), Vec::<String>::new(), "dropping lets go as well");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_questions_at_once_need_few_files() {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("asked").await;
    stage.store.append(&id, (0..50).map(|n| say(n.to_string())).collect()).await.expect("kept");
    let files = || std::fs::read_dir("/proc/self/fd").expect("open files").count();
    let before = files();
    let questions = (0..1_000).map(|_| async {
        let said = said(&stage.store, &id, Span::Own).await.expect("read").len();
        (said, files())
    });
    let answers = futures_util::future::join_all(questions).await;
    assert!(answers.iter().all(|(said, _)| *said == 50));
    let most = answers.iter().map(|(_, files)| *files).max().unwrap_or_default();
    // Other stories of this binary open files meanwhile.
    assert!(most < before + 80, "{before} files became {most}");
}

#[tokio::test]
async fn the_log_stays_short_whatever_is_written() {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("long").await;
    let (text, mut largest) = ("quokka ".repeat(150), 0);
    for _ in 0..1_500 {
        stage.store.append(&id, vec![say(text.clone())]).await.expect("kept");
        let log = std::fs::metadata(stage.path.with_extension("db-wal")).expect("a log").len();
        largest = largest.max(log);
    }
    assert!(largest < 16 << 20, "the log had {largest} bytes");
}
