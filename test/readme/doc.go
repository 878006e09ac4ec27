// Package readme holds the pages for people against what is there: every command, option and make target that they name
// exists, and every link leads somewhere.
package readme
