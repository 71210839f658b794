-- +goose Up
-- Of which times of sales nothing is left to be told, so that one that did not happen is told of once.

CREATE TABLE sale_settled (
    sale     TEXT    NOT NULL,
    opens_ms BIGINT  NOT NULL,
    PRIMARY KEY (sale, opens_ms)
);
ALTER TABLE settings_meta ADD COLUMN sales_from_ms BIGINT  NOT NULL DEFAULT 0; -- from when on that is known

-- +goose Down
ALTER TABLE settings_meta DROP COLUMN sales_from_ms;
DROP TABLE sale_settled;
