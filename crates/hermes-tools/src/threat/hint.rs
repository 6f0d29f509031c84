//! How a pattern has to begin. A text in which no such beginning stands cannot fit, and spares everybody the pattern: to
//! compile all of them takes longer than to start the rest of the program.

use super::view::{self, View};
use regex_syntax::hir::literal::Extractor;

/// More beginnings than this are no help.
const MOST: usize = 64;

/// The beginnings of a pattern in small letters; nothing where it can begin with anything.
#[derive(Debug)]
pub(super) struct Hint(Option<Vec<String>>);

impl Hint {
    pub(super) fn of(view: View, pattern: &str) -> Self {
        let Ok(hir) = regex_syntax::parse(&view::expression(view, pattern)) else { return Self(None) };
        let beginnings = Extractor::new().limit_total(MOST).extract(&hir);
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_lowercase);
        let beginnings = beginnings.literals().and_then(|all| all.iter().map(|one| text(one.as_bytes())).collect());
        Self(beginnings)
    }

    /// Whether the pattern may fit; `text` is in small letters.
    pub(super) fn may_fit(&self, text: &str) -> bool {
        self.0.as_ref().is_none_or(|beginnings| beginnings.iter().any(|beginning| text.contains(beginning.as_str())))
    }
}
