// Package redistest gives tests a real Redis: a private redis-server from PATH on a unix socket and a loopback port,
// without persistence, ended with the test.
//
// New starts one for a test that flushes, kills or pauses it. Shared is quicker: one server for the whole test
// process, and a key prefix of its own for each test. Where redis-server is missing, the test is skipped, and with
// CI=true it fails.
package redistest
