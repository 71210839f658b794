-- +goose Up
-- People who sign in, and the keys that are rotated.

ALTER TABLE settings_meta ADD COLUMN people INTEGER NOT NULL DEFAULT 0; -- rises with each change of users and sessions

ALTER TABLE audit ADD COLUMN via TEXT NOT NULL DEFAULT 'token'; -- how who was known: token, session, command line, …

CREATE TABLE users (
    id           TEXT    PRIMARY KEY,
    name         TEXT    NOT NULL UNIQUE, -- what they sign in with
    role         TEXT    NOT NULL CHECK (role IN ('viewer', 'marketer', 'operator', 'admin')),
    password     TEXT    NOT NULL, -- argon2id in PHC form; '' = none: by a link or by single sign-on
    subject      TEXT    NOT NULL, -- of single sign-on: issuer, a space, the provider's id; '' = none
    created_ms   INTEGER NOT NULL,
    signed_in_ms INTEGER NOT NULL  -- last; 0 = never
);
CREATE UNIQUE INDEX users_by_subject ON users (subject) WHERE subject <> '';

CREATE TABLE sessions (
    hash       TEXT    PRIMARY KEY, -- SHA-256 of the cookie in hex
    user_id    TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    via        TEXT    NOT NULL, -- password, link, single sign-on
    address    TEXT    NOT NULL, -- where the sign-in came from
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id);

CREATE TABLE login_links (
    hash       TEXT    PRIMARY KEY, -- SHA-256 of the code in hex
    user_id    TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_ms INTEGER NOT NULL
);

-- Numbers and instants alone: the keys themselves derive from the secret key.
CREATE TABLE pass_keys (
    number     INTEGER PRIMARY KEY,
    created_ms INTEGER NOT NULL
);

CREATE TABLE connector (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    customer_id TEXT    NOT NULL,
    secret      TEXT    NOT NULL -- sealed with the secret key
);

-- +goose Down
DROP TABLE connector;
DROP TABLE pass_keys;
DROP TABLE login_links;
DROP TABLE sessions;
DROP TABLE users;
ALTER TABLE audit DROP COLUMN via;
ALTER TABLE settings_meta DROP COLUMN people;
