//! What it costs to reach beyond the program: to scripts, and to servers of others. One line for each part.

mod code;
mod mcp;

pub(crate) fn run() {
    code::run();
    mcp::run();
}
