//! The addresses and public client ids of the login servers. Fields, so that tests point them at a local server.

use url::Url;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    pub anthropic_authorize: Url,
    /// Tried in this order.
    pub anthropic_tokens: Vec<Url>,
    pub anthropic_redirect: Url,
    pub codex_user_code: Url,
    pub codex_poll: Url,
    pub codex_token: Url,
    /// The page a person opens.
    pub codex_page: Url,
    pub codex_redirect: Url,
    pub nous_portal: Url,
    pub nous_inference: Url,
    pub github_device: Url,
    pub github_token: Url,
    pub copilot_exchange: Url,
    /// Used when the exchange names no other.
    pub copilot_api: Url,
}

impl Default for Endpoints {
    fn default() -> Self {
        Self {
            anthropic_authorize: constant("https://claude.ai/oauth/authorize"),
            anthropic_tokens: vec![
                constant("https://platform.claude.com/v1/oauth/token"),
                constant("https://console.anthropic.com/v1/oauth/token"),
            ],
            anthropic_redirect: constant("https://console.anthropic.com/oauth/code/callback"),
            codex_user_code: constant("https://auth.openai.com/api/accounts/deviceauth/usercode"),
            codex_poll: constant("https://auth.openai.com/api/accounts/deviceauth/token"),
            codex_token: constant("https://auth.openai.com/oauth/token"),
            codex_page: constant("https://auth.openai.com/codex/device"),
            codex_redirect: constant("https://auth.openai.com/deviceauth/callback"),
            nous_portal: constant("https://portal.nousresearch.com"),
            nous_inference: constant("https://inference-api.nousresearch.com/v1"),
            github_device: constant("https://github.com/login/device/code"),
            github_token: constant("https://github.com/login/oauth/access_token"),
            copilot_exchange: constant("https://api.github.com/copilot_internal/v2/token"),
            copilot_api: constant("https://api.githubcopilot.com"),
        }
    }
}

#[expect(clippy::expect_used, reason = "the literals above are URLs; a test builds the default")]
fn constant(text: &'static str) -> Url {
    Url::parse(text).expect("a literal URL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_address_is_encrypted() {
        let all = Endpoints::default();
        let urls = [
            &all.anthropic_authorize,
            &all.anthropic_redirect,
            &all.codex_user_code,
            &all.codex_poll,
            &all.codex_token,
            &all.codex_page,
            &all.codex_redirect,
            &all.nous_portal,
            &all.nous_inference,
            &all.github_device,
            &all.github_token,
            &all.copilot_exchange,
            &all.copilot_api,
        ];
        let plain: Vec<_> =
            urls.into_iter().chain(&all.anthropic_tokens).filter(|url| url.scheme() != "https").collect();
        assert_eq!(plain, Vec::<&Url>::new());
    }
}
