//! What the login shell does once for a conversation, beyond its own start. Pure, but for looking which files are there.

use super::TerminalSettings;
use super::script::quoted;
use super::settings::expanded;
use crate::settings::Surroundings;
use std::path::PathBuf;

/// The person's files, and a path that loses nothing it had.
pub(super) fn steps(settings: &TerminalSettings, around: &Surroundings) -> String {
    let files: Vec<PathBuf> = if !settings.shell_init_files.is_empty() {
        settings.shell_init_files.iter().map(|file| around.home.join(expanded(file, around))).collect()
    } else if settings.auto_source_bashrc {
        // The login shell has read the first of these that is there.
        let profiles = [".bash_profile", ".bash_login", ".profile"].map(|name| around.home.join(name));
        let read = profiles.iter().find(|file| file.exists()).cloned();
        let wanted = [".profile", ".bash_profile", ".bashrc"].map(|name| around.home.join(name));
        wanted.into_iter().filter(|file| Some(file) != read.as_ref()).collect()
    } else {
        Vec::new()
    };
    // First of all: a file that calls `exit` ends the steps, and aliases are of use even then.
    let mut text = "shopt -s expand_aliases\n".to_owned();
    for file in files {
        let word = quoted(file.as_os_str().as_encoded_bytes());
        let word = String::from_utf8_lossy(&word);
        text.push_str(&format!("[[ -r {word} ]] && source {word}\n"));
    }
    let path = around.variables.get("PATH").map(String::as_str).unwrap_or_default();
    let path = quoted(path.as_bytes());
    text.push_str(&REST.replace("GIVEN", &String::from_utf8_lossy(&path)));
    text
}

/// Helpers of completions are many and of no use to commands. Entries of the path that a profile forgot come first: the
/// person put them there for the shell they started us from.
const REST: &str = "set +eu
__hermes_missing=
IFS=: read -r -d '' -a __hermes_given <<<GIVEN:
for __hermes_entry in \"${__hermes_given[@]}\"; do
  __hermes_entry=${__hermes_entry%$'\\n'}
  case :$PATH:$__hermes_missing in *:\"$__hermes_entry\":*) ;; *) __hermes_missing+=$__hermes_entry: ;; esac
done
export PATH=$__hermes_missing$PATH
unset -f -- $(compgen -A function -X '!_[!_]*')
";
