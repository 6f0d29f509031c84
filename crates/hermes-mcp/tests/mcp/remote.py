"""An MCP server behind an address, with a login if wanted: both protocols, and the smallest authorization server.

Usage: remote.py FOLDER. Prints its port, and writes down what every request carried to FOLDER/requests. The file
FOLDER/lasts holds how many seconds a token is good for; FOLDER/elsewhere where `/moved` redirects to.
"""

import base64
import hashlib
import json
import os
import queue
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlparse

FOLDER = sys.argv[1]
CODES, GOOD, STREAMS, LOCK = {}, set(), {}, threading.Lock()
TOOL = {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}


def read(name, default):
    try:
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return default


def answer(message):
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        info = {"name": "remote", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": params["arguments"].get("text", "")}]}
    return {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def base(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def reply(self, status, body=b"", kind="application/json", **headers):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def noted(self):
        seen = {"method": self.command, "path": self.path, **{k.lower(): v for k, v in self.headers.items()}}
        with LOCK, open(os.path.join(FOLDER, "requests"), "a", encoding="utf-8") as file:
            file.write(json.dumps(seen) + "\n")

    def admitted(self, place):
        if place != "/locked" or self.headers.get("Authorization", "").removeprefix("Bearer ") in GOOD:
            return True
        where = f'Bearer resource_metadata="{self.base()}/.well-known/oauth-protected-resource/locked"'
        self.reply(401, {}, WWW_Authenticate=where)
        return False

    def do_GET(self):
        self.noted()
        place = urlparse(self.path)
        if place.path.startswith("/.well-known/oauth-protected-resource"):
            self.reply(200, {"resource": self.base() + "/locked", "authorization_servers": [read("authority", self.base())]})
        elif place.path.startswith("/.well-known/oauth-authorization-server"):
            at = self.base()
            self.reply(
                200,
                {
                    "issuer": at,
                    "authorization_endpoint": at + "/authorize",
                    "token_endpoint": at + "/token",
                    "registration_endpoint": at + "/register",
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                },
            )
        elif place.path == "/authorize":
            asked = {name: values[0] for name, values in parse_qs(place.query).items()}
            code = f"code-{len(CODES)}"
            CODES[code] = asked["code_challenge"]
            back = urlencode({"code": code, "state": asked["state"]})
            self.reply(302, Location=asked["redirect_uri"] + "?" + back)
        elif place.path == "/sse":
            self.events()
        else:
            self.reply(405)

    def events(self):
        with LOCK:
            name = str(len(STREAMS))
            STREAMS[name] = queue.Queue()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        where = read("endpoint", "/messages")
        self.wfile.write(f"event: endpoint\ndata: {where}?session={name}\n\n".encode())
        self.wfile.flush()
        while True:
            message = STREAMS[name].get()
            if "endless" in json.dumps(message):
                return self.endless(b'data: {"jsonrpc": "')
            self.wfile.write(f"event: message\ndata: {json.dumps(message)}\n\n".encode())
            self.wfile.flush()

    def endless(self, start):
        """An answer that never ends, until nobody listens any more."""
        try:
            self.wfile.write(start)
            while True:
                self.wfile.write(b"x" * (1 << 20))
        except OSError:
            self.close_connection = True

    def do_POST(self):
        self.noted()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        place = urlparse(self.path)
        if place.path == "/register":
            self.reply(201, {**json.loads(body), "client_id": "client-1"})
        elif place.path == "/token":
            self.token({name: values[0] for name, values in parse_qs(body.decode()).items()})
        elif place.path == "/moved":
            self.reply(307, Location=read("elsewhere", "/mcp"))
        elif place.path == "/messages":
            message = json.loads(body)
            if "id" in message and "method" in message:
                session = parse_qs(place.query)["session"][0]
                STREAMS[session].put({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)})
            self.reply(202)
        elif self.admitted(place.path):
            message = json.loads(body)
            if "endless" in json.dumps(message):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream" if "event" in str(message) else "application/json")
                self.send_header("Connection", "close")
                self.end_headers()
                self.endless(b'data: {"jsonrpc": "' if "event" in str(message) else b'{"jsonrpc": "')
            elif "id" in message and "method" in message:
                self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}, Mcp_Session_Id="s1")
            else:
                self.reply(202)

    def token(self, asked):
        if asked["grant_type"] == "authorization_code":
            digest = base64.urlsafe_b64encode(hashlib.sha256(asked["code_verifier"].encode()).digest())
            if CODES.pop(asked["code"], None) != digest.rstrip(b"=").decode():
                return self.reply(400, {"error": "invalid_grant"})
        elif asked["refresh_token"] not in GOOD or read("closed", ""):
            return self.reply(400, {"error": "invalid_grant"})
        # A token for renewing is good once.
        GOOD.discard(asked.get("refresh_token"))
        count = len(GOOD) + len(CODES)
        tokens = {"access_token": f"access-{count}-{os.urandom(4).hex()}", "refresh_token": f"refresh-{os.urandom(4).hex()}"}
        GOOD.update(tokens.values())
        self.reply(200, {**tokens, "token_type": "Bearer", "expires_in": int(read("lasts", "3600"))})


SERVER = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
SERVER.daemon_threads = True
print(SERVER.server_port, flush=True)
SERVER.serve_forever()
