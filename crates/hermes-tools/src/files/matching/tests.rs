use super::{Budget, find, replace, unix};
use super::{CHAIN, Edit, Edited, Haystack, Lines, MatchError, Occurrences, SEARCH, Scope, Strategy, View};
use proptest::prelude::{Strategy as Inputs, any, prop, prop_assert, proptest};

fn edit<'a>(old: &'a str, new: &'a str) -> Edit<'a> {
    Edit { old, new, occurrences: Occurrences::Only, scope: Scope::Text }
}

fn edited(text: &str, old: &str, new: &str) -> Result<(String, Strategy), MatchError> {
    replace(text, &edit(old, new)).map(|edited| (edited.text, edited.strategy))
}

/// One row for each way a text can be found: text, old, new, what comes out, how it was found.
#[test]
fn each_strategy_finds_what_the_ones_before_it_do_not() {
    use Strategy::*;
    let rows = [
        ("aaa", "aa", "b", "ba", Exact),
        (
            "    foo(\n        a,\n    )\n",
            "foo(\n    a,\n)",
            "foo(\n    b,\n)",
            "    foo(\n        b,\n    )\n",
            LineTrimmed,
        ),
        ("a\n    b\n    c\nd\n", "b \n  c", "b\n  X\nq", "a\n    b\n    X\n    q\nd\n", LineTrimmed),
        ("f(a,  b)  # c\n", "f(a, b)", "f(b, a)", "f(b, a)  # c\n", WhitespaceNormalized),
        ("x = f(a,\t\tb) + 1\n", "f(a, b) ", "g ", "x = g + 1\n", WhitespaceNormalized),
        ("a\nb\nc\n", "a\\nb", "q\\nz", "q\nz\nc\n", EscapeNormalized),
        ("a\tb\n", "a\\tb", "q\\tz", "q\tz\n", EscapeNormalized),
        (
            "say “hi” — now…\n",
            "say \"hi\" -- now...",
            "say \"hi\" -- later...",
            "say “hi” — later…\n",
            UnicodeNormalized,
        ),
        ("  it’s\n    “a”\n", "it's \n  \"a\"", "it's\n  \"b\"", "  it’s\n    “b”\n", UnicodeNormalized),
        ("fn a() {\n    let x = 1;\n}\n", "fn a() {\n    let y = 2;\n}", "fn b() {}", "fn b() {}\n", BlockAnchor),
        ("one\nlet total = a + b;\ntwo\n", "let totals = a + b;", "let t = a;", "one\nlet t = a;\ntwo\n", ContextAware),
    ];
    for (text, old, new, after, strategy) in rows {
        assert_eq!(edited(text, old, new), Ok((after.to_owned(), strategy)), "{old:?} in {text:?}");
    }
}

/// Rows 4 and 6 of the chain accept less than row 2, so they never decide; they still find what they promise.
#[test]
fn the_stricter_line_strategies_find_their_own() {
    let haystack = |text| Haystack { lines: Lines::of(text), scope: Scope::Text, budget: Budget::of(SEARCH) };
    let hits = |wanted: Strategy, text, old| {
        let row = CHAIN.iter().find(|(strategy, _)| *strategy == wanted).unwrap();
        row.1(&haystack(text), old).iter().map(|span| (span.start, span.end)).collect::<Vec<_>>()
    };
    assert_eq!(hits(Strategy::IndentationFlexible, "  a\n    b\n", "a\nb\n"), vec![(0, 10)]);
    assert_eq!(hits(Strategy::TrimmedBoundary, "x\n  a\n b\nc  \n", "a\n b\nc"), vec![(2, 12)]);
    assert_eq!(hits(Strategy::TrimmedBoundary, "x\n  a\n b\nc  \n", "a\nb\nc"), vec![]);
}

#[test]
fn what_cannot_be_meant_is_refused_with_the_next_step() {
    assert_eq!(edited("a", "", "b"), Err(MatchError::EmptyOld));
    assert_eq!(edited("a", "a", "a"), Err(MatchError::Same));
    assert_eq!(edited("a\r\nb\r\n", "a\nb", "a\r\nb"), Err(MatchError::NoEffect));
    let twice = edited("x\ny\nx\n", "x", "z").unwrap_err();
    assert_eq!(twice, MatchError::Ambiguous { count: 2, strategy: Strategy::Exact, lines: vec![1, 3] });
    assert_eq!(
        twice.to_string(),
        "The text to replace was found 2 times (exact; lines 1, 3). \
         Add lines around it until it is unique, or ask for all of them to be replaced."
    );
    let drift = edited("  foo('a')\n", "foo(\\'a\\')", "foo(\\'b\\')").unwrap_err();
    assert_eq!(drift, MatchError::EscapeDrift { escape: "\\'", line: 1 });
}

