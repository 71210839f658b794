// Package chaos holds the fault suite: real nodes, stores and databases as processes of their own, faults on the wire and by
// signals, and a crowd that says what visitors saw of it. Its tests run two short cases; "make chaos" runs all of them in full
// and writes the table of docs/reliability.md.
package chaos
