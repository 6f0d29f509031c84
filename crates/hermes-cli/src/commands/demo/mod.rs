//! `hermes demo`: one turn of a real agent, for people without a key or a network.
//!
//! The loop, the tools, the gate, the sub-agent, the memory and the store are those of every turn; they work in a folder
//! that is made for it and gone afterwards ([`stage`]). Only the model is not real: a script ([`script`]) is played where a
//! socket would be ([`player`]). The numbers at the end are read back from the store ([`tally`]).

mod player;
mod script;
mod stage;
mod tally;

use super::Trouble;
use super::ask::new_session_id;
use super::waiting::stop_on_signal;
use crate::agent::{self, Parts, Session};
use crate::app::App;
use crate::args::{Form, How, OutputFormat};
use crate::hands::Hands;
use crate::memory;
use crate::output::{Aside, Screen, Show};
use hermes_agent::Agent;
use hermes_core::ports::Listener;
use hermes_core::stop::Stop;
use hermes_core::store::SessionStore;
use hermes_model::resolve::Ask;
use hermes_store::SqliteStore;
use hermes_types::{EVENT_VERSION, EndReason, Event, Fault, FaultKind};
use player::{Pace, Player};
use script::QUESTION;
use stage::Stage;
use std::process::ExitCode;
use std::sync::Arc;
use tally::Tally;

pub async fn run(form: Form) -> ExitCode {
    let stop = stop_on_signal();
    let show = Show {
        format: form.format(),
        aside: Aside::Everything,
        command: "hermes demo",
        usage_file: form.usage_file.clone(),
    };
    let screen = Arc::new(Screen::new(show, new_session_id(), stop.clone()));
    screen.show_reasoning(true);
    if form.format() == OutputFormat::Text {
        screen.line(&format!("› {QUESTION}\n"));
    }
    tokio::select! {
        biased;
        code = perform(&screen, &stop) => code,
        never = screen.keep_time() => match never {},
    }
}

/// The whole evening: the stage is built, played on and taken away, whatever happens in between.
async fn perform(screen: &Arc<Screen>, stop: &Stop) -> ExitCode {
    let stage = match Stage::build() {
        Ok(stage) => stage,
        Err(trouble) => return refuse(&trouble, screen),
    };
    let (code, tally) = match Cast::assemble(&stage, screen, stop).await {
        Ok(mut cast) => {
            let outcome = cast.agent.run_conversation(QUESTION, stop).await;
            // The answer first: nobody waits for it because of what comes behind it.
            let code = screen.finish(&outcome);
            (code, cast.leave().await.filter(|_| outcome.completed()))
        }
        Err(trouble) => (refuse(&trouble, screen), None),
    };
    match stage.strike() {
        Ok(()) => tally.iter().flat_map(Tally::lines).for_each(|line| screen.remark(&line)),
        Err(left) => screen.complain(&left),
    }
    code
}

fn refuse(trouble: &Trouble, screen: &Screen) -> ExitCode {
    screen.finish(&screen.unasked(Fault::new(FaultKind::NotConfigured, trouble.to_string())))
}

/// Everybody who plays.
struct Cast {
    agent: Agent,
    hands: Hands,
    store: SqliteStore,
    app: App,
}

impl Cast {
    async fn assemble(stage: &Stage, screen: &Arc<Screen>, stop: &Stop) -> Result<Self, Trouble> {
        let pace = if screen.is_live() { Pace::Reading } else { Pace::AtOnce };
        let app = stage.app(Player::new(pace)).await?;
        let wanted = Ask::default();
        let runtime = app.knowledge.resolve(&wanted)?;
        let store = memory::open(&app.home).await?;
        let past: Arc<dyn SessionStore> = Arc::new(store.clone());
        let hands = Hands::unattended(&app, screen.clone(), Some(past), stop);
        screen.hear(Event::Started {
            version: EVENT_VERSION,
            session_id: screen.session(),
            provider: runtime.name.clone(),
            model: runtime.model.clone(),
        });
        let parts = Parts {
            app: &app,
            runtime: &runtime,
            switchboard: Arc::new(app.board(wanted)),
            hands: &hands,
            store: Ok(&store),
            listener: screen.clone(),
            live: screen.is_live(),
            tools: agent::granted(&app, &hands, &How::default())?,
            max_turns: None,
        };
        let agent = parts.agent(Session::New { id: screen.session(), source: agent::CLI.to_owned() }).await?;
        Ok(Self { agent, hands, store, app })
    }

    /// Ends everything that was started and lets go of every file. What was kept until then is counted.
    async fn leave(self) -> Option<Tally> {
        let Self { agent, hands, store, app } = self;
        agent.desk().close().await;
        hands.close().await;
        if let Err(error) = agent.close(EndReason::CLI_CLOSE).await {
            tracing::warn!(%error, "the end of the session was not written down");
        }
        let tally = Tally::of(&store, agent.session()).await;
        store.close().await;
        // Whoever lets go of the store last waits for its writer, and that must not be the thread everything runs on.
        let let_go = tokio::task::spawn_blocking(move || drop((agent, hands, store, app)));
        if let Err(error) = let_go.await {
            tracing::warn!(%error, "the store was not let go of in order");
        }
        tally.map_err(|error| tracing::warn!(%error, "the store could not be read")).ok()
    }
}