#[test]
fn a_bracket_alone_does_not_carry_an_edit() {
    let missed = edited("x\n}\n", "something_else_entirely()\n}", "zz\n}").unwrap_err();
    assert!(matches!(missed, MatchError::NotFound { .. }), "{missed}");
}

#[test]
fn blocks_that_overlap_are_ambiguous() {
    let text = "        }\n      }\n    }\n  }\n";
    let unclear = edited(text, "}\n}\n}", "}\n}\n}\nx").unwrap_err();
    assert_eq!(unclear, MatchError::Ambiguous { count: 2, strategy: Strategy::LineTrimmed, lines: vec![1, 2] });
    let all = Edit { occurrences: Occurrences::All, ..edit("}\n}", "x") };
    assert_eq!(replace(text, &all).unwrap().text, "        x\n    x\n");
}

#[test]
fn a_new_line_at_the_margin_stays_there() {
    let after = edited("  let one = f( 1 );\nb\n", "  let one = f(1);", "  let two = f(2);\nc").unwrap().0;
    assert_eq!(after, "  let two = f(2);\nc\nb\n");
}

#[test]
fn white_space_alone_is_only_found_as_it_is() {
    assert!(matches!(edited("a\n\nb\n", "   ", "x"), Err(MatchError::NotFound { .. })));
}

#[test]
fn all_hits_are_replaced_when_asked() {
    let all = Edit { occurrences: Occurrences::All, ..edit("x", "yy") };
    let after = replace("x x\nx", &all).unwrap();
    assert_eq!(after, Edited { text: "yy yy\nyy".into(), strategy: Strategy::Exact, count: 3 });
}

#[test]
fn a_miss_names_the_nearest_places() {
    let text = "use a;\n\nfn total(a: u8) -> u8 {\n    a\n}\n\nfn other() {}\n";
    let missed = edited(text, "fn totals(b: u16) -> i64 {\n    b + 1\n}\nq\nw\n", "x").unwrap_err();
    assert_eq!(
        missed.to_string(),
        "The text to replace is not in the file. Copy it from the file as it is now. \
         Did you mean one of these places?\n\n1|use a;\n2|\n3|fn total(a: u8) -> u8 {\n4|    a\n5|}\n\n\
         5|}\n6|\n7|fn other() {}"
    );
}

#[test]
fn marks_and_line_endings_stay() {
    let text = "\u{feff}a\r\nb\r\nc\r\n";
    assert_eq!(edited(text, "a\nb\n", "a\nx\ny\n").unwrap().0, "\u{feff}a\r\nx\r\ny\r\nc\r\n");
    assert_eq!(edited("a\nb\r\nc\nd\n", "b\nc", "b\nx").unwrap().0, "a\nb\r\nx\nd\n");
}

#[test]
fn tabs_stay_tabs_and_dedented_lines_find_their_depth() {
    let text = "\tif x:\n\t\ta()\n\tb()\n";
    let after = edited(text, "    if x:\n        a()\n", "    if y:\n        c()\n        d()\n").unwrap().0;
    assert_eq!(after, "\tif y:\n\t\tc()\n\t\td()\n\tb()\n");
    let after = edited("      x\n  y\n", "        x\n    y", "        x2\n    y2").unwrap().0;
    assert_eq!(after, "      x2\n  y2\n");
}

#[test]
fn kept_lines_stay_as_deep_as_they_are_and_new_ones_join_them() {
    let text = "    match x {\n        One => 1,\n    }\n";
    let after = edited(text, "match x {\n  One => 1,\n}", "match x {\n  One => 1,\n  Two => 2,\n}").unwrap().0;
    assert_eq!(after, "    match x {\n        One => 1,\n        Two => 2,\n    }\n");
}

