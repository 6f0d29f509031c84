//! Each way in, played against the vendors' login servers as they answer in the field.

use super::*;
use hermes_model::auth::{AuthPaths, Endpoints};
use hermes_model::http::{HttpOptions, HttpTransport};
use hermes_testkit::{FakeClock, OAuthServer};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{self, BufRead, Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use tempfile::TempDir;

struct Stage {
    oauth: OAuthServer,
    cx: AuthContext,
    home: TempDir,
}

impl Stage {
    async fn new() -> Self {
        let oauth = OAuthServer::start().await;
        let clock = FakeClock::default();
        oauth.attach_clock(&clock);
        let at = |path: &str| -> Url { format!("{}{path}", oauth.root_url()).parse().expect("a URL") };
        let endpoints = Endpoints {
            anthropic_tokens: vec![at("/v1/oauth/token")],
            codex_user_code: at("/api/accounts/deviceauth/usercode"),
            codex_poll: at("/api/accounts/deviceauth/token"),
            codex_token: at("/oauth/token"),
            nous_portal: at(""),
            github_device: at("/login/device/code"),
            github_token: at("/login/oauth/access_token"),
            ..Endpoints::default()
        };
        let home = tempfile::tempdir().expect("a home");
        let transport = Arc::new(HttpTransport::new(HttpOptions { ca_bundle: None }));
        let cx = AuthContext::new(AuthPaths::root(home.path()), endpoints, transport, Arc::new(clock), Vec::new());
        Self { oauth, cx, home }
    }

    /// Logs in with nobody at the terminal; returns what stood on the screen.
    async fn log_in(&self, flow: Flow, label: Option<&str>) -> (String, Result<(), Trouble>) {
        let screen = Screen::default();
        let mut browser = Answers { screen: screen.clone(), oauth: &self.oauth, left: None };
        let (mut out, mut err) = (Vec::new(), screen.clone());
        let mut console = Console { out: &mut out, err: &mut err, input: &mut browser };
        let done = log_in(flow, &self.cx, label.map(str::to_owned), Browser::Leave, None, &mut console).await;
        (screen.text(), done)
    }

    fn file(&self, name: &str) -> Value {
        let bytes = std::fs::read(self.home.path().join(name)).expect("a file");
        serde_json::from_slice(&bytes).expect("JSON")
    }
}

/// What the person sees.
#[derive(Clone, Default)]
struct Screen(Rc<RefCell<Vec<u8>>>);

impl Screen {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.borrow()).into_owned()
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A person who opens the address on the screen, agrees there, and pastes the code.
struct Answers<'a> {
    screen: Screen,
    oauth: &'a OAuthServer,
    left: Option<io::Cursor<Vec<u8>>>,
}

impl Answers<'_> {
    fn line(&mut self) -> &mut io::Cursor<Vec<u8>> {
        self.left.get_or_insert_with(|| {
            let text = self.screen.text();
            let address = text.split_whitespace().find(|word| word.starts_with("https://")).expect("an address");
            io::Cursor::new(format!("{}\n", self.oauth.approve(address)).into_bytes())
        })
    }
}

impl Read for Answers<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.line().read(buffer)
    }
}

impl BufRead for Answers<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.line().fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.line().consume(amount);
    }
}

#[tokio::test]
async fn a_pasted_code_logs_in_to_anthropic() {
    let stage = Stage::new().await;
    let (screen, done) = stage.log_in(Flow::Paste, None).await;
    done.expect("logged in");
    assert!(
        screen
            .starts_with("Open this page, log in, and copy the code it shows:\n\n  https://claude.ai/oauth/authorize?")
    );
    assert!(stage.file(".anthropic_oauth.json")["accessToken"].is_string());
    assert_eq!(stage.file("auth.json")["active_provider"], json!("anthropic"));
}

#[tokio::test]
async fn a_confirmed_code_logs_in_to_codex() {
    let stage = Stage::new().await;
    stage.oauth.pending(2);
    let (screen, done) = stage.log_in(Flow::Device(Vendor::Codex), None).await;
    done.expect("logged in");
    assert_eq!(
        screen,
        "Open this page and confirm the code ABCD-12345:\n\n  https://auth.openai.com/codex/device\n\n\
         The code is good for 15 min. Waiting for you to confirm; Ctrl-C leaves.\n"
    );
    assert!(stage.file("auth.json")["providers"]["openai-codex"]["tokens"]["access_token"].is_string());
}

#[tokio::test]
async fn the_github_token_of_copilot_becomes_a_named_row() {
    let stage = Stage::new().await;
    stage.oauth.pending(1);
    let (_, done) = stage.log_in(Flow::Device(Vendor::Copilot), Some("work")).await;
    done.expect("logged in");
    let rows = &stage.file("auth.json")["credential_pool"]["copilot"];
    assert_eq!(
        (&rows[0]["label"], &rows[0]["source"], rows.as_array().map(Vec::len)),
        (&json!("work"), &json!("manual"), Some(1))
    );
}

#[tokio::test]
async fn a_declined_login_writes_nothing() {
    let stage = Stage::new().await;
    stage.oauth.refuse("access_denied");
    let (_, done) = stage.log_in(Flow::Device(Vendor::Nous), None).await;
    assert!(matches!(done, Err(Trouble::Auth(_))), "{done:?}");
    assert!(!stage.home.path().join("auth.json").exists());
}
