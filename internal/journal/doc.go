// Package journal is the host's durable record of every run: an SQLite file that is written before anything happens and
// asked before anything is done again.
//
// Open it once per process. Begin a run before it is queued. Move it from state to state; the move to starting binds it
// to a sandbox before the sandbox is made. Release it before its agent runs, and call NoteAnswered once its response is
// published or is no longer owed. After a crash, Unfinished lists the runs that still need something. ByFile tells,
// before a request file is read, whether it was already dealt with.
//
// # What it promises
//
//   - After a method has reported success, its write survives kill -9. If a client or an agent may have acted on
//     the write, it survives a loss of power too, see below.
//   - A key is begun once. Beginning it again returns the existing run, or ErrForgotten (I10). Until the run is
//     released, its profile, launcher and workspace may still change.
//   - A run moves only along legal pairs of states, and only if it is in the state that the caller believes. If two
//     callers move the same run, exactly one succeeds; the other gets ErrMoved.
//   - A row that says "exited" has an exit code: nothing is completed that the host did not see (I12).
//   - If a file is damaged, belongs to another program, was written by a newer version, or has lost its log, the
//     journal reports that and leaves the file as it is.
//   - After a power cut the journal opens. SQLite decides where the log ends: at the last transaction whose checksums
//     are right. Transactions since the last flush may be missing, torn or out of order on the disk; each is dropped
//     whole.
//
// # When it is on the disk
//
// Each call is a transaction, or shares one with other waiting calls (see writer). The transaction is flushed if it
// comes before an effect that a loss of power does not undo:
//
//	step              flushed  because
//	begun, queued     no       nothing was done yet; the request still lies in its outbox and is begun again
//	starting, bound   no       a sandbox that was not released ran nothing; it is removed
//	released          yes      now the agent may run, and must not run again (I9, I10)
//	being ended       no       the request, its sentinel or its policy will say it again; the sandbox is gone too
//	running           no       the agent loses the power too, and the row says already that it may have run
//	ended             yes      the client is about to read it, and must never read anything else
//	refused           yes      the same
//	answered, refiled no       the same response is published again
//	pruned, dropped   no       it is done again
//
// The log is one file, so each flush also covers all earlier writes.
//
// # What is forgotten
//
// Rows of runs that are over are pruned within the bounds of a Retention, but only if the request is gone (the caller
// checks). A pruned row leaves its key behind. Keys are dropped when they are older than a request may be, or too many.
// A dropped key leaves a horizon behind: the time of the newest request whose key was dropped. A request begins only if
// it is newer than the horizon of its outbox. So an old request that comes back, from a backup or by a slow copy, does
// not run again, even if the clock jumps: the journal compares two times of files. The time is the file's modification
// time. If a client sets that time, or writes an old request anew after its key was dropped, it asks for a new run, as
// it could under a new id.
//
// All methods may be called concurrently. Readers never wait for writers.
package journal
