//! Walks through a script as a shell would, on paper: variables, functions, directories and files it writes are
//! remembered, every branch is taken, every loop goes round once for each known value.
//!
//! Work is bounded: what goes on after [`MOST_STEPS`] commands or below [`DEEPEST`] levels is too large to check and never
//! runs, since nobody could say what is behind.

use super::intent::{COMMANDING, PROMPTS, Seen, loads};
use super::judge::Notes;
use super::place::Place;
use super::remembered::{Body, Remembered};
use super::script;
use super::word::{Origin, Word};
use brush_parser::ast::{
    AndOr, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand,
    CompoundList, ExtendedTestExpr, ForClauseCommand, FunctionBody, Pipeline, SeparatorOperator, SimpleCommand,
    SubshellCommand,
};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

const MOST_STEPS: usize = 20_000;
const DEEPEST: usize = 24;
const LONGEST_TEXT: usize = 200_000;

/// What a subshell gets a copy of.
#[derive(Clone)]
pub(super) struct Scope {
    pub(super) variables: HashMap<String, Word>,
    /// Nothing while a function is looked at that nobody has called yet.
    pub(super) arguments: Option<Vec<Word>>,
    pub(super) functions: HashMap<String, Rc<FunctionBody>>,
    pub(super) aliases: HashMap<String, String>,
    pub(super) cwd: Option<String>,
    /// Where `popd` leads, the last one first.
    pub(super) stack: Vec<Option<String>>,
}

/// How a command stands among others.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Position {
    pub(super) background: bool,
    pub(super) in_pipe: bool,
}

pub(super) struct Shell<'a> {
    pub(super) place: &'a Place,
    pub(super) notes: &'a mut Notes,
    remembered: Option<&'a Remembered>,
    pub(super) scope: Scope,
    /// What the script wrote into files, by absolute path or by the word that names it.
    pub(super) files: HashMap<String, Word>,
    pub(super) executable: HashSet<String>,
    pub(super) stdin: Option<Word>,
    pub(super) position: Position,
    /// The bodies, not the names: a function may define another of its own name.
    calling: Vec<Rc<FunctionBody>>,
    /// Functions that called themselves.
    recursed: HashSet<String>,
    steps: usize,
    depth: usize,
}

impl<'a> Shell<'a> {
    pub(super) fn new(place: &'a Place, notes: &'a mut Notes) -> Self {
        let scope = Scope {
            variables: HashMap::new(),
            arguments: Some(Vec::new()),
            functions: HashMap::new(),
            aliases: HashMap::new(),
            cwd: Some(place.cwd.clone()),
            stack: Vec::new(),
        };
        Self {
            place,
            notes,
            remembered: None,
            scope,
            files: HashMap::new(),
            executable: HashSet::new(),
            stdin: None,
            position: Position::default(),
            calling: Vec::new(),
            recursed: HashSet::new(),
            steps: 0,
            depth: 0,
        }
    }

    /// A shell that starts with what earlier commands left to it.
    pub(super) fn after(remembered: &'a Remembered, place: &'a Place, notes: &'a mut Notes) -> Self {
        let mut shell = Self::new(place, notes);
        let variables = remembered.variables().map(|(name, value)| (name.to_owned(), Word::literal(value)));
        shell.scope.variables.extend(variables);
        let aliases = remembered.aliases().map(|(name, text)| (name.to_owned(), text.to_owned()));
        shell.scope.aliases.extend(aliases);
        shell.remembered = Some(remembered);
        shell
    }

    /// The function of this name: of this script, or one that an earlier command left.
    pub(super) fn function(&mut self, name: &str) -> Option<Rc<FunctionBody>> {
        if let Some(body) = self.scope.functions.get(name) {
            return Some(Rc::clone(body));
        }
        match self.remembered?.function(name)? {
            Body::Known(body) => {
                self.scope.functions.insert(name.to_owned(), Rc::clone(&body));
                Some(body)
            }
            Body::Unreadable => {
                self.notes.add(Seen::UnknownCommand, name);
                None
            }
        }
    }

