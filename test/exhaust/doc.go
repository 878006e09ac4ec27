//go:build linux

// Package exhaust takes all that there is of everything in a sandbox, of whatever launcher, and looks at what others beside
// it have to suffer. A launcher's own tests say how it is asked:
//
//	f := exhaust.New(t, exhaust.Launcher{Launcher: l, Where: "docker", Base: base, Asked: "the engine", Ask: inspect, …})
//	exhaust.Everything(f)
//	exhaust.Bomb(f, attack.Trial{Row: "X1", Where: "docker, a bomb"})
//
// The oracles are containers without limits (package weak), in which each taker gets all that it wants. What was measured
// is in the notes of the score.
package exhaust
