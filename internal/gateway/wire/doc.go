// Package wire reads HTTP/1.1 from a client that may lie about every byte, and writes answers to it.
//
//	r := wire.NewReader(conn)
//	head, err := r.Head()              // *Error: what to answer, and then the connection is closed
//	body := r.Body(head, 32<<20)       // ends with io.EOF exactly where the next head begins
//
// It takes one spelling for one meaning. Whatever two parsers could read in two ways is refused, and not repaired: a length
// and chunks together, two lengths, folded lines, a bare line feed, extensions of chunks, trailers, a body behind GET, a target
// that is no plain path, another version. A client that is refused learns why, and its connection ends, because nothing
// tells where its next request would begin.
//
// Nothing here knows a route or an upstream. Forward drops what belongs to one connection only, in both directions.
package wire
