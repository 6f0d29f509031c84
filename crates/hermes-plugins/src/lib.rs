//! What others add to Hermes: plugins, which are programs that speak JSON-RPC over their standard input and output, and
//! shell hooks, which are commands that hear of one event. Neither can stop the program.
