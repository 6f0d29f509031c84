//! The script around a command. Pure: text in, text out; the same for every backend.
//!
//! It is one line, so that line numbers in error messages are those of the command. It goes to the directory, takes over
//! what the last shell left behind, runs the command, and at the end, however that comes (`exit`, `set -e`, a failed
//! `cd`, a signal), writes down what the next shell has to know. Bash alone does all of it: no other program is started,
//! but for the one rename where nobody of ours can read the files. Nothing that a command sets (aliases, `-e`, `-x`,
//! `noclobber`) changes what the script does; a function called `builtin` costs that command its memory, no more.

use super::background;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The last line of a state that was written to its end.
pub(super) const WHOLE: &str = "#whole";
/// A state is not trusted to find the directory: it comes back on one of these ways.
#[derive(Debug, Clone, Copy)]
pub(super) enum Report<'a> {
    /// Through a file beside the state, for backends whose files we read.
    File { cwd: &'a Path },
    /// Between two markers at the end of the output, for backends that have nothing else. The script itself puts the
    /// state in the place of the snapshot.
    Marker { marker: &'a str, snapshot: &'a Path },
}

pub(super) struct Script<'a> {
    pub(super) command: &'a str,
    pub(super) cwd: &'a Path,
    /// What the last shell left behind.
    pub(super) snapshot: Option<&'a Path>,
    /// Where this one leaves it.
    pub(super) state: &'a Path,
    pub(super) report: Report<'a>,
    /// A variable that belongs to this run alone.
    pub(super) mark: &'a str,
}

impl Script<'_> {
    /// The text for `bash -c`.
    pub(super) fn text(&self) -> OsString {
        let command = background::rewritten(self.command);
        let keep = self.keep();
        // All of it without a voice: with `set -x` even an assignment has one.
        let leave = [b"{ __hermes_code=$?; __hermes_flags=$-; ".as_slice(), &keep, b"; } 2>/dev/null"].concat();

        let mut script = opening(self.cwd, self.snapshot);
        if self.sets_traps() {
            script.extend(exit_that_keeps(&keep));
        }
        script.extend(b"\\builtin trap -- ");
        script.extend(quoted(&leave));
        script.extend(b" EXIT; \\builtin eval ");
        script.extend(quoted(command.as_bytes()));
        // Also here and not in the trap alone: the command may have set a trap of its own.
        script.extend(b"; ");
        script.extend(&leave);
        script.extend(b"; \\builtin exit \"$__hermes_code\"; }");
        OsString::from_vec(script)
    }

    /// Whether the command may replace our trap. Asked of its text: a script it sources may too, and then loses what it
    /// changed if it ends by `exit`.
    fn sets_traps(&self) -> bool {
        self.command.contains("trap")
    }

    /// Writes the state and the directory, once. Expects `__hermes_code` and `__hermes_flags`.
    fn keep(&self) -> Vec<u8> {
        let state = quoted(self.state.as_os_str().as_bytes());
        let mut keep = format!(
            "if [[ -z ${{__hermes_kept-}} ]]; then __hermes_kept=1; \\builtin set +aeuxv; \
             {forget}\
             \\builtin export -n PWD SHLVL {mark} __hermes_code __hermes_flags __hermes_kept; {{ {STATE} }} >|",
            mark = self.mark,
            forget = if self.sets_traps() { "\\builtin unset -f exit; " } else { "" },
        )
        .into_bytes();
        keep.extend(&state);
        keep.extend(format!("; \\builtin export PWD SHLVL {}; ", self.mark).bytes());
        match self.report {
            Report::File { cwd } => {
                keep.extend(format!("{{ {WHERE} }} >|").bytes());
                keep.extend(quoted(cwd.as_os_str().as_bytes()));
            }
            Report::Marker { marker, snapshot } => {
                keep.extend(b"\\builtin command -p mv -f -- ");
                keep.extend(&state);
                keep.push(b' ');
                keep.extend(quoted(snapshot.as_os_str().as_bytes()));
                let tell = format!("; \\builtin printf '\\n%s' {marker}; {WHERE} \\builtin printf '%s\\n' {marker}");
                keep.extend(tell.bytes());
            }
        }
        keep.extend(b"; fi");
        keep
    }
}

/// The text for a shell that leaves nothing to the next one: it goes on by itself.
pub(super) fn departing(command: &str, cwd: &Path, snapshot: Option<&Path>) -> OsString {
    let mut script = opening(cwd, snapshot);
    script.extend(b"\\builtin eval ");
    script.extend(quoted(background::rewritten(command).as_bytes()));
    script.extend(b"; }");
    OsString::from_vec(script)
}

/// Goes to the directory and takes over what the last shell left behind.
fn opening(cwd: &Path, snapshot: Option<&Path>) -> Vec<u8> {
    let mut script = b"{ exec 2>&1; \\builtin cd -- ".to_vec();
    script.extend(quoted(cwd.as_os_str().as_bytes()));
    script.extend(b" || \\builtin exit 126; ");
    if let Some(snapshot) = snapshot {
        script.extend(b"\\builtin source ");
        script.extend(quoted(snapshot.as_os_str().as_bytes()));
        script.extend(b" >/dev/null 2>&1; ");
    }
    script
}

