// Package readme holds the pages for people against what is there: every command, option and make target that they name
// exists, every link leads somewhere, and every shell block is read by a real shell and, where a machine without an engine allows it, run.
// A block that is new to the table in typed_test.go fails.
package readme
