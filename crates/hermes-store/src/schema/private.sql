-- What the shared tables have no place for. Every name begins with hermes_, so that other programs pass it by.

-- The rest of a message: fields without a column, and what became of it where messages cannot say so.
CREATE TABLE IF NOT EXISTS hermes_message_extra (
    message_id INTEGER PRIMARY KEY REFERENCES messages(id) ON DELETE CASCADE,
    state INTEGER NOT NULL DEFAULT 0,
    sent TEXT,
    fields TEXT
);
CREATE INDEX IF NOT EXISTS hermes_message_extra_states ON hermes_message_extra(message_id) WHERE state <> 0;

-- One row per call of a model. Money is in whole picodollars. No key to sessions: what was spent stays spent.
CREATE TABLE IF NOT EXISTS hermes_calls (
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    at REAL NOT NULL,
    provider TEXT NOT NULL,
    base_url TEXT NOT NULL,
    billing_mode TEXT NOT NULL,
    model TEXT NOT NULL,
    task TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    estimated_pico INTEGER,
    actual_pico INTEGER,
    cost_status TEXT NOT NULL,
    cost_source TEXT NOT NULL,
    pricing_version TEXT,
    took_ms INTEGER NOT NULL,
    facts TEXT
);
CREATE INDEX IF NOT EXISTS hermes_calls_session ON hermes_calls(session_id);
CREATE INDEX IF NOT EXISTS hermes_calls_at ON hermes_calls(at);

CREATE TABLE IF NOT EXISTS hermes_turns (
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    started_at REAL NOT NULL,
    ended_at REAL NOT NULL,
    exit_reason TEXT NOT NULL,
    model_calls INTEGER NOT NULL,
    tool_calls INTEGER NOT NULL,
    error TEXT
);
CREATE INDEX IF NOT EXISTS hermes_turns_session ON hermes_turns(session_id);
CREATE INDEX IF NOT EXISTS hermes_turns_started ON hermes_turns(started_at);

-- What compressions did, or why they did nothing. The last three columns came later.
CREATE TABLE IF NOT EXISTS hermes_compressions (
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    child_session_id TEXT,
    at REAL NOT NULL,
    tokens_before INTEGER NOT NULL,
    tokens_after INTEGER NOT NULL,
    took_ms INTEGER NOT NULL,
    model TEXT,
    phase TEXT NOT NULL,
    cause TEXT NOT NULL,
    messages_before INTEGER,
    messages_after INTEGER,
    stopped TEXT
);
CREATE INDEX IF NOT EXISTS hermes_compressions_session ON hermes_compressions(session_id);

-- How long no summary is asked for, where sessions cannot say so.
CREATE TABLE IF NOT EXISTS hermes_rests (
    session_id TEXT PRIMARY KEY,
    until REAL,
    failures INTEGER NOT NULL,
    reason TEXT
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS hermes_effects (
    session_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    state TEXT NOT NULL,
    started_at REAL NOT NULL,
    ended_at REAL,
    PRIMARY KEY (session_id, call_id)
) WITHOUT ROWID;

-- One row per attempt to ask a model. Requests extend each other: a body is the first `shared` bytes of the body of `base`,
-- whose digest tells whether another body begins with them too, and `tail`. What is long stands behind the rest, so that
-- that is read without it; `scene` came later and is where files that had the table before have it.
CREATE TABLE IF NOT EXISTS hermes_exchanges (
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    at REAL NOT NULL,
    task TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    mode TEXT NOT NULL,
    url TEXT NOT NULL,
    cause TEXT,
    base INTEGER,
    shared INTEGER NOT NULL,
    digest BLOB NOT NULL,
    target TEXT NOT NULL,
    answer TEXT NOT NULL,
    tail BLOB NOT NULL,
    scene TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX IF NOT EXISTS hermes_exchanges_session ON hermes_exchanges(session_id);

-- Programs that write to this file and have not said goodbye.
CREATE TABLE IF NOT EXISTS hermes_writers (
    pid INTEGER NOT NULL,
    born TEXT NOT NULL,
    since REAL NOT NULL,
    PRIMARY KEY (pid, born)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS hermes_meta (
    key TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;
