//! What is written down beside a conversation: which credential rests, which one answered.
//!
//! Nobody waits for it while a question is under way: another process may hold the store for seconds, and the next key
//! is good at once. The notes belong to whoever asks, and are waited for at the end; none of them runs on alone.

use crate::auth::{AuthContext, AuthError, SETTLE_LIMIT};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::JoinSet;

pub(crate) struct Notes {
    auth: Arc<AuthContext>,
    tasks: Mutex<JoinSet<()>>,
}

impl Notes {
    pub(crate) fn new(auth: Arc<AuthContext>) -> Self {
        Self { auth, tasks: Mutex::default() }
    }

    /// Takes a note in its turn. A disk that refuses costs other processes the news, not us the answer.
    pub(crate) fn take(&self, note: impl Future<Output = Result<(), AuthError>> + Send + 'static) {
        let auth = self.auth.clone();
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let _turn = auth.in_turn().await;
            if let Err(error) = note.await {
                tracing::warn!(%error, "the use of a credential could not be written down");
            }
        });
    }

    /// Waits for the notes taken so far, but not for ever.
    pub(crate) async fn settled(&self) {
        let tasks = std::mem::take(&mut *self.tasks());
        if let Either::Right(_) = select(pin!(tasks.join_all()), self.auth.clock.alarm(SETTLE_LIMIT)).await {
            tracing::warn!("the use of credentials could not be written down in time");
        }
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
