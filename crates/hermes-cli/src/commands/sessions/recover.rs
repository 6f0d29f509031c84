//! `hermes sessions recover`: a new file from a damaged one.

use crate::commands::person::Person;
use crate::commands::{Console, Exit, Trouble};
use crate::settings::Home;
use clap::Args;
use hermes_store::{Diagnosis, Lost, Recovered};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct RecoverArgs {
    /// Only write what was saved to this new file, and leave everything as it is
    #[arg(long, value_name = "FILE")]
    pub into: Option<PathBuf>,

    /// Do not ask before the files are swapped
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
    match hermes_store::diagnose(&path) {
        Ok(found @ (Diagnosis::Sound | Diagnosis::IndexOff)) if !args.force => {
            let was_marked = hermes_store::absolve(&path)?;
            let more = if was_marked { " It may be written again." } else { "" };
            match found {
                Diagnosis::IndexOff => writeln!(console.err, "{}{more}", index_off(&path))?,
                _ => writeln!(console.err, "Nothing is wrong with {}.{more}", path.display())?,
            }
            return Ok(Exit::Done);
        }
        Ok(Diagnosis::Sound | Diagnosis::IndexOff) => {}
        Ok(Diagnosis::Damaged(found)) => writeln!(console.err, "{} is damaged: {found}.", path.display())?,
        // What cannot even be opened may still hold messages.
        Err(error) => writeln!(console.err, "{error}.")?,
    }
    match &args.into {
        Some(into) => {
            tell(&hermes_store::recover(&path, into)?, into, console)?;
            writeln!(console.err, "{} was left as it is.", path.display())?;
            Ok(Exit::Done)
        }
        None => swap(&path, args.yes, console).await,
    }
}

fn index_off(path: &Path) -> String {
    format!(
        "The messages in {} are sound. A search index does not fit them, as older versions of SQLite leave it; it is built \
         anew when it gets in the way.\n`hermes sessions recover --force` makes a new file with new indexes.",
        path.display()
    )
}

/// Makes the new file beside the damaged one and changes their places.
async fn swap(path: &Path, yes: bool, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let person = Person::present();
    if !yes && person.is_none() {
        return Err(Trouble::Refused(
            "Nothing was changed. `hermes sessions recover -y` puts a new file in its place and keeps this one;\n\
             `--into FILE` only writes a new file."
                .into(),
        ));
    }
    let time = jiff::Zoned::now().strftime("%Y%m%d_%H%M%S").to_string();
    let beside = |addition: &str| path.with_file_name(format!("state.db.{addition}-{time}"));
    let (made, kept_as) = (beside("recovered"), beside("damaged"));
    tell(&hermes_store::recover(path, &made)?, &made, console)?;
    if let (false, Some(person)) = (yes, person)
        && person.line("Put the new file in the place of the old one? (yes/no)", "", "yes").await? != "yes"
    {
        return Err(Trouble::Refused(format!("{} stays as it is; the new file is beside it.", path.display())));
    }
    let kept = hermes_store::replace(path, &made, &kept_as)?;
    writeln!(console.out, "{}", path.display())?;
    writeln!(console.err, "It may be written again. The old file is kept as {}.", kept.display())?;
    Ok(Exit::Done)
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
