//! Edits of files: whatever is looked for in whatever text, an answer comes soon, and where the text is there literally
//! it is the one that a plain search gives.

use hermes_fuzz::{explore, mutants};
use hermes_tools::files::matching::{Edit, MatchError, Occurrences, Scope, Strategy as How, find, replace};
use proptest::prelude::*;
use std::time::{Duration, Instant};

const TEXTS: [&[u8]; 6] = [
    b"fn main() {\n    let total = a + b;\n    println!(\"{total}\");\n}\n",
    b"if x:\r\n\ty = 'it\\'s'\r\n\tz = \"\\t\"\r\nelse:\r\n\ty = 2\r\n",
    "\u{feff}“quoted” — it’s…\u{a0}done\n\tпривет 😀\n".as_bytes(),
    b"}\n}\n}\n\n\n}\n  }\n",
    b"a,b,c\n1,2,3\n1,2,4\n1,2,5",
    b"",
];
const DICTIONARY: [&str; 16] = [
    "\n",
    "\r\n",
    "\r",
    "\t",
    "  ",
    "\\n",
    "\\t",
    "\\'",
    "}",
    "“",
    "…",
    "—",
    "\u{a0}",
    "e\u{301}",
    "let total = a + b;",
    "\0",
];
/// Far more than anything here needs, even unoptimised and on a busy machine; quadratic work would need minutes.
const SOON: Duration = Duration::from_secs(20);

fn soon<T>(work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    assert!(start.elapsed() < SOON, "it took {:?}", start.elapsed());
    done
}

#[test]
fn any_text_is_searched_for_in_any_text() {
    explore((mutants(), mutants(), mutants(), 1..4_usize, any::<bool>()), |(text, old, new, times, all)| {
        let text = String::from_utf8_lossy(&text.of(&TEXTS, &DICTIONARY)).repeat(times);
        let old = String::from_utf8_lossy(&old.of(&TEXTS, &DICTIONARY)).into_owned();
        let new = String::from_utf8_lossy(&new.of(&TEXTS, &DICTIONARY)).into_owned();
        for scope in [Scope::Text, Scope::WholeLines] {
            if let Some(found) = find(&text, &old, scope).filter(|_| !old.is_empty()) {
                prop_assert!(found.spans.iter().all(|span| text.get(span.clone()).is_some()), "{:?}", found);
            }
            let occurrences = if all { Occurrences::All } else { Occurrences::Only };
            let outcome = soon(|| replace(&text, &Edit { old: &old, new: &new, occurrences, scope }));
            if let Ok(edited) = &outcome {
                prop_assert_ne!(&edited.text, &text);
                prop_assert!(!text.starts_with('\u{feff}') || edited.text.starts_with('\u{feff}'), "the mark is gone");
            }
        }
        Ok(())
    });
}

#[test]
fn literal_text_is_replaced_as_a_plain_search_would() {
    explore((mutants(), any::<u16>(), 0..60_usize, mutants()), |(text, from, length, new)| {
        let text = String::from_utf8_lossy(&text.of(&TEXTS, &DICTIONARY)).replace(['\r', '\u{feff}'], "");
        let new = String::from_utf8_lossy(&new.of(&TEXTS, &DICTIONARY)).replace('\r', "");
        let skipped = usize::from(from) % (text.chars().count() + 1);
        let old: String = text.chars().skip(skipped).take(length).collect();
        prop_assume!(!old.is_empty() && old != new);
        let count = text.matches(&old).count();
        let edit = Edit { old: &old, new: &new, occurrences: Occurrences::All, scope: Scope::Text };
        let edited = replace(&text, &edit).expect("it is there");
        prop_assert_eq!((edited.text, edited.strategy, edited.count), (text.replace(&old, &new), How::Exact, count));
        let once = replace(&text, &Edit { occurrences: Occurrences::Only, ..edit });
        match once {
            Ok(_) => prop_assert_eq!(count, 1),
            Err(MatchError::Ambiguous { count: told, .. }) => prop_assert_eq!(told, count),
            Err(other) => prop_assert!(false, "{other}"),
        }
        Ok(())
    });
}

/// Texts that make naive searches slow: many equal lines, long runs, needles that are nearly there.
#[test]
fn repetition_does_not_make_it_slow() {
    explore((mutants(), 1..200_usize, mutants(), 1..40_usize), |(text, times, old, repeated)| {
        let text = String::from_utf8_lossy(&text.of(&TEXTS, &DICTIONARY)).repeat(times);
        let old = String::from_utf8_lossy(&old.of(&TEXTS, &DICTIONARY)).repeat(repeated);
        let edit = Edit { old: &old, new: "x", occurrences: Occurrences::Only, scope: Scope::Text };
        let outcome = soon(|| replace(&text, &edit));
        let shown = outcome.map_or_else(|fault| fault.to_string(), |_| String::new());
        prop_assert!(shown.len() < 16_000, "{} bytes of error", shown.len());
        Ok(())
    });
}
