use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::symlink;
use tempfile::TempDir;

struct Ground {
    _dir: TempDir,
    root: PathBuf,
    around: Surroundings,
}

fn ground() -> Ground {
    let dir = TempDir::new().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for folder in ["home/.ssh", "home/.hermes/profiles/work/skills", "home/.hermes/profiles/other/skills", "project"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    let around = Surroundings {
        home: root.join("home"),
        hermes_home: root.join("home/.hermes/profiles/work"),
        hermes_root: root.join("home/.hermes"),
        cwd: root.join("project"),
        temp: root.join("tmp"),
        variables: BTreeMap::new(),
        private_variables: BTreeSet::new(),
    };
    Ground { _dir: dir, root, around }
}

impl Ground {
    fn write(&self, given: &str) -> Result<PathBuf, Kind> {
        let writable = Rules::of(&self.around).writable(given, &self.around.cwd, CrossProfile::No);
        writable.map(|writable| writable.path().to_path_buf()).map_err(|why| why.kind)
    }

    fn read(&self, given: &str) -> Result<PathBuf, Kind> {
        let readable = Rules::of(&self.around).readable(given, &self.around.cwd);
        readable.map(|readable| readable.path().to_path_buf()).map_err(|why| why.kind)
    }
}

#[test]
fn every_row_of_the_table_holds() {
    let ground = ground();
    let writes = [
        ("/etc/hosts", Kind::System),
        ("/boot/x", Kind::System),
        ("/usr/lib/systemd/system/x.service", Kind::System),
        ("/run/docker.sock", Kind::System),
        ("/proc/sysrq-trigger", Kind::System),
        ("/dev/sda", Kind::Device),
        ("~/.hermes/config.yaml", Kind::System),
        ("~/.hermes/profiles/work/config.yaml", Kind::System),
        ("~/.hermes/profiles/other/config.yaml", Kind::System),
        ("~/.ssh/authorized_keys", Kind::Protected),
        ("~/.SSH/authorized_keys", Kind::Protected),
        ("~/.aws/credentials", Kind::Protected),
        ("~/.config/gh/hosts.yml", Kind::Protected),
        ("~/.netrc", Kind::Protected),
        ("~/.hermes/.env", Kind::Protected),
        ("~/.hermes/state.db-wal", Kind::Protected),
        ("~/.hermes/sessions/x.json", Kind::Protected),
        ("~/.hermes/profiles/other/skills/x/SKILL.md", Kind::OtherProfile),
        ("~/.hermes/skills/x/SKILL.md", Kind::OtherProfile),
        ("", Kind::Unusable),
        ("a\0b", Kind::Unusable),
    ];
    for (path, kind) in writes {
        assert_eq!(ground.write(path), Err(kind), "writing {path:?}");
    }
    let reads = [
        ("/dev/zero", Kind::Device),
        ("/dev/stdin", Kind::Device),
        ("/dev/fd/0", Kind::Device),
        ("/proc/self/fd/1", Kind::Device),
        ("/proc/self/environ", Kind::Device),
        ("/proc/1/task/1/environ", Kind::Device),
        ("/proc/self/root/proc/self/mem", Kind::Device),
        ("~/.hermes/auth.json", Kind::Protected),
        ("~/.hermes/profiles/other/auth.json", Kind::Protected),
        ("~/.hermes/mcp-tokens/x.json", Kind::Protected),
        ("~/.hermes/skills/.hub/index.json", Kind::Protected),
        (".env", Kind::Protected),
        ("deep/.envrc", Kind::Protected),
        (".env.production", Kind::Protected),
    ];
    for (path, kind) in reads {
        assert_eq!(ground.read(path), Err(kind), "reading {path:?}");
    }
}

#[test]
fn ordinary_places_are_open() {
    let ground = ground();
    for path in ["a.txt", "~/notes", "/dev/shm/x", "~/.hermes/profiles/work/skills/x", "~/.sshx", ".env", "etc/hosts"] {
        assert!(ground.write(path).is_ok(), "writing {path}");
    }
    for path in [".env.example", "/etc/hosts", "~/.hermes/config.yaml", "~/.ssh/config", "/proc/cpuinfo"] {
        assert!(ground.read(path).is_ok(), "reading {path}");
    }
}

#[test]
fn links_are_followed_before_anything_is_judged() {
    let ground = ground();
    let at = |below: &str| ground.root.join(below);
    symlink("../home/.ssh", at("project/keys")).unwrap();
    symlink(at("home/.hermes/.env"), at("project/harmless.txt")).unwrap();
    symlink("/dev", at("project/d")).unwrap();
    symlink("loop-b", at("project/loop-a")).unwrap();
    symlink("loop-a", at("project/loop-b")).unwrap();
    assert_eq!(ground.write("keys/id_rsa"), Err(Kind::Protected));
    assert_eq!(ground.write("keys/missing/../id_rsa"), Err(Kind::Protected));
    assert_eq!(ground.read("harmless.txt"), Err(Kind::Protected));
    assert_eq!(ground.read("d/zero"), Err(Kind::Device));
    assert_eq!(ground.write("../home/x/./y"), Ok(at("home/x/y")));
    assert!(Rules::of(&ground.around).readable("loop-a", &ground.around.cwd).unwrap().open().is_err());
}

#[test]
fn a_safe_root_fences_writes_and_not_reads() {
    let mut ground = ground();
    let fence = format!("{}/project/out:~/notes", ground.root.display());
    ground.around.variables.insert(SAFE_ROOT.to_owned(), fence);
    symlink("../../home", ground.root.join("project/out-link")).unwrap();
    assert!(ground.write("out/a").is_ok() && ground.write("~/notes/a").is_ok());
    for path in ["a", "out/../a", "outside/a", "out-link/a"] {
        assert_eq!(ground.write(path), Err(Kind::OutsideSafeRoot), "{path}");
    }
    assert!(ground.read("a").is_ok());
}

#[test]
fn another_profile_is_written_when_it_is_meant() {
    let ground = ground();
    let rules = Rules::of(&ground.around);
    let path = "~/.hermes/profiles/other/skills/x/SKILL.md";
    assert!(rules.writable(path, &ground.around.cwd, CrossProfile::Meant).is_ok());
    let told = rules.writable(path, &ground.around.cwd, CrossProfile::No).unwrap_err().to_string();
    assert!(told.contains("the profile other") && told.contains("cross_profile=true"), "{told}");
    assert!(rules.writable("~/.hermes/profiles/other/.env", &ground.around.cwd, CrossProfile::Meant).is_err());
}

#[test]
fn the_home_in_a_sandbox_is_pointed_out() {
    let ground = ground();
    let rules = Rules::of(&ground.around);
    let mirrored = rules.writable("sandboxes/docker/t1/home/.hermes/skills/x", &ground.around.cwd, CrossProfile::No);
    assert!(mirrored.unwrap().warning().is_some());
    assert_eq!(rules.writable("x", &ground.around.cwd, CrossProfile::No).unwrap().warning(), None);
}

#[test]
fn a_directory_that_becomes_a_link_after_the_check_is_not_followed() {
    let ground = ground();
    let at = |below: &str| ground.root.join(below);
    std::fs::create_dir(at("project/d")).unwrap();
    std::fs::write(at("project/d/x"), "mine").unwrap();
    std::fs::create_dir(at("elsewhere")).unwrap();
    std::fs::write(at("elsewhere/x"), "theirs").unwrap();
    let checked = Rules::of(&ground.around).readable("d/x", &ground.around.cwd).unwrap();
    std::fs::rename(at("project/d"), at("project/was")).unwrap();
    symlink(at("elsewhere"), at("project/d")).unwrap();
    assert!(checked.open().is_err());
}
