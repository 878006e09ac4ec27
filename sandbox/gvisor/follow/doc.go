// Package follow is the attachment to a sandbox of gVisor: its output, its input, its signals, and how it ended.
//
//	a := follow.New(follow.Sandbox{ID: id, Box: box, Stdin: true, Kill: kill, Signal: signal, …}, line, first, &attached)
//
// What it promises: only the attachment that has the line of the start can release the sandbox, once. An end that the keeper has
// seen is never unknown, however gVisor's kernel came by it: what is lost may be attempted again, and a child that finds a flaw in
// that kernel can end it whenever it likes.
package follow
