//! A connection that listens no further while its answers are not heard.
//!
//! The protocol library answers every question of a server beside the others and keeps what could not be written yet. A
//! server that asks without end and never reads would fill the memory with answers; here it is heard again once it has
//! listened. A call that waits meanwhile runs into its own limit of time.

use rmcp::model::JsonRpcMessage;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Answers that may be on their way at once.
const MOST_ANSWERS: usize = 64;

pub(super) struct Patient<T> {
    inner: T,
    answers: Arc<Semaphore>,
}

impl<T> Patient<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, answers: Arc::new(Semaphore::new(MOST_ANSWERS)) }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Patient<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let is_answer = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        // Those few that were on their way here when the last seat was taken go without one.
        let seat = is_answer.then(|| self.answers.clone().try_acquire_owned().ok()).flatten();
        let sent = self.inner.send(item);
        async move {
            let sent = sent.await;
            drop(seat);
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        // Nobody closes the seats, and a free one is not kept: it only says that somebody listens.
        drop(self.answers.acquire().await);
        self.inner.receive().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
