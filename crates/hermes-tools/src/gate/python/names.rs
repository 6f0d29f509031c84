//! Names of Python and what they stand for: one table.

/// What a name is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    /// Starts a program.
    Starts,
    /// Reaches code, or a name, that is only known when it runs.
    Hides,
    /// Changes files.
    Changes,
    /// Deletes a directory with all that is in it.
    Deletes,
    /// The name of something else in this place.
    Harmless,
}

/// Where a name has that sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    /// Behind whatever dot, imported under whatever other name.
    Anywhere,
    /// Not behind a dot: `re.compile` and `frame.eval` are other things.
    Alone,
    /// Behind this name and a dot.
    Behind(&'static str),
}

struct Row {
    names: &'static [&'static str],
    stands: Where,
    sense: Sense,
}

const fn row(sense: Sense, stands: Where, names: &'static [&'static str]) -> Row {
    Row { names, stands, sense }
}

use Sense::{Changes, Deletes, Harmless, Hides, Starts};
use Where::{Alone, Anywhere, Behind};

/// The first row that fits counts.
#[rustfmt::skip]
static ROWS: [Row; 11] = [
    row(Harmless, Behind("platform"), &["system"]),
    row(Starts, Anywhere, &[
        "subprocess", "_posixsubprocess", "system", "popen", "Popen", "startfile", "posix_spawn", "posix_spawnp",
        "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe",
        "spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp", "spawnvpe",
        "fork_exec", "forkpty", "pty", "pexpect", "plumbum",
        "getoutput", "getstatusoutput", "check_output", "check_call",
        "create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell",
    ]),
    row(Hides, Anywhere, &[
        "__import__", "__builtins__", "builtins", "importlib", "exec_module", "load_module", "runpy", "codeop",
        "InteractiveInterpreter", "InteractiveConsole", "timeit", "cProfile", "ctypes", "_ctypes", "cffi",
        "marshal", "dill", "cloudpickle", "CodeType", "FunctionType", "attrgetter", "methodcaller",
        "__dict__", "__globals__", "__subclasses__", "__getattribute__", "__loader__", "__spec__",
        "__code__", "__closure__", "__reduce__", "__reduce_ex__", "__mro__", "__bases__", "__base__",
    ]),
    row(Hides, Alone, &["eval", "exec", "compile", "globals", "vars"]),
    row(Hides, Behind("sys"), &["modules"]),
    row(Hides, Behind("pickle"), &["load", "loads"]),
    row(Deletes, Anywhere, &["rmtree"]),
    row(Changes, Anywhere, &[
        "write", "writelines", "write_text", "write_bytes", "dump", "truncate", "touch", "unlink", "rmdir", "removedirs",
        "rename", "renames", "chmod", "lchmod", "chown", "lchown", "symlink", "symlink_to", "hardlink_to", "mkfifo", "mknod",
        "copy2", "copyfile", "copyfileobj", "copytree", "extractall",
    ]),
    // Texts, lists and dicts have methods of these names.
    row(Changes, Behind("os"), &["remove", "replace", "link"]),
    row(Changes, Behind("shutil"), &["copy", "move"]),
    row(Changes, Alone, &["copy", "move"]),
];

/// The name that stands before a dot, if it is one, or that there is a dot at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner<'a> {
    Nobody,
    Something,
    Named(&'a str),
}

/// What a name stands for in this place.
pub(super) fn sense(name: &str, owner: Owner<'_>) -> Option<Sense> {
    let stands = |row: &&Row| match row.stands {
        Anywhere => true,
        Alone => owner == Owner::Nobody,
        Behind(wanted) => owner == Owner::Named(wanted),
    };
    ROWS.iter().filter(|row| row.names.contains(&name)).find(stands).map(|row| row.sense)
}
