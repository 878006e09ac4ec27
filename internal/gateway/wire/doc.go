// Package wire reads HTTP/1.1 from a client that may lie about every byte, and writes answers to it.
//
//	r := wire.NewReader(conn)
//	head, err := r.Head()              // *Error: what to answer, and then the connection is closed
//	body := r.Body(head, 32<<20)       // ends with io.EOF exactly where the next head begins
//
// There is only one spelling for each meaning. The package refuses, and does not repair, whatever two parsers could
// read in two ways: a length and chunks together, two lengths, folded lines, a bare line feed, chunk extensions,
// trailers, a body after GET, a target that is not a plain path, another version. A refused client learns why. Then its
// connection ends, because nobody knows where its next request would begin.
//
// This package knows no route and no upstream. Forward drops header fields that belong to one connection only, in both
// directions.
package wire
