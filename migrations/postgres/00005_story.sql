-- +goose Up
-- What a generation has been like; and the audit is asked for by time and by what was written.

ALTER TABLE activations ADD COLUMN trip TEXT NOT NULL DEFAULT ''; -- what the detector saw, JSON; '' = not known, or another cause
ALTER TABLE activations ADD COLUMN line TEXT NOT NULL DEFAULT ''; -- length and waits of the line, JSON; '' = not known
CREATE INDEX activations_on ON activations (activated_ms) WHERE released_ms = 0;
CREATE INDEX audit_by_time ON audit (at_ms);
CREATE INDEX audit_by_subject ON audit (subject, id);

-- +goose Down
DROP INDEX audit_by_subject;
DROP INDEX audit_by_time;
DROP INDEX activations_on;
ALTER TABLE activations DROP COLUMN line;
ALTER TABLE activations DROP COLUMN trip;
