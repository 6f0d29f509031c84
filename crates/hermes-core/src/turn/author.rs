//! Who writes the summary of a conversation that grew too long.

use super::state::Turn;
use crate::ask::{self, ask};
use crate::context::{Material, Scribe, Trigger};
use crate::ports::ForTask;
use crate::receipt::Receipt;
use crate::stop::Stop;
use futures_util::future::BoxFuture;
use hermes_types::{Event, Fault, FaultKind, Message, Notice, Reply, Request};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a summary is in the books.
pub(super) const TASK: &str = "compression";

/// Has summaries written: by the one who was chosen for it, else by the model of the conversation, which has read it.
pub(super) struct Author<'a, 't> {
    pub(super) turn: &'a Turn<'t>,
    pub(super) trigger: Trigger,
    pub(super) stop: &'a Stop,
    pub(super) takings: Mutex<Takings>,
}

/// What came of asking.
#[derive(Debug, Default)]
pub(super) struct Takings {
    /// What has to be paid.
    pub(super) receipts: Vec<Receipt>,
    pub(super) asked: Option<Result<(), Fault>>,
}

impl Scribe for Author<'_, '_> {
    fn summarise<'a>(&'a self, material: Material<'a>) -> BoxFuture<'a, Result<Reply, Fault>> {
        Box::pin(async move {
            let written = self.write(material).await;
            let asked = match &written {
                Ok(reply) if reply.text().trim().is_empty() => {
                    Err(Fault::new(FaultKind::EmptyStream, "the model wrote nothing"))
                }
                Ok(_) => Ok(()),
                Err(fault) => Err(fault.clone()),
            };
            self.takings().asked = Some(asked);
            written
        })
    }
}

impl Author<'_, '_> {
    fn takings(&self) -> MutexGuard<'_, Takings> {
        self.takings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(&self, material: Material<'_>) -> Result<Reply, Fault> {
        if let Some(chosen) = self.turn.ports.economy.scribe {
            let written = tokio::select! {
                biased;
                () = self.stop.wait() => Err(Fault::new(FaultKind::Interrupted, "interrupted")),
                written = chosen.summarise(material.clone()) => written,
            };
            match written {
                Ok(reply) if !reply.text().trim().is_empty() => return Ok(reply),
                Err(fault) if fault.kind == FaultKind::Interrupted => return Err(fault),
                Ok(_) => self.turn.tell_stand_in("it wrote nothing"),
                Err(fault) => self.turn.tell_stand_in(&fault.message),
            }
        }
        self.ask_main(&material).await
    }

    async fn ask_main(&self, material: &Material<'_>) -> Result<Reply, Fault> {
        let Turn { talk, ports, .. } = self.turn;
        let request = match self.trigger {
            // What was too long once is too long with one message more.
            Trigger::Overflow => Request::new("", [Message::user(material.alone())]),
            Trigger::Threshold | Trigger::Manual | Trigger::Hygiene => {
                talk.aside(material.extent().0, Message::user(material.instructions()))
            }
        };
        let recorder = ForTask { task: TASK, recorder: ports.book };
        // What it writes is not for the person; what holds it up is.
        let listener = |event: Event| {
            if let Event::Notice { .. } = event {
                ports.listener.hear(event);
            }
        };
        let asking = ask::Ports { listener: &listener, recorder: &recorder, ..ports.asking() };
        let mut line = talk.line.aside();
        let began = ports.clock.elapsed();
        let reply = ask(request, &mut line, ports.manner, &asking, self.stop).await?;
        let took = ports.clock.elapsed().saturating_sub(began);
        if let (Some(model), Some(usage)) = (line.model(), reply.usage) {
            let receipt = Receipt::of(&**model, usage, took);
            self.takings().receipts.push(receipt);
        }
        Ok(reply)
    }
}

impl Turn<'_> {
    /// The chosen one failed; the model of the conversation does it instead.
    fn tell_stand_in(&self, why: &str) {
        let text =
            format!("the model for summaries (auxiliary.compression) did not write one, the main model does: {why}");
        self.notice(Notice::Warning { text });
    }
}
