//! The gate, held against what is done to get past it and against what people do all day.
#![allow(clippy::expect_used, reason = "a test that cannot read its corpus should say so at once")]

mod decisions;
mod laws;
mod still;

use hermes_tools::gate::{Class, Judgement, Place, judge};

pub(crate) fn place() -> Place {
    Place { home: "/home/ada".into(), hermes_home: "/home/ada/.hermes".into(), cwd: "/home/ada/work".into() }
}

pub(crate) fn judged(command: &str) -> Judgement {
    judge(command, &place())
}

fn written(line: &str) -> String {
    line.replace('␤', "\n").replace('␛', "\u{1b}")
}

/// The dangers of the corpus: class, key, command.
pub(crate) fn dangers() -> Vec<(Class, String, String)> {
    let mut dangers = Vec::new();
    let mut under = None;
    for line in include_str!("dangers.txt").lines() {
        if let Some(title) = line.strip_prefix("== ") {
            let (class, key) = title.split_once(' ').expect("a class and a key");
            let class = if class == "hardline" { Class::Hardline } else { Class::Dangerous };
            under = Some((class, key.to_owned()));
        } else if let (Some((class, key)), false) = (&under, line.is_empty()) {
            dangers.push((*class, key.clone(), written(line)));
        }
    }
    dangers
}

pub(crate) fn ordinary() -> Vec<String> {
    include_str!("ordinary.txt").lines().skip(1).filter(|line| !line.is_empty()).map(written).collect()
}

#[test]
fn every_danger_is_seen_for_what_it_is() {
    let dangers = dangers();
    assert!(dangers.len() >= 500, "{} dangers", dangers.len());
    let mut missed = Vec::new();
    for (class, key, command) in dangers {
        let findings = judged(&command).findings;
        if !findings.iter().any(|found| found.key == key && found.class == class) {
            let seen: Vec<&str> = findings.iter().map(|found| found.key).collect();
            missed.push(format!("{command:?} is not seen as {key:?} but as {seen:?}"));
        }
    }
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
}

/// A danger that can be asked about must not be refused for good.
#[test]
fn what_a_person_may_allow_is_not_refused_for_good() {
    let wrong: Vec<String> = dangers()
        .into_iter()
        .filter(|(class, _, command)| {
            *class == Class::Dangerous && judged(command).findings.iter().any(|found| found.class == Class::Hardline)
        })
        .map(|(_, _, command)| command)
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn ordinary_work_is_left_alone() {
    let ordinary = ordinary();
    assert!(ordinary.len() >= 300, "{} commands", ordinary.len());
    let alarms: Vec<String> = ordinary
        .iter()
        .filter_map(|command| {
            let findings = judged(command).findings;
            let keys: Vec<&str> = findings.iter().map(|found| found.key).collect();
            (!keys.is_empty()).then(|| format!("{command:?}: {keys:?}"))
        })
        .collect();
    assert!(alarms.len() * 100 < ordinary.len(), "{} of {}:\n{}", alarms.len(), ordinary.len(), alarms.join("\n"));
}
