//go:build linux

package racer

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"torno/test/house"
)

// naive is the way that others go: look whether the path leads where it should, then have the engine mount it by path.
// It is the oracle: a race that it wins every time would be none.
type naive struct {
	*house.House
	engine        house.Engine
	image, path   string
	tried, fallen int
}

// run tries until the time is over, and until it has fallen.
func (n *naive) run(end time.Time) {
	for i := 0; time.Now().Before(end) || n.fallen == 0; i++ {
		if n.tried >= enough && time.Now().After(end.Add(chance)) {
			return
		}
		if real, err := filepath.EvalSymlinks(n.path); err != nil || real != n.path {
			continue // the check
		}
		n.try(fmt.Sprint("torno-racer-", filepath.Base(n.Dir), i))
	}
}

func (n *naive) try(name string) {
	body, err := json.Marshal(map[string]any{
		"Image": n.image, "Cmd": []string{"/bin/cat", "/workspace/canary"}, "NetworkDisabled": true,
		"HostConfig": map[string]any{
			"NetworkMode": "none", "Binds": []string{"/usr:/usr:ro", n.path + ":/workspace"},
		},
	})
	n.Must(err)
	id, err := n.engine.Create(name, body)
	if err != nil {
		return // the engine saw the link at a moment when it does not mind saying so
	}
	defer n.engine.Remove(n, id)
	said := n.engine.Finish(n, id)
	n.tried++
	if strings.Contains(said, strings.TrimSpace(secret)) {
		n.fallen++
	}
}
