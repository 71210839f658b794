-- +goose Up
CREATE TABLE sales (
    id         TEXT    PRIMARY KEY,
    body       TEXT    NOT NULL, -- all fields, JSON
    updated_ms BIGINT  NOT NULL
);

-- +goose Down
DROP TABLE sales;
