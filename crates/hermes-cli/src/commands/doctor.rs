//! `hermes doctor`: what works, what is odd and what is broken, in sections; each line that is not fine says what to type.
//!
//! Nothing is changed and nothing is asked over the network: whether a provider answers is the business of
//! `hermes status --deep`. Plugins that are enabled are started once, because only that shows whether they run. The exit
//! code is 1 when something is broken, also with `--json`.

mod look;

use super::waiting::watch;
use super::{Console, Exit, Trouble, paper};
use crate::app::App;
use crate::settings::{Environment, Home};
use serde::Serialize;

#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// As JSON, for programs
    #[arg(long)]
    pub json: bool,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Fine,
    Odd,
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    state: State,
    text: String,
    /// What to type.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Debug, Serialize)]
struct Section {
    name: &'static str,
    checks: Vec<Check>,
}

#[derive(Debug, Serialize)]
struct Report {
    sections: Vec<Section>,
    odd: usize,
    broken: usize,
}

impl Check {
    fn fine(text: impl Into<String>) -> Self {
        Self { state: State::Fine, text: text.into(), next: None }
    }

    fn odd(text: impl Into<String>, next: impl Into<String>) -> Self {
        Self { state: State::Odd, text: text.into(), next: Some(next.into()) }
    }

    fn broken(text: impl Into<String>, next: impl Into<String>) -> Self {
        Self { state: State::Broken, text: text.into(), next: Some(next.into()) }
    }
}

pub async fn run(args: DoctorArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = examine(&args, profile, console).await;
    console.finish(outcome)
}

async fn examine(args: &DoctorArgs, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let home = Home::of_process(profile)?;
    let environment = Environment::capture(&home);
    let mut sections = vec![
        Section { name: "Home", checks: look::home(&home) },
        Section { name: "Settings", checks: look::settings(&home, &environment) },
        Section { name: "Sessions", checks: look::sessions(&home).await },
    ];
    // Settings that cannot be read are named above; nothing can be said about what they would have set.
    if let Ok(app) = App::load(profile, None).await {
        sections.insert(2, Section { name: "Model", checks: look::model(&app) });
        let (tools, sandbox) = look::at_hand(&app);
        sections.push(Section { name: "Tools", checks: tools });
        sections.push(Section { name: "Sandbox", checks: sandbox });
        sections.push(Section { name: "MCP servers", checks: look::mcp(&app) });
        sections.push(Section { name: "Skills", checks: look::skills(&app) });
        let plugins = watch(console, |_| "plugins are started".to_owned(), look::plugins(&app)).await?;
        sections.push(Section { name: "Plugins", checks: plugins });
        sections.push(Section { name: "Hooks", checks: look::hooks(&app).await });
    }
    let count =
        |state| sections.iter().flat_map(|section| &section.checks).filter(|check| check.state == state).count();
    let report = Report { odd: count(State::Odd), broken: count(State::Broken), sections };
    match args.json {
        true => writeln!(console.out, "{}", paper::json_pretty(&report).map_err(std::io::Error::other)?)?,
        false => print(&report, console)?,
    }
    Ok(if report.broken == 0 { Exit::Done } else { Exit::Failed })
}

fn print(report: &Report, console: &mut Console<'_>) -> Result<(), Trouble> {
    let out = &mut *console.sentences();
    for section in report.sections.iter().filter(|section| !section.checks.is_empty()) {
        writeln!(out, "{}", section.name)?;
        for check in &section.checks {
            let mark = match check.state {
                State::Fine => '✓',
                State::Odd => '!',
                State::Broken => '✗',
            };
            let next = check.next.as_ref().filter(|next| !check.text.contains(next.as_str()));
            let next = next.map(|next| format!("; {next}")).unwrap_or_default();
            writeln!(out, "  {mark} {}{}", paper::one_line(&check.text), paper::one_line(&next))?;
        }
    }
    let things = |count: usize| if count == 1 { "1 thing is".to_owned() } else { format!("{count} things are") };
    match (report.broken, report.odd) {
        (0, 0) => writeln!(out, "\nAll is well.")?,
        (0, odd) => writeln!(out, "\nNothing is broken; {} worth a look.", things(odd))?,
        (broken, _) => writeln!(out, "\n{} broken (✗).", things(broken))?,
    }
    Ok(())
}
