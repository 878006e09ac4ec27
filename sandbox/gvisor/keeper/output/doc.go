// Package output keeps what a sandbox prints, in frames, and has them and the words between a keeper and its watchers go over a
// connection.
//
//	log, err := output.New(box, bound)     // or Old, to which nothing is added any more
//	err = log.Add(ctx, output.Stdout, data)
//	reader := log.Follow()
//	frame, err := reader.Read(ctx)         // io.EOF after log.End
//	fresh, gap := progress.Take(frame)
//
// What it promises: a log has no more than its bound, in two pieces. It drops no piece that a reader has not read: then Add waits, or, after
// WaitForNobody, exceeds the bound.
// Without a reader it drops its oldest half, and every reader sees that output is missing, and how much. A frame that was written in
// part ends a log.
package output
