-- What a program of step 2 may have written.
INSERT INTO users (id, name, role, password, subject, created_ms, signed_in_ms) VALUES ('u1', 'ann', 'admin', '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA', '', 1796000000010, 1796000000020);
INSERT INTO users (id, name, role, password, subject, created_ms, signed_in_ms) VALUES ('u2', '김철수', 'marketer', '', 'https://id.example 4711', 1796000000011, 0);
INSERT INTO users (id, name, role, password, subject, created_ms, signed_in_ms) VALUES ('u3', 'bob', 'viewer', '', '', 1796000000012, 0);
INSERT INTO sessions (hash, user_id, via, address, created_ms, expires_ms) VALUES ('01ff', 'u1', 'password', '203.0.113.9', 1796000000020, 1796086400020);
INSERT INTO login_links (hash, user_id, expires_ms) VALUES ('02ff', 'u3', 1796000900000);
INSERT INTO pass_keys (number, created_ms) VALUES (2, 1796000000013);
INSERT INTO connector (id, customer_id, secret) VALUES (1, 'shop', 'sealed');
