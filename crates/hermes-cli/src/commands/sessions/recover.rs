//! `hermes sessions recover`: a new file from a damaged one.

use crate::commands::person::Person;
use crate::commands::{Console, Exit, Trouble};
use crate::settings::Home;
use clap::Args;
use hermes_store::{Diagnosis, Held, Lost, Recovered};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct RecoverArgs {
    /// Only write what was saved to this new file, and leave everything as it is
    #[arg(long, value_name = "FILE")]
    pub into: Option<PathBuf>,

    /// Do not ask before a new file takes the place of the old one
    #[arg(short = 'y', long)]
    pub yes: bool,

    /// Make a new file although nothing is wrong
    #[arg(long)]
    pub force: bool,
}

pub(in crate::commands) async fn run(
    args: RecoverArgs,
    home: &Home,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let path = home.state_db();
    if !path.exists() {
        writeln!(console.err, "There are no sessions yet: {} does not exist.", path.display())?;
        return Ok(Exit::Done);
    }
    if let Some(user) = hermes_store::user_of(&path) {
        return Err(Trouble::Refused(format!(
            "{} is in use by {user}. Nothing was changed; end it and try again.",
            path.display()
        )));
    }
    if hermes_store::take_back(&path)? {
        writeln!(console.err, "An earlier recovery was cut off while files changed places; that was taken back.")?;
    }
    let found = match hermes_store::diagnose(&path) {
        Ok(found @ (Diagnosis::Sound | Diagnosis::IndexUnfit)) if !args.force => {
            let was_marked = hermes_store::absolve(&path)?;
            let more = if was_marked { " It may be written again." } else { "" };
            match found {
                Diagnosis::IndexUnfit => writeln!(console.err, "{}{more}", index_unfit(&path))?,
                _ => writeln!(console.err, "Nothing is wrong with {}.{more}", path.display())?,
            }
            return Ok(Exit::Done);
        }
        Ok(Diagnosis::Sound | Diagnosis::IndexUnfit) => "a new file is being made from it".to_owned(),
        Ok(Diagnosis::Damaged(found)) => {
            writeln!(console.err, "{} is damaged: {found}.", path.display())?;
            found
        }
        // What cannot even be opened may still hold messages.
        Err(error) => {
            writeln!(console.err, "{error}.")?;
            error.to_string()
        }
    };
    match &args.into {
        Some(into) => {
            tell(&hermes_store::recover(&path, into)?, into, console)?;
            writeln!(console.err, "{} was left as it is.", path.display())?;
            Ok(Exit::Done)
        }
        None => swap(&path, &found, args.yes, console).await,
    }
}

fn index_unfit(path: &Path) -> String {
    format!(
        "The messages in {} are sound. A search index does not fit them, as older versions of SQLite leave it; it is built \
         anew when it gets in the way.\n`hermes sessions recover --force` makes a new file with new indexes.",
        path.display()
    )
}

/// Makes the new file beside the damaged one and changes their places. The person is asked before: from the copy to the
/// end nobody may write, or what they wrote would be lost.
async fn swap(path: &Path, found: &str, yes: bool, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    if !yes {
        let Some(person) = Person::present() else {
            return Err(Trouble::Refused(
                "Nothing was changed. `hermes sessions recover -y` puts a new file in its place and keeps this one;\n\
                 `--into FILE` only writes a new file."
                    .into(),
            ));
        };
        let question = "Save what can be read into a new file and put that in the place of the old one? (yes/no)";
        if person.line(question, "", "yes").await? != "yes" {
            return Err(Trouble::Refused(format!("{} stays as it is.", path.display())));
        }
    }
    let mut held = Held::take(path)?;
    held.mark(found);
    let (made, kept_as) = free_names(path);
    tell(&held.recover(&made)?, &made, console)?;
    let kept = held.replace(&made, &kept_as)?;
    writeln!(console.out, "{}", path.display())?;
    writeln!(console.err, "It may be written again. The old file is kept as {}.", kept.display())?;
    Ok(Exit::Done)
}

/// Names for the new file and for the old one. Two recoveries in one second get different ones.
fn free_names(path: &Path) -> (PathBuf, PathBuf) {
    let time = jiff::Zoned::now().strftime("%Y%m%d_%H%M%S").to_string();
    let named = |addition: &str| path.with_file_name(format!("state.db.{addition}"));
    let is_free = |name: &PathBuf| name.symlink_metadata().is_err();
    let mut number = 1;
    loop {
        let time = if number == 1 { time.clone() } else { format!("{time}-{number}") };
        let (made, kept) = (named(&format!("recovered-{time}")), named(&format!("damaged-{time}")));
        let logs = ["-wal", "-journal"].map(|log| named(&format!("damaged-{time}{log}")));
        if is_free(&made) && is_free(&kept) && logs.iter().all(is_free) {
            return (made, kept);
        }
        number += 1;
    }
}

fn tell(recovered: &Recovered, file: &Path, console: &mut Console<'_>) -> Result<(), Trouble> {
    let Recovered { sessions, messages, from_pages, sessions_made_up, lost, may_hold_deleted } = recovered;
    writeln!(console.err, "Saved {messages} messages of {sessions} sessions into {}.", file.display())?;
    if *from_pages > 0 {
        writeln!(console.err, "{from_pages} of them were found in loose pages.")?;
    }
    if *sessions_made_up > 0 {
        writeln!(console.err, "Of {sessions_made_up} sessions only messages were left; their source is `unknown`.")?;
    }
    match lost {
        Lost::Exactly(0) => writeln!(console.err, "No message was lost.")?,
        Lost::Exactly(lost) => writeln!(console.err, "{lost} messages are lost.")?,
        Lost::AtMost(0) => writeln!(console.err, "No gap was found between the messages.")?,
        Lost::AtMost(lost) => {
            writeln!(console.err, "At most {lost} messages are lost; some of them may have been deleted before.")?;
        }
    }
    if *may_hold_deleted {
        writeln!(console.err, "The list of free pages was destroyed too: deleted messages may have come back.")?;
    }
    Ok(())
}
