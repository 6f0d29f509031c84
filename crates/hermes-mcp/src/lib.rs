//! The sockets of Hermes: tools of MCP servers, in the same registry and behind the same gate as every other tool.
//!
//! Servers connect in the background. One that dies, hangs or changes its mind costs the call it concerns, and nothing else.
