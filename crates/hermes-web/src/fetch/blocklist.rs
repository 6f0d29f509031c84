//! Web sites that the owner does not want to be visited (`security.website_blocklist`).
//!
//! A rule is a domain and means everything below it too; `*.example.com` means what is below alone. Rules come from the
//! settings and from files with one rule a line. A file that cannot be read is told once and the other rules hold.

use std::path::{Path, PathBuf};

/// Longer files are read up to here: a list is no archive.
const LARGEST_FILE: usize = 4 << 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Blocklist {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    pattern: String,
    source: String,
}

/// The rule that stands against a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub rule: String,
    pub source: String,
}

impl Blocklist {
    /// Rules of the settings, and of files; relative ones lie in `home`. What could not be read is added to `odd`.
    pub fn read(domains: &[String], files: &[PathBuf], home: &Path, odd: &mut Vec<String>) -> Self {
        let mut list = Self::default();
        list.add(domains.iter().map(String::as_str), "config");
        for file in files {
            let path = home.join(file);
            match std::fs::read(&path) {
                Ok(bytes) => {
                    let bytes = bytes.get(..LARGEST_FILE).unwrap_or(&bytes);
                    let text = String::from_utf8_lossy(bytes);
                    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
                    list.add(lines, &path.display().to_string());
                }
                Err(error) => {
                    odd.push(format!("security.website_blocklist: {} cannot be read: {error}", path.display()))
                }
            }
        }
        list
    }

    fn add<'r>(&mut self, rules: impl Iterator<Item = &'r str>, source: &str) {
        let rules = rules.filter_map(pattern).map(|pattern| Rule { pattern, source: source.to_owned() });
        self.rules.extend(rules);
    }

    /// The first rule that means this host (in lower case, without a dot at its end).
    pub fn hit(&self, host: &str) -> Option<Hit> {
        let rule = self.rules.iter().find(|rule| rule.means(host))?;
        Some(Hit { rule: rule.pattern.clone(), source: rule.source.clone() })
    }
}

impl Rule {
    fn means(&self, host: &str) -> bool {
        match self.pattern.strip_prefix("*.") {
            Some(parent) => is_below(host, parent),
            None => host == self.pattern || is_below(host, &self.pattern),
        }
    }
}

fn is_below(host: &str, parent: &str) -> bool {
    host.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.'))
}

/// A rule as people write it (an address, capital letters, `www.`) in the one form that is compared.
fn pattern(written: &str) -> Option<String> {
    let written = written.trim();
    let behind_scheme = written.split_once("://").map_or(written, |(_, rest)| rest);
    let host = behind_scheme.split(['/', '?', '#']).next()?;
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let host = host.trim_end_matches('.').to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let (star, name) = host.strip_prefix("*.").map_or(("", host), |name| ("*.", name));
    // Hosts are compared in the form that is sent over the wire.
    let name = url::Host::parse(name).ok()?.to_string();
    Some(format!("{star}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_means_its_domain_and_what_is_below() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("list.txt"), "# mine\n\nhttps://WWW.Ads.example/path\n*.tracker.test\n")
            .expect("written");
        let mut odd = Vec::new();
        let domains = ["bad.example".to_owned(), "München.example".to_owned()];
        let files = ["list.txt".into(), "missing.txt".into()];
        let list = Blocklist::read(&domains, &files, folder.path(), &mut odd);
        let source = folder.path().join("list.txt").display().to_string();
        let rule = |host: &str| list.hit(host).map(|hit| hit.rule);
        for host in ["bad.example", "deep.down.bad.example"] {
            assert_eq!(list.hit(host), Some(Hit { rule: "bad.example".into(), source: "config".into() }), "{host}");
        }
        assert_eq!(list.hit("ads.example"), Some(Hit { rule: "ads.example".into(), source }));
        assert_eq!(rule("a.tracker.test").as_deref(), Some("*.tracker.test"));
        assert_eq!(rule("xn--mnchen-3ya.example").as_deref(), Some("xn--mnchen-3ya.example"));
        for host in ["notbad.example", "bad.example.org", "tracker.test", "example"] {
            assert_eq!(rule(host), None, "{host}");
        }
        assert_eq!(odd.len(), 1, "{odd:?}");
        assert!(odd[0].contains("missing.txt"), "{odd:?}");
    }
}