/// What the next shell is told. Functions come before aliases, or the aliases would be expanded in them a second time.
/// `-e`, `-u`, `-x` and `-v` end with the command that set them: they would end, or fill, all that follow.
const STATE: &str = "\\builtin shopt -p; \\builtin umask -p; \
    \\builtin export -p; \\builtin declare -f; \\builtin declare -Fx; \\builtin alias -p; \
    case $__hermes_flags in (*f*) \\builtin echo 'set -f';; esac; \
    case $__hermes_flags in (*C*) \\builtin echo 'set -C';; esac; \
    case $__hermes_flags in (*a*) \\builtin echo 'set -a';; esac; \
    if [[ -o pipefail ]]; then \\builtin echo 'set -o pipefail'; fi; \
    \\builtin echo '#whole';";

/// A directory that was deleted has no real path any more, but a name.
const WHERE: &str = "\\builtin pwd -P || \\builtin printf '%s\\n' \"$PWD\";";

/// A command with a trap of its own for EXIT replaces ours; then `exit` has to keep the state. Subshells keep nothing,
/// and `exit` without a number means what it always means, in traps too.
fn exit_that_keeps(keep: &[u8]) -> Vec<u8> {
    let mut text = b"exit() { { __hermes_code=$?; __hermes_flags=$-; if [[ $BASH_SUBSHELL == 0 ]]; then ".to_vec();
    text.extend(keep);
    text.extend(
        b"; fi; } 2>/dev/null; \\builtin set +e; __hermes_status() { \\builtin return \"$__hermes_code\"; }; __hermes_status; \
          \\builtin exit \"$@\"; }; ",
    );
    text
}

/// One word of bash on one line, whatever is in it.
pub(super) fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut word = b"$'".to_vec();
    for byte in bytes {
        match byte {
            b'\n' => word.extend(b"\\n"),
            b'\\' | b'\'' => word.extend([b'\\', *byte]),
            0..=31 | 127 => word.extend(format!("\\{byte:03o}").bytes()),
            byte => word.push(*byte),
        }
    }
    word.push(b'\'');
    word
}

/// Takes the directory and its markers off the end of an output.
pub(super) fn take_marker(output: &mut Vec<u8>, marker: &str) -> Option<PathBuf> {
    /// The markers are looked for this near to the end.
    const NEAR: usize = 8192;
    let needle = marker.as_bytes();
    let base = output.len().saturating_sub(NEAR);
    let near = output.get(base..)?;
    let closing = rfind(near, needle)?;
    let opening = rfind(near.get(..closing)?, needle)?;
    let path = near.get(opening + needle.len()..closing)?;
    // A terminal turns the end of a line into two characters.
    let path = path.strip_suffix(b"\r\n").or(path.strip_suffix(b"\n")).unwrap_or(path);
    let path = PathBuf::from(OsString::from_vec(path.to_vec()));
    let end_of_line = |at: usize| {
        [b"\r\n".as_slice(), b"\n"].into_iter().find(|end| output.get(at..).is_some_and(|rest| rest.starts_with(end)))
    };
    let after = base + closing + needle.len();
    let after = after + end_of_line(after).map_or(0, <[u8]>::len);
    let before = output.get(..base + opening)?;
    let before = before.strip_suffix(b"\r\n").or(before.strip_suffix(b"\n")).unwrap_or(before).len();
    // What a background job wrote after the marker stays.
    output.drain(before..after.min(output.len()));
    Some(path)
}

fn rfind(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).rposition(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_markers_go_with_what_the_script_put_around_them() {
        let mut output = b"hi\n\nMARK/a b\nMARK\nlate".to_vec();
        assert_eq!(take_marker(&mut output, "MARK"), Some(PathBuf::from("/a b")));
        assert_eq!(output, b"hi\nlate");
        let mut output = b"hi\r\n\r\nMARK/a b\r\nMARK\r\n".to_vec();
        assert_eq!(take_marker(&mut output, "MARK"), Some(PathBuf::from("/a b")));
        assert_eq!(output, b"hi\r\n");
    }

    #[test]
    fn an_output_with_half_a_marker_is_left_alone() {
        let mut output = b"hi\nMARK/a".to_vec();
        assert_eq!(take_marker(&mut output, "MARK"), None);
        assert_eq!(output, b"hi\nMARK/a");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn bash_reads_a_quoted_word_as_it_was(bytes in proptest::collection::vec(1u8.., 0..60)) {
            let mut script = b"printf %s ".to_vec();
            script.extend(quoted(&bytes));
            let read = std::process::Command::new("bash").arg("-c").arg(OsString::from_vec(script)).output().unwrap();
            prop_assert_eq!(read.stdout, bytes);
        }
    }
}
