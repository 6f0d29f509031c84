//! Decisions: who is asked, what is remembered, and what nothing can lift.

use crate::judged;
use hermes_tools::gate::{
    Answer, Channel, Decision, Effect, Matter, Mode, Opinion, Permanence, Policy, Reason, Refusal, Remember, Rule,
    Settled, SudoPassword, Yolo, canonical_key, decide, hear, settle,
};
use std::collections::BTreeSet;

const DELETE: &str = "recursive delete";

/// A policy that can be varied: nothing is written down, a person is there.
struct Owner {
    mode: Mode,
    yolo: Yolo,
    channel: Channel,
    sudo_password: SudoPassword,
    rules: Vec<Rule>,
    allowlist: Vec<String>,
    session: BTreeSet<String>,
}

impl Owner {
    fn new() -> Self {
        Self {
            mode: Mode::Manual,
            yolo: Yolo::Off,
            channel: Channel::Person,
            sudo_password: SudoPassword::Missing,
            rules: Vec::new(),
            allowlist: Vec::new(),
            session: BTreeSet::new(),
        }
    }

    fn rule(mut self, effect: Effect, pattern: &str) -> Self {
        self.rules.push(Rule::command(effect, pattern));
        self
    }

    fn says(&self, command: &str) -> Decision {
        let policy = Policy {
            tool: "terminal",
            mode: self.mode,
            yolo: self.yolo,
            channel: self.channel,
            sudo_password: self.sudo_password,
            rules: &self.rules,
            allowlist: &self.allowlist,
            session: &self.session,
        };
        decide(&Matter::of(&judged(command)), &policy)
    }
}

