//! Cutting text. Nothing enters a context, a buffer or a log without a cap, and no cut splits a character.

/// At most `max` characters, with `…` in place of the rest.
pub fn clip(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => {
            let mut cut: String = text.chars().take(max.saturating_sub(1)).collect();
            cut.push('…');
            cut
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!(clip("สวัสดีครับ", 4), "สวั…");
        assert_eq!(clip("short", 5), "short");
    }
}
