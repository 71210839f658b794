-- What a program of step 5 may have written.
INSERT INTO activations (item, generation, cause, by_whom, grace, activated_ms, released_ms, reason, counts, trip, line) VALUES ('sku-3', 8, 'detector', 'trigger_requests', true, 1796000000050, 1796000000060, 'released', '{"joined":5}', '{"measure":512.5,"trigger":500}', '{"peak_waiting":3,"longest_wait_ms":900,"median_wait_ms":96}');
