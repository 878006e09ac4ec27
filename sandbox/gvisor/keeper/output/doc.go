// Package output keeps the output of a sandbox in a log, as frames. The same frames carry output and words between a
// keeper and its watchers over a connection.
//
//	log, err := output.New(box, bound)     // or Old, for a log that is complete
//	err = log.Add(ctx, output.Stdout, data)
//	reader := log.Follow()
//	frame, err := reader.Read(ctx)         // io.EOF after log.End
//	fresh, gap := progress.Take(frame)
//
// The package promises: a log stays within its bound, in two pieces. It drops no piece that a reader has not read: Add
// waits for the reader, or, after WaitForNobody, exceeds the bound. Without a reader it drops its oldest half. Every
// reader sees that output is missing, and how much. An incomplete frame ends a log.
package output