    pub(super) fn unreadable(&mut self, what: &str) {
        self.notes.add(Seen::Unreadable, what);
    }

    /// Judges a text as a script, and tells what it would print.
    pub(super) fn source(&mut self, text: &str) -> Word {
        if self.depth >= DEEPEST || text.len() > LONGEST_TEXT {
            self.notes.add(Seen::TooLarge, text);
            return Word::unknown(Origin::Local);
        }
        let Ok(program) = script::read(text) else {
            self.unreadable(text);
            self.fragments(text);
            return Word::unknown(Origin::Local);
        };
        self.depth += 1;
        let mut output = Word::default();
        for list in &program.complete_commands {
            let printed = self.list(list);
            output.push(&printed);
        }
        self.depth -= 1;
        output
    }

    fn list(&mut self, list: &CompoundList) -> Word {
        let mut output = Word::default();
        for item in &list.0 {
            let background = matches!(item.1, SeparatorOperator::Async);
            if background {
                self.notes.stirs();
            }
            if background || !item.0.additional.is_empty() || list.0.len() > 1 {
                self.notes.several();
            }
            let printed = self.pipeline(&item.0.first, background);
            output.push(&printed);
            for next in &item.0.additional {
                let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = next;
                let printed = self.pipeline(pipeline, background);
                output.push(&printed);
            }
        }
        if output.text.len() > LONGEST_TEXT { Word::unknown(output.origin) } else { output }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, background: bool) -> Word {
        let around = (self.stdin.clone(), self.position);
        let in_pipe = pipeline.seq.len() > 1;
        self.position =
            Position { background: around.1.background || background, in_pipe: around.1.in_pipe || in_pipe };
        if in_pipe {
            self.notes.several();
        }
        let mut output = Word::default();
        for (at, command) in pipeline.seq.iter().enumerate() {
            if at > 0 {
                self.stdin = Some(std::mem::take(&mut output));
            }
            output = self.command(command);
        }
        (self.stdin, self.position) = around;
        output
    }

    /// Counts one step of work; `false` when there were too many.
    pub(super) fn may_go_on(&mut self) -> bool {
        self.steps += 1;
        let may = self.steps <= MOST_STEPS && self.depth < DEEPEST;
        if !may {
            self.notes.add(Seen::TooLarge, "more steps than are followed");
        }
        may
    }

