package clients

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/manager"
	"torno/test/house"
)

// says is an agent for the adapter of Claude Code. It says when it is, twice in a row, as agents say a text and call a tool, and then thinks.
const says = `#!/bin/sh
i=0
while [ $i -lt %d ]; do
	for k in 1 2; do printf '{"type":"assistant","message":{"content":[{"type":"text","text":"%%s"}]}}\n' $(date +%%s%%N); done
	sleep 0.%s
	i=$((i+1))
done
printf '%%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
`

// BenchmarkAnEvent is the time from an agent's write, through its adapter, the launcher, the watcher and the outbox, to its reader in a client, beside
// that of a bare file which is renamed into a directory that is watched. Agents that think for longer than a segment's age, and for less.
func BenchmarkAnEvent(b *testing.B) {
	for _, sandbox := range house.Launchers {
		for name, pause := range map[string]string{"thinks": "3", "hurries": "04"} {
			b.Run(sandbox+"/"+name, func(b *testing.B) { eventLatency(b, sandbox, pause) })
		}
	}
}

func eventLatency(b *testing.B, sandbox, pause string) {
	s := stageFor(b, claude, sandbox, nil)
	m, err := manager.New(s.Outbox, manager.Options{})
	s.Must(err)
	defer m.Close()
	var all, bare []time.Duration
	for run := 0; b.Loop(); run++ {
		id := fmt.Sprint("run", run)
		s.Mkdir(s.Path("workspaces/" + id))
		s.Must(os.WriteFile(s.Path("workspaces/"+id+"/agent"), fmt.Appendf(nil, says, 20, pause), 0o755))
		r, err := m.Spawn(b.Context(), manager.SpawnOptions{ID: id, Task: "speak", Profile: "says", Timeout: time.Minute})
		s.Must(err)
		for e, err := range r.Events(b.Context(), 1, true) {
			s.Must(err)
			if at, err := strconv.ParseInt(e.Text, 10, 64); err == nil && e.Type == delegation.EventText {
				all = append(all, time.Since(time.Unix(0, at)))
			}
		}
		_, err = r.Wait(b.Context())
		s.Must(err)
		bare = append(bare, s.renames(40)...)
	}
	if len(all) < 40 {
		b.Fatalf("%d events came", len(all))
	}
	p50, beside := middle(all), middle(bare)
	b.ReportMetric(float64(p50.Microseconds())/1000, "ms-p50")
	b.ReportMetric(float64(all[len(all)*95/100].Microseconds())/1000, "ms-p95")
	b.ReportMetric(float64(beside.Microseconds())/1000, "ms-p50-rename")
}

// renames has another program of the host's write when it is into a file that it renames, and returns how long after that each was told by inotify
// and read.
func (s *stage) renames(times int) (all []time.Duration) {
	s.Helper()
	dir := s.TempDir()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	s.Must(err)
	defer unix.Close(fd)
	_, err = unix.InotifyAddWatch(fd, dir, unix.IN_MOVED_TO)
	s.Must(err)
	writer := exec.Command("/bin/sh", "-c", fmt.Sprintf("for i in $(seq %d); do date +%%s%%N >a.tmp; mv a.tmp a; sleep 0.05; done", times))
	writer.Dir = dir
	s.Must(writer.Start())
	buf := make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1)
	for range times {
		_, err = unix.Read(fd, buf)
		s.Must(err)
		text, err := os.ReadFile(filepath.Join(dir, "a"))
		s.Must(err)
		at, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		s.Must(err)
		all = append(all, time.Since(time.Unix(0, at)))
	}
	s.Must(writer.Wait())
	return all
}

// TestAnEventDoesNotWaitForMore: an agent that says nothing more until its parent has read what it said last gets on, turn by turn, on each launcher.
func TestAnEventDoesNotWaitForMore(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		s := stageFor(t, claude, sandbox, nil)
		m, err := manager.New(s.Outbox, manager.Options{})
		s.Must(err)
		defer m.Close()
		s.Mkdir(s.Path("workspaces/turns"))
		const each = `printf '{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]}}\n'`
		script := "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9; do " + each + ` $i; until [ -e seen-$i ]; do sleep 0.01; done; done` + "\n" +
			`printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"done"}'` + "\n"
		s.Must(os.WriteFile(s.Path("workspaces/turns/agent"), []byte(script), 0o755))
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		r, err := m.Spawn(ctx, manager.SpawnOptions{ID: "turns", Task: "speak", Profile: "says", Timeout: time.Minute})
		s.Must(err)
		var texts []string
		for e, err := range r.Events(ctx, 1, true) {
			s.Must(err)
			if e.Type == delegation.EventText {
				texts = append(texts, e.Text)
				s.Touch("workspaces/turns/seen-" + e.Text)
			}
		}
		if got := strings.Join(texts, ""); got != "123456789" {
			t.Errorf("it said %q", got)
		}
	})
}
