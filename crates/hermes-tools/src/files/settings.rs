//! How much of a file is shown.

use serde_json::Value;

/// `tool_output.max_lines`, `tool_output.max_line_length` and `file_read_max_chars`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSettings {
    /// Lines of one page.
    pub max_lines: usize,
    /// Characters of a line.
    pub max_line_length: usize,
    /// Characters of a page.
    pub max_chars: usize,
}

impl Default for FileSettings {
    fn default() -> Self {
        Self { max_lines: 2_000, max_line_length: 2_000, max_chars: 100_000 }
    }
}

impl FileSettings {
    pub(crate) fn read(config: &Value, odd: &mut Vec<String>) -> Self {
        let usual = Self::default();
        let mut size = |key: &str, usual: usize| match key.split('.').try_fold(config, |value, part| value.get(part)) {
            None | Some(Value::Null) => usual,
            Some(value) => value.as_u64().filter(|size| *size > 0).map_or_else(
                || {
                    odd.push(format!("{key}: {value} is no number above 0; {usual} is used"));
                    usual
                },
                |size| usize::try_from(size).unwrap_or(usize::MAX),
            ),
        };
        Self {
            max_lines: size("tool_output.max_lines", usual.max_lines),
            max_line_length: size("tool_output.max_line_length", usual.max_line_length),
            max_chars: size("file_read_max_chars", usual.max_chars),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sizes_are_read_and_odd_ones_are_named() {
        let mut odd = Vec::new();
        let config = json!({"tool_output": {"max_lines": 10, "max_line_length": "long"}, "file_read_max_chars": 0});
        let read = FileSettings::read(&config, &mut odd);
        assert_eq!(read, FileSettings { max_lines: 10, ..FileSettings::default() });
        assert_eq!(
            odd,
            [
                "tool_output.max_line_length: \"long\" is no number above 0; 2000 is used",
                "file_read_max_chars: 0 is no number above 0; 100000 is used"
            ]
        );
    }
}
