//! What it costs to reach beyond the program: to scripts, and to servers of others. One line for each part.

mod code;

pub(crate) fn run() {
    code::run();
}
