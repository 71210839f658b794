-- What a program of step 6 may have written.
INSERT INTO sale_settled (sale, opens_ms) VALUES ('friday', 1796000000000);
UPDATE settings_meta SET sales_from_ms = 1795000000000;
