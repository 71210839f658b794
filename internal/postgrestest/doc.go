// Package postgrestest runs a private Postgres for tests: from the binaries of the distribution, on a unix socket in a
// folder of its own, as another user where the tests run as root (Postgres refuses that), and gone with the tests.
//
// New gives a server that a test may stop, freeze and start again. Shared gives a new database on one server that the
// tests of a package share; the package ends it by Ending. Without Postgres the test is skipped, loudly; with CI=true it
// fails.
package postgrestest
