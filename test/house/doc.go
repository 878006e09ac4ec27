// Package house is an operator's machine for tests: the programs as they are shipped, a configuration, an outbox, a watcher
// process, and the real engine, or gVisor, asked beside them. A test's TestMain calls Main, and each story starts with New:
//
//	h := house.New(t, house.Plan{})
//	resp := h.Run(house.Ask{ID: "s1", Task: "echo hello"})
//	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
//
// With Sandbox: Ordinary the machine is a user's without root, whom the house makes: the watcher, the directories and the
// commands are that user's, and what looks at them is root.
//
// Everything that a story sees, a client or an operator could see: files in the outbox, the control socket, the log, and
// the engine's own list.
package house
