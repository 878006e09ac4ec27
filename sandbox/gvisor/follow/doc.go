// Package follow implements the attachment to a gVisor sandbox: its output, its input, its signals, and its end.
//
//	a := follow.New(follow.Sandbox{ID: id, Box: box, Stdin: true, Kill: kill, Signal: signal, …}, line, first, &attached)
//
// The package promises: only the attachment with the line from the start can release the sandbox, and only once. An end
// that the keeper has seen is never unknown, no matter how gVisor's kernel ended. This is important because a lost run
// may be attempted again, and a child that finds a flaw in that kernel can end it whenever it likes.
package follow
