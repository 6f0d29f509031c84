//! Builtins of the shell: what they change for the commands after them, and the texts they run.

use super::shell::Shell;
use super::word::{Origin, Word, joined};

/// Commands whose output is made to be evaluated, and comes from the machine itself.
const HOOKS: [&str; 18] = [
    "ssh-agent",
    "pyenv",
    "rbenv",
    "nodenv",
    "direnv",
    "brew",
    "conda",
    "starship",
    "zoxide",
    "opam",
    "luarocks",
    "minikube",
    "dircolors",
    "fnm",
    "mise",
    "keychain",
    "thefuck",
    "register-python-argcomplete",
];

impl Shell<'_> {
    /// Builtins that change what the rest of the script sees.
    pub(super) fn builtin(&mut self, name: &str, args: &[Word], stdin: Option<&Word>) -> Option<Word> {
        match name {
            "cd" | "pushd" | "chdir" | "popd" => {
                self.moves(name, args);
                Some(Word::default())
            }
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                // `declare -n`: another name for a variable, which may still change.
                let another_name = args.iter().any(|word| word.text.starts_with('-') && word.text.contains('n'));
                for word in args {
                    if let Some((name, value)) = word.text.split_once('=') {
                        let value = Word { text: value.to_owned(), origin: word.origin };
                        let value = if another_name && name != "export" { Word::unknown(Origin::Local) } else { value };
                        self.set(name.to_owned(), value);
                    }
                }
                Some(Word::default())
            }
            "unset" => {
                for word in args {
                    self.scope.variables.remove(&word.text);
                    self.scope.functions.remove(&word.text);
                }
                Some(Word::default())
            }
            "alias" => {
                for word in args {
                    if let Some((name, text)) = word.text.split_once('=') {
                        // It outlives this command, and the next one would only show its name.
                        let scope = self.scope.clone();
                        self.source(text);
                        self.scope = scope;
                        self.scope.aliases.insert(name.to_owned(), text.to_owned());
                    }
                }
                Some(Word::default())
            }
            "hash" => {
                if let [flag, path, name, ..] = args
                    && flag.text == "-p"
                {
                    self.scope.aliases.insert(name.text.clone(), path.text.clone());
                }
                Some(Word::default())
            }
            "printf" => match args {
                [flag, name, rest @ ..] if flag.text == "-v" => {
                    let value = self.prints("printf", rest, None);
                    self.set(name.text.clone(), value);
                    Some(Word::default())
                }
                _ => None,
            },
            "set" => {
                let options =
                    args.iter().take_while(|word| word.text.starts_with(['-', '+']) && word.text != "--").count();
                let values = args.get(options..).unwrap_or_default();
                let marked = values.first().is_some_and(|word| word.text == "--");
                if marked || !values.is_empty() && options == 0 {
                    self.scope.arguments = Some(values.iter().skip(usize::from(marked)).cloned().collect());
                }
                Some(Word::default())
            }
            "shift" => {
                if let Some(arguments) = self.scope.arguments.as_mut().filter(|arguments| !arguments.is_empty()) {
                    arguments.remove(0);
                }
                Some(Word::default())
            }
            "read" | "mapfile" | "readarray" => {
                self.takes_lines(name, args, stdin);
                Some(Word::default())
            }
            "test" | "[" | "true" | "false" | "return" | "exit" | "break" | "continue" => Some(Word::default()),
            _ => self.text_builtin(name, args, stdin),
        }
    }

    /// To another directory.
    fn moves(&mut self, name: &str, args: &[Word]) {
        if name == "popd" {
            self.scope.cwd = self.scope.stack.pop().flatten();
            return;
        }
        let target = args.iter().find(|word| !word.text.starts_with('-')).cloned();
        let target = match args {
            [] => Some(self.variable("HOME")),
            [back] if back.text == "-" => Some(self.variable("OLDPWD")),
            _ => target,
        };
        let before = self.scope.cwd.clone();
        if name == "pushd" {
            self.scope.stack.push(before.clone());
        }
        let elsewhere = self.scope.variables.contains_key("CDPATH")
            && target.as_ref().is_some_and(|target| !target.text.starts_with(['/', '.', '~']));
        self.scope.cwd =
            target.filter(|_| !elsewhere).and_then(|target| self.place.absolute(&target.text, before.as_deref()));
        if let Some(before) = before {
            self.scope.variables.insert("OLDPWD".to_owned(), Word::literal(before));
        }
    }

    /// Lines of the input become variables.
    fn takes_lines(&mut self, name: &str, args: &[Word], stdin: Option<&Word>) {
        let line = stdin.filter(|stdin| stdin.is_known()).and_then(|stdin| stdin.text.lines().next());
        let origin = stdin.map_or(Origin::Local, |stdin| stdin.origin);
        let elements = self.elements(name, args, stdin);
        for word in args.iter().filter(|word| !word.text.starts_with('-')) {
            for (at, element) in elements.iter().enumerate() {
                self.scope.variables.insert(format!("{}[{at}]", word.text), element.clone());
            }
            let value = line.map_or_else(|| Word::unknown(origin), |line| Word { text: line.into(), origin });
            self.set(word.text.clone(), value);
        }
        if let Some(at) = args.iter().position(|word| word.text == "-C") {
            // `mapfile -C command`: run for every few lines.
            let callback = args.get(at + 1).cloned().unwrap_or_default();
            self.source(&callback.text);
        }
    }

    /// What `read -a` and `mapfile` put into an array.
    fn elements(&self, name: &str, args: &[Word], stdin: Option<&Word>) -> Vec<Word> {
        const MOST: usize = 200;
        let into_array =
            name != "read" || args.iter().any(|word| word.text.starts_with('-') && word.text.contains('a'));
        let Some(given) = stdin.filter(|stdin| stdin.is_known() && into_array) else { return Vec::new() };
        let element = |text: &str| Word { text: text.to_owned(), origin: given.origin };
        if name == "read" {
            let separators: Vec<char> = self.variable("IFS").text.chars().collect();
            let line = given.text.lines().next().unwrap_or_default();
            return line.split(separators.as_slice()).filter(|part| !part.is_empty()).take(MOST).map(element).collect();
        }
        given.text.lines().take(MOST).map(element).collect()
    }

    /// Builtins that run a text in this very shell.
    fn text_builtin(&mut self, name: &str, args: &[Word], stdin: Option<&Word>) -> Option<Word> {
        match name {
            "eval" => {
                let text = joined(args);
                if !is_hook(self.notes.act_before_last(), &text) {
                    self.code(&text, "eval");
                    return Some(self.source(&text.text));
                }
                Some(Word::default())
            }
            "trap" => {
                let code = args.iter().find(|word| word.text != "--").cloned().unwrap_or_default();
                Some(self.source(&code.text))
            }
            "source" | "." => {
                if let Some((file, rest)) = args.split_first() {
                    let key = self.file_key(file);
                    if let Some(content) = self.files.get(&key).cloned() {
                        if content.origin >= Origin::Decoded || content.is_known() {
                            self.file_runs(&content, &file.text, rest);
                        }
                    } else if file.text == "/dev/stdin" {
                        let feed = stdin.cloned().unwrap_or_default();
                        self.fed(&feed, "source");
                    } else {
                        self.runs_from_disk(file);
                    }
                }
                Some(Word::default())
            }
            _ => None,
        }
    }
}

/// `eval "$(ssh-agent -s)"`: the last command that was seen is what printed the text.
fn is_hook(last: &str, text: &Word) -> bool {
    let name = last.split(' ').next().unwrap_or_default();
    text.origin == Origin::Local && text.plain().trim().is_empty() && HOOKS.contains(&name)
}
