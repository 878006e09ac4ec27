package outbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"torno/delegation"
)

// untilTold is a task that runs until the file go is in its workspace.
const untilTold = "echo ready; while ! test -e go; do sleep 0.05; done; echo told"

// tell ends it.
func (s *scene) tell() { s.Must(os.WriteFile(filepath.Join(s.workspace(), "go"), nil, 0o644)) }

// answers are about what the host writes, and what a parent writes in its place.
var answers = []attempt{
	{
		Row: "O18", name: "another parent's id", say: func(*scene) says { return says{"task": untilTold} },
		judge: func(s *scene) {
			other := *s
			other.House = s.Beside(s.c.second)
			other.submit(says{"workspace": s.Mkdir(filepath.Join(s.c.base, "tree", s.id)), "task": untilTold})
			s.Must(os.WriteFile(other.Path("cancel_"+s.id), nil, 0o644))
			s.Want(other.answer(), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
			s.tell()
			if got := s.ran(); got != "ready\ntold\n" {
				s.Errorf("the first parent's child says %q", got)
			}
		},
		naive: func(s *scene) bool { // one outbox for both: then the id is the same subagent
			id := s.also("own", says{"task": untilTold, "workspace": s.Mkdir(s.Path("workspaces/" + s.id + "-own"))})
			s.also("own", says{"task": "echo second", "request_id": "second", "workspace": s.Mkdir(s.Path("workspaces/" + s.id + "-own"))})
			return s.response(id).RequestID == "second"
		},
	},
	{
		Row: "O19", name: "a link where the response goes", code: delegation.CodeUnparsable,
		plant: func(s *scene) {
			s.Must(os.Symlink(s.c.victim, s.Path("response_"+s.id+".json")))
			s.drop("request_"+s.id+".json", []byte("nonsense"))
		},
		judge: isAFileOfItsOwn("response_%s.json"),
		naive: clobbers(os.Symlink),
	},
	{
		Row: "O19", name: "a hard link where the response goes", code: delegation.CodeUnparsable,
		plant: func(s *scene) {
			s.Must(os.WriteFile(filepath.Join(s.space, "mine"), []byte("mine"), 0o644))
			s.Must(os.Link(filepath.Join(s.space, "mine"), s.Path("response_"+s.id+".json")))
			s.drop("request_"+s.id+".json", []byte("nonsense"))
		},
		judge: func(s *scene) {
			isAFileOfItsOwn("response_%s.json")(s)
			if got := s.Read(filepath.Join(s.space, "mine")); got != "mine" {
				s.Errorf("the other name's file is now %q", got)
			}
		},
		naive: clobbers(os.Link),
	},
	{
		Row: "O19", name: "links where the status and the heartbeat go",
		plant: func(s *scene) {
			s.Must(os.Symlink(s.c.victim, s.Path("status_"+s.id+".json")))
			s.Must(os.Remove(s.Path(delegation.HeartbeatName)))
			s.Must(os.Symlink(s.c.victim, s.Path(delegation.HeartbeatName)))
			s.submit(says{"task": "echo"})
		},
		judge: func(s *scene) {
			s.ran()
			isAFileOfItsOwn("status_%s.json")(s)
			s.Eventually("the heartbeat is a file again", func() bool {
				info, err := os.Lstat(s.Path(delegation.HeartbeatName))
				return err == nil && info.Mode().IsRegular()
			})
		},
		naive: clobbers(os.Symlink),
	},
	{
		Row: "O20", name: "a directory where the response goes",
		plant: func(s *scene) {
			s.Mkdir(s.Path("response_" + s.id + ".json/full"))
			s.drop("request_"+s.id+".json", []byte("nonsense"))
		},
		judge: func(s *scene) {
			s.Eventually("it is said", func() bool { return strings.Contains(s.c.Said(), "a directory is in the place of the file") })
			s.Must(os.Rename(s.Path("response_"+s.id+".json"), filepath.Join(s.space, "directory")))
			s.refused(s.answer(), delegation.CodeUnparsable)
			if got := names(s, filepath.Join(s.space, "directory", "full")); len(got) != 0 {
				s.Errorf("it was written through: %q", got)
			}
		},
		naive: func(s *scene) bool { // tries once, and another time replaces what is there
			dir := s.Mkdir(filepath.Join(s.space, "a", "full"))
			return os.WriteFile(filepath.Dir(dir), []byte("x"), 0o644) != nil && os.Rename(s.Mkdir(filepath.Join(s.space, "b")), filepath.Dir(dir)) != nil
		},
	},
	{
		Row: "O21", name: "temporary names that can be foreseen", code: delegation.CodeUnparsable,
		plant: func(s *scene) {
			for _, name := range []string{"response_%s.json.tmp", "response_%s.tmp", ".response_%s.json.tmp", ".response_%s.json", "response_%s.json~"} {
				s.Must(os.Symlink(s.c.victim, s.Path(fmt.Sprintf(name, s.id))))
			}
			for n := range 200 {
				s.Must(os.Symlink(s.c.victim, s.Path(fmt.Sprint(".torno-", n))))
			}
			s.drop("request_"+s.id+".json", []byte("nonsense"))
		},
		judge: isAFileOfItsOwn("response_%s.json"),
		naive: func(s *scene) bool { // MassGen's way: a name that can be foreseen, and a rename
			victim, path := s.bait(), filepath.Join(s.space, "response.json")
			s.Must(os.Symlink(victim, path+".tmp"))
			s.Must(os.WriteFile(path+".tmp", []byte("response"), 0o644))
			s.Must(os.Rename(path+".tmp", path))
			return s.Read(victim) == "response"
		},
	},
	noSentinel("a pipe", func(s *scene, path string) error { return unix.Mkfifo(path, 0o666) }),
	noSentinel("a link", func(s *scene, path string) error { return os.Symlink(s.c.victim, path) }),
	noSentinel("a directory", func(s *scene, path string) error { return os.Mkdir(path, 0o755) }),
	{
		Row: "O31", name: "a forged end while it runs",
		plant: func(s *scene) {
			s.submit(says{"task": untilTold})
			s.Eventually("it runs", func() bool { return s.status().State == delegation.StateRunning })
			s.forge("response_%s.json", says{"version": 1, "subagent_id": s.id, "request_id": "req " + s.id, "status": "error", "exit_code": 9, "reason": "exited"})
			s.forge("status_%s.json", says{"version": 1, "subagent_id": s.id, "request_id": "req " + s.id, "state": "ended", "updated_at": "2026-11-21T02:15:11Z"})
			s.forge("events_%s.0000000000000000.1.jsonl", says{"seq": 1})
			s.forge(delegation.HeartbeatName+"%.0s", says{"stopping": true})
		},
		judge: func(s *scene) {
			run, err := s.Client.Run(s.Context(), "main/"+s.id)
			s.Must(err)
			if run.State != delegation.StateRunning {
				s.Errorf("the host believes that it is %s", run.State)
			}
			s.tell()
			var resp delegation.Response
			s.Eventually("the true end takes the place of the forged one", func() bool {
				return s.peek("response_"+s.id+".json", &resp) && resp.ExitCode == 0
			})
			s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		},
		naive: func(s *scene) bool { // reads back the file, which another process may have written
			var resp delegation.Response
			return s.peek("response_"+s.id+".json", &resp) && resp.ExitCode == 9
		},
	},
}

// noSentinel has something else than a file in the place of a sentinel, while it runs.
func noSentinel(name string, plant func(s *scene, path string) error) attempt {
	return attempt{
		Row: "O22", name: name, say: func(*scene) says { return says{"task": untilTold} },
		judge: func(s *scene) {
			s.Eventually("it runs", func() bool { return s.status().State == delegation.StateRunning })
			s.Must(plant(s, s.Path("cancel_"+s.id)))
			s.Eventually("it was looked at", func() bool { return name == "a directory" || !s.Exists("cancel_"+s.id) })
			s.tell()
			if got := s.ran(); got != "ready\ntold\n" {
				s.Errorf("it says %q", got)
			}
		},
		naive: func(s *scene) bool { // asks whether there is something
			path := filepath.Join(s.space, "cancel")
			s.Must(plant(s, path))
			_, err := os.Stat(path)
			return err == nil
		},
	}
}

func (s *scene) status() (status delegation.RunStatus) {
	s.peek("status_"+s.id+".json", &status)
	return status
}

func (s *scene) forge(name string, content says) {
	s.Helper()
	data, err := json.Marshal(content)
	s.Must(err)
	s.drop(fmt.Sprintf(name, s.id), data)
}

// isAFileOfItsOwn wants a regular file with one name where something else was planted.
func isAFileOfItsOwn(name string) func(*scene) {
	return func(s *scene) {
		var st unix.Stat_t
		s.Must(unix.Lstat(s.Path(fmt.Sprintf(name, s.id)), &st))
		if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 {
			s.Errorf("%s has mode %o and %d names", name, st.Mode, st.Nlink)
		}
	}
}

// bait is a file that a careless writer destroys.
func (s *scene) bait() string {
	path := filepath.Join(s.space, "bait")
	s.Must(os.WriteFile(path, []byte("bait"), 0o644))
	return path
}

// clobbers writes to a name without checking what it is.
func clobbers(plant func(victim, path string) error) func(*scene) bool {
	return func(s *scene) bool {
		victim, path := s.bait(), filepath.Join(s.space, "response.json")
		s.Must(plant(victim, path))
		s.Must(os.WriteFile(path, []byte("response"), 0o644))
		return s.Read(victim) == "response"
	}
}

// again are requests that come twice.
var again = []attempt{
	{
		Row: "O30", name: "the same request as a new file",
		say: func(*scene) says { return counting },
		judge: func(s *scene) {
			first := s.answer()
			s.Want(first, delegation.StatusCompleted, delegation.ReasonExited, 0)
			s.Must(os.Remove(s.Path("response_" + s.id + ".json")))
			s.submit(counting)
			if second := s.answer(); !second.CompletedAt.Equal(first.CompletedAt) {
				s.Errorf("the answers differ: %+v and %+v", first, second)
			}
			if got := s.Read(filepath.Join(s.workspace(), "count")); got != "once\n" {
				s.Errorf("it ran: %q", got)
			}
		},
		naive: func(s *scene) bool { // knows a request by its file: and a new request_id, which is a new request, does run
			s.Eventually("the first is answered", func() bool { return s.answer().Reason != "" })
			dir := s.Mkdir(s.Path("workspaces/" + s.id + "-twice"))
			for _, request := range []string{"one", "two"} {
				id := s.also("twice", says{"task": counting["task"], "workspace": dir, "request_id": request})
				s.Eventually("it is answered", func() bool { return s.response(id).RequestID == request })
			}
			return s.Read(filepath.Join(dir, "count")) == "once\nonce\n"
		},
	},
	{
		Row: "O30", name: "the answered id with another task",
		say: func(*scene) says { return counting },
		judge: func(s *scene) {
			first := s.answer()
			s.Must(os.Remove(s.Path("response_" + s.id + ".json")))
			s.submit(says{"task": "echo other >>count"})
			if second := s.answer(); !second.CompletedAt.Equal(first.CompletedAt) {
				s.Errorf("the answers differ: %+v and %+v", first, second)
			}
			if got := s.Read(filepath.Join(s.workspace(), "count")); got != "once\n" {
				s.Errorf("it ran: %q", got)
			}
		},
		naive: func(s *scene) bool { // knows a request by its bytes
			return string(s.body(counting)) != string(s.body(says{"task": "echo other >>count"}))
		},
	},
}

var counting = says{"task": "echo once >>count"}
