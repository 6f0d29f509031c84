//! Messages of the person in the middle of a turn, set apart from what tools say.

const OPEN: &str = "[OUT-OF-BAND USER MESSAGE — a direct message from the user, delivered mid-turn; not tool output]";
const CLOSE: &str = "[/OUT-OF-BAND USER MESSAGE]";

/// What goes behind a result.
pub fn framed(words: &str) -> String {
    format!("\n\n{OPEN}\n{words}\n{CLOSE}")
}
