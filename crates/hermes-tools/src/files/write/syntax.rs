//! Whether data files can be read at all, decided before they are written.
//!
//! JSON, YAML and TOML have one reading each, so a content that does not parse is a mistake, and writing it breaks whoever
//! reads the file. Templates, and files of names that are known to hold comments, are left alone.

use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Json,
    Yaml,
    Toml,
}

/// Files called `.json` whose readers allow comments and commas.
const WITH_COMMENTS: [&str; 8] = [
    "tsconfig",
    "jsconfig",
    "settings.json",
    "launch.json",
    "tasks.json",
    "keybindings.json",
    "devcontainer.json",
    ".eslintrc.json",
];

impl Language {
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        match name.rsplit_once('.')?.1 {
            "json" if WITH_COMMENTS.iter().any(|start| name.starts_with(start)) => None,
            "json" => Some(Self::Json),
            "yaml" | "yml" => Some(Self::Yaml),
            "toml" => Some(Self::Toml),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Yaml => "YAML",
            Self::Toml => "TOML",
        }
    }

    /// Why the text cannot be read, with the place.
    pub(crate) fn fault(self, text: &str) -> Option<String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match self {
            Self::Json => serde_json::from_str::<serde::de::IgnoredAny>(text).err().map(|error| error.to_string()),
            Self::Toml => toml::from_str::<toml::Table>(text).err().map(|error| placed(text, &error)),
            // Braces of a template engine: it is no YAML before the engine ran.
            Self::Yaml if text.contains("{{") || text.contains("{%") => None,
            Self::Yaml => yaml(text),
        }
    }
}

fn placed(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{} at line {line} column {column}", error.message())
}

/// Only what no reader of YAML accepts: values, tags and keys that mean something to one program are its own affair.
fn yaml(text: &str) -> Option<String> {
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    };
    let read = serde_saphyr::from_multiple_with_options::<serde::de::IgnoredAny>(text, options);
    let error = read.err()?;
    let is_syntax = matches!(
        error.without_snippet(),
        serde_saphyr::Error::Message { .. } | serde_saphyr::Error::ExternalMessage { .. }
    );
    is_syntax.then(|| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_parses_passes_and_what_does_not_is_placed() {
        let fine = [
            ("a.json", "{\"a\": [1, 2.5e3, null]}"),
            ("a.json", &format!("{}{}", "[".repeat(5_000), "]".repeat(5_000))),
            ("tsconfig.build.json", "{ // yes\n}"),
            ("a.yaml", "a: 1\n---\nb: !Ref x\nc: &x {d: .inf}\ne: *x\n"),
            ("a.yml", "{{ if x }}\na: 1\n  b\n"),
            ("a.yml", ""),
            ("a.toml", "[a]\nb = 1979-05-27T07:32:00Z\n"),
            ("a.txt", "{"),
        ];
        for (name, text) in fine {
            let fault = Language::of(Path::new(name)).and_then(|language| language.fault(text));
            assert_eq!(fault, None, "{name}: {text}");
        }
        let broken = [
            ("a.json", "{\"a\": }"),
            ("a.json", ""),
            ("a.yaml", "a: [1, 2\nb: 3\n"),
            ("a.yaml", "a: b: c\n"),
            ("a.toml", "a = \n"),
        ];
        for (name, text) in broken {
            let fault = Language::of(Path::new(name)).and_then(|language| language.fault(text));
            assert!(fault.is_some_and(|fault| fault.contains("line")), "{name}: {text}");
        }
    }
}
