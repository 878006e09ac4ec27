// Package planted has defects: small changes of Torno's sources, each of which breaks a promise. Its tests show that Torno's own tests find them.
//
//	make planted
//
// A defect is never written into the sources. `go test -overlay` compiles a package as if a file had the changed text.
package planted
