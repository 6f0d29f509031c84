//! Database files: whatever the bytes are, recovery ends, leaves them alone, and what it makes is a sound store.

use hermes_fuzz::{explore, mutants};
use hermes_store::{Diagnosis, diagnose, recover};
use proptest::prelude::*;

const CORPUS: [&[u8]; 1] = [include_bytes!("../../../hermes-store/tests/store/fixtures/v22.db")];
/// Page kinds, pointers and sizes that mean something.
const DICTIONARY: [&str; 10] = [
    "\u{d}",
    "\u{5}",
    "\u{a}",
    "\u{2}",
    "\u{0}\u{0}\u{0}\u{1}",
    "\u{7f}\u{7f}\u{7f}\u{7f}",
    "SQLite format 3\u{0}",
    "CREATE TABLE messages(",
    "assistant",
    "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}",
];

#[test]
fn any_file_is_recovered_from_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (damaged, made) = (folder.path().join("damaged.db"), folder.path().join("made.db"));
    explore(mutants(), |mutant| {
        let bytes = mutant.of(&CORPUS, &DICTIONARY);
        std::fs::write(&damaged, &bytes).expect("written");
        let recovered = recover(&damaged, &made);
        prop_assert!(std::fs::read(&damaged).expect("there") == bytes, "the damaged file was changed");
        if recovered.is_ok() {
            prop_assert_eq!(diagnose(&made), Ok(Diagnosis::Sound));
            std::fs::remove_file(&made).expect("removed");
        }
        prop_assert!(!made.exists(), "half a file was left behind");
        prop_assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1);
        Ok(())
    });
}
