//! What a `SKILL.md` says about itself before its text begins: YAML between two lines `---`.
//!
//! People write it by hand, so nothing here fails: YAML that cannot be read is taken as lines of `key: value`, a value of
//! another kind as nothing, a missing end as no frontmatter at all. What could not be read is kept with its place in the
//! file, for whoever can correct it.

use super::words::{one_line, scalar, words};
use crate::yaml::Misread;
use hermes_types::Object;
use serde::Serialize;
use serde_json::Value;

const FENCE: &str = "---";
const BYTE_ORDER_MARK: char = '\u{feff}';
/// More is no description of a skill.
const MOST_NODES: usize = 5_000;
const DEEPEST: usize = 32;
pub(super) const LONGEST_DESCRIPTION: usize = 1024;

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Frontmatter {
    fields: Object,
    /// Why it was read line by line, or not at all.
    pub(super) misread: Option<Misread>,
}

/// An environment variable that a skill needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variable {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Where to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_for: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

impl Frontmatter {
    /// What stands before the text, and the text.
    pub(super) fn split(file: &str) -> (Self, &str) {
        let file = file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(file);
        match fenced(file) {
            Some((yaml, text)) => (Self::read(yaml), text),
            None => (Self { misread: unfinished(file), ..Self::default() }, file),
        }
    }

    /// What stands between the fences.
    fn read(yaml: &str) -> Self {
        match self::yaml(yaml) {
            Ok(fields) => Self { fields, misread: None },
            // The first fence is a line of the file too.
            Err(misread) => Self { fields: by_lines(yaml), misread: Some(misread.below(1)) },
        }
    }

    fn at(&self, path: &str) -> Option<&Value> {
        let mut keys = path.split('.');
        let first = self.fields.get(keys.next()?)?;
        keys.try_fold(first, |value, key| value.get(key))
    }

    /// A single value by its dotted path.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        self.at(path).and_then(scalar).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// Every text in it, keys too, one on each line.
    pub(super) fn spoken(&self) -> String {
        let mut lines = Vec::new();
        self.fields.iter().for_each(|(key, value)| collect(key, value, &mut lines));
        lines.join("\n")
    }

    /// What it calls itself. `off`, `on`, `yes` and `no` are truth values in YAML and no names.
    pub(super) fn name(&self) -> Option<String> {
        let is_truth = matches!(self.at("name"), Some(Value::Bool(_)));
        self.text("name").map(|name| one_line(&name)).filter(|name| !is_truth && !name.is_empty())
    }

    pub(super) fn words(&self, path: &str) -> Vec<String> {
        self.at(path).map(words).unwrap_or_default()
    }

    /// The same for what stands under `metadata.hermes`, or at the top in older skills.
    pub(super) fn own_words(&self, key: &str) -> Vec<String> {
        let own = self.words(&format!("metadata.hermes.{key}"));
        if own.is_empty() { self.words(key) } else { own }
    }

    /// The settings it declares, with what the owner set or else its defaults.
    pub(super) fn config(&self, set: &Value) -> Option<Object> {
        let declared = self.at("metadata.hermes.config")?.as_array()?;
        let value = |one: &Value| {
            let key = scalar(one.get("key")?)?;
            let is_set = key.split('.').try_fold(set, |value, part| value.get(part)).or_else(|| set.get(&key));
            let value = is_set.or_else(|| one.get("default")).cloned().unwrap_or_default();
            Some((key, value))
        };
        let values: Object = declared.iter().filter_map(value).collect();
        (!values.is_empty()).then_some(values)
    }

    /// The variables it needs, each once, wherever it names them.
    pub(super) fn variables(&self) -> Vec<Variable> {
        let places = ["required_environment_variables", "setup.collect_secrets", "prerequisites.env_vars"];
        let mut variables: Vec<Variable> = Vec::new();
        for written in places.iter().filter_map(|place| self.at(place)) {
            let items = match written {
                Value::Array(items) => items.clone(),
                other => words(other).into_iter().map(Value::String).collect(),
            };
            for variable in items.iter().filter_map(Variable::read) {
                if !variables.iter().any(|known| known.name == variable.name) {
                    variables.push(variable);
                }
            }
        }
        variables
    }
}

