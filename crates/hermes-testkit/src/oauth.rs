//! The login servers of the vendors on one loopback port: device codes, polling, code exchange, refresh.
//!
//! Every request is recorded. Refresh tokens work once, as they do in the field: using one again answers as the vendor
//! would and is a violation, because a second use is how people lose their logins.

use crate::clock::FakeClock;
use crate::http::{After, Handler, Received, Service, Wire};
use crate::oauth_vendors;
use hermes_core::clock::Clock;
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};
use url::Url;

/// Whose login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vendor {
    Nous,
    Codex,
    Anthropic,
    Copilot,
}

/// A step of a login, for the script of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OAuthStep {
    /// The first request of a device flow.
    DeviceCode,
    /// The question whether the person has agreed.
    Poll,
    /// A code for tokens.
    Exchange,
    Refresh,
    /// A GitHub token for a Copilot token.
    CopilotToken,
}

/// One server for all vendors; the path tells whose endpoint is meant.
///
/// ```no_run
/// # async fn example() {
/// use hermes_testkit::{OAuthServer, Vendor};
/// let oauth = OAuthServer::start().await;
/// oauth.pending(2);
/// let stored = oauth.issue_refresh_token(Vendor::Nous);
/// // … log in or refresh against `oauth.root_url()` …
/// oauth.finish();
/// # }
/// ```
#[derive(Debug)]
pub struct OAuthServer {
    service: Service,
    desk: Arc<Desk>,
}

#[derive(Debug, Default)]
struct Desk {
    state: Mutex<Ledger>,
}

/// Everything the login servers know.
#[derive(Debug)]
pub(crate) struct Ledger {
    clock: Option<FakeClock>,
    pub(crate) lifetime: Duration,
    pub(crate) pending: usize,
    pub(crate) slow_downs: usize,
    pub(crate) refusal: Option<String>,
    pub(crate) inference_url: Option<String>,
    failures: Vec<(OAuthStep, u16, Value)>,
    allow_reuse: bool,
    issued: usize,
    pub(crate) refresh_tokens: HashMap<String, RefreshToken>,
    /// Codes waiting for their exchange, with what must come along.
    pub(crate) codes: HashMap<String, Code>,
    pub(crate) device_codes: HashMap<String, Vendor>,
    pub(crate) github_tokens: Vec<String>,
    requests: Vec<Received>,
    violations: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct RefreshToken {
    pub(crate) vendor: Vendor,
    pub(crate) used: bool,
}

#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) verifier: Verifier,
    pub(crate) state: Option<String>,
    pub(crate) redirect: Option<String>,
}

/// What proves that the one who exchanges a code is the one who asked for it.
#[derive(Debug)]
pub(crate) enum Verifier {
    /// The server made it up itself (Codex).
    Exactly(String),
    /// Its SHA-256, in base64, was told before (PKCE).
    Hashed(String),
}

/// What was done with a refresh token.
pub(crate) enum Redeemed {
    Fresh,
    Reused,
    Unknown,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            clock: None,
            lifetime: Duration::from_secs(3600),
            pending: 0,
            slow_downs: 0,
            refusal: None,
            inference_url: None,
            failures: Vec::new(),
            allow_reuse: false,
            issued: 0,
            refresh_tokens: HashMap::new(),
            codes: HashMap::new(),
            device_codes: HashMap::new(),
            github_tokens: Vec::new(),
            requests: Vec::new(),
            violations: Vec::new(),
        }
    }
}

impl OAuthServer {
    pub async fn start() -> Self {
        let desk = Arc::new(Desk::default());
        let service = Service::start("127.0.0.1", desk.clone()).await;
        Self { service, desk }
    }

    /// `http://127.0.0.1:PORT`; put the vendor's path behind it.
    pub fn root_url(&self) -> String {
        format!("http://{}", self.service.address())
    }

    /// Expiry times follow this clock instead of the machine's.
    pub fn attach_clock(&self, clock: &FakeClock) {
        self.desk.ledger().clock = Some(clock.clone());
    }

    /// So many polls find that the person has not agreed yet.
    pub fn pending(&self, polls: usize) {
        self.desk.ledger().pending = polls;
    }

    /// So many polls, before the pending ones, are told to slow down.
    pub fn slow_down(&self, polls: usize) {
        self.desk.ledger().slow_downs = polls;
    }

    /// Polls that are due an answer get this error: `access_denied`, `expired_token`.
    pub fn refuse(&self, error: &str) {
        self.desk.ledger().refusal = Some(error.to_owned());
    }

    /// The next request of this kind fails so. Several failures are played in order.
    pub fn fail(&self, step: OAuthStep, status: u16, body: Value) {
        self.desk.ledger().failures.push((step, status, body));
    }

    /// How long the access tokens issued from now on live.
    pub fn lifetime(&self, lifetime: Duration) {
        self.desk.ledger().lifetime = lifetime;
    }

    /// Where the issued tokens are good for: `inference_base_url` of Nous, `endpoints.api` of Copilot.
    pub fn inference_url(&self, url: &str) {
        self.desk.ledger().inference_url = Some(url.to_owned());
    }

