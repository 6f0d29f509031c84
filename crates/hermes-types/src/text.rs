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

/// At most about `max` characters: the head and the tail, and between them how much was left out.
pub fn clip_middle(text: &str, max: usize) -> String {
    let total = text.chars().count();
    if total <= max {
        return text.to_owned();
    }
    let head = max / 2;
    let tail = max - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(total - tail).collect();
    format!("{start}\n… {} characters left out …\n{end}", total - head - tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!(clip("สวัสดีครับ", 4), "สวั…");
        assert_eq!(clip("short", 5), "short");
        assert_eq!(clip_middle("abcdefghij", 4), "ab\n… 6 characters left out …\nij");
        assert_eq!(clip_middle("abcd", 4), "abcd");
    }
}
