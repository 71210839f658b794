// Package app puts a node together: the only package that knows all others. The program and the tests start it alike.
package app
