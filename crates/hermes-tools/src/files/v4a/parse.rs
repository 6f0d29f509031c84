//! From the text of a patch to its operations.
//!
//! Text around `*** Begin Patch` and `*** End Patch` is talk and is skipped. Inside, every line is understood or is an
//! error with its number: a line that is skipped would be a change that is lost.

use super::{Action, Hunk, HunkLine, Operation, Patch};

/// A line that stopped the reading, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The patch cannot be read: line {line}: {fault} No files were modified.")]
pub struct ParseError {
    pub line: usize,
    pub fault: ParseFault,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseFault {
    #[error(
        "there is no file section. Begin each file with one of \"*** Update File: path\", \"*** Add File: path\", \
         \"*** Delete File: path\", \"*** Move File: from -> to\"."
    )]
    NoSections,
    #[error("this line stands before the first file header. Put \"*** Update File: path\" in front of it.")]
    BeforeHeader,
    #[error("this file header stands after \"*** End Patch\". Put the end behind the last file.")]
    AfterEnd,
    #[error("the header \"{0}\" is not known. Known are Update File, Add File, Delete File and Move File.")]
    UnknownHeader(String),
    #[error("the header names no file. Write the path behind the colon.")]
    EmptyPath,
    #[error("the path {0} contains \"..\". Name the file from the working directory or by its absolute path.")]
    Climbs(String),
    #[error("the move names no destination. Write \"*** Move File: from -> to\".")]
    NoDestination,
    #[error("the update of {0} has no hunks. Add lines with \"-\" and \"+\" below it, or leave it out.")]
    NoHunks(String),
    #[error("a line of a new file must begin with \"+\".")]
    NotAdded,
    #[error(
        "lines below the header of a removed or moved file mean nothing. Change the file in an Update File section."
    )]
    BodyWithoutMeaning,
}

pub fn parse(text: &str) -> Result<Patch, ParseError> {
    let mut reader = Reader::default();
    let has_begin = text.lines().any(|line| marker(line) == Some("Begin Patch"));
    let mut place = if has_begin { Place::Before } else { Place::Inside };
    let mut last = 1;
    for (index, line) in text.lines().enumerate() {
        last = index + 1;
        match (place, marker(line)) {
            (Place::Before | Place::Inside, Some("Begin Patch")) => place = Place::Inside,
            (Place::Inside, Some("End Patch")) => place = Place::Behind,
            (Place::Inside, _) => reader.line(last, line)?,
            (Place::Behind, Some(marker)) if header(marker).is_some() => {
                return Err(ParseError { line: last, fault: ParseFault::AfterEnd });
            }
            (Place::Before | Place::Behind, _) => {}
        }
    }
    reader.close()?;
    if reader.operations.is_empty() {
        return Err(ParseError { line: last, fault: ParseFault::NoSections });
    }
    Ok(Patch { operations: reader.operations })
}

#[derive(Clone, Copy)]
enum Place {
    Before,
    Inside,
    Behind,
}

/// What stands behind three asterisks.
fn marker(line: &str) -> Option<&str> {
    line.strip_prefix("***").map(str::trim).filter(|rest| !rest.is_empty() && !rest.starts_with('*'))
}

/// `Update File: path` in two.
fn header(marker: &str) -> Option<(&str, &str)> {
    let (name, rest) = marker.split_once(':')?;
    let name = name.trim();
    let looks_right = name.ends_with(" File") || name == "Move to";
    looks_right.then_some((name, rest.trim()))
}

/// The sections so far, and the one that is open.
#[derive(Default)]
struct Reader {
    operations: Vec<Operation>,
    open: Option<Section>,
}