fn keys(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

fn asked(found: &[&str], permanence: Permanence) -> Decision {
    Decision::Ask { keys: keys(found), permanence }
}

#[test]
fn a_harmless_command_runs_and_a_dangerous_one_is_asked_about() {
    let owner = Owner::new();
    assert_eq!(owner.says("ls -l"), Decision::Allow(Reason::Harmless));
    assert_eq!(owner.says("rm -rf build"), asked(&[DELETE], Permanence::Offered));
}

#[test]
fn with_nobody_there_nothing_dangerous_runs() {
    // A model is no person: in mode smart too, nobody is asked where nobody is.
    for mode in [Mode::Manual, Mode::Smart] {
        let owner = Owner { channel: Channel::Nobody, mode, ..Owner::new() };
        assert_eq!(owner.says("cargo test"), Decision::Allow(Reason::Harmless));
        let refusal = Refusal::NobodyToAsk { keys: keys(&[DELETE]) };
        assert_eq!(owner.says("rm -rf build"), Decision::Refuse(refusal));
    }
    let owner = Owner { channel: Channel::Nobody, ..Owner::new() }.rule(Effect::Allow, "rm -rf build");
    assert_eq!(owner.says("rm -rf build"), Decision::Allow(Reason::Rule));
}

#[test]
fn hardline_and_deny_rules_win_over_everything() {
    let owner = Owner { yolo: Yolo::On, mode: Mode::Off, ..Owner::new() }
        .rule(Effect::Allow, "*")
        .rule(Effect::Deny, "git push*");
    let hardline = Refusal::Hardline { key: "delete the root, a system directory or the home" };
    assert_eq!(owner.says("rm -rf /"), Decision::Refuse(hardline));
    assert_eq!(owner.says("rm -rf build"), Decision::Allow(Reason::NotAsked));
    let denied = Decision::Refuse(Refusal::Rule { pattern: "git push*".into() });
    for hidden in [
        "git push",
        "GIT PUSH",
        "ls; git push",
        "sh -c 'git push'",
        "env A=1 git push -u",
        "g''it pu\\sh",
        "X=git; $X push",
    ] {
        assert_eq!(owner.says(hidden), denied, "{hidden}");
    }
}

#[test]
fn a_password_for_sudo_must_come_from_somewhere() {
    let owner = Owner { yolo: Yolo::On, ..Owner::new() };
    assert_eq!(owner.says("sudo -S ls"), Decision::Refuse(Refusal::SudoPasswordMissing));
    let owner = Owner { sudo_password: SudoPassword::Configured, ..owner };
    assert_eq!(owner.says("sudo -S ls"), Decision::Allow(Reason::NotAsked));
}

#[test]
fn the_allow_list_takes_one_plain_command_and_carries_nothing_along() {
    let owner = Owner { allowlist: keys(&["rm -rf build*"]), ..Owner::new() };
    assert_eq!(owner.says("rm -rf build"), Decision::Allow(Reason::Allowlist));
    for more in [
        "rm -rf build; rm -rf x",
        "rm -rf build && ls",
        "rm -rf build > x",
        "rm -rf build $(ls)",
        "rm -rf build\nls",
        "rm -rf build `ls`",
        "rm -rf build $X",
    ] {
        assert!(matches!(owner.says(more), Decision::Ask { .. }), "{more}: {:?}", owner.says(more));
    }
}

#[test]
fn consent_is_remembered_by_key_and_old_keys_still_count() {
    let owner = Owner { allowlist: keys(&["recursive delete (long flag)"]), ..Owner::new() };
    assert_eq!(owner.says("rm -rf build"), Decision::Allow(Reason::Remembered));
    let owner = Owner { session: BTreeSet::from([DELETE.to_owned()]), ..Owner::new() };
    assert_eq!(owner.says("rm -rf build"), Decision::Allow(Reason::Remembered));
    assert_eq!(
        owner.says("rm -rf build && git reset --hard"),
        asked(&["git reset --hard (destroys uncommitted changes)"], Permanence::Offered)
    );
    assert_eq!(canonical_key("write to block device"), Some("write to a block device"));
    assert_eq!(canonical_key("no such key"), None);
}

#[test]
fn consent_to_what_cannot_be_read_is_never_remembered() {
    let unread = "command cannot be read";
    let owner = Owner { session: BTreeSet::from([unread.to_owned()]), allowlist: keys(&[unread]), ..Owner::new() };
    assert_eq!(owner.says("echo 'x"), asked(&[unread], Permanence::OnceOnly));
    assert_eq!(settle(Answer::Always, &keys(&[unread]), Permanence::OnceOnly), Settled::Run(Remember::Nothing));
}

#[test]
fn an_ask_rule_means_a_person() {
    let owner =
        Owner { mode: Mode::Smart, ..Owner::new() }.rule(Effect::Ask, "cargo publish*").rule(Effect::Allow, "*");
    assert_eq!(owner.says("cargo publish"), asked(&["rule: cargo publish*"], Permanence::OnceOnly));
    let owner = Owner { channel: Channel::Nobody, ..owner };
    let refusal = Refusal::NobodyToAsk { keys: keys(&["rule: cargo publish*"]) };
    assert_eq!(owner.says("cargo publish"), Decision::Refuse(refusal));
}

#[test]
fn a_model_may_say_yes_once_and_only_a_person_may_overrule_its_no() {
    let owner = Owner { mode: Mode::Smart, ..Owner::new() };
    let found = keys(&[DELETE]);
    assert_eq!(owner.says("rm -rf build"), Decision::Consult { keys: found.clone(), permanence: Permanence::Offered });
    let table = [
        (Opinion::Approve, Decision::Allow(Reason::ModelApproved)),
        (Opinion::Deny, asked(&[DELETE], Permanence::OnceOnly)),
        (Opinion::Escalate, asked(&[DELETE], Permanence::Offered)),
    ];
    for (opinion, expected) in table {
        assert_eq!(hear(opinion, found.clone(), Permanence::Offered), expected, "{opinion:?}");
    }
}

#[test]
fn answers_end_in_what_was_offered_and_silence_is_no() {
    let found = keys(&[DELETE]);
    let table = [
        (Answer::Once, Settled::Run(Remember::Nothing)),
        (Answer::Session, Settled::Run(Remember::Session(found.clone()))),
        (Answer::Always, Settled::Run(Remember::Always(found.clone()))),
        (Answer::Deny, Settled::Denied),
        (Answer::TimedOut, Settled::TimedOut),
    ];
    for (answer, expected) in table {
        assert_eq!(settle(answer, &found, Permanence::Offered), expected);
    }
}

#[test]
fn modes_are_read_from_settings() {
    for (text, mode) in
        [("manual", Some(Mode::Manual)), ("Smart", Some(Mode::Smart)), ("false", Some(Mode::Off)), ("x", None)]
    {
        assert_eq!(Mode::from_setting(text), mode, "{text}");
    }
}
