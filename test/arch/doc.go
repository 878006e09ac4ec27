// Package arch is what must be true of the house itself: which package may import which, what a program that is copied into an
// untrusted container may contain, and what every package owes its reader. A rule that runs is a rule that holds.
//
// The table of rooms in rooms_test.go is the map. A new package, or a new edge between two, is a line there and so a
// decision that a reviewer sees. Each rule is also tried against a fixture that breaks it.
package arch
