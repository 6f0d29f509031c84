//! `hermes sessions compress`: makes a conversation shorter because the person wants it, with a summary that dwells on what
//! they name.

use super::{Console, Exit, NO_STORE, Trouble, count};
use crate::agent::{self, CLI, Parts, Session};
use crate::app::App;
use crate::args::How;
use crate::commands::ask::choose;
use crate::commands::paper::{json_pretty, one_line};
use crate::commands::table::grouped;
use crate::commands::waiting::stop_on_signal;
use crate::hands::Hands;
use crate::memory;
use crate::output::describe;
use clap::Args;
use hermes_core::stop::Stop;
use hermes_core::turn::{End, NotShorter, Shorten};
use hermes_model::board::Board;
use hermes_model::resolve::Ask;
use hermes_store::SqliteStore;
use hermes_types::{CompressionRecord, Event, Notice};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Args)]
pub struct CompressArgs {
    /// Id, the beginning of an id, or title
    pub name: String,
    /// What the summary should dwell on
    #[arg(value_name = "TOPIC")]
    pub topic: Vec<String>,
    /// One JSON object instead of words
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(args: CompressArgs, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let stop = stop_on_signal();
    let app = App::load(profile, None).await?;
    for warning in &app.warnings {
        writeln!(console.err, "… {warning}")?;
    }
    let Some(store) = memory::open_existing(&app.home).await? else { return Err(Trouble::Refused(NO_STORE.into())) };
    let said = Arc::new(Said::default());
    let (wanted, runtime) = choose(Ask::default(), &app, &|text| said.push(text)).await?;
    writeln!(console.err, "Asking {} for a summary …", one_line(&runtime.model))?;
    let board = Arc::new(app.board(wanted));
    let made = shorter(&args, &app, &runtime, &store, (&board, &said), &stop).await;
    app.settle(Some(&board), |text| said.push(text)).await;
    store.close().await;
    for line in said.take() {
        writeln!(console.err, "{}", one_line(&line))?;
    }
    tell(made?, &args, console)
}

async fn shorter(
    args: &CompressArgs,
    app: &App,
    runtime: &hermes_model::resolve::Runtime,
    store: &SqliteStore,
    (board, said): (&Arc<Board>, &Arc<Said>),
    stop: &Stop,
) -> Result<Result<CompressionRecord, NotShorter>, Trouble> {
    let id = agent::meant(store, Some(&args.name), CLI).await?;
    let listener = said.clone();
    let listener = Arc::new(move |event: Event| {
        // Why it stays as it is, is the end of this command.
        if let Event::Notice { notice } = &event
            && !matches!(notice, Notice::NotCompressed { .. })
        {
            describe(notice).into_iter().for_each(|line| listener.push(&line));
        }
    });
    let past = Arc::new(store.clone());
    let hands = Hands::unattended(app, listener.clone(), Some(past), stop);
    let parts = Parts {
        app,
        runtime,
        switchboard: board.clone(),
        hands: &hands,
        store: Ok(store),
        listener,
        live: false,
        // The tools of the conversation are part of what its model has in its cache.
        tools: agent::granted(app, &hands, &How::default())?,
        max_turns: None,
    };
    let mut agent = parts.agent(Session::Kept(id)).await?;
    let focus = Some(args.topic.join(" ")).filter(|topic| !topic.trim().is_empty());
    let made = agent.shorten(&Shorten::Now { focus }, stop).await;
    agent.desk().close().await;
    hands.close().await;
    Ok(made)
}

fn tell(
    made: Result<CompressionRecord, NotShorter>,
    args: &CompressArgs,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let record = match made {
        Ok(record) => record,
        Err(NotShorter::Ended(End::Interrupted(_))) => return Ok(Exit::Interrupted),
        Err(why) => return Err(Trouble::Refused(format!("The conversation stays as it is: {why}."))),
    };
    if args.json {
        writeln!(console.out, "{}", json_pretty(&record).map_err(std::io::Error::from)?)?;
        return Ok(Exit::Done);
    }
    let goes_on = record.child.as_ref().unwrap_or(&record.session);
    writeln!(console.out, "{goes_on}")?;
    let author =
        record.model.as_deref().map_or("without a model".to_owned(), |model| format!("by {}", one_line(model)));
    writeln!(
        console.err,
        "{} became {}, about {} tokens became {}, with a summary {author}. Go on with `hermes --resume {goes_on}`.",
        count(record.messages_before, "message"),
        grouped(record.messages_after),
        grouped(record.tokens_before),
        grouped(record.tokens_after),
    )?;
    Ok(Exit::Done)
}

/// What was told while the model was asked.
#[derive(Default)]
struct Said(Mutex<Vec<String>>);

impl Said {
    fn push(&self, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
