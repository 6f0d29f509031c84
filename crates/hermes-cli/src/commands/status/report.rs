//! The report of `hermes status` as data, and as words.

use super::super::table;
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;

/// Models named in a line.
const MOST_NAMES: usize = 4;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) config_file: PathBuf,
    pub(super) profile: String,
    /// What would be asked; `None` when nothing can be.
    pub(super) main: Option<Main>,
    /// Why nothing can be asked, and what to do.
    pub(super) problem: Option<String>,
    pub(super) fallbacks: Vec<Place>,
    pub(super) auxiliary: Vec<Job>,
    /// Names of variables that hold keys.
    pub(super) environment: Vec<String>,
    pub(super) stored: Vec<Stored>,
    /// `None` when nobody looked.
    pub(super) local_servers: Option<Vec<Local>>,
    pub(super) probe: Option<Probe>,
    pub(super) warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Main {
    pub(super) provider: String,
    pub(super) label: String,
    pub(super) model: String,
    /// Nobody chose it; it stands first in the endpoint's list.
    pub(super) is_first_listed: bool,
    pub(super) base_url: String,
    pub(super) api_mode: &'static str,
    /// Where the credential is from.
    pub(super) credential: String,
    /// A fingerprint, never the secret.
    pub(super) secret: Option<String>,
    pub(super) context_window: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Place {
    pub(super) provider: String,
    pub(super) model: String,
    /// `None` when it could be asked now.
    pub(super) problem: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Job {
    pub(super) task: String,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    /// Why the first place that was configured is passed over.
    pub(super) problem: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Stored {
    pub(super) provider: String,
    pub(super) label: String,
    pub(super) source: String,
    pub(super) state: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Local {
    pub(super) provider: String,
    pub(super) base_url: String,
    pub(super) models: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Probe {
    pub(super) answers: bool,
    pub(super) models: Option<usize>,
    pub(super) problem: Option<String>,
}

impl Report {
    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        self.print_main(out)?;
        self.print_fallbacks(out)?;
        self.print_auxiliary(out)?;
        self.print_credentials(out)?;
        self.print_local(out)?;
        if !self.warnings.is_empty() {
            writeln!(out, "\nWarnings")?;
            for warning in &self.warnings {
                writeln!(out, "  {warning}")?;
            }
        }
        if let Some(problem) = &self.problem {
            writeln!(out, "\nNo model can be asked: {problem}.")?;
        }
        Ok(())
    }

    fn print_main(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut rows: Vec<[String; 2]> = Vec::new();
        let mut row = |name: &str, value: String| rows.push([name.to_owned(), value]);
        if let Some(main) = &self.main {
            let chosen = if main.is_first_listed { ", the first model listed there" } else { "" };
            row("model", format!("{}{chosen}", main.model));
            row("provider", format!("{} ({})", main.label, main.provider));
            row("endpoint", format!("{}, {}", main.base_url, main.api_mode));
            let secret = main.secret.as_deref().map_or_else(String::new, |secret| format!("{secret}, "));
            row("credential", format!("{secret}{}", main.credential));
            row("context", format!("{} tokens", table::grouped(main.context_window)));
        } else if let Some(Local { provider, base_url, models }) = self.local_servers.iter().flatten().next() {
            row("model", models.first().cloned().unwrap_or_default());
            row("provider", format!("{provider}, found on this machine; `hermes model` makes it a choice"));
            row("endpoint", base_url.clone());
        } else {
            row("model", "none".into());
        }
        match &self.probe {
            Some(Probe { models: Some(models), .. }) => row("answers", format!("yes; models listed: {models}")),
            Some(Probe { problem, .. }) => row("answers", format!("no: {}", problem.as_deref().unwrap_or_default())),
            None => {}
        }
        row("settings", format!("{} (profile {})", self.config_file.display(), self.profile));
        table::write(out, &rows)
    }

    fn print_fallbacks(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.fallbacks.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nWhen it fails")?;
        let rows: Vec<[String; 4]> = (1..)
            .zip(&self.fallbacks)
            .map(|(number, place): (usize, _)| {
                [
                    number.to_string(),
                    place.provider.clone(),
                    place.model.clone(),
                    place.problem.clone().unwrap_or_else(|| "ready".into()),
                ]
            })
            .collect();
        table::write(out, &rows)
    }

    fn print_auxiliary(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.auxiliary.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nSide jobs")?;
        let rows: Vec<[String; 3]> = self
            .auxiliary
            .iter()
            .map(|job| {
                let whom = match (&job.provider, &job.model) {
                    (Some(provider), Some(model)) => format!("{model} at {provider}"),
                    _ => "nobody can do it".into(),
                };
                let problem =
                    job.problem.as_ref().map_or_else(String::new, |problem| format!("not as configured: {problem}"));
                [job.task.clone(), whom, problem]
            })
            .collect();
        table::write(out, &rows)
    }

    fn print_credentials(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.environment.is_empty() && self.stored.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nKeys and logins")?;
        let variables =
            self.environment.iter().map(|name| [name.clone(), "variable".into(), String::new(), String::new()]);
        let stored = self
            .stored
            .iter()
            .map(|row| [row.provider.clone(), row.label.clone(), row.source.clone(), row.state.clone()]);
        table::write(out, &variables.chain(stored).collect::<Vec<_>>())
    }

    fn print_local(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(servers) = &self.local_servers else { return Ok(()) };
        writeln!(out, "\nServers on this machine")?;
        if servers.is_empty() {
            return writeln!(out, "  none answers");
        }
        let rows: Vec<[String; 3]> = servers
            .iter()
            .map(|server| [server.provider.clone(), server.base_url.clone(), some(&server.models)])
            .collect();
        table::write(out, &rows)
    }
}

/// The first few of many names.
fn some(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MOST_NAMES).map(String::as_str).collect();
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_models_are_not_all_named() {
        let names = |count: usize| (1..=count).map(|number| format!("m{number}")).collect::<Vec<_>>();
        assert_eq!(some(&names(4)), "m1, m2, m3, m4");
        assert_eq!(some(&names(62)), "m1, m2, m3, m4 and 58 more");
    }
}
