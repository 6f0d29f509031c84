//! An address as somebody wrote it, judged as far as its text tells.
//!
//! It is read once, by the rules browsers have (so `http://0x7f.1/`, `http:\\2130706433`, full-width digits and escaped
//! dots are the addresses they stand for), and only what was read is used from then on. Names are judged here by
//! themselves; what they lead to is judged when they are looked up.

use super::address::{Verdict, judge};
use super::{FetchFault, Rules, secrets};
use std::net::IpAddr;
use url::{Host, Url};

/// A longer address is no address but a message.
const LONGEST: usize = 8_192;

/// Names under which clouds hand out credentials, wherever they lead.
const METADATA_NAMES: [&str; 5] = [
    "metadata.google.internal",
    "metadata.goog",
    "instance-data",
    "instance-data.ec2.internal",
    "metadata.azure.internal",
];

/// Ports of services that might take a request for something else; those that browsers refuse.
const NOT_FOR_THE_WEB: [u16; 82] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
    532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
    5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 10080,
];

/// An address that may be asked for, once its name was looked up and judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target(Url);

impl Target {
    pub fn read(written: &str, rules: &Rules) -> Result<Self, FetchFault> {
        let mut url = parsed(written)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(FetchFault::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(FetchFault::Userinfo);
        }
        if let Some(port) = url.port().filter(|port| NOT_FOR_THE_WEB.contains(port)) {
            return Err(FetchFault::Port(port));
        }
        let shown = host_of(&url);
        let name = shown.trim_end_matches('.');
        if METADATA_NAMES.contains(&name) {
            return Err(FetchFault::Metadata(name.to_owned()));
        }
        if let Some(hit) = rules.blocklist.hit(name) {
            return Err(FetchFault::Website { host: name.to_owned(), rule: hit.rule, source_of_rule: hit.source });
        }
        match url.host() {
            Some(Host::Ipv4(ip)) => admitted(IpAddr::V4(ip), name, rules)?,
            Some(Host::Ipv6(ip)) => admitted(IpAddr::V6(ip), name, rules)?,
            Some(Host::Domain(_)) if !name.is_empty() => {}
            Some(Host::Domain(_)) | None => return Err(FetchFault::NotAnAddress("The address has no host.".into())),
        }
        secrets::checked(written, &url)?;
        // A server never sees it, and two addresses that differ in it are one page.
        url.set_fragment(None);
        Ok(Self(url))
    }

    pub fn url(&self) -> &Url {
        &self.0
    }

    /// The host as messages name it.
    pub fn host(&self) -> String {
        host_of(&self.0)
    }

    /// The name that has to be looked up; a number needs no looking up.
    pub fn name(&self) -> Option<&str> {
        self.0.domain()
    }
}

fn parsed(written: &str) -> Result<Url, FetchFault> {
    let written = written.trim();
    if written.len() > LONGEST {
        return Err(FetchFault::NotAnAddress(format!("The address is longer than {LONGEST} characters.")));
    }
    match Url::parse(written) {
        // What people say to each other has no scheme.
        Err(url::ParseError::RelativeUrlWithoutBase) if is_bare(written) => Url::parse(&format!("https://{written}")),
        other => other,
    }
    .map_err(|error| FetchFault::NotAnAddress(format!("This is no address ({error}).")))
}

/// `example.com/page`
fn is_bare(written: &str) -> bool {
    let host = written.split(['/', '?', '#']).next().unwrap_or_default();
    host.contains('.') && host.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-'))
}

pub(super) fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// One address that a host leads to.
pub(super) fn admitted(ip: IpAddr, host: &str, rules: &Rules) -> Result<(), FetchFault> {
    match judge(ip, rules.private) {
        Verdict::Admitted => Ok(()),
        Verdict::Private(what) => Err(FetchFault::Private { host: host.to_owned(), what }),
        Verdict::Metadata => Err(FetchFault::Metadata(host.to_owned())),
    }
}