    /// A refresh token from an earlier login, for tests that begin with one.
    pub fn issue_refresh_token(&self, vendor: Vendor) -> String {
        self.desk.ledger().new_refresh_token(vendor)
    }

    /// An access token as the vendor would issue it now.
    pub fn issue_access_token(&self, vendor: Vendor) -> String {
        oauth_vendors::access_token(&mut self.desk.ledger(), vendor)
    }

    /// A second use of a refresh token is what this test is about: still refused, but no violation.
    pub fn allow_reuse(&self) {
        self.desk.ledger().allow_reuse = true;
    }

    /// Plays the person in the browser: agrees to an authorisation address and returns the `code#state` to paste.
    #[track_caller]
    pub fn approve(&self, authorize_url: &str) -> String {
        let url = Url::parse(authorize_url).expect("an authorisation address is a URL");
        let query: HashMap<_, _> = url.query_pairs().into_owned().collect();
        let field = |name: &str| query.get(name).unwrap_or_else(|| panic!("{url} lacks `{name}`")).clone();
        assert_eq!(field("code_challenge_method"), "S256", "{url}");
        let (challenge, state, redirect) = (field("code_challenge"), field("state"), field("redirect_uri"));
        let mut ledger = self.desk.ledger();
        let code = ledger.fresh("code");
        let waiting =
            Code { verifier: Verifier::Hashed(challenge), state: Some(state.clone()), redirect: Some(redirect) };
        ledger.codes.insert(code.clone(), waiting);
        format!("{code}#{state}")
    }

    /// Everything that came, in order.
    pub fn requests(&self) -> Vec<Received> {
        self.desk.ledger().requests.clone()
    }

    pub fn violations(&self) -> Vec<String> {
        self.desk.ledger().violations.clone()
    }

    /// Hands over the violations so far, for the test that provokes them.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut self.desk.ledger().violations)
    }

    /// Panics if a request broke a rule.
    #[track_caller]
    pub fn finish(mut self) {
        self.settle();
    }

    #[track_caller]
    fn settle(&mut self) {
        self.service.stop();
        let violations = self.take_violations();
        if !violations.is_empty() && !std::thread::panicking() {
            panic!("the login server saw {} violations:\n  {}", violations.len(), violations.join("\n  "));
        }
    }
}

impl Drop for OAuthServer {
    fn drop(&mut self) {
        self.settle();
    }
}

impl Desk {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.state.lock().expect("nothing panics while holding the ledger")
    }
}

impl Handler for Desk {
    async fn answer(&self, request: Received, wire: &mut Wire) -> io::Result<After> {
        let reply = {
            let mut ledger = self.ledger();
            let reply = oauth_vendors::answer(&mut ledger, &request);
            ledger.requests.push(request);
            reply
        };
        let headers = [("content-type".to_owned(), reply.content_type.to_owned())];
        wire.whole(reply.status, &headers, reply.body.as_bytes()).await
    }
}

impl Ledger {
    pub(crate) fn now(&self) -> u64 {
        let now = self.clock.as_ref().map_or_else(SystemTime::now, FakeClock::now);
        now.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs()
    }

    /// A value nobody has seen before.
    pub(crate) fn fresh(&mut self, prefix: &str) -> String {
        self.issued += 1;
        format!("{prefix}-{}", self.issued)
    }

    pub(crate) fn new_refresh_token(&mut self, vendor: Vendor) -> String {
        let prefix = if vendor == Vendor::Anthropic { "sk-ant-ort01-rehearsal" } else { "refresh" };
        let token = self.fresh(prefix);
        self.refresh_tokens.insert(token.clone(), RefreshToken { vendor, used: false });
        token
    }

    /// Uses a refresh token up.
    pub(crate) fn redeem(&mut self, vendor: Vendor, token: &str, request: &Received) -> Redeemed {
        match self.refresh_tokens.get_mut(token) {
            Some(known) if known.vendor == vendor && !known.used => {
                known.used = true;
                Redeemed::Fresh
            }
            Some(known) if known.vendor == vendor => {
                if !self.allow_reuse {
                    self.violate(request, &format!("the refresh token `{token}` was used before"));
                }
                Redeemed::Reused
            }
            Some(known) => {
                let owner = known.vendor;
                self.violate(request, &format!("the refresh token `{token}` belongs to {owner:?}, not to {vendor:?}"));
                Redeemed::Unknown
            }
            None => Redeemed::Unknown,
        }
    }

    /// The failure the script holds for this step, once.
    pub(crate) fn scripted_failure(&mut self, step: OAuthStep) -> Option<(u16, Value)> {
        let at = self.failures.iter().position(|(planned, ..)| *planned == step)?;
        let (_, status, body) = self.failures.remove(at);
        Some((status, body))
    }

    pub(crate) fn violate(&mut self, request: &Received, complaint: &str) {
        self.violations.push(format!("{}: {complaint}", request.label()));
    }
}
