//! Commands that would keep the conversation waiting for ever, or go on behind its back, belong into the background,
//! where they can be watched and ended. This is advice for the model and no protection: the gate is.

use regex::Regex;
use std::sync::LazyLock;

/// Words that ask a program about itself; it ends at once.
const ASKS: [&str; 4] = ["--help", "-h", "--version", "-v"];

const DETACHED: &str = "nohup, disown and setsid hide a process from you. Use background=true without them; \
     the process tool then shows its output and ends it.";
const AMPERSAND: &str = "`&` leaves a process behind that nobody watches. Run it alone with background=true, \
     and what comes after it in a second call.";
const SERVER: &str = "This goes on until it is ended. Start it with background=true, then check that it is ready with a \
     second call or the process tool.";

/// Where a command begins, with what may stand before its name.
const BEGINS: &str = r"(?:^|[;&|(\n]|\bdo\s|\bthen\s)\s*(?:\w+=\S*\s+|(?:sudo|exec|time|npx)\s+)*";

/// What a command outside of quotes looks like, and what to do instead.
const TABLE: [(&str, &str); 5] = [
    (r"(nohup|setsid|disown)(\s|$|;)", DETACHED),
    (r"(npm|pnpm|yarn|bun)\s+(run\s+)?(dev|start|serve|watch)(\s|$|[;&|])", SERVER),
    (r"docker(-|\s+)compose\s+(-\S+\s+\S+\s+)*up(\s+[^-\s;&|]\S*)*\s*($|[;&|])", SERVER),
    (r"(next\s+dev|nodemon|uvicorn|gunicorn|python[0-9.]*\s+-m\s+http\.server)(\s|$|[;&|])", SERVER),
    (r"vite(\s+(dev|serve|-\S+))*\s*($|[;&|])", SERVER),
];
/// A lone `&` that is no part of a redirection.
const LEFT_BEHIND: &str = r"[^&>|<]&(\s|$)";

/// The patterns, read for the first command.
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    // The table is checked by a test; a row that could not be read would only advise nobody.
    let commands = TABLE.iter().map(|(pattern, advice)| (format!("{BEGINS}(?:{pattern})"), *advice));
    let rows = commands.chain([(LEFT_BEHIND.to_owned(), AMPERSAND)]);
    rows.filter_map(|(pattern, advice)| Some((Regex::new(&pattern).ok()?, advice))).collect()
});

/// Why this command should not run in the foreground.
pub(super) fn advice(command: &str) -> Option<&'static str> {
    let bare = without_quotes(command);
    if bare.split_whitespace().any(|word| ASKS.contains(&word)) {
        return None;
    }
    PATTERNS.iter().find(|(pattern, _)| pattern.is_match(&bare)).map(|(_, advice)| *advice)
}

/// The text with quoted parts, and what a backslash protects, taken out.
fn without_quotes(command: &str) -> String {
    let mut bare = String::with_capacity(command.len());
    let mut open: Option<char> = None;
    let mut rest = command.chars();
    while let Some(character) = rest.next() {
        match (open, character) {
            (None | Some('"'), '\\') => {
                rest.next();
            }
            (Some(quote), character) if quote == character => open = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                open = Some(character);
                bare.push('x');
            }
            (None, character) => bare.push(character),
        }
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_can_be_read() {
        assert_eq!(PATTERNS.len(), TABLE.len() + 1);
    }

    #[test]
    fn what_goes_on_is_advised_against_and_what_ends_is_not() {
        let table = [
            ("nohup ./server", Some(DETACHED)),
            ("cd x && setsid ./server", Some(DETACHED)),
            ("./server & disown", Some(DETACHED)),
            ("sleep 9 &", Some(AMPERSAND)),
            ("sleep 9 & echo hi", Some(AMPERSAND)),
            ("npm run dev", Some(SERVER)),
            ("cd web; yarn start", Some(SERVER)),
            ("docker compose up", Some(SERVER)),
            ("docker-compose -f a.yml up web", Some(SERVER)),
            ("docker compose up -d", None),
            ("next dev", Some(SERVER)),
            ("vite", Some(SERVER)),
            ("vite build", None),
            ("uvicorn app:app", Some(SERVER)),
            ("python3 -m http.server 8000", Some(SERVER)),
            ("uvicorn --help", None),
            ("echo 'npm run dev &'", None),
            ("grep -r nohup .", None),
            ("make 2>&1 | tail", None),
            ("a && b", None),
            ("cmd &> log", None),
            ("npm test", None),
            ("npm install && npm run build", None),
            ("git commit -m \"start & stop\"", None),
        ];
        for (command, wanted) in table {
            assert_eq!(advice(command), wanted, "{command}");
        }
    }
}
