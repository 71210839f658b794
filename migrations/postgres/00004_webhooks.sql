-- +goose Up
-- What happens is told to other programs, and the history says how it went.

CREATE TABLE webhooks (
    id           TEXT    PRIMARY KEY,
    url          TEXT    NOT NULL,
    types        TEXT    NOT NULL, -- of events, JSON; [] = all
    note         TEXT    NOT NULL, -- what it is for
    secret       TEXT    NOT NULL, -- sealed with the secret key
    old_secret   TEXT    NOT NULL, -- sealed; '' = none
    old_until_ms BIGINT  NOT NULL, -- until when the old one signs too
    created_ms   BIGINT  NOT NULL,
    disabled_ms  BIGINT  NOT NULL, -- since when nothing is sent; 0 = it is in use
    disabled_why TEXT    NOT NULL
);

-- One row for each message and webhook.
CREATE TABLE deliveries (
    id         BIGINT  PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    webhook_id TEXT    NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    message    TEXT    NOT NULL, -- its id, the same for each try, and on every node that tells of it
    type       TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    body       TEXT    NOT NULL, -- the bytes that are sent
    state      TEXT    NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead')),
    tries      BIGINT  NOT NULL DEFAULT 0,
    due_ms     BIGINT  NOT NULL,
    until_ms   BIGINT  NOT NULL, -- no try after it
    lease      TEXT    NOT NULL DEFAULT '', -- of the node that is at it
    lease_ms   BIGINT  NOT NULL DEFAULT 0,  -- until when nobody else may be
    status     BIGINT  NOT NULL DEFAULT 0,  -- HTTP status of the last try; 0 = no answer
    error      TEXT    NOT NULL DEFAULT '',
    tried_ms   BIGINT  NOT NULL DEFAULT 0,
    created_ms BIGINT  NOT NULL,
    ended_ms   BIGINT  NOT NULL DEFAULT 0,
    UNIQUE (webhook_id, message)
);
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_ms) WHERE state = 'pending';
CREATE INDEX deliveries_in_order ON deliveries (webhook_id, subject, id) WHERE state = 'pending';
CREATE INDEX deliveries_ended ON deliveries (state, ended_ms) WHERE state <> 'pending';

-- +goose Down
DROP TABLE deliveries;
DROP TABLE webhooks;
