//! Who listens at the other end: the URL, the headers and the place of the credential.

use super::super::{AuthHeader, Login, Target, copilot};
use crate::provider::Quirk;
use hermes_types::Request;
use url::Url;

const VERSION: &str = "2023-06-01";
const AZURE_VERSION: &str = "2025-04-15";

const INTERLEAVED_THINKING: &str = "interleaved-thinking-2025-05-14";
const TOOL_STREAMING: &str = "fine-grained-tool-streaming-2025-05-14";
const LONG_CONTEXT: &str = "context-1m-2025-08-07";
const OAUTH: &str = "oauth-2025-04-20";
const FAST: &str = "fast-mode-2026-02-01";

/// The receivers that differ in more than their address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vendor {
    Anthropic,
    Azure,
    Bedrock,
    DeepSeek,
    Kimi,
    MiniMax,
    Palantir,
    Other,
}

const HOSTS: [(&str, Vendor); 11] = [
    ("anthropic.com", Vendor::Anthropic),
    ("azure.com", Vendor::Azure),
    ("amazonaws.com", Vendor::Bedrock),
    ("deepseek.com", Vendor::DeepSeek),
    ("kimi.com", Vendor::Kimi),
    ("moonshot.ai", Vendor::Kimi),
    ("moonshot.cn", Vendor::Kimi),
    ("minimax.io", Vendor::MiniMax),
    ("minimaxi.com", Vendor::MiniMax),
    ("minimax.chat", Vendor::MiniMax),
    ("palantirfoundry.com", Vendor::Palantir),
];

impl Vendor {
    /// By the host; a Kimi model behind a proxy wants the same treatment as at home.
    pub(super) fn of(target: &Target, model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        match HOSTS.iter().find(|(host, _)| target.host_is(host)) {
            Some((_, vendor)) => *vendor,
            None if model.contains("kimi") || model.contains("moonshot") => Self::Kimi,
            None => Self::Other,
        }
    }

    /// The `/coding` endpoint of Kimi is the one that does not see.
    pub(super) fn sees(self, target: &Target) -> bool {
        !(self == Self::Kimi && is_kimi_coding(target))
    }
}

/// `{base}/v1/messages`, whether or not the base ends in `/v1` already.
pub(super) fn url(target: &Target) -> Url {
    let mut url = target.base_url.clone();
    let path = url.path().trim_end_matches('/');
    let root = path.strip_suffix("/v1").unwrap_or(path).to_owned();
    url.set_path(&format!("{root}/v1/messages"));
    let versioned = url.query_pairs().any(|(key, _)| key == "api-version");
    if is_azure_resource(target) && root.contains("/anthropic") && !versioned {
        url.query_pairs_mut().append_pair("api-version", AZURE_VERSION);
    }
    url
}

/// What the request asks for beyond the ordinary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extras {
    pub(super) long_context: bool,
    pub(super) fast: bool,
}

pub(super) fn headers(
    request: &Request,
    target: &Target,
    vendor: Vendor,
    extras: Extras,
) -> Vec<(&'static str, String)> {
    let long_context = extras.long_context && matches!(vendor, Vendor::Azure | Vendor::Bedrock);
    let betas = [
        (INTERLEAVED_THINKING, true),
        (TOOL_STREAMING, vendor != Vendor::MiniMax),
        (LONG_CONTEXT, long_context),
        (OAUTH, vendor == Vendor::Anthropic && target.login == Login::OAuth),
        (FAST, extras.fast),
    ];
    let betas: Vec<&str> = betas.into_iter().filter(|(_, sent)| *sent).map(|(name, _)| name).collect();
    let mut headers = vec![("anthropic-version", VERSION.to_owned()), ("anthropic-beta", betas.join(","))];
    headers.extend(target.vendor_headers());
    headers.extend(copilot::headers(request, target));
    headers
}

pub(super) fn auth(target: &Target, vendor: Vendor) -> AuthHeader {
    let bearer = matches!(vendor, Vendor::MiniMax | Vendor::Azure | Vendor::Palantir)
        || target.provider.has(Quirk::BearerOnMessages)
        || copilot::serves(target);
    if target.login == Login::OAuth {
        AuthHeader::Bearer
    } else if is_kimi_coding(target) || !bearer {
        AuthHeader::XApiKey
    } else {
        AuthHeader::Bearer
    }
}

/// How a request that is no question (a list of models) introduces itself: as a plain question would.
pub(crate) fn introduction(target: &Target) -> (AuthHeader, Vec<(&'static str, String)>) {
    let vendor = Vendor::of(target, "");
    let extras = Extras { long_context: false, fast: false };
    (auth(target, vendor), headers(&Request::default(), target, vendor, extras))
}

fn is_kimi_coding(target: &Target) -> bool {
    target.host_is("kimi.com") && target.base_url.path().split('/').any(|segment| segment == "coding")
}

/// `<resource>.services.ai.azure.com`, `<resource>.openai.azure.com`, and the same in sovereign clouds.
fn is_azure_resource(target: &Target) -> bool {
    let labels: Vec<&str> = target.host().split('.').skip(1).collect();
    labels.starts_with(&["services", "ai", "azure"]) || labels.starts_with(&["openai", "azure"])
}