fn collect<'v>(key: &'v str, value: &'v Value, lines: &mut Vec<&'v str>) {
    lines.push(key);
    match value {
        Value::String(text) => lines.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect("", item, lines)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| collect(key, value, lines)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Variable {
    fn read(written: &Value) -> Option<Self> {
        let first = |keys: &[&str]| {
            let found = keys.iter().find_map(|key| scalar(written.get(key)?));
            found.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let name = scalar(written).or_else(|| first(&["name", "env_var"]))?;
        let name = name.trim();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name.then(|| Self {
            name: name.to_owned(),
            prompt: first(&["prompt"]),
            help: first(&["help", "provider_url", "url"]),
            required_for: first(&["required_for"]),
            optional: written.get("optional").and_then(Value::as_bool) == Some(true),
        })
    }
}

/// What is between the two fences, and what follows.
fn fenced(file: &str) -> Option<(&str, &str)> {
    let (first, rest) = file.split_once('\n')?;
    if first.trim_end() != FENCE {
        return None;
    }
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            return Some((rest.get(..length)?, rest.get(length + line.len()..)?));
        }
        length += line.len();
    }
    None
}

/// Why a new `SKILL.md` could not be used. Whoever writes one is held to more than whoever is read.
pub(super) fn check(file: &str) -> Option<String> {
    let file = file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(file);
    let Some((yaml, text)) = fenced(file) else {
        return Some("SKILL.md begins with frontmatter: a line ---, name and description, a line ---.".to_owned());
    };
    let front = Frontmatter::read(yaml);
    if let Some(misread) = front.misread {
        return Some(format!("The frontmatter is no YAML of keys and values. SKILL.md:{misread}."));
    }
    for field in ["name", "description"] {
        if front.text(field).is_none() {
            return Some(format!("The frontmatter of SKILL.md needs {field}."));
        }
    }
    let long = front.text("description").is_some_and(|said| said.chars().count() > LONGEST_DESCRIPTION);
    if long {
        return Some(format!(
            "The description has more than {LONGEST_DESCRIPTION} characters; say in one sentence when to use it."
        ));
    }
    text.trim().is_empty().then(|| "SKILL.md has no text below its frontmatter.".to_owned())
}

/// A beginning of frontmatter without an end.
fn unfinished(file: &str) -> Option<Misread> {
    let first = file.lines().next()?;
    (first.trim_end() == FENCE).then(|| Misread::at(1, 1, "no second line `---` ends the frontmatter"))
}

/// Keys and values, within bounds.
pub(super) fn yaml(yaml: &str) -> Result<Object, Misread> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        budget: serde_saphyr::budget! {
            max_nodes: MOST_NODES,
            max_events: 2 * MOST_NODES,
            max_depth: DEEPEST,
            flow_nesting_limit: DEEPEST,
            max_aliases: DEEPEST,
            max_anchors: DEEPEST,
            max_recorded_anchor_events: MOST_NODES,
        },
    };
    match serde_saphyr::from_str_with_options(yaml, options) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(Value::Null) => Ok(Object::new()),
        Ok(_) => Err(Misread::at(1, 1, "it holds no lines of `key: value`")),
        Err(error) => Err(Misread::from(&error)),
    }
}

