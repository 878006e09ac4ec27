// Command gate runs the tests of a suite, stage after stage, and says what their failures mean.
//
//	gate test               // what make test does
//	gate night [STAGE…]     // what make night does
//	gate fresh [COMMIT]     // what make fresh does: the tests that are new or changed since a commit, again and again under load
//
// A night that was interrupted goes on: a stage that was green on this commit is left out, unless it is named.
//
// The table in stages.go says which packages belong to which stage. The suite test stops at the first stage that fails; night goes on, so that one
// night shows everything.
//
// A stage is one call of go test, through gotestsum, which prints a line for each package and writes JSON and JUnit. Then
//
//	Read    reads the JSON into a Report: counts, times, and each Failure with its Cause
//	Judge   decides from the failures whether the stage is red, and which tests are worth running again
//	repeat  runs such a test three times more, with nothing beside it
//
// A stage with failures is green only if each of them is an ordinary failed test outside the packages in strict, there are at most three in the
// stage, and each passed three times out of three when it ran again. Such tests are printed in a table, with the line for docs/FLAKES.md. Everything
// else is red at once: a data race, a panic, a time-out, a test binary that ended before its tests did, a package that does not compile, that
// did not run, or that says anything beyond its tests. A failed test of a strict package runs again too, but only to say whether it comes again.
//
// One case is not seen: a package whose TestMain looks for what was left over only if all tests have passed. When one of its tests fails and is
// forgiven, nobody hears what TestMain would have said.
//
// Every run keeps its log, JSON and JUnit in a directory of its own, which is printed first. The last line printed is "N passed, N failed".
package main