    fn command(&mut self, command: &Command) -> Word {
        if !self.may_go_on() {
            return Word::unknown(Origin::Local);
        }
        self.depth += 1;
        let output = match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.notes.several();
                let streams = self.streams(redirects.iter().flat_map(|list| &list.0));
                let outer = self.stdin.clone();
                if streams.stdin.is_some() {
                    self.stdin.clone_from(&streams.stdin);
                }
                let printed = self.compound(compound);
                self.stdin = outer;
                self.redirected(printed, &streams)
            }
            Command::Function(function) => {
                self.notes.several();
                self.notes.stirs();
                let name = function.fname.value.clone();
                let body = Rc::new(function.body.clone());
                self.scope.functions.insert(name.clone(), Rc::clone(&body));
                let scope = self.scope.clone();
                self.call(&name, &body, None);
                self.scope = scope;
                Word::default()
            }
            Command::ExtendedTest(test, redirects) => {
                // `[[ 'a[$(rm x)]' -eq 0 ]]` runs what stands in the brackets.
                self.notes.stirs();
                self.streams(redirects.iter().flat_map(|list| &list.0));
                self.test(&test.expr);
                Word::default()
            }
        };
        self.depth -= 1;
        output
    }

    fn compound(&mut self, compound: &CompoundCommand) -> Word {
        match compound {
            CompoundCommand::Arithmetic(command) => {
                self.notes.stirs();
                self.arithmetic(&command.expr.value);
                Word::default()
            }
            CompoundCommand::ArithmeticForClause(clause) => {
                self.notes.stirs();
                for expression in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(&expression.value);
                }
                self.list(&clause.body.list)
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.subshell(subshell),
            CompoundCommand::ForClause(clause) => self.rounds(clause),
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value.value);
                let bodies: Vec<&CompoundList> = clause.cases.iter().filter_map(|case| case.cmd.as_ref()).collect();
                self.branches(&bodies)
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                let mut bodies = vec![&clause.then];
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.list(condition);
                    }
                    bodies.push(&other.body);
                }
                self.branches(&bodies)
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list)
            }
            CompoundCommand::Coprocess(process) => {
                self.notes.stirs();
                self.command(&process.body)
            }
        }
    }

    /// Each branch starts from the same point; what they disagree about is unknown afterwards.
    fn branches(&mut self, bodies: &[&CompoundList]) -> Word {
        let start = self.scope.clone();
        let mut output = Word::default();
        let mut ends = Vec::new();
        for body in bodies {
            self.scope = start.clone();
            let printed = self.list(body);
            output.push(&printed);
            ends.push(self.scope.clone());
        }
        let mut merged = start;
        for end in ends {
            for (name, value) in end.variables {
                let same = merged.variables.get(&name).is_none_or(|known| *known == value);
                let value = if same { value } else { Word::unknown(value.origin) };
                merged.variables.insert(name, value);
            }
            if end.cwd != merged.cwd {
                merged.cwd = None;
            }
            merged.functions.extend(end.functions);
            merged.aliases.extend(end.aliases);
        }
        self.scope = merged;
        if bodies.len() > 1 && !output.text.is_empty() { Word::unknown(output.origin) } else { output }
    }

    fn rounds(&mut self, clause: &ForClauseCommand) -> Word {
        self.notes.stirs();
        let values: Vec<Word> = match &clause.values {
            Some(values) => values.iter().flat_map(|value| self.words(&value.value)).collect(),
            None => self.scope.arguments.clone().unwrap_or_else(|| vec![Word::unknown(Origin::Local)]),
        };
        let values = if values.is_empty() { vec![Word::unknown(Origin::Local)] } else { values };
        let mut output = Word::default();
        for value in values {
            self.scope.variables.insert(clause.variable_name.clone(), value);
            let printed = self.list(&clause.body.list);
            output.push(&printed);
        }
        output
    }

    pub(super) fn subshell(&mut self, subshell: &SubshellCommand) -> Word {
        let scope = self.scope.clone();
        let output = self.list(&subshell.list);
        self.scope = scope;
        output
    }

    fn test(&mut self, expression: &ExtendedTestExpr) {
        match expression {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => {
                let value = self.word(&word.value);
                self.subscript(&value);
            }
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                for side in [left, right] {
                    let value = self.word(&side.value);
                    self.subscript(&value);
                }
            }
        }
    }

    /// `'a[$(reboot)]'` is only text until something takes it for the name of a variable: then it runs.
    pub(super) fn subscript(&mut self, value: &Word) {
        let name = value.text.split('[').next().unwrap_or_default();
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_name && value.text.contains('[') && value.text.contains(['$', '`']) {
            self.word(&format!("\"{}\"", value.text.replace('"', "\\\"")));
        }
    }

    /// Calls a function. A function that starts itself in a pipe or in the background multiplies without end.
    pub(super) fn call(&mut self, name: &str, body: &Rc<FunctionBody>, arguments: Option<Vec<Word>>) -> Word {
        if self.calling.iter().any(|caller| Rc::ptr_eq(caller, body)) {
            let again = !self.recursed.insert(name.to_owned());
            if self.position.background || (self.position.in_pipe && again) {
                self.notes.add(Seen::ForkBomb, name);
            }
            return Word::unknown(Origin::Local);
        }
        self.recursed.remove(name);
        let outer = std::mem::replace(&mut self.scope.arguments, arguments);
        self.calling.push(Rc::clone(body));
        let position = std::mem::take(&mut self.position);
        let streams = self.streams(body.1.iter().flat_map(|list| &list.0));
        let printed = self.compound(&body.0);
        self.position = position;
        self.calling.pop();
        self.scope.arguments = outer;
        self.redirected(printed, &streams)
    }

    fn simple(&mut self, simple: &SimpleCommand) -> Word {
        let items = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let mut assigned = Vec::new();
        let mut redirects = Vec::new();
        for item in items {
            match item {
                Item::AssignmentWord(assignment, _) => assigned.push(assignment),
                Item::IoRedirect(redirect) => redirects.push(redirect),
                Item::Word(_) | Item::ProcessSubstitution(..) => {}
            }
        }
        let before = self.scope.variables.clone();
        for assignment in assigned {
            self.assign(assignment);
        }
        let mut words = simple.word_or_name.iter().flat_map(|name| self.words(&name.value)).collect::<Vec<_>>();
        let is_command = simple.word_or_name.is_some();
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                Item::Word(word) => words.extend(self.words(&word.value)),
                Item::AssignmentWord(assignment, word) => {
                    if matches!(assignment.value, AssignmentValue::Array(_)) {
                        self.assign(assignment);
                    }
                    words.push(self.word(&word.value));
                }
                Item::IoRedirect(redirect) => redirects.push(redirect),
                Item::ProcessSubstitution(kind, subshell) => {
                    let path = self.pipe_file(kind, subshell);
                    words.push(path);
                }
            }
        }
        let streams = self.streams(redirects);
        if !is_command {
            return Word::default();
        }
        let printed = self.act(words, &streams);
        // Assignments in front of a command hold for that command alone.
        for name in simple.prefix.iter().flat_map(|prefix| &prefix.0).filter_map(assigned_name) {
            match before.get(name) {
                Some(value) => self.scope.variables.insert(name.to_owned(), value.clone()),
                None => self.scope.variables.remove(name),
            };
        }
        self.redirected(printed, &streams)
    }

    pub(super) fn assign(&mut self, assignment: &Assignment) {
        self.notes.stirs();
        let value = match &assignment.value {
            AssignmentValue::Scalar(word) => {
                let value = self.word(&word.value);
                if value.text.starts_with('~') && word.value.starts_with('~') {
                    self.without_tilde(&value.text)
                } else {
                    value
                }
            }
            AssignmentValue::Array(items) => {
                let items: Vec<Word> = items.iter().flat_map(|(_, item)| self.words(&item.value)).collect();
                if let AssignmentName::VariableName(name) = &assignment.name {
                    for (at, item) in items.iter().enumerate() {
                        self.scope.variables.insert(format!("{name}[{at}]"), item.clone());
                    }
                }
                super::word::joined(&items)
            }
        };
        let name = match &assignment.name {
            AssignmentName::VariableName(name) => name.clone(),
            AssignmentName::ArrayElementName(name, index) => format!("{name}[{}]", self.word(index).text),
        };
        let mut whole = if assignment.append { self.variable(&name) } else { Word::default() };
        whole.push(&value);
        if whole.text.len() > LONGEST_TEXT {
            whole = Word::unknown(whole.origin);
        }
        // `PATH=` finds programs where one stands. What an unset variable left empty is not that.
        if name == "PATH" && matches!(&assignment.value, AssignmentValue::Scalar(word) if word.value.is_empty()) {
            self.notes.add(Seen::Loading, &name);
        }
        self.set(name, whole);
    }

    /// Gives a variable its value. Some values are commands, and some decide what a later command is.
    pub(super) fn set(&mut self, name: String, value: Word) {
        if loads(&name, &value.text) {
            self.notes.add(Seen::Loading, &name);
        } else if COMMANDING.contains(&name.as_str()) {
            let scope = self.scope.clone();
            self.source(&value.text);
            self.scope = scope;
        } else if PROMPTS.contains(&name.as_str()) && value.text.contains(['$', '`']) {
            self.word(&format!("\"{}\"", value.text.replace('"', "\\\"")));
        }
        self.scope.variables.insert(name, value);
    }
}

fn assigned_name(item: &Item) -> Option<&str> {
    match item {
        Item::AssignmentWord(assignment, _) => match &assignment.name {
            AssignmentName::VariableName(name) | AssignmentName::ArrayElementName(name, _) => Some(name),
        },
        _ => None,
    }
}
