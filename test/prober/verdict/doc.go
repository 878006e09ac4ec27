// Package verdict holds what the prober found in a sandbox against what is expected there: docs of a launcher, written by
// hand before it was tried, in one table for all launchers (test/prober/verdicts.md).
//
//	page, err := verdict.ReadPage()
//	verdict.Judge(t, verdict.Case{Where: "docker by handle", Column: "docker", Strong: found, Weak: elsewhere})
//
// A probe must come to the word that its row says, and where that word is no "done", the same probe must have succeeded
// in one of the weak places, where the wall that holds it is taken away; otherwise the probe is dead, and proves nothing.
// A probe for something that the kernel does not have is reported loudly and does not count. Judge keeps the score of each row of docs/THREATS.md.
package verdict
