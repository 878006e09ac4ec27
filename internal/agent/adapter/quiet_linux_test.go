package adapter

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/internal/agent"
)

// starting starts programs as init does.
func starting(argv, env []string, stdin, stdout int) (int, *Cannot) {
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: env, Files: []uintptr{uintptr(stdin), uintptr(stdout), 2}})
	if err != nil {
		return 0, &Cannot{codeNone, err.Error()}
	}
	return pid, nil
}

// TestAnAgentThatPrintsNothing is told of once, while it still can be helped.
func TestAnAgentThatPrintsNothing(t *testing.T) {
	for _, name := range []string{"claude", "massgen"} {
		t.Run(name, func(t *testing.T) { printsNothing(t, name) })
	}
}

func printsNothing(t *testing.T, name string) {
	dir := t.TempDir()
	t.Chdir(dir)
	task, release := filepath.Join(dir, "task"), filepath.Join(dir, "go")
	if err := os.WriteFile(task, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	k, _ := kindOf(name, false)
	r := &run{out: teller{fd: int(write.Fd())}, patience: time.Millisecond, signals: make(chan os.Signal), quiet: true}
	r.options = options{kind: k, task: task, argv: []string{"/bin/sh", "-c", `until [ -e "$0" ]; do :; done; exit 4`, release}}
	code := make(chan int)
	go func() {
		code <- r.run(starting)
		write.Close()
	}()
	var told []agent.Line
	for lines := bufio.NewScanner(read); lines.Scan(); {
		l, err := agent.Decode(lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if told = append(told, l); len(told) == 1 {
			if err := os.WriteFile(release, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := <-code; got != 4 {
				t.Errorf("exit %d", got)
			}
		}
	}
	if len(told) != 2 || told[0].Kind != agent.Notice || !strings.Contains(told[0].Text, name+" has printed nothing for 1ms") || !told[1].Failed {
		t.Errorf("%+v", told)
	}
}
