// Package stakpak is the set of tools that agents of Stakpak know: background tasks that a subagent carries out.
//
//	server, err := mcp.New(m, mcp.Options{Set: stakpak.Name, Sets: []mcp.Set{stakpak.Set()}, Env: os.Getenv})
//
// The names, the arguments and the texts are Stakpak's. What lies behind them is this outbox: a task is a subagent whose name is the
// six characters of the task's id, so that a task outlives this server, and is the same in `subagent list` and `watcher ps`.
//
// # Promises
//
// A task always runs in a sandbox. What a call asks for and the outbox cannot give is said in the answer.
//
// A task is paused while a question of its agent is undecided. What is approved is what was shown, and no more.
package stakpak
