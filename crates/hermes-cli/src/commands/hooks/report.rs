//! What can be said about one hook without a conversation.

use super::sample;
use crate::app::App;
use crate::commands::paper;
use crate::hands;
use hermes_plugins::Outside;
use hermes_plugins::shell::consent::{Consents, is_relative, script};
use hermes_plugins::shell::{HookConfig, fire};

/// How a hook is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::commands) struct Checkup {
    pub(in crate::commands) lines: Vec<String>,
    pub(in crate::commands) is_broken: bool,
}

impl Checkup {
    fn fine(&mut self, line: impl Into<String>) {
        self.lines.push(format!("✓ {}", line.into()));
    }

    fn odd(&mut self, line: impl Into<String>) {
        self.lines.push(format!("! {}", line.into()));
    }

    fn broken(&mut self, line: impl Into<String>) {
        self.lines.push(format!("✗ {}", line.into()));
        self.is_broken = true;
    }
}

/// Looks at a hook; with a world to run in, one that may run is tried. What nobody consented to never runs.
pub(in crate::commands) async fn checkup(app: &App, hook: &HookConfig, world: Option<&Outside>) -> Checkup {
    let mut report = Checkup::default();
    let around = hands::surroundings(app);
    let is_path = hook.command.contains('/');
    match script(&hook.command, &around) {
        Some(path) if path.is_file() => report.fine(format!("its script is there: {}", path.display())),
        Some(path) if is_path => report.broken(format!("{} is not there; correct the command", path.display())),
        Some(_) | None => {}
    }
    if is_relative(&hook.command, &around) {
        report.odd("means another file in every folder a conversation begins in; name the script by its whole path");
    }
    let Some(consent) = Consents::of(app.home.dir()).find(hook) else {
        report.odd("does not run: nobody consented to it; start a conversation, or `hermes -z hi --accept-hooks`");
        return report;
    };
    match consent.is_outdated(&hook.command, &around) {
        true => report.odd(format!(
            "its script was changed after you consented ({}); look at it, then `hermes hooks revoke` to be asked again",
            consent.approved_at
        )),
        false => report.fine(format!("may run since {}", consent.approved_at)),
    }
    if let Some(world) = world {
        let fired = fire(hook, sample(hook.occasion), world, &*app.clock).await;
        let took = fired.took.as_millis();
        match fired.verdict(hook.occasion) {
            Ok(Some(answer)) => {
                report.fine(format!("answers within {took} ms: {}", paper::one_line(&answer.to_string())))
            }
            Ok(None) if fired.stdout.trim().is_empty() => {
                report.fine(format!("ran well, {took} ms, without an opinion"))
            }
            Ok(None) => report.odd("it says something that is no JSON; that is ignored"),
            Err(reason) => report.broken(format!("failed: {}", paper::one_line(&reason))),
        }
    }
    report
}
