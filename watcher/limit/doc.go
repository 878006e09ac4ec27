// Package limit keeps work to a share of a core, so that a parent that causes much work slows down itself, and nothing
// else.
//
//	meter := meters.Start()
//	…                                          a piece of work
//	share.Pause(ctx, meter.SoFar().Work())
//
// Work is the processor time of the piece, not the time that went by: a process that was frozen has not worked.
package limit