/// Lines of `key: value` at the left edge; what is indented belongs to something that cannot be read.
fn by_lines(yaml: &str) -> Object {
    let pair = |line: &str| {
        let (key, value) = line.split_once(':')?;
        let is_key = !key.is_empty() && !key.starts_with([' ', '\t', '#', '-']);
        let value = value.trim().trim_matches(|c| matches!(c, '"' | '\''));
        is_key.then(|| (key.trim_end().to_owned(), Value::String(value.to_owned())))
    };
    yaml.lines().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_stands_between_the_fences_is_read_and_the_text_follows() {
        let file = "\u{feff}---\r\nname: cook\ndescription: >\n  Cook\n  soup\nmetadata:\n  hermes:\n    tags: [a, b]\n\
                    related_skills: x, y\n---  \n# Cook\n---\n";
        let (front, text) = Frontmatter::split(file);
        assert_eq!((front.text("name"), front.text("description")), (Some("cook".into()), Some("Cook soup".into())));
        assert_eq!((front.own_words("tags"), front.own_words("related_skills")), (words_of("a b"), words_of("x y")));
        assert_eq!(text, "# Cook\n---\n");
    }

    fn words_of(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn bad_yaml_is_read_line_by_line() {
        let file = "---\nname: cook: soup\ndescription: \"Say: 'hi'\ntags: [a\n  deep: 1\n# no: key\n---\ntext";
        let (front, text) = Frontmatter::split(file);
        assert_eq!(front.text("name").as_deref(), Some("cook: soup"));
        assert_eq!(front.text("description").as_deref(), Some("Say: 'hi"));
        assert_eq!((front.text("deep"), front.text("# no"), text), (None, None, "text"));
    }

    #[test]
    fn without_both_fences_there_is_none() {
        for file in ["", "---", "---\nname: x\n", "name: x\n---\n", " ---\nname: x\n---\n"] {
            let (front, text) = Frontmatter::split(file);
            assert_eq!((front.fields, text), (Object::new(), file));
        }
        assert_eq!(Frontmatter::split("---\n---\nx").1, "x");
        assert_eq!(Frontmatter::split("---\n- a\n- b\n---\nx").0.text("a"), None);
    }

    #[test]
    fn what_cannot_be_read_has_a_place_in_the_file() {
        let place = |file: &str| Frontmatter::split(file).0.misread.map(|misread| misread.to_string());
        for (file, begins) in [
            ("---\nname: x\ndescription: [a\n---\ntext", "3:14: "),
            ("---\nname: x\n\tdescription: y\n---\ntext", "2:7: "),
            ("---\n- a\n---\ntext", "2:1: it holds no lines of `key: value`"),
            ("---\nname: x\n", "1:1: no second line `---`"),
        ] {
            let told = place(file).unwrap_or_default();
            assert!(told.starts_with(begins), "{file:?}: {told}");
        }
        for fine in ["", "text", "---\n---\n", "---\nname: x\n---\n"] {
            assert_eq!(place(fine), None, "{fine:?}");
        }
        let told = check("---\nname: x\ndescription: {a\n---\ntext").unwrap_or_default();
        assert!(told.contains("SKILL.md:"), "{told}");
    }

    #[test]
    fn variables_are_named_in_three_places_and_forms() {
        let file = "---\nrequired_environment_variables:\n  - A_KEY\n  - name: B_KEY\n    prompt: The key\n    provider_url: https://b\n    \
                    optional: true\n  - 'not a name'\n  - {}\nsetup:\n  collect_secrets:\n    - env_var: C_KEY\n      required_for: all\n\
                    prerequisites:\n  env_vars: A_KEY, D_KEY\n---\n";
        let variables = Frontmatter::split(file).0.variables();
        let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
        assert_eq!(names, ["A_KEY", "B_KEY", "C_KEY", "D_KEY"]);
        let second = serde_json::json!({"name": "B_KEY", "prompt": "The key", "help": "https://b", "optional": true});
        assert_eq!(serde_json::to_value(&variables[1]).expect("json"), second);
        assert_eq!(variables[2].required_for.as_deref(), Some("all"));
    }

    #[test]
    fn a_bomb_of_aliases_is_no_frontmatter() {
        let mut bomb = "---\nname: bomb\na: &a [x, x, x, x, x, x, x, x]\n".to_owned();
        for (from, to) in ("abcdefgh").chars().zip("bcdefghi".chars()) {
            bomb.push_str(&format!(
                "{to}: &{to} [*{from}, *{from}, *{from}, *{from}, *{from}, *{from}, *{from}, *{from}]\n"
            ));
        }
        bomb.push_str("---\ntext");
        assert_eq!(Frontmatter::split(&bomb).0.text("name").as_deref(), Some("bomb"));
    }

    proptest! {
        #[test]
        fn any_file_is_split_into_parts_of_itself(file in "(---|\n|\r|name|: |\\[|é|- |\u{feff}|&a|\\*a){0,30}") {
            let (_, text) = Frontmatter::split(&file);
            prop_assert!(file.ends_with(text));
        }
    }
}