#[test]
fn context_of_a_patch_is_never_rewritten() {
    let text = "fn a() {\n    let  first = 1;  \n    let second_value = 2;\n    done();\n}\n";
    let old = "fn a() {\n    let first = 1;\n    let second_values = 2;\n    done();\n}\n";
    let new = old.replace("done();", "finished();");
    let lines = Edit { scope: Scope::WholeLines, ..edit(old, &new) };
    assert_eq!(replace(text, &lines).unwrap().text, text.replace("done();", "finished();"));
    let spaced = edited("f(a,  b);\n    g( c );\n", "f(a, b);\n  g( c );", "f(a, b);\n  h( c );").unwrap().0;
    assert_eq!(spaced, "f(a,  b);\n    h( c );\n");
}

/// Steps are counted, not seconds: the same on every machine.
#[test]
fn a_miss_in_a_large_file_costs_a_fraction_of_the_budget() {
    let line = |at: usize| format!("{}let value_{at} = compute({}, \"{}\");\n", " ".repeat(at % 13), at * 7, at % 97);
    let text: String = (0..8_000).map(line).collect();
    let old =
        "fn nothing_like_it(alpha: &mut Beta) -> Gamma {\n    match alpha {\n        One => two,\n    }\n}\n".repeat(4);
    for scope in [Scope::Text, Scope::WholeLines] {
        let haystack = Haystack { lines: Lines::of(&text), scope, budget: Budget::of(SEARCH / 20) };
        assert_eq!(super::search(&haystack, &old), None);
        assert!(!haystack.budget.is_spent());
    }
}

#[test]
fn line_breaks_around_an_edit_stay() {
    let lines = Edit { scope: Scope::WholeLines, ..edit("b\n", "c\n") };
    assert_eq!(replace("ab\nb", &lines).unwrap().text, "ab\nc");
    let joined = edited("  a;\n  b;\n", "a; \n", "c;").unwrap().0;
    assert_eq!(joined, "  c;\n  b;\n", "a line that was found by its shape does not run into the next one");
    let gone = Edit { scope: Scope::WholeLines, ..edit("b\n", "") };
    assert_eq!(replace("ab\nb\n", &gone).unwrap().text, "ab\n");
}

/// A text and something that is nearly a part of it.
fn text_and_part() -> impl Inputs<Value = (String, String)> {
    let line = "[ \t]{0,3}(a|bé|“q”|x…|—|\\\\t|\\}|let z = 1;|\\\\'){0,4}[ \r]{0,2}";
    let text = prop::collection::vec(line, 1..12).prop_map(|lines| lines.join("\n"));
    (text, any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..6_u8).prop_map(|(text, from, to, change)| {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let (one, two) = (*from.get(&places), *to.get(&places));
        let part = text.get(one.min(two)..one.max(two)).unwrap();
        let part = match change {
            0 => part.to_owned(),
            1 => part.replace("  ", " ").replace('\t', "  "),
            2 => part.replace(['“', '”'], "\"").replace('…', "...").replace('—', "--"),
            3 => part.replace('\n', "\\n"),
            4 => part.lines().map(str::trim).collect::<Vec<_>>().join("\n"),
            _ => part.replace("let z = 1;", "let zz = 1;").replace('a', "b"),
        };
        (text, part)
    })
}

proptest! {
    #[test]
    fn every_span_lies_on_characters((text, old) in text_and_part()) {
        for scope in [Scope::Text, Scope::WholeLines] {
            if old.is_empty() { continue }
            let view = View::of(&text);
            for (strategy, finder) in CHAIN {
                let haystack = Haystack { lines: Lines::of(view.text()), scope, budget: Budget::of(SEARCH) };
                for span in finder(&haystack, &unix(&old)) {
                    let original = view.origin(span.start)..view.origin(span.end);
                    prop_assert!(view.text().get(span.clone()).is_some(), "{}: {:?}", strategy, span);
                    prop_assert!(text.get(original.clone()).is_some(), "{}: {:?}", strategy, original);
                }
            }
        }
    }

    #[test]
    fn what_is_outside_of_the_hits_stays((text, old) in text_and_part(), new in "[ab“\n ]{0,8}") {
        let all = Edit { occurrences: Occurrences::All, ..edit(&old, &new) };
        if let (Ok(after), Some(found)) = (replace(&text, &all), find(&text, &old, Scope::Text)) {
            let first = found.spans.first().unwrap();
            // The indentation in front of a hit may change with it.
            let before = text.get(..first.start).unwrap().trim_end_matches([' ', '\t', '\r']);
            prop_assert!(after.text.starts_with(before));
            prop_assert!(after.text.ends_with(text.get(found.spans.last().unwrap().end..).unwrap()));
            prop_assert!(after.count <= found.spans.len());
        }
    }
}
