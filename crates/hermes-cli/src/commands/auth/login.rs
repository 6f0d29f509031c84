//! Logging in with a browser that may be on another machine: an address to open, and a code to confirm there or to paste
//! here.
//!
//! The login is stored as soon as the vendor grants it. Until then nothing is written, so leaving early leaves no trace.

use super::super::person::Person;
use super::super::table::span;
use super::super::waiting::watch;
use super::super::{Console, Trouble};
use crate::settings::Environment;
use hermes_model::auth::edit::NewKey;
use hermes_model::auth::pkce::Proof;
use hermes_model::auth::{
    AuthCode, AuthContext, AuthError, DevicePrompt, anthropic, codex, copilot, nous, provider_id,
};
use hermes_model::provider::AuthKind;
use std::process::Stdio;
use url::Url;

/// How a vendor lets people in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// The page shows a code to paste here (Anthropic).
    Paste,
    /// We show a code to confirm on the page.
    Device(Vendor),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vendor {
    Codex,
    Nous,
    Copilot,
}

/// Whether the address is opened for the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Browser {
    Open,
    Leave,
}

impl Flow {
    pub(super) fn of(auth: AuthKind) -> Option<Self> {
        match auth {
            AuthKind::Anthropic => Some(Self::Paste),
            AuthKind::CodexOAuth => Some(Self::Device(Vendor::Codex)),
            AuthKind::NousOAuth => Some(Self::Device(Vendor::Nous)),
            AuthKind::CopilotToken => Some(Self::Device(Vendor::Copilot)),
            AuthKind::ApiKey | AuthKind::OptionalKey | AuthKind::ExternalProcess => None,
        }
    }
}

impl Browser {
    /// Only where a window can appear in front of the person.
    pub(super) fn choose(environment: &Environment, unwanted: bool) -> Self {
        let set = |name: &str| environment.get(name).is_some();
        let remote = set("SSH_CONNECTION") || set("SSH_TTY");
        let screen = cfg!(target_os = "macos") || set("DISPLAY") || set("WAYLAND_DISPLAY");
        if screen && !remote && !unwanted && Person::present().is_some() { Self::Open } else { Self::Leave }
    }

    /// A browser that does not start costs nothing: the address is on the screen.
    fn show(self, page: &Url) {
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        if self == Self::Open {
            let mut command = std::process::Command::new(program);
            command.arg(page.as_str()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            drop(command.spawn());
        }
    }
}

pub(super) async fn log_in(
    flow: Flow,
    cx: &AuthContext,
    label: Option<String>,
    browser: Browser,
    person: Option<Person>,
    console: &mut Console<'_>,
) -> Result<(), Trouble> {
    match flow {
        Flow::Paste => paste(cx, browser, person, console).await,
        Flow::Device(vendor) => confirm(vendor, cx, label, browser, console).await,
    }
}

async fn paste(
    cx: &AuthContext,
    browser: Browser,
    person: Option<Person>,
    console: &mut Console<'_>,
) -> Result<(), Trouble> {
    let proof = Proof::random();
    let page = anthropic::authorize_url(&cx.endpoints, &proof);
    writeln!(console.err, "Open this page, log in, and copy the code it shows:\n\n  {page}\n")?;
    browser.show(&page);
    loop {
        let pasted = match person {
            Some(person) => person.line("Code:", "the whole of it, with the # in the middle", "").await?,
            None => console.read_line()?,
        };
        if pasted.trim().is_empty() {
            let again = "no code was pasted; start again with `hermes auth add anthropic --type oauth`";
            return Err(Trouble::Usage(again.into()));
        }
        let exchange = anthropic::finish_login(cx, &proof, &pasted);
        match watch(console, |_| "exchanging the code".to_owned(), exchange).await? {
            // Half a code is easily copied; the page still shows the whole.
            Err(error) if error.code == AuthCode::BadInput && person.is_some() => writeln!(console.err, "{error}")?,
            done => return Ok(done?),
        }
    }
}

async fn confirm(
    vendor: Vendor,
    cx: &AuthContext,
    label: Option<String>,
    browser: Browser,
    console: &mut Console<'_>,
) -> Result<(), Trouble> {
    let prompt = watch(console, |_| "asking for a code".to_owned(), start(vendor, cx)).await??;
    let page = prompt.page_with_code.as_ref().unwrap_or(&prompt.page);
    writeln!(console.err, "Open this page and confirm the code {}:\n\n  {page}\n", prompt.user_code)?;
    writeln!(
        console.err,
        "The code is good for {}. Waiting for you to confirm; Ctrl-C leaves.",
        span(prompt.lifetime)
    )?;
    browser.show(page);
    let describe =
        |passed| format!("waiting for you to confirm, {} left", span(prompt.lifetime.saturating_sub(passed)));
    Ok(watch(console, describe, finish(vendor, cx, &prompt, label)).await??)
}

async fn start(vendor: Vendor, cx: &AuthContext) -> Result<DevicePrompt, AuthError> {
    match vendor {
        Vendor::Codex => codex::start_login(cx).await,
        Vendor::Nous => nous::start_login(cx).await,
        Vendor::Copilot => copilot::start_login(cx).await,
    }
}

async fn finish(
    vendor: Vendor,
    cx: &AuthContext,
    prompt: &DevicePrompt,
    label: Option<String>,
) -> Result<(), AuthError> {
    match vendor {
        Vendor::Codex => codex::finish_login(cx, prompt).await,
        Vendor::Nous => nous::finish_login(cx, prompt).await,
        Vendor::Copilot => {
            let key = copilot::finish_login(cx, prompt).await?;
            let new = NewKey { provider: provider_id::COPILOT.into(), label, key, base_url: None };
            cx.store().add_key(&*cx.clock, new).await.map(drop)
        }
    }
}

#[cfg(test)]
mod tests;
