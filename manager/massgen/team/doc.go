// Package team works out which agents a child of MassGen consists of, and writes its run configuration.
//
//	agents, err := team.Resolve(subagentType, orchestrator, parents, spawningAgent)
//	config := team.Config(team.Child{ID: "s1", Workspace: dir, Agents: agents, Refine: true}) // a request's yaml_config
//
// # Promises
//
// A child spawns no subagents and asks no human, whatever the configuration of its parent says. What belongs to a parent's own agent (its
// directories, ids and sessions) is never inherited. No argument is changed: what comes back is a copy.
package team
