package docker_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/docker/docker/api/types/container"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/test/attack"
	"torno/test/exhaust"
	"torno/test/weak"
)

// newExhaust is a field for a child that takes all that there is. Beside it the engine is asked.
func newExhaust(t *testing.T, mode docker.MountMode) *exhaust.Field {
	f := newField(t, mode)
	api := needEngine(t)
	return exhaust.New(t, exhaust.Launcher{
		Launcher: f.Launcher, Where: "docker", Base: f.base, Owner: workspaceOwner,
		Asked: "the engine",
		Ask: func(ctx context.Context, neighbour sandbox.Handle) error {
			_, err := api.ContainerInspect(ctx, neighbour.ID)
			return err
		},
		Tasks: func(h sandbox.Handle) int64 {
			answer, err := api.ContainerStatsOneShot(f.ctx, h.ID)
			f.must(err)
			defer answer.Body.Close()
			var stats container.StatsResponse
			f.must(json.NewDecoder(answer.Body).Decode(&stats))
			return int64(stats.PidsStats.Current)
		},
		MostTasks: func(l sandbox.Limits) int64 { return l.Pids + runfile.Tasks },
	})
}

func TestExhaustion(t *testing.T) { exhaust.Everything(newExhaust(t, docker.MountAuto)) }

func TestForkBomb(t *testing.T) {
	exhaust.Bomb(newExhaust(t, docker.MountAuto), attack.Trial{Row: "X1", Where: "docker, a bomb"})
}

// TestThreads: init takes no thread that it had not got before the agent.
func TestThreads(t *testing.T) { exhaust.Threads(newExhaust(t, docker.MountAuto)) }

func TestMemoryInFiles(t *testing.T) {
	exhaust.MemoryInFiles(newExhaust(t, docker.MountAuto), attack.Trial{Row: "X2", Where: "docker, in files"})
}

func TestFlood(t *testing.T) {
	f := newExhaust(t, docker.MountAuto)
	exhaust.Flood(f, attack.Trial{Row: "X5", Where: "docker"}, func(h sandbox.Handle) int64 {
		return weak.New(t, f.Base).Log(h.ID)
	})
}

func TestProcessorTime(t *testing.T) {
	exhaust.ProcessorTime(newExhaust(t, docker.MountAuto), attack.Trial{Row: "X10", Where: "docker"})
}

func TestInotifyByHandle(t *testing.T) {
	taken := exhaust.Inotify(newExhaust(t, docker.MountByHandle))
	trial := attack.Trial{Row: "X4", Where: "docker by handle", Tried: 2, Note: taken.String()}
	if taken.Neighbour > 0 {
		trial.Held++
	}
	if taken.Owner > 0 {
		trial.Held++
	}
	shared := exhaust.Inotify(newExhaust(t, docker.MountByPath))
	trial.Oracle = taken.Child > 0 && shared.Owner == 0 && shared.Neighbour == 0
	attack.Record(t, trial)
}

// TestInotifyByPath holds what docs/SANDBOXES.md says of it: the quota is shared, and no more than the quota is.
func TestInotifyByPath(t *testing.T) {
	taken := exhaust.Inotify(newExhaust(t, docker.MountByPath))
	trial := attack.Trial{Row: "X4", Where: "docker by path", Tried: 1, Oracle: taken.Owner == 0, Note: taken.String()}
	if taken.Child <= taken.Quota && taken.Stranger > 0 {
		trial.Held = 1
	}
	attack.Record(t, trial)
}
