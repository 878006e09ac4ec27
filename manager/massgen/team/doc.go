// Package team decides which agents form a child of MassGen, and writes the child's run configuration.
//
//	agents, err := team.Resolve(subagentType, orchestrator, parents, spawningAgent)
//	config := team.Config(team.Child{ID: "s1", Workspace: dir, Agents: agents, Refine: true}) // a request's yaml_config
//
// # Promises
//
// A child spawns no subagents and asks no human, whatever its parent's configuration says. A child never inherits
// anything that belongs to the parent's own agent: its directories, IDs and sessions. The functions change no argument;
// they return a copy.
package team
