//! Variables that a skill asks for. A person is asked for their values, which go to the home's `.env`, and whether commands
//! may see them, which is `terminal.env_passthrough`. Where nobody can be asked, it is told what to type. Keys of Hermes
//! itself are not given to any skill: whoever asks for one is named.

use super::{Bench, trouble};
use crate::app::App;
use crate::commands::config::{refuse_managed, set_variable};
use crate::commands::person::Person;
use crate::commands::{Console, Exit, Trouble, paper};
use crate::hands;
use crate::settings::KeyPath;
use crate::settings::edit::{self, Change};
use hermes_tools::skills::inventory::{self, Variable};
use hermes_tools::terminal::surroundings;
use serde_json::{Value, json};

/// Names of Hermes' own settings, which a skill must not write.
const OF_HERMES: [&str; 2] = ["HERMES_", "_HERMES_"];

/// How a variable stands to commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Seen,
    /// It is set, and kept from commands.
    HeldBack,
    Missing,
    /// It is a key or a setting of Hermes.
    Refused,
}

/// Asks for everything a skill needs.
pub(super) async fn setup(
    bench: &Bench<'_>,
    app: &App,
    name: &str,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let (name, needs) = inventory::needs(name, bench.settings, bench.scanner).map_err(trouble)?;
    if needs.is_empty() {
        writeln!(console.out, "The skill '{}' asks for no variables.", paper::one_line(&name))?;
        return Ok(Exit::Done);
    }
    let mut exit = Exit::Done;
    for need in &needs {
        let is_ready = match (standing(bench, app, &need.name), Person::present()) {
            (Standing::Seen, _) => told(console, &format!("{} is set.", need.name), true),
            (Standing::Refused, _) => {
                told(console, &format!("{} belongs to Hermes itself and is given to no skill.", need.name), false)
            }
            (Standing::HeldBack, Some(person)) => let_pass(app, need, person, console).await,
            (Standing::Missing, Some(person)) => ask(app, need, person, console).await,
            (Standing::HeldBack, None) => {
                let way = format!("`hermes skills setup {name}` in a terminal lets it pass");
                told(console, &format!("{} is set, and commands do not see it; {way}.", need.name), false)
            }
            (Standing::Missing, None) => {
                let way = format!("`hermes skills setup {name}` in a terminal asks for it");
                told(console, &format!("{} is missing; {way}.", need.name), false)
            }
        }?;
        if !is_ready && !need.optional {
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

/// The same for a skill that was just installed, where somebody is there; told otherwise.
pub(super) async fn after_installing(
    bench: &Bench<'_>,
    app: &App,
    name: &str,
    console: &mut Console<'_>,
) -> Result<(), Trouble> {
    let needs = inventory::needs(name, bench.settings, bench.scanner).map_err(trouble)?.1;
    let is_open = |need: &&Variable| standing(bench, app, &need.name) != Standing::Seen;
    let open: Vec<&str> = needs.iter().filter(is_open).map(|need| need.name.as_str()).collect();
    match (open.is_empty(), Person::present()) {
        (true, _) => {}
        (false, Some(_)) => drop(setup(bench, app, name, console).await?),
        (false, None) => {
            writeln!(console.err, "… it asks for {}: `hermes skills setup {name}` sets that", open.join(", "))?;
        }
    }
    Ok(())
}

fn told(console: &mut Console<'_>, line: &str, is_ready: bool) -> Result<bool, Trouble> {
    writeln!(console.out, "{}", paper::one_line(line))?;
    Ok(is_ready)
}

fn standing(bench: &Bench<'_>, app: &App, name: &str) -> Standing {
    let seen = surroundings::variables(&bench.settings.around, &bench.settings.terminal);
    match () {
        () if seen.get(name).is_some_and(|value| !value.trim().is_empty()) => Standing::Seen,
        () if hands::own_variables().any(|own| own == name) => Standing::Refused,
        () if OF_HERMES.iter().any(|start| name.to_ascii_uppercase().starts_with(start)) => Standing::Refused,
        () if app.environment.get(name).is_some() => Standing::HeldBack,
        () => Standing::Missing,
    }
}

async fn ask(app: &App, need: &Variable, person: Person, console: &mut Console<'_>) -> Result<bool, Trouble> {
    let about = [&need.prompt, &need.required_for].into_iter().flatten().map(|text| paper::one_line(text));
    let about: Vec<String> = about.collect();
    let question = match about.is_empty() {
        true => format!("{}:", need.name),
        false => format!("{} ({}):", need.name, about.join("; ")),
    };
    let help = need.help.as_deref().map_or_else(
        || "Enter alone leaves it out; commands of every conversation will see it".to_owned(),
        |help| format!("{}; Enter alone leaves it out, commands will see it", paper::one_line(help)),
    );
    let value = person.secret(&question, &help).await?;
    if value.trim().is_empty() {
        return told(console, &format!("{} was left out.", need.name), false);
    }
    set_variable(&app.home, &app.environment, console, &need.name, &value)?;
    pass_on(app, &need.name)?;
    Ok(true)
}

async fn let_pass(app: &App, need: &Variable, person: Person, console: &mut Console<'_>) -> Result<bool, Trouble> {
    let question = format!("{} is set, and kept from commands. Let commands see it?", need.name);
    if !person.confirm(&question).await? {
        return told(console, &format!("{} stays hidden.", need.name), false);
    }
    pass_on(app, &need.name)?;
    told(console, &format!("Commands see {} from the next conversation on.", need.name), true)
}

/// Names a variable in `terminal.env_passthrough`.
fn pass_on(app: &App, name: &str) -> Result<(), Trouble> {
    let path = KeyPath::of(["terminal", "env_passthrough"]);
    refuse_managed(&app.home, &app.environment, &path)?;
    edit::change_config(&app.home, |settings: &Value| {
        let before = path.find(settings).and_then(Value::as_array).cloned().unwrap_or_default();
        let is_there = before.iter().any(|one| one.as_str() == Some(name));
        let after = before.into_iter().chain([json!(name)]).collect::<Vec<_>>();
        Ok::<_, Trouble>(if is_there { Vec::new() } else { vec![Change::Set(path.clone(), after.into())] })
    })?;
    Ok(())
}
