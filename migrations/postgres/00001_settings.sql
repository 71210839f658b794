-- +goose Up
-- All instants are unix milliseconds. What changes rarely and is read whole is JSON.

-- One row: what names this database and counts its writes.
CREATE TABLE settings_meta (
    id      BIGINT  PRIMARY KEY CHECK (id = 1),
    owner   TEXT    NOT NULL, -- random, so that two databases never overwrite each other's published copy
    version BIGINT  NOT NULL, -- rises with each change of settings
    switch  TEXT    NOT NULL CHECK (switch IN ('normal', 'pass', 'hold'))
);

CREATE TABLE policies (
    pattern    TEXT    PRIMARY KEY,
    body       TEXT    NOT NULL, -- all fields, JSON
    updated_ms BIGINT  NOT NULL
);

CREATE TABLE tokens (
    id           TEXT    PRIMARY KEY,
    hash         TEXT    NOT NULL UNIQUE, -- SHA-256 in hex; the token itself is shown once and kept nowhere
    name         TEXT    NOT NULL,
    role         TEXT    NOT NULL CHECK (role IN ('viewer', 'marketer', 'operator', 'admin', 'service')),
    created_ms   BIGINT  NOT NULL,
    expires_ms   BIGINT  NOT NULL, -- 0 = never
    last_used_ms BIGINT  NOT NULL  -- 0 = never
);

-- History: one row for each generation of an item's queue, whoever reports it and however often.
CREATE TABLE activations (
    id           BIGINT  PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    item         TEXT    NOT NULL,
    generation   BIGINT  NOT NULL,
    cause        TEXT    NOT NULL,
    by_whom      TEXT    NOT NULL,
    grace        BOOLEAN NOT NULL,
    activated_ms BIGINT  NOT NULL,
    released_ms  BIGINT  NOT NULL, -- 0 = still on
    reason       TEXT    NOT NULL, -- of the release
    counts       TEXT    NOT NULL, -- the books at the end, JSON; '' = not known
    UNIQUE (item, generation)
);
CREATE INDEX activations_by_time ON activations (activated_ms);

CREATE TABLE audit (
    id      BIGINT  PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    at_ms   BIGINT  NOT NULL,
    who     TEXT    NOT NULL, -- name of the token
    role    TEXT    NOT NULL,
    address TEXT    NOT NULL, -- where the request came from
    action  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    reason  TEXT    NOT NULL,
    before  TEXT    NOT NULL, -- JSON; '' = there was nothing
    after   TEXT    NOT NULL
);

-- +goose Down
DROP TABLE audit;
DROP TABLE activations;
DROP TABLE tokens;
DROP TABLE policies;
DROP TABLE settings_meta;
