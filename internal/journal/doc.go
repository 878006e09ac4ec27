// Package journal is the host's durable record of every run: an SQLite file that is written before anything happens
// and asked before anything is done again.
//
// Open it once per process. Begin a run before it is queued, Move it as it goes on, SetHandle before its sandbox is
// started, and call Answered once its response is published or no longer owed. After a crash Unfinished says what is
// still to be settled, and ByFile says of a request file whether it was dealt with already.
//
// What it promises:
//
//   - What a method reported as done survives kill -9 and a loss of power: each call is one transaction, and each
//     transaction is synced before the call returns (I9).
//   - A key is begun once. To begin it again changes nothing and returns the run that is there (I10).
//   - A run moves only along legal pairs of states, and only when it is in the state that the caller believes. Of two
//     callers that move the same run, exactly one succeeds; the other one gets ErrMoved.
//   - A row that says "exited" has an exit code: nothing is completed that the host did not see (I12).
//   - A file that is damaged, is another program's, or was written by a newer version is reported and left as it is.
//
// All methods may be called concurrently. Writers take turns on one connection, readers never wait for them.
package journal
