// Package archtest holds the project to its own shape: which package may import what, one package comment each, files
// of a readable length, no sleeping tests. Its tests read the source; there is nothing to import.
package archtest
