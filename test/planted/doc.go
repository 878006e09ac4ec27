// Package planted breaks Torno in ten places, one at a time, and shows that Torno's own tests notice each.
//
//	make planted
//
// A defect is never written into the sources. `go test -overlay` compiles a package as if a file had the changed text.
package planted
