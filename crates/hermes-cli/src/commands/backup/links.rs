//! Links that stay in the home. Such a link goes first up and then down: as no link on the way leaves the home either,
//! whoever follows it arrives in the home, wherever that is.

use std::io;
use std::path::{Component, Path};

/// The way of a link at `name` below `home`, as it is kept in a backup; `None` when it leads out of the home.
pub(super) fn way_inside(home: &Path, name: &str, target: &Path) -> Option<String> {
    let way = match target.strip_prefix(home) {
        Ok(inside) => format!("{}{}", "../".repeat(depth(name)), inside.to_str()?),
        Err(_) => target.to_str()?.to_owned(),
    };
    stays_inside(name, &way).then_some(way)
}

/// Whether a link at `name` in a home may lead this way.
pub(super) fn stays_inside(name: &str, way: &str) -> bool {
    let mut up = 0;
    let mut is_going_up = true;
    for part in Path::new(way).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if is_going_up => up += 1,
            Component::Normal(_) => is_going_up = false,
            _ => return false,
        }
    }
    !way.is_empty() && !way.contains('\0') && up <= depth(name)
}

fn depth(name: &str) -> usize {
    name.matches('/').count()
}

#[cfg(unix)]
pub(super) fn make(way: &str, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(way, at)
}

#[cfg(not(unix))]
pub(super) fn make(_way: &str, _at: &Path) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "links are not made on this system"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_kept_when_it_stays_in_the_home() {
        let table = [
            ("current", "skills/a", Some("skills/a")),
            ("skills/b", "a", Some("a")),
            ("skills/b", "../memories/x", Some("../memories/x")),
            ("skills/a/b", "/home/me/.hermes/memories", Some("../../memories")),
            ("current", "/home/me/.hermes/skills", Some("skills")),
            ("current", "../outside", None),
            ("skills/b", "../../outside", None),
            ("skills/b", "a/../../../outside", None),
            ("skills/b", "loop/../../x", None),
            ("skills/b", "/etc/passwd", None),
            ("skills/b", "/home/me/.hermes/../x", None),
            ("skills/b", "", None),
        ];
        for (name, target, kept) in table {
            assert_eq!(
                way_inside(Path::new("/home/me/.hermes"), name, Path::new(target)).as_deref(),
                kept,
                "{name} -> {target}"
            );
        }
    }
}
