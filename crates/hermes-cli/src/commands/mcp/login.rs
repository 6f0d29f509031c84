//! A person logs in at a server: the address to open, and the wait for the browser to come back.

use super::super::{Console, Exit, Trouble, paper};
use super::named;
use crate::app::App;
use crate::commands::waiting::stop_on_signal;
use hermes_mcp::{Login, LoginError};
use std::convert::Infallible;
use std::io::IsTerminal as _;
use std::process::Stdio;

/// Programs that open an address in the browser of the person.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

pub(super) async fn run(app: &App, name: &str, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let server = named(app, name)?;
    let stop = stop_on_signal();
    let login = tokio::select! {
        biased;
        () = stop.wait() => return Err(Trouble::Interrupted),
        login = Login::begin(&server, app.home.dir()) => login.map_err(|error| trouble(&error))?,
    };
    writeln!(console.out, "Open this address to log in at `{name}`:\n  {}", paper::one_line(login.address()))?;
    writeln!(console.out, "Then wait here, or paste the address of the page you are sent to.")?;
    console.out.flush()?;
    let address = login.address().to_owned();
    // What opens an address may be the browser itself, and end when the person closes it.
    let opened = async {
        open(&address, app).await;
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        biased;
        () = stop.wait() => return Err(Trouble::Interrupted),
        done = login.finish(pasted()) => done.map_err(|error| trouble(&error))?,
        never = opened => match never {},
    }
    writeln!(console.out, "Logged in at `{name}`. `hermes mcp test {name}` shows its tools.")?;
    Ok(Exit::Done)
}

fn trouble(error: &LoginError) -> Trouble {
    Trouble::Refused(paper::shown(&format!("{error}.")))
}

/// The line that the person pastes. Where no input comes, the browser is waited for alone.
async fn pasted() -> String {
    let (tell, told) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        if std::io::stdin().read_line(&mut line).is_ok_and(|read| read > 0) && !line.trim().is_empty() {
            // Nobody listens any more once the browser was quicker.
            let _ = tell.send(line);
        }
    });
    match told.await {
        Ok(line) => line,
        Err(_) => std::future::pending().await,
    }
}

/// Where a person sits at a screen, the browser opens by itself. It is no loss where it does not.
async fn open(address: &str, app: &App) {
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| app.environment.get(name).is_some());
    if !std::io::stdout().is_terminal() || !(has_screen || cfg!(target_os = "macos")) {
        return;
    }
    for opener in OPENERS {
        let mut command = tokio::process::Command::new(opener);
        command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.status().await.is_ok_and(|status| status.success()) {
            return;
        }
    }
}
