//! Content that is not meant for a file: what `read_file` showed, given back as it was shown.

/// What covers a secret where it is shown.
const COVER: &str = "«redacted:";

/// Why a content should not be written, when it is text of the tools and not of the file.
pub(crate) fn fault(content: &str, old: Option<&str>) -> Option<String> {
    if is_numbered(content) {
        return Some(
            "Refusing to write: the content has the line numbers of read_file (`N|text`). Give the text without them."
                .to_owned(),
        );
    }
    if is_status(content) {
        return Some(
            "Refusing to write: the content is a status message of read_file, not the text of a file.".to_owned(),
        );
    }
    covers_secret(content, old?).then(|| {
        format!(
            "Refusing to write: the content has `{COVER}…»` where the file has a secret, which would be lost. Edit around \
             it with patch, or change the file with a command."
        )
    })
}

/// Whether a secret of the old text is covered in the new one.
pub(crate) fn covers_secret(new: &str, old: &str) -> bool {
    new.matches(COVER).count() > old.matches(COVER).count()
}

/// At least two lines, most of them numbered, and the numbers in order.
fn is_numbered(content: &str) -> bool {
    let lines: Vec<&str> = content.lines().filter(|line| !line.trim().is_empty()).collect();
    let numbers: Vec<u64> = lines.iter().filter_map(|line| number(line)).collect();
    let most = lines.len() >= 2 && numbers.len() >= 2 && numbers.len() * 10 >= lines.len() * 6;
    // Blank lines are numbered too, but lines between them may be missing from what was given back.
    most && numbers.iter().zip(numbers.iter().skip(1)).all(|(one, next)| one + 1 == *next)
}

fn number(line: &str) -> Option<u64> {
    let (number, _) = line.trim_start().split_once('|')?;
    number.parse().ok()
}

fn is_status(content: &str) -> bool {
    let status = crate::files::read::UNCHANGED;
    content.contains(status) && content.trim().len() < status.len() * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_text_is_told_from_text() {
        assert!(is_numbered("1|a\n2|b\n"));
        assert!(is_numbered("9|a\n10|\n11|c\nplain\n"));
        for fine in ["1|a\n", "1|a\n3|b\n", "a\nb\n", "", "1|a\n2|b\nx\ny\nz\n", "x|1\ny|2\n"] {
            assert!(!is_numbered(fine), "{fine:?}");
        }
        assert!(is_status(&format!("{{\"message\":\"{}\"}}", crate::files::read::UNCHANGED)));
        assert!(fault("key = «redacted:sk-…»\n", Some("key = sk-1\n")).is_some());
        assert_eq!(fault("key = «redacted:sk-…»\n", Some("# «redacted:…»\n")), None);
        assert_eq!(fault("key = «redacted:sk-…»\n", None), None);
    }
}
