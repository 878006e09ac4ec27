package engine

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// TestAReloadWaitsForAnEngineThatHangs: what is beside that engine is served meanwhile, and nothing is lost.
func TestAReloadWaitsForAnEngineThatHangs(t *testing.T) {
	house.NeedGVisor(t)
	t.Parallel()
	engine := house.NewPrivate(t, house.PrivatePlan{})
	h := house.New(t, house.Plan{
		Engine: &engine.Engine, Host: engine.Host(), Offers: ", beside",
		Profiles: "  beside: {sandbox: gvisor, timeout: {default: 10s, min: 1s, max: 1h}}\n",
	})
	running := h.Submit(house.Ask{ID: "running", Task: until})
	h.Says(running, "ready")
	letOn := engine.Hang()
	before, err := h.Client.Status(h.Context())
	h.Must(err)
	h.Must(os.WriteFile(h.Config, []byte(strings.Replace(h.Read(h.Config), "max_running: 4", "max_running: 5", 1)), 0o600))
	h.Must(syscall.Kill(h.PID(), syscall.SIGHUP))
	told(h, delegation.NoticeReload)
	beside := h.Run(house.Ask{ID: "beside", Task: "echo meanwhile", Profile: "beside"})
	h.Want(beside, delegation.StatusCompleted, delegation.ReasonExited, 0)
	deaf := h.Run(house.Ask{ID: "late", Task: "sleep 1h", Profile: "beside", Timeout: 1})
	h.Want(deaf, delegation.StatusTimeout, delegation.ReasonDeadline, -1)
	letOn()
	h.Eventually("the new configuration is served", func() bool {
		status, err := h.Client.Status(h.Context())
		return err == nil && status.StartedAt.After(before.StartedAt)
	})
	finished(h, running)
	calm(h)
}
