-- What a program of step 1 may have written.
INSERT INTO settings_meta (id, owner, version, switch) VALUES (1, 'k3q7owner', 1796000000123, 'hold');
INSERT INTO policies (pattern, body, updated_ms) VALUES ('concert-*', '{"mode":"auto","inflow_per_second":33.333333333333336}', 1796000000001);
INSERT INTO policies (pattern, body, updated_ms) VALUES ('*', '{}', 1796000000002);
INSERT INTO tokens (id, hash, name, role, created_ms, expires_ms, last_used_ms) VALUES ('abcdefghijkl', '00ff', '상점 "shop"', 'service', 1796000000003, 0, 1796000000009);
INSERT INTO activations (item, generation, cause, by_whom, grace, activated_ms, released_ms, reason, counts) VALUES ('sku-1', 1796000000004, 'detector', 'trigger_requests', true, 1796000000004, 0, '', '');
INSERT INTO activations (item, generation, cause, by_whom, grace, activated_ms, released_ms, reason, counts) VALUES ('sku-2', 7, 'operator', 'ann', false, 1796000000005, 1796000000006, 'released', '{"Joined":5}');
INSERT INTO audit (at_ms, who, role, address, action, subject, reason, before, after) VALUES (1796000000007, 'ann', 'admin', '203.0.113.9', 'policy.put', 'concert-*', 'friday''s sale', '', '{"mode":"auto"}');
