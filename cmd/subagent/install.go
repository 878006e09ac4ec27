package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"torno/internal/atomicfile"
	"torno/internal/cli"
)

// reader is an agent that reads instructions from a file when it starts.
type reader struct {
	name string
	home string // the environment variable with its own directory
	dir  string // below the user's home, if that variable is not set
	file string // file name in that directory, and in a project
}

var readers = []reader{
	{"claude", "CLAUDE_CONFIG_DIR", ".claude", "CLAUDE.md"},
	{"codex", "CODEX_HOME", ".codex", "AGENTS.md"},
}

// installation holds the flags of install.
type installation struct{ project, print, remove bool }

func (c *app) installCommand() cli.Command {
	o := installation{}
	return cli.Command{
		Name: "install", Operands: "claude|codex", Brief: "teach an agent to delegate, in its own file of instructions",
		About: `
Puts the page of subagent skill into the file that Claude Code or Codex reads at its start: the user's file, or with --project the file
of the working directory. The page stands between two marks, and install touches nothing else in the file. The same command again
brings the page up to date.`,
		Examples: []string{"subagent install claude", "subagent install codex --project", "subagent install claude --remove"},
		Options: []cli.Option{
			{Name: "project", Help: "use the file of the working directory instead of the user's file", Set: cli.On(&o.project)},
			{Name: "print", Help: "print the file with the change, and write nothing", Set: cli.On(&o.print)},
			{Name: "remove", Help: "take the page out again", Set: cli.On(&o.remove)},
		},
		Run: func(_ context.Context, args cli.Args) (int, error) {
			operands := args.All()
			for _, r := range readers {
				if len(operands) == 1 && operands[0] == r.name {
					return exitCompleted, c.install(r, o)
				}
			}
			return 0, cli.Usage("install takes the name of an agent: claude or codex")
		},
	}
}

func (c *app) install(r reader, o installation) error {
	path, err := r.path(c.Env, o.project)
	if err != nil {
		return err
	}
	was, err := readInstructions(path)
	if err != nil {
		return cli.Hint(err, "add the page yourself: subagent skill prints it")
	}
	text := was.text
	if o.remove {
		text, err = withoutPage(text)
	} else {
		text, err = withPage(text, skill)
	}
	switch {
	case err != nil:
		return cli.Hint(fmt.Errorf("%s was not touched: %w", path, err), "correct the marks in it, or remove them, and give the same command again")
	case o.print:
		_, err := fmt.Fprint(c.Out, text)
		return err
	case text == was.text:
		c.Say("there is nothing to do in %s", path)
		return nil
	}
	if err := was.replace(text); err != nil {
		return cli.Hint(err, "write the file of the working directory with --project; or add the page yourself: subagent skill prints it")
	}
	if o.remove {
		c.Say("the page was taken out of %s", path)
	} else {
		c.Say("%s reads the page from %s at its next start", r.name, path)
	}
	return nil
}

// path returns the file that the agent reads.
func (r reader) path(env func(string) string, project bool) (string, error) {
	if project {
		return filepath.Abs(r.file)
	}
	dir := env(r.home)
	if home := env("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, r.dir)
	}
	if dir == "" {
		return "", cli.Hint(fmt.Errorf("neither %s nor HOME is set", r.home), "set one of them, or write into the working directory with --project")
	}
	return filepath.Abs(filepath.Join(dir, r.file))
}

// maxInstructions bounds the file of instructions that we change. No agent reads as much.
const maxInstructions = 1 << 20

// instructions holds a file as it was read. info is nil if there is no file.
type instructions struct {
	path, text string
	info       os.FileInfo
}

// readInstructions reads a file that we may change. It refuses a link and a file with several names, because then we
// would change another file than the user named.
func readInstructions(path string) (instructions, error) {
	in := instructions{path: path}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return in, nil
	case errors.Is(err, syscall.ELOOP):
		return in, fmt.Errorf("%s is a link, and subagent does not follow it", path)
	case err != nil:
		return in, err
	}
	defer file.Close()
	if in.info, err = file.Stat(); err != nil {
		return in, err
	}
	if stat, ok := in.info.Sys().(*syscall.Stat_t); !in.info.Mode().IsRegular() || !ok || stat.Nlink != 1 {
		return in, fmt.Errorf("%s is not a regular file, or has several names", path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxInstructions+1))
	if err == nil && len(text) > maxInstructions {
		err = fmt.Errorf("%s is over %d bytes long", path, maxInstructions)
	}
	in.text = string(text)
	return in, err
}

