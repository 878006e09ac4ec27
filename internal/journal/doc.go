// Package journal is the host's durable record of every run: an SQLite file that is written before anything happens
// and asked before anything is done again.
//
// Open it once per process. Begin a run before it is queued. Move it from state to state; the move to starting binds it to a
// sandbox before that is made. Release it before its agent runs, and call Answered once its response is published or no
// longer owed. After a crash Unfinished lists the runs that still need something. ByFile says of a request file whether it
// was dealt with already, before the file is read.
//
// # What it promises
//
//   - What a method reported as done survives kill -9. What a client or an agent may have acted on survives a loss of power
//     too, see below.
//   - A key is begun once. To begin it again returns the run that is there, or is ErrForgotten (I10). What it is made of
//     may change as long as it was not released.
//   - A run moves only along legal pairs of states, and only when it is in the state that the caller believes. Of two
//     callers that move the same run, exactly one succeeds; the other one gets ErrMoved.
//   - A row that says "exited" has an exit code: nothing is completed that the host did not see (I12).
//   - A file that is damaged, is another program's, or was written by a newer version is reported and left as it is. So is
//     one whose log was taken away.
//   - After a power cut it opens. SQLite decides where the log ends: at the last transaction whose checksums hold. What was
//     not flushed since the last flush may be missing, torn or in any order there, and is dropped whole.
//
// # When it is on the disk
//
// Each call is a transaction, or shares one with others that waited (see writer). It is flushed where it comes before an
// effect that a loss of power does not undo:
//
//	step              flushed  because
//	begun, queued     no       nothing was done yet; the request still lies in its outbox and is begun again
//	starting, bound   no       a sandbox that was not released ran nothing; it is removed
//	released          yes      now the agent may run, and must not run again (I9, I10)
//	being ended       no       the request, its sentinel or its policy will say so again; the sandbox is gone with the power
//	running           no       the power that is lost is the agent's too, and the row says already that it may have run
//	ended             yes      the client is about to read it, and must never read anything else
//	refused           yes      the same
//	answered, refiled no       the response is published again, the same one
//	pruned, dropped   no       it is done again
//
// The log is one file, so whatever is flushed takes all that came before it along.
//
// # What is forgotten
//
// Rows of runs that are over are pruned within the bounds of a Retention, but only when the request is gone (the caller
// checks). A pruned row leaves its key behind. Keys are dropped when they are older than a request may be, or too many, and
// leave a horizon behind: the time of the newest request whose key was dropped. A request that is not newer than the
// horizon of its outbox does not begin. So an old request that comes back, from a backup or by a slow copy, does not run
// again, even when the clock jumps: the journal compares two times of files. The time is the file's modification time; a client that sets it, or writes an old request anew after its key was dropped, asks for a
// new run, as it could under a new id.
//
// All methods may be called concurrently. Readers never wait for writers.
package journal
