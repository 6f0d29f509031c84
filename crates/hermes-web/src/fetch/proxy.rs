//! Which proxy stands between this machine and a host, by the variables everybody uses.
//!
//! `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY` name one, `NO_PROXY` the hosts that are reached without: names with
//! everything below them, addresses, networks, or `*`. Small letters count too.

use std::net::IpAddr;
use url::Url;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<String>,
    https: Option<String>,
    without: Vec<String>,
}

/// Variables that are read, for whoever hands them over.
pub const PROXY_VARIABLES: [&str; 8] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"];

impl Proxies {
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let either = |name: &str| {
            variable(name).or_else(|| variable(&name.to_lowercase())).filter(|value| !value.trim().is_empty())
        };
        let all = either("ALL_PROXY");
        let listed = either("NO_PROXY").unwrap_or_default();
        Self {
            http: either("HTTP_PROXY").or_else(|| all.clone()),
            https: either("HTTPS_PROXY").or(all),
            without: listed
                .split(',')
                .map(|entry| entry.trim().to_lowercase())
                .filter(|entry| !entry.is_empty())
                .collect(),
        }
    }

    /// The names of the proxies themselves.
    pub(super) fn hosts(&self) -> Vec<String> {
        let whole = |proxy: &String| if proxy.contains("://") { proxy.clone() } else { format!("http://{proxy}") };
        let proxies = [&self.http, &self.https].into_iter().flatten().map(whole);
        proxies.filter_map(|proxy| Some(Url::parse(&proxy).ok()?.host_str()?.to_owned())).collect()
    }

    /// The proxy for this address, unless it is reached without.
    pub(super) fn route(&self, url: &Url) -> Option<&str> {
        let proxy = if url.scheme() == "https" { &self.https } else { &self.http };
        let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
        proxy.as_deref().filter(|_| !self.without.iter().any(|entry| leaves_out(entry, host)))
    }
}

fn leaves_out(entry: &str, host: &str) -> bool {
    if entry == "*" {
        return true;
    }
    let Ok(ip) = host.parse::<IpAddr>() else {
        let entry = entry.trim_start_matches("*.").trim_start_matches('.');
        return host.strip_suffix(entry).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    };
    match entry.split_once('/') {
        None => entry.parse() == Ok(ip),
        Some((net, bits)) => {
            net.parse().ok().zip(bits.parse().ok()).is_some_and(|(net, bits)| is_inside(ip, net, bits))
        }
    }
}

fn is_inside(ip: IpAddr, net: IpAddr, bits: u32) -> bool {
    match (ip, net) {
        (IpAddr::V4(ip), IpAddr::V4(net)) => {
            bits <= 32 && (ip.to_bits() ^ net.to_bits()).checked_shr(32 - bits).unwrap_or(0) == 0
        }
        (IpAddr::V6(ip), IpAddr::V6(net)) => {
            bits <= 128 && (ip.to_bits() ^ net.to_bits()).checked_shr(128 - bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_for_its_scheme_and_for_hosts_that_are_not_left_out() {
        let variables = |name: &str| match name {
            "https_proxy" => Some("http://proxy.test:3128".to_owned()),
            "NO_PROXY" => Some("intern.test, .Lan.test,10.0.0.0/8,192.168.1.7,::1".to_owned()),
            _ => None,
        };
        let proxies = Proxies::read(variables);
        let route = |url: &str| proxies.route(&Url::parse(url).expect(url));
        assert_eq!(proxies.hosts(), ["proxy.test"]);
        assert_eq!(route("https://example.com/"), Some("http://proxy.test:3128"));
        assert_eq!(route("https://notintern.test/"), Some("http://proxy.test:3128"));
        assert_eq!(route("https://11.0.0.1/"), Some("http://proxy.test:3128"));
        for without in [
            "http://example.com/",
            "https://intern.test/",
            "https://a.intern.test./",
            "https://lan.test/",
            "https://10.200.0.1/",
            "https://192.168.1.7/",
            "https://[::1]/",
        ] {
            assert_eq!(route(without), None, "{without}");
        }
        assert_eq!(
            Proxies::read(|name| (name == "NO_PROXY").then(|| "*".into())),
            Proxies { without: vec!["*".into()], ..Proxies::default() }
        );
    }
}