// replace writes a new text in place of the text that was read, whole or not at all. If nothing is left, it removes the
// file.
func (in instructions) replace(text string) (err error) {
	if err := os.MkdirAll(filepath.Dir(in.path), 0o700); err != nil {
		return err
	}
	draft, err := atomicfile.Begin(filepath.Dir(in.path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, draft.Drop()) }()
	_, err = draft.WriteString(text)
	err = errors.Join(err, in.dress(draft.File), draft.Sync(), in.unchanged())
	switch {
	case err != nil:
		return err
	case text == "":
		return os.Remove(in.path)
	case in.info == nil:
		return draft.PutNew(filepath.Base(in.path), atomicfile.Durable)
	}
	return draft.Put(filepath.Base(in.path), atomicfile.Durable)
}

// dress gives the draft the mode and the owner of the file that was read.
func (in instructions) dress(draft *os.File) error {
	if in.info == nil {
		return draft.Chmod(0o644)
	}
	had := in.info.Sys().(*syscall.Stat_t)
	now, err := draft.Stat()
	if err != nil {
		return err
	}
	if has := now.Sys().(*syscall.Stat_t); has.Uid != had.Uid || has.Gid != had.Gid {
		err = draft.Chown(int(had.Uid), int(had.Gid))
	}
	return errors.Join(err, draft.Chmod(in.info.Mode().Perm()))
}

// unchanged fails if somebody has written the file since it was read.
func (in instructions) unchanged() error {
	now, err := os.Lstat(in.path)
	switch {
	case in.info == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && in.info != nil:
		return err
	case in.info == nil, !os.SameFile(in.info, now), in.info.Size() != now.Size(), !in.info.ModTime().Equal(now.ModTime()):
		return fmt.Errorf("%s was changed meanwhile, and stays as it is now", in.path)
	}
	return nil
}

// These marks enclose the page.
const (
	pageBegins = "<!-- subagent install: begin. What stands between these marks is replaced. -->\n"
	pageEnds   = "<!-- subagent install: end -->\n"
	markBegins = "<!-- subagent install: begin"
	markEnds   = "<!-- subagent install: end"
)

var errMarks = errors.New("the marks of subagent install must be one beginning and, after it, one end, each on a line of its own")

// findPage returns the place of the page in a text, marks included. begin is -1 if there is no page.
func findPage(text string) (begin, end int, err error) {
	if !strings.Contains(text, markBegins) && !strings.Contains(text, markEnds) {
		return -1, -1, nil
	}
	begin, end = strings.Index(text, pageBegins), strings.Index(text, strings.TrimSuffix(pageEnds, "\n"))
	switch {
	case strings.Count(text, markBegins) != 1, strings.Count(text, markEnds) != 1, begin < 0, end < begin:
		return 0, 0, errMarks
	case begin > 0 && text[begin-1] != '\n', text[end-1] != '\n':
		return 0, 0, errMarks
	}
	end += len(pageEnds) - 1
	if end < len(text) && text[end] != '\n' {
		return 0, 0, errMarks
	}
	return begin, min(end+1, len(text)), nil
}

// withPage returns a text with the page. The page replaces an existing page, or goes to the end.
func withPage(text, page string) (string, error) {
	page = pageBegins + strings.TrimRight(page, "\n") + "\n" + pageEnds
	begin, end, err := findPage(text)
	switch {
	case err != nil:
		return text, err
	case begin >= 0:
		return text[:begin] + page + text[end:], nil
	case text == "":
		return page, nil
	case !strings.HasSuffix(text, "\n"):
		text += "\n"
	}
	return text + "\n" + page, nil
}

// withoutPage returns a text without the page and without the empty line that withPage puts before it.
func withoutPage(text string) (string, error) {
	begin, end, err := findPage(text)
	if err != nil || begin < 0 {
		return text, err
	}
	before := text[:begin]
	if strings.HasSuffix(before, "\n\n") {
		before = before[:len(before)-1]
	}
	return before + text[end:], nil
}
