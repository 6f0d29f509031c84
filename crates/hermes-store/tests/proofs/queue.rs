//! Many tasks of one process at once.

use crate::stage::{Kind, Stage, open};
use hermes_core::store::{Sessions, Transcript};
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
    let kept = stage.store.conversation(&id, Span::Own).await.expect("read");
    assert_eq!(kept, (0..500).map(|n| Message::user(n.to_string())).collect::<Vec<_>>());
}
