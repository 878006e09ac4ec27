package crash

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// keepersStory is what must come of a run whose keeper is killed at a point.
type keepersStory struct {
	task  string
	want  delegation.Reason
	next  delegation.Reason // where the watcher dies as well, and the next one finds what is there
	point string            // at which it dies: it knows by then, and nothing is written down or removed
}

var keepersStories = map[string]keepersStory{
	"keeper.noted":     {hello, delegation.ReasonLaunchFailed, delegation.ReasonExited, "end.removed"}, // nothing was started
	"keeper.started":   {hello, delegation.ReasonExited, delegation.ReasonExited, "end.removed"},       // nothing was released, so another sandbox is made
	"keeper.told":      {hello, delegation.ReasonExited, delegation.ReasonExited, "end.removed"},       // init holds, and has to be found and ended
	"keeper.released":  {hello, delegation.ReasonLost, delegation.ReasonLost, "end.removed"},           // the word is noted, and init never gets it
	"keeper.cleared":   {hello, delegation.ReasonLost, delegation.ReasonLost, "end.removed"},
	"keeper.ended":     {hello, delegation.ReasonLost, delegation.ReasonLost, "end.removed"},
	"keeper.written":   {hello, delegation.ReasonLost, delegation.ReasonLost, "end.removed"},
	"keeper.concluded": {hello, delegation.ReasonExited, delegation.ReasonExited, "move.ended"}, // what is written down counts
	"keeper.tidied":    {hello, delegation.ReasonExited, delegation.ReasonExited, "move.ended"},
}

// TestAKeeperKilledAtEveryPoint kills it while its watcher lives, and with a watcher that dies before it has answered; and
// where a lost run may be attempted again, that is one attempt more.
func TestAKeeperKilledAtEveryPoint(t *testing.T) {
	house.NeedGVisor(t)
	for point, told := range keepersStories {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := newKeepersScene(t, point)
			s.Start()
			submit(told.task)(s)
			s.ended(told.want)
			s.onceEach()
		})
		t.Run(point+" and the watcher", func(t *testing.T) {
			t.Parallel()
			s := newKeepersScene(t, point)
			s.Env = []string{"TORNO_CRASH=" + told.point}
			s.Launch()
			submit(told.task)(s)
			s.die()
			s.Env = nil
			s.Start()
			s.ended(told.next)
			s.onceEach()
		})
		if told.want != delegation.ReasonLost {
			continue
		}
		t.Run(point+" again", func(t *testing.T) {
			t.Parallel()
			s := newKeepersScene(t, point)
			s.Start()
			submitTo("again", hello)(s)
			says("hello\n")(s)
			if resp := s.Response(s.ask); resp.Attempt != 2 {
				t.Errorf("that was attempt %d", resp.Attempt)
			}
			s.nothingIsLeft()
			s.onceEach()
		})
	}
}

// doomed has the first keeper of a run, and no trial's, die at a point.
const doomed = `case $1 in
*/00000000000000000000000000000000) ;;
*) mkdir '%s' 2>/dev/null && export TORNO_CRASH=%s ;;
esac
`

// newKeepersScene has the keeper that counts prepare another one's death.
func newKeepersScene(t *testing.T, point string) *scene {
	t.Helper()
	s := newScene(t, house.GVisor)
	path := filepath.Join(s.Dir, "counting-keeper")
	text := strings.Replace(s.Read(path), "exec ", fmt.Sprintf(doomed, s.doom(), point)+"exec ", 1)
	s.Must(os.WriteFile(path, []byte(text), 0o755))
	return s
}

// doom is there when a keeper was sent to its death.
func (s *scene) doom() string { return filepath.Join(s.Dir, "doomed") }

// ended wants the one answer, and nothing else.
func (s *scene) ended(want delegation.Reason) {
	s.Helper()
	resp := s.Response(s.ask)
	if _, err := os.Stat(s.doom()); err != nil {
		s.Error("no keeper was killed:", err)
	}
	if want == delegation.ReasonExited {
		says("hello\n")(s)
	} else {
		s.Want(resp, delegation.StatusError, want, -1)
		if resp.Error == nil || !strings.Contains(resp.StderrTail, "keeper") {
			s.Errorf("the response says %+v and %q, and nothing of a keeper", resp.Error, resp.StderrTail)
		}
	}
	s.nothingIsLeft()
}

// TestEveryPointOfAKeeperHasItsStory, and no story is of another one.
func TestEveryPointOfAKeeperHasItsStory(t *testing.T) {
	files, err := filepath.Glob("../../sandbox/gvisor/keeper/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var points []string
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`crash\.At\("([a-z.]+)"\)`).FindAllSubmatch(data, -1) {
			points = append(points, string(found[1]))
		}
	}
	slices.Sort(points)
	if told := slices.Sorted(maps.Keys(keepersStories)); !slices.Equal(points, told) {
		t.Errorf("the points are %v, and there are stories of %v", points, told)
	}
}
