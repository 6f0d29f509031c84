//! A turn: from a question to its one honest outcome.
//!
//! [`run_turn`] is the whole driver. Before each step it asks whether it may go on, everything is on disk before it is
//! acted on, what a reply means is decided by a pure function ([`reading`]), what follows a fault by another
//! ([`plan`](crate::plan)). Every way out is an [`End`], and every end goes through [`finish`](Turn::finish).

mod author;
pub mod budget;
mod close;
mod finish;
mod fit;
mod inbox;
mod names;
mod open;
mod outcome;
mod ports;
mod reading;
mod request;
mod sanitise;
mod state;
mod steps;
mod words;

pub use inbox::Inbox;
pub use open::{Asked, Question};
pub use outcome::{End, Interrupted, Outcome};
pub use ports::{Economy, Hands, Keeper, Opening, Ports, Ran, Sending, TurnHook};
pub use request::{NotShorter, Shorten, shorten};
pub use words::is_synthetic;
pub(crate) use words::synthetic;

use crate::conversation::Conversation;
use crate::stop::Stop;
use hermes_types::ToolChoice;
use reading::Reading;
use state::Turn;
use std::convert::Infallible;

/// Runs a turn to its end. The future holds everything that was started for it; dropping it ends that.
pub async fn run_turn(talk: &mut Conversation, asked: Asked, ports: &Ports<'_>, stop: &Stop) -> Outcome {
    let mut turn = Turn::new(talk, ports);
    let Err(end) = drive(&mut turn, asked, stop).await;
    turn.finish(end, stop).await
}

async fn drive(turn: &mut Turn<'_>, asked: Asked, stop: &Stop) -> Result<Infallible, End> {
    turn.open(asked, stop).await?;
    loop {
        turn.may_go_on(stop)?;
        if !turn.next_iteration() {
            return Err(turn.last_word(stop).await);
        }
        turn.steer().await?;
        turn.fit(stop).await?;
        let reply = turn.ask(ToolChoice::Auto, stop).await?;
        match turn.read(&reply) {
            Reading::Act => turn.act(reply, stop).await?,
            Reading::Answer => turn.answer(reply, stop).await?,
            Reading::GoOn => turn.go_on(reply).await?,
            Reading::Again(reason, _) => turn.again(reason).await?,
            Reading::Nudge(nudge) => turn.nudge(reply, &nudge).await?,
            Reading::Leave(fault, end) => turn.leave(reply, &fault, end, stop).await?,
            Reading::End(end) => return Err(turn.close(reply, end, stop).await),
        }
    }
}
