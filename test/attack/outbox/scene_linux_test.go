package outbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/test/attack"
	"torno/test/house"
)

// canary is in the host's secret, and must be nowhere else.
const canary = "the-canary-of-the-host"

// corpus is the machine that is attacked.
type corpus struct {
	*house.House
	where          string // the launcher, and how its sandboxes are made
	base           string // beside the house: the host's files, and directories that the operator allows
	secret, victim string // files of the host
	second         string // another parent's outbox, in a tree that is allowed as a whole
	before         string // how the victim looked
	around         []string
	trials         map[string]*attack.Trial
}

// says are members of a request; an absent value takes one away.
type says map[string]any

// setting is what the operator allows. The trees have a second name through a mount: that is the operator's mistake.
const setting = `    max_running: 24
    paths:
      - {parent: /work, here: %[1]s/parents}
      - {parent: /usr/work, here: %[1]s/mapped}
      - {parent: /proc/work, here: %[1]s/mapped}
    busy: refuse
  second:
    dir: %[1]s/tree/box
    allow: [%[1]s/tree, %[1]s/tree/nested, %[1]s/alias]
    read: [%[1]s/tree/shelf, %[1]s/tree/deep/shelf]
    profiles: [sh]`

const profiles = `  args:
    command: [/bin/sh, -c, 'for a; do echo "[$a]"; done', sh, "{{.Model}}", "{{.SessionID}}", "{{.Task}}"]
  guarded:
    command: [/bin/cat, --, "{{.Task}}"]
  careless:
    command: [/bin/cat, "{{.Task}}"]
  config:
    command: [/bin/cat, "{{.Config}}"]
`

func newCorpus(t *testing.T, where, pool string) *corpus {
	house.NeedEngine(t)
	c := &corpus{where: where, base: t.TempDir(), trials: map[string]*attack.Trial{}}
	in := func(name string) string { return filepath.Join(c.base, name) }
	c.secret, c.victim, c.second = in("secret"), in("victim"), in("tree/box")
	for _, dir := range []string{"mapped", "parents", "tree/box", "tree/nested", "tree/shelf", "tree/deep/shelf", "alias"} {
		must(t, os.MkdirAll(in(dir), 0o755))
	}
	must(t, os.WriteFile(c.secret, []byte(canary), 0o600))
	must(t, os.WriteFile(c.victim, []byte("the host's own\n"), 0o600))
	bind(t, in("tree"), in("alias"))
	c.House = house.New(t, house.Plan{
		MaxRunning: 24, Allow: []string{in("mapped"), in("parents"), in("tree")}, Profiles: profiles,
		Offers: ", args, guarded, careless, config", Extra: fmt.Sprintf(setting, c.base), Top: pool,
	})
	c.before, c.around = look(c, c.victim), names(c, c.Dir, c.base)
	return c
}

// bind gives a directory a second name until the test ends.
func bind(t *testing.T, dir, name string) {
	t.Helper()
	if err := unix.Mount(dir, name, "", unix.MS_BIND, ""); err != nil {
		t.Skip("NOT SHOWN HERE: nothing can be mounted:", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(name, unix.MNT_DETACH)) })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// scene is one attempt on the machine.
type scene struct {
	*house.House // the parent's view
	attempt
	c     *corpus
	id    string
	space string // a directory of this scene alone, outside of everything
}

func (c *corpus) scene(t *testing.T, a attempt, i int) *scene {
	s := &scene{attempt: a, c: c, id: fmt.Sprintf("%s-%d", strings.ToLower(a.Row), i), space: filepath.Join(c.base, fmt.Sprint(".scene-", i))}
	s.House = &house.House{TB: t, Engine: c.Engine, Dir: c.Dir, Outbox: c.Outbox, Config: c.Config, Client: c.Client}
	if a.raw != "" {
		s.id = a.raw
	}
	s.Mkdir(s.space)
	return s
}

// Eventually is impatient: one attempt that fails must not take the time of the others.
func (s *scene) Eventually(what string, holds func() bool) {
	s.Helper()
	s.Within(patienceOfTheHonest, what, holds)
}

// begin plants.
func (s *scene) begin() {
	if s.plant != nil {
		s.plant(s)
		return
	}
	changed := says{}
	if s.say != nil {
		changed = s.say(s)
	}
	s.submit(changed)
}

// submit drops the request of this scene with changes.
func (s *scene) submit(changed says) { s.drop("request_"+s.id+".json", s.body(changed)) }

// workspace is that of the scene, made if it is missing.
func (s *scene) workspace() string {
	if s.place != "" {
		return s.Mkdir(filepath.Join(s.c.base, s.place))
	}
	return s.Mkdir(filepath.Join(s.Outbox, "workspaces", s.Row+s.name))
}

// body is the scene's request with changes.
func (s *scene) body(changed says) []byte {
	s.Helper()
	whole := says{
		"version": 1, "subagent_id": s.id, "request_id": "req " + s.id, "task": "echo never", "yaml_config": says{},
		"workspace": s.workspace(), "timeout_seconds": 240,
	}
	for name, value := range changed {
		whole[name] = value
		if value == nil {
			delete(whole, name)
		}
	}
	data, err := json.Marshal(whole)
	s.Must(err)
	return data
}

// drop makes a file appear in the outbox by rename.
func (s *scene) drop(name string, data []byte) {
	s.Helper()
	aside := filepath.Join(s.space, "aside")
	s.Must(os.WriteFile(aside, data, 0o644))
	s.Must(os.Rename(aside, s.Path(name)))
}

// request is the path of the scene's request.
func (s *scene) request() string { return s.Path("request_" + s.id + ".json") }

// answer waits for the response to the scene's request, whatever its request_id.
func (s *scene) answer() (resp delegation.Response) {
	s.Helper()
	s.Eventually("there is a response to "+s.id, func() bool {
		data, err := os.ReadFile(s.Path("response_" + s.id + ".json"))
		return err == nil && json.Unmarshal(data, &resp) == nil
	})
	return resp
}

// judgeAnswer wants the refusal, and what else the attempt says.
func (s *scene) judgeAnswer() {
	s.Helper()
	if s.code != "" {
		s.refused(s.answer(), s.code)
	}
	if s.judge != nil {
		s.judge(s)
	}
}

func (s *scene) refused(resp delegation.Response, code delegation.Code) {
	s.Helper()
	if resp.Status != delegation.StatusError || resp.Reason != delegation.ReasonRefused || resp.Error == nil || resp.Error.Code != code {
		s.Errorf("the answer is %+v, %+v; want a refusal with %s", resp, resp.Error, code)
	}
	if resp.Error != nil && resp.Error.Hint == "" {
		s.Errorf("a refusal that does not help: %+v", resp.Error)
	}
}

// ran wants that the agent ended well, and returns what it printed.
func (s *scene) ran() string {
	s.Helper()
	resp := s.answer()
	s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	return resp.StdoutTail
}

// look is all there is to say about a file.
func look(t testing.TB, path string) string {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Lstat(path, &st))
	data, err := os.ReadFile(path)
	return fmt.Sprint(st.Mode, st.Uid, st.Ino, st.Nlink, st.Mtim, string(data), err)
}

// names are those in some directories, but for the corpus's own.
func names(t testing.TB, dirs ...string) (all []string) {
	t.Helper()
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".scene-") {
				all = append(all, filepath.Join(dir, e.Name()))
			}
		}
	}
	slices.Sort(all)
	return all
}
