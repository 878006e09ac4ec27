// Package registry reads from the pages of package registries where each file is and what digest it has. It does no
// input and no output of its own.
//
//	index := registry.NewIndex(kind, mediaType, page, told)   // nil if such a page names no files
//	_, _ = index.Write(part)                                  // as the page passes; it never fails
//	index.Close()                                             // all files were told
//	lasts := registry.Lasts(kind, path)                       // a file without a digest that never changes
//
// An Index reads a page token by token. If something is odd it stops reading: then the page's files are not kept, and
// nothing else happens. So only the registry itself can tell a false digest. In that case the file that it sends does
// not match, and is not kept either.
package registry
