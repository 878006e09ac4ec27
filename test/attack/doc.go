// Package attack keeps the score of what is tried against Torno. Tests call Record for each attack with the row of
// docs/THREATS.md that it belongs to:
//
//	attack.Record(t, attack.Trial{Row: "M1", Where: "docker by handle", Tried: 20000, Held: 20000, Oracle: weakOneFell})
//
// An attack counts as held off only while its oracle is alive: in this very run, the same probe must have succeeded
// where the defence is taken away. A probe that succeeds nowhere proves nothing, so Record fails the test.
//
// `make attack` runs all such tests at length (Long says so to them) and prints one table from what they recorded.
package attack
