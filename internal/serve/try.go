package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"torno/delegation"
	"torno/internal/paths"
	"torno/internal/runfile"
	"torno/internal/tree"
	"torno/sandbox"
	"torno/sandbox/compile"
	"torno/sandbox/local"
)

// Attempt is a trial run of a profile, without a task.
type Attempt struct {
	Outbox, Profile            string
	Create, Start, Run, Remove time.Duration

	Seen sandbox.Attestation // the host's findings from before the agent ran

	said []byte // the beginning of the agent's standard output
}

// tryTime bounds one attempt; an image may have to be fetched.
const tryTime = 3 * time.Minute

// Try sends an agent that does nothing through a profile. The agent is compiled as a request of the outbox, and has a
// workspace of its own in the first allowed root. It is launched, followed and removed like any other.
func (t *Trial) Try(ctx context.Context, policy compile.Policy, profile compile.Profile) (Attempt, error) {
	return t.send(ctx, policy, profile, "version")
}

// send runs init in the place of the profile's agent, with words that init understands.
func (t *Trial) send(ctx context.Context, policy compile.Policy, profile compile.Profile, words ...string) (a Attempt, err error) {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	a = Attempt{Outbox: policy.Outbox, Profile: profile.Name}
	if _, err := os.Lstat(policy.Dir); errors.Is(err, fs.ErrNotExist) {
		return a, fmt.Errorf("the outbox %s is not there yet; watcher run --dir makes it", policy.Dir)
	}
	workspace, clean, err := makeWorkspace(string(policy.Allow[0]))
	if err != nil {
		return a, fmt.Errorf("make a workspace: %w", err)
	}
	defer func() { err = errors.Join(err, clean()) }()
	profile.Command, profile.Answer = append([]string{runfile.Init}, words...), compile.AnswerNone
	profile.Agent, profile.Model, profile.ModelRoute, profile.Messages, profile.Approvals = "", "", "", false, nil
	policy.Profiles = []compile.Profile{profile}
	spec, _, err := compile.Compile(nothing(policy, workspace), policy)
	if err != nil {
		return a, err
	}
	return a, a.run(ctx, t.opener.launched[profile.Sandbox], spec)
}

// nothing returns a request for nothing.
func nothing(policy compile.Policy, workspace string) delegation.Request {
	subagent, err1 := delegation.ParseSubagentID("check")
	request, err2 := delegation.ParseRequestID(randomHex(8))
	if err := errors.Join(err1, err2); err != nil {
		panic("serve: the trial's own id is not valid: " + err.Error())
	}
	return delegation.Request{SubagentID: subagent, RequestID: request, Task: "nothing", Workspace: parentView(policy, workspace)}
}

// parentView returns the path under which the parent of an outbox knows a place of ours.
func parentView(policy compile.Policy, here string) string {
	best, found := here, ""
	for _, m := range policy.Paths {
		if paths.Within(m.Here, here) && len(m.Here) > len(found) {
			best, found = path.Join(m.Parent, here[len(m.Here):]), m.Here
		}
	}
	return best
}

// makeWorkspace makes a directory in an allowed root. It belongs to the root's owner. An agent that does nothing leaves
// nothing there. But the parent can write there and can exchange the directory, so clean removes it only if it is empty.
func makeWorkspace(root string) (dir string, clean func() error, err error) {
	around, err := makeBelow(root, onTheWay)
	if err != nil {
		return "", nil, err
	}
	name := ".torno-check-" + randomHex(8)
	dir = filepath.Join(root, name)
	if err := makeFor(around, name, outboxMode); err != nil {
		return "", nil, errors.Join(err, around.Close())
	}
	return dir, func() error {
		err := asOwnerOf(around, func() error { return tree.RemoveEmpty(around, name) })
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			err = fmt.Errorf("remove the trial's workspace %s, which is empty unless somebody else has written to it: %w", dir, err)
		}
		return errors.Join(err, around.Close())
	}, nil
}

// run takes one sandbox from create to remove, and notes how long each phase took.
func (a *Attempt) run(ctx context.Context, l sandbox.Launcher, spec sandbox.Spec) (err error) {
	begun := time.Now()
	lap := func() time.Duration { since := time.Since(begun); begun = time.Now(); return since }
	handle, err := l.Create(ctx, sandbox.NewSandboxID(), spec)
	if err != nil {
		return err
	}
	a.Create = lap()
	defer func() {
		lap()
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		err = errors.Join(err, l.Remove(cleanup, handle))
		a.Remove = lap()
	}()
	if err := l.Start(ctx, handle); err != nil {
		return err
	}
	attachment, err := l.Open(ctx, handle, "")
	if err != nil {
		return err
	}
	defer attachment.Close()
	if a.Seen, err = local.Release(ctx, l, handle, attachment); err != nil {
		return err
	}
	if err := a.started(ctx, attachment); err != nil {
		return err
	}
	a.Start = lap()
	exit, err := a.ended(ctx, attachment)
	a.Run = lap()
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("the agent that does nothing ended with exit code %d", exit.Code)
	}
	return err
}

// started waits for the line with which init hands over to the agent.
func (a *Attempt) started(ctx context.Context, attachment sandbox.Attachment) error {
	var said []byte
	for {
		select {
		case chunk, open := <-attachment.Output():
			if chunk.Stream == sandbox.Stderr {
				said = append(said, chunk.Bytes...)
			}
			a.hear(chunk)
			line, _, whole := bytes.Cut(said, []byte("\n"))
			if whole || !open || len(said) > maxLine {
				_, err := runfile.ParseFirstLine(string(line))
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// maxLine bounds how much of each stream is kept, in bytes.
const maxLine = 8 << 10

// hear keeps the beginning of the agent's standard output.
func (a *Attempt) hear(chunk sandbox.Chunk) {
	if chunk.Stream == sandbox.Stdout {
		a.said = append(a.said, chunk.Bytes[:min(len(chunk.Bytes), maxLine-len(a.said))]...)
	}
}

// ended waits for the end of the sandbox's output, and then for the end of the sandbox.
func (a *Attempt) ended(ctx context.Context, attachment sandbox.Attachment) (sandbox.Exit, error) {
	for {
		select {
		case chunk, open := <-attachment.Output():
			if !open {
				return attachment.Wait(ctx)
			}
			a.hear(chunk)
		case <-ctx.Done():
			return sandbox.Exit{}, ctx.Err()
		}
	}
}
