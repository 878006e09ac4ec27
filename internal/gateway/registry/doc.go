// Package registry reads what package registries say of their files: where each lies, and what its digest is. It does no input and no output
// of its own.
//
//	index := registry.NewIndex(kind, mediaType, page, told)   // nil where the page tells nothing
//	_, _ = index.Write(part)                                  // as the page passes; it never fails
//	index.Close()                                             // everything was told
//	lasts := registry.Lasts(kind, path)                       // a file without a digest that never changes
//
// A page is read token by token, and what is odd ends the reading: its files are then not kept, and nothing else happens. So it is for the
// registry alone to say false things, and then what it sends has another digest and is not kept either.
package registry
