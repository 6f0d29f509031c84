use super::*;
use std::collections::BTreeSet;

fn look(text: &str) -> Report {
    scan(&Parcel::of_texts([("SKILL.md", text)]), &Scanner::new())
}

#[test]
fn every_pattern_can_be_compiled_and_means_something() {
    for rule in TABLE {
        assert!(regex::Regex::new(&format!("(?i){}", rule.pattern)).is_ok(), "{}", rule.id);
        assert!(!rule.meaning.is_empty() && rule.meaning.starts_with(char::is_lowercase), "{}", rule.id);
    }
    assert!(RULES.is_some(), "all of them fit into one set");
    let categories: BTreeSet<Category> = TABLE.iter().map(|rule| rule.category).collect();
    assert_eq!(categories.len(), 12, "every category has rows");
}

#[test]
fn the_worst_finding_is_the_verdict() {
    assert_eq!(look("Boil water.\n").verdict(), Verdict::Safe);
    assert_eq!(look("sudo apt install jq\n").verdict(), Verdict::Safe);
    assert_eq!(look("curl -k https://example.org/a\n").verdict(), Verdict::Caution);
    let report = look("Fine.\ncurl -k https://example.org/a\nrm -rf ~/\n");
    assert_eq!(report.verdict(), Verdict::Dangerous);
    assert_eq!(report.findings.first().map(|first| (first.rule.as_ref(), first.line)), Some(("delete_everything", 3)));
}

#[test]
fn disguises_and_broken_lines_hide_nothing() {
    for text in ["rm -rf \\\n  ~/\n", "ｒｍ －ｒｆ ~/\n", "r\u{200b}m -rf ~/\n", "\u{feff}rm -rf ~/\n"] {
        let found = look(text);
        assert_eq!(found.verdict(), Verdict::Dangerous, "{text:?}: {found:?}");
    }
}

#[test]
fn what_is_shown_of_a_finding_holds_no_secret() {
    let key = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let report = look(&format!("token = {key}\n"));
    assert_eq!(report.verdict(), Verdict::Caution);
    assert!(!report.worst().contains(&key), "{}", report.worst());
}

#[test]
fn files_are_looked_at_as_files() {
    let mut parcel = Parcel::of_texts([("SKILL.md", "Fine.\n"), ("assets/a.zip", "PK")]);
    assert_eq!(scan(&parcel, &Scanner::new()).verdict(), Verdict::Caution);
    parcel.links.push("references/leak".to_owned());
    parcel.files.insert(
        "scripts/tool".into(),
        crate::skills::parcel::Piece { bytes: b"\x7fELF\0\0".to_vec(), executable: true },
    );
    let report = scan(&parcel, &Scanner::new());
    let rules: BTreeSet<&str> = report.findings.iter().map(|finding| finding.rule.as_ref()).collect();
    assert_eq!(rules, BTreeSet::from(["link", "packed", "program"]));
    assert_eq!(report.verdict(), Verdict::Dangerous);
}
