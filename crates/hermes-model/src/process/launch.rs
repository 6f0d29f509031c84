//! How the Copilot program is found and what it may see.
//!
//! It inherits the environment, so that its own login and proxy settings work, except for the secrets of other parts of
//! this program: bots, gateways and infrastructure are none of its business.

use super::ProcessCommand;
use crate::resolve::Env;
use hermes_types::{Fault, FaultKind};
use std::path::PathBuf;

/// Variables that begin with one of these stay here.
const KEPT_BACK: [&str; 18] = [
    "TELEGRAM_",
    "DISCORD_",
    "SLACK_",
    "MATTERMOST_",
    "MATRIX_",
    "WHATSAPP_",
    "SIGNAL_",
    "EMAIL_",
    "TWILIO_",
    "TEAMS_",
    "FEISHU_",
    "WECOM_",
    "DINGTALK_",
    "LINE_",
    "WEBHOOK_",
    "GATEWAY_",
    "API_SERVER_",
    "SUDO_PASSWORD",
];

/// The command for `copilot-acp`, as the person configured it.
pub fn copilot(env: &Env, cwd: PathBuf) -> Result<ProcessCommand, Fault> {
    let program = ["HERMES_COPILOT_ACP_COMMAND", "COPILOT_CLI_PATH"].iter().find_map(|name| env.setting(name));
    let args = match env.setting("HERMES_COPILOT_ACP_ARGS") {
        None => vec!["--acp".to_owned(), "--stdio".to_owned()],
        Some(line) => shell_words::split(line).map_err(|_| {
            let message = format!("HERMES_COPILOT_ACP_ARGS has a quote without its partner: {line}");
            Fault::new(FaultKind::NotConfigured, message)
        })?,
    };
    let shared = env.process().filter(|(name, _)| !KEPT_BACK.iter().any(|prefix| name.starts_with(prefix)));
    Ok(ProcessCommand {
        program: program.unwrap_or("copilot").to_owned(),
        args,
        env: shared.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        cwd,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(process: &[(&str, &str)]) -> Env {
        Env::new([], process.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn the_program_sees_its_own_settings_and_not_our_bots() {
        let process = [
            ("PATH", "/bin"),
            ("GH_TOKEN", "gho_x"),
            ("TELEGRAM_BOT_TOKEN", "hidden"),
            ("COPILOT_CLI_PATH", "/opt/copilot"),
            ("HERMES_COPILOT_ACP_ARGS", "--acp 'a b'"),
        ];
        let command = copilot(&env(&process), "/work".into()).expect("a command");
        assert_eq!(
            (command.program.as_str(), command.args.as_slice()),
            ("/opt/copilot", &["--acp".into(), "a b".into()][..])
        );
        let names: Vec<&str> = command.env.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["COPILOT_CLI_PATH", "GH_TOKEN", "HERMES_COPILOT_ACP_ARGS", "PATH"]);
    }

    #[test]
    fn half_a_quote_is_reported() {
        let fault = copilot(&env(&[("HERMES_COPILOT_ACP_ARGS", "--x 'y")]), "/".into()).expect_err("half a quote");
        assert!(fault.message.contains("HERMES_COPILOT_ACP_ARGS"), "{fault}");
    }
}
