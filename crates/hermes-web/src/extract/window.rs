//! The two ends of a long page: three quarters from its beginning, one from its end, cut between lines where that costs
//! less than half of a part.

/// What is shown of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Window<'t> {
    Whole(&'t str),
    Ends { head: &'t str, tail: &'t str },
}

/// The part of a text that fits into so many characters.
pub(super) fn window(text: &str, most: usize) -> Window<'_> {
    if text.chars().nth(most).is_none() {
        return Window::Whole(text);
    }
    let for_head = most * 3 / 4;
    let for_tail = most - for_head;
    let head_end = text.char_indices().nth(for_head).map_or(text.len(), |(at, _)| at);
    let tail_start = text.char_indices().rev().nth(for_tail.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    let head = text.get(..head_end).unwrap_or_default();
    let tail = text.get(tail_start..).filter(|_| for_tail > 0).unwrap_or_default();
    let at_line = head.rfind('\n').filter(|at| *at > head.len() / 2).and_then(|at| head.get(..at));
    let from_line = tail.find('\n').filter(|at| *at < tail.len() / 2).and_then(|at| tail.get(at + 1..));
    Window::Ends { head: at_line.unwrap_or(head), tail: from_line.unwrap_or(tail) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_stay_whole_where_that_is_cheap() {
        assert_eq!(window("short", 5), Window::Whole("short"));
        let text: String = (0..40).map(|number| format!("line {number:03}\n")).collect();
        let Window::Ends { head, tail } = window(&text, 100) else { panic!("it is long") };
        assert!(head.ends_with("line 007"), "{head}");
        assert_eq!(tail, "line 038\nline 039\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn the_ends_are_ends_and_fit(text in "[a-zä\n🦀]{0,300}", most in 0usize..200) {
            match window(&text, most) {
                Window::Whole(shown) => prop_assert!(shown == text && text.chars().count() <= most),
                Window::Ends { head, tail } => {
                    prop_assert!(text.starts_with(head) && text.ends_with(tail));
                    prop_assert!(head.chars().count() + tail.chars().count() <= most);
                    prop_assert!(text.chars().count() > most);
                }
            }
        }
    }
}
