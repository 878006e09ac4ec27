// Package stakpak is the set of tools that agents of Stakpak know: background tasks that a subagent carries out.
//
//	server, err := mcp.New(m, mcp.Options{Set: stakpak.Name, Sets: []mcp.Set{stakpak.Set()}, Env: os.Getenv})
//
// The names, the arguments and the texts are Stakpak's. The outbox does the work. A task is a subagent whose name is
// the task's ID of six characters. So a task outlives this server, and has the same name in `subagent list` and
// `watcher ps`.
//
// # Promises
//
// A task always runs in a sandbox. If a call asks for something that the outbox cannot give, the answer says so.
//
// A task is paused while a question of its agent is undecided. An approval covers exactly the question that was shown,
// and nothing more.
package stakpak