/// `blank` counts lines without sign and text. They belong to a section only when another line of it follows: most of
/// them stand before the next header, where as context they would only be in the way.
enum Section {
    Update {
        line: usize,
        path: String,
        hunks: Vec<Hunk>,
        blank: usize,
    },
    Add {
        line: usize,
        path: String,
        content: String,
        blank: usize,
    },
    /// Complete with its header.
    Closed,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ParseError> {
        if let Some(marker) = marker(line) {
            if let Some((name, rest)) = header(marker) {
                self.close()?;
                return self.begin(number, name, rest);
            }
            if marker == "End of File" {
                return Ok(());
            }
        }
        let fault = |fault| Err(ParseError { line: number, fault });
        match &mut self.open {
            None if line.trim().is_empty() => {}
            None => return fault(ParseFault::BeforeHeader),
            Some(Section::Closed) if line.trim().is_empty() => {}
            Some(Section::Closed) => return fault(ParseFault::BodyWithoutMeaning),
            Some(Section::Add { content, blank, .. }) => match line.strip_prefix('+') {
                Some(text) => {
                    content.extend(std::iter::repeat_n('\n', std::mem::take(blank)));
                    content.extend([text, "\n"]);
                }
                None if line.trim().is_empty() => *blank += 1,
                None if line.starts_with('\\') || line.trim() == "@@" => {}
                None => return fault(ParseFault::NotAdded),
            },
            Some(Section::Update { hunks, blank, .. }) => into_hunk(number, line, hunks, blank),
        }
        Ok(())
    }

    fn begin(&mut self, line: usize, name: &str, rest: &str) -> Result<(), ParseError> {
        let path = |path: &str| match path.trim() {
            "" => Err(ParseError { line, fault: ParseFault::EmptyPath }),
            climbing if climbing.split(['/', '\\']).any(|part| part == "..") => {
                Err(ParseError { line, fault: ParseFault::Climbs(climbing.to_owned()) })
            }
            fine => Ok(fine.to_owned()),
        };
        let (section, action) = match name {
            "Update File" => (Section::Update { line, path: path(rest)?, hunks: Vec::new(), blank: 0 }, None),
            "Add File" => (Section::Add { line, path: path(rest)?, content: String::new(), blank: 0 }, None),
            "Delete File" => (Section::Closed, Some(Action::Delete { path: path(rest)? })),
            "Move File" => {
                let Some((from, to)) = rest.split_once("->") else {
                    let fault = if rest.is_empty() { ParseFault::EmptyPath } else { ParseFault::NoDestination };
                    return Err(ParseError { line, fault });
                };
                if to.trim().is_empty() {
                    return Err(ParseError { line, fault: ParseFault::NoDestination });
                }
                (Section::Closed, Some(Action::Move { from: path(from)?, to: path(to)? }))
            }
            unknown => return Err(ParseError { line, fault: ParseFault::UnknownHeader(unknown.to_owned()) }),
        };
        self.open = Some(section);
        self.operations.extend(action.map(|action| Operation { line, action }));
        Ok(())
    }

    fn close(&mut self) -> Result<(), ParseError> {
        match self.open.take() {
            None | Some(Section::Closed) => {}
            Some(Section::Add { line, path, content, .. }) => {
                self.operations.push(Operation { line, action: Action::Add { path, content } });
            }
            Some(Section::Update { line, path, mut hunks, .. }) => {
                hunks.retain(|hunk| !hunk.lines.is_empty());
                if hunks.is_empty() {
                    return Err(ParseError { line, fault: ParseFault::NoHunks(path) });
                }
                self.operations.push(Operation { line, action: Action::Update { path, hunks } });
            }
        }
        Ok(())
    }
}

fn into_hunk(number: usize, line: &str, hunks: &mut Vec<Hunk>, blank: &mut usize) {
    if let Some(rest) = line.strip_prefix("@@") {
        let hint = rest.trim().strip_suffix("@@").unwrap_or(rest).trim();
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        hunks.push(Hunk { line: number, hint, lines: Vec::new() });
        *blank = 0;
        return;
    }
    if line.is_empty() {
        *blank += 1;
        return;
    }
    let Some(line) = hunk_line(line) else { return };
    if hunks.is_empty() {
        *blank = 0;
        hunks.push(Hunk { line: number, ..Hunk::default() });
    }
    if let Some(hunk) = hunks.last_mut() {
        hunk.lines.extend(std::iter::repeat_n(HunkLine::Context(String::new()), std::mem::take(blank)));
        hunk.lines.push(line);
    }
}

/// A line without a sign is context whose sign was forgotten. `\` begins a remark about the end of a file.
fn hunk_line(line: &str) -> Option<HunkLine> {
    let mut rest = line.chars();
    let sign = rest.next();
    let text = rest.as_str().to_owned();
    match sign {
        Some('+') => Some(HunkLine::Added(text)),
        Some('-') => Some(HunkLine::Removed(text)),
        Some(' ') => Some(HunkLine::Context(text)),
        Some('\\') => None,
        _ => Some(HunkLine::Context(line.to_owned())),
    }
}
