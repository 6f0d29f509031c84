"""A plugin for Hermes in plain Python: one tool, one guard, one watcher.

Messages are JSON, one on each line. Standard output belongs to them; everything else goes to standard error, which Hermes
writes to its log.
"""

import json
import pathlib
import sys

numbers = iter(range(1, sys.maxsize))
home = pathlib.Path(".")


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def dispatch(call, name, arguments):
    """Calls a tool of Hermes in the name of the call we are working on, through the gate."""
    number = next(numbers)
    send({"id": number, "method": "tools/dispatch", "params": {"call": call, "name": name, "arguments": arguments}})
    while True:
        message = read()
        if message.get("id") == number and "method" not in message:
            if "error" in message:
                raise RuntimeError(message["error"]["message"])
            return message["result"]
        handle(message)


def initialize(params):
    global home
    home = pathlib.Path(params["home"])
    return {
        "tools": [
            {
                "name": "word_count",
                "description": "Counts the words of a text file.",
                "parameters": {
                    "type": "object",
                    "properties": {"path": {"type": "string", "description": "The file"}},
                    "required": ["path"],
                },
                "read_only": True,
                "source": "machine",
            }
        ],
        "hooks": [{"name": "pre_tool_call", "tools": "write_file|patch", "timeout": 5}, "post_tool_call"],
    }


def word_count(call, arguments):
    # Reading goes through Hermes: what the agent must not read, this plugin does not read either.
    read_file = dispatch(call, "read_file", {"path": arguments["path"]})
    page = json.loads(read_file["content"])
    if "error" in page:
        raise RuntimeError(page["error"])
    lines = (line.split("|", 1)[-1] for line in page["content"].splitlines())
    return {"path": arguments["path"], "words": sum(len(line.split()) for line in lines)}


def keep_away(params):
    if "archive/" in str(params["args"].get("path", "")):
        return {"action": "block", "message": "The archive stays as it is. Write somewhere else."}
    return None


def note(params):
    with open(home / "calls.log", "a") as log:
        log.write(f"{params['tool_name']} {params['status']}\n")


def answer(message):
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        return initialize(params)
    if method == "tools/call":
        return word_count(message["id"], params["arguments"])
    if method == "hooks/pre_tool_call":
        return keep_away(params)
    if method == "hooks/post_tool_call":
        return note(params)
    return None


def handle(message):
    if "method" not in message:
        return
    try:
        result = {"result": answer(message)}
    except Exception as error:
        result = {"error": {"code": -32000, "message": str(error)}}
    if "id" in message:
        send({"id": message["id"], **result})
    if message["method"] == "shutdown":
        sys.exit(0)


while True:
    handle(read())
