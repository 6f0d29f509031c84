use crate::gate::{Class, Place, judge_script};
use proptest::prelude::*;

const STARTS: &str = "script that starts programs itself";
const COMPUTED: &str = "runs text that is only known when it runs";

fn place() -> Place {
    Place { home: "/home/ada".into(), hermes_home: "/home/ada/.hermes".into(), cwd: "/home/ada/work".into() }
}

fn keys(code: &str) -> Vec<&'static str> {
    judge_script(code, &place()).findings.iter().map(|finding| finding.key).collect()
}

#[test]
fn scripts_that_compute_and_call_tools_raise_no_question() {
    let table = [
        "from hermes_tools import terminal\nprint(terminal('ls -l')['output'])",
        "import json, re, os\nprint(re.compile('a+').sub('b', open('notes.txt').read()))",
        "ask(system='You are kind.', exec=None)",
        "import platform\nprint(platform.system())",
        "for name in os.listdir('.'): open(f'out/{name}.txt', 'w').write(name)",
        "frame.eval('a + b'); model.eval(); loop.exec()",
        "text = 'subprocess.run and eval(x) are only words here'",
        "# os.system('rm -rf /')\nprint('hi')",
        "s = '''\nimport subprocess\n'''\nprint(len(s))",
        "value = getattr(config, 'timeout', None)",
        "import pickle\nprint(pickle.dumps({1: 2}))",
        "from pathlib import Path\nPath('build').mkdir(exist_ok=True)\nPath('a.md').write_text('~')",
        "print(open('/etc/hosts').read())",
    ];
    for code in table {
        assert_eq!(keys(code), Vec::<&str>::new(), "{code}");
    }
}

#[test]
fn who_starts_programs_or_hides_what_runs_is_seen() {
    let table = [
        ("import subprocess\nsubprocess.run(['git', 'status'])", vec![STARTS]),
        ("from os import system as s\ns(x)", vec![STARTS]),
        ("import os as o\no.popen(x)", vec![STARTS]),
        ("import asyncio\nasyncio.create_subprocess_shell(x)", vec![STARTS]),
        ("print(f\"{__import__('os').name}\")", vec![COMPUTED]),
        ("getattr(os, 'sys' + 'tem')(x)", vec![COMPUTED]),
        ("getattr(os, 'system')(x)", vec![STARTS]),
        ("getattr(os, '\\x73ystem')(x)", vec![STARTS]),
        ("os.ｓystem(x)", vec![STARTS]),
        ("𝒐𝒔.𝒔𝒚𝒔𝒕𝒆𝒎(x)", vec![STARTS]),
        ("eval(x)", vec![COMPUTED]),
        ("run = {os.system: 1}", vec![STARTS]),
        ("if os.system == x: pass", vec![STARTS]),
        ("e = exec\ne(x)", vec![COMPUTED]),
        ("sys.modules['os']", vec![COMPUTED]),
        ("pickle.loads(b'cos\\nsystem\\n.')", vec![COMPUTED]),
        ("().__class__.__base__.__subclasses__()", vec![COMPUTED]),
        ("f'{subprocess.run(x)}'", vec![STARTS]),
        ("import ctypes", vec![COMPUTED]),
    ];
    for (code, expected) in table {
        assert_eq!(keys(code), expected, "{code}");
    }
}

#[test]
fn files_that_steer_the_machine_are_seen_by_their_names() {
    let sensitive = "overwrite sensitive file";
    let table = [
        ("open('/home/ada/.bashrc', 'a').write(x)", sensitive),
        ("open(os.path.expanduser('~/.bashrc'), 'a').write(x)", sensitive),
        ("(Path.home() / '.ssh' / 'authorized_keys').write_text(x)", sensitive),
        ("open('/home/ada/.ba' + 'shrc', 'a').write(x)", sensitive),
        ("open('/home/ada/.ba'\\\n'shrc', 'a').write(x)", sensitive),
        ("open(os.path.join(home, '.zshenv'), mode)", sensitive),
        ("open('/etc/cron.d/job', 'w').write(x)", "overwrite system config"),
        ("shutil.copy(x, '../.hermes/config.yaml')", sensitive),
        ("print(open('/home/ada/.ssh/id_rsa').read())", "read keys"),
        ("print(open(r'/home/ada/.ssh/id_rsa').read())", "read keys"),
        ("shutil.rmtree('build')", "recursive delete"),
        ("shutil.rmtree(folder)", "recursive delete"),
    ];
    for (code, expected) in table {
        assert!(keys(code).contains(&expected), "{code}: {:?}", keys(code));
    }
}

#[test]
fn what_never_runs_as_a_command_never_runs_out_of_a_script() {
    let table = [
        "import os\nos.system('rm -rf /')",
        "import subprocess\nsubprocess.run(['rm', '-rf',\n  '/'])",
        "import subprocess as s\ncommand = 'mkfs.ext4 /dev/sda1'\ns.run(command, shell=True)",
        "import shutil\nshutil.rmtree('/')",
        "import shutil\nshutil.rmtree(os.path.expanduser('~'))",
        "open('/dev/sda', 'wb').write(b'0')",
    ];
    for code in table {
        let judgement = judge_script(code, &place());
        assert_eq!(judgement.findings.first().map(|found| found.class), Some(Class::Hardline), "{code}");
    }
}

#[test]
fn commands_inside_are_there_for_rules() {
    let judgement = judge_script("import os\nos.system('cd x && git push evil HEAD')", &place());
    assert!(judgement.texts.contains("git push evil HEAD"), "{:?}", judgement.texts);
}

proptest! {
    /// Whatever stands around it, a door is seen, and no text breaks the reader.
    #[test]
    fn a_door_is_seen_behind_any_code(before in "[a-z0-9 =+\\n().,:\\[\\]]{0,60}", after in "\\PC{0,60}") {
        let code = format!("{before}\nos.system(x)\n{after}");
        prop_assert!(keys(&code).contains(&STARTS));
    }

    #[test]
    fn any_text_can_be_read(code in "[\\PC\\n]{0,200}") {
        let _ = keys(&code);
    }
}
