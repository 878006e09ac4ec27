package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"time"

	"torno/configs"
	"torno/internal/doctor"
	"torno/internal/engines"
	"torno/internal/runfile"
	"torno/sandbox/compile"
)

// target is a place that no child may reach.
type target struct{ address, what string }

// metadataAddress is the address at which clouds tell a machine its secrets.
const metadataAddress = "tcp:169.254.169.254:80"

// targets returns the places that exist here, and the metadata address, which may exist.
func targets(c configs.Config) []target {
	var all []target
	own := c.EngineSockets()
	for _, socket := range own {
		all = append(all, target{"unix:" + socket, "the engine's socket"})
	}
	for _, socket := range engines.Sockets() {
		if !slices.Contains(own, socket) {
			all = append(all, target{"unix:" + socket, "an engine's socket"})
		}
	}
	return append(all, target{metadataAddress, "the metadata address"})
}

// bait opens a port of this machine that answers. It shows that attempts over the network work at all, and needs no
// cloud.
func bait(ctx context.Context) (found []target, closeAll func()) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, func() {}
	}
	for _, a := range addresses {
		ip, ok := a.(*net.IPNet)
		if !ok || ip.IP.IsLoopback() || ip.IP.IsLinkLocalUnicast() {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(ip.IP.String(), "0"))
		if err == nil {
			return []target{{"tcp:" + listener.Addr().String(), "a port of this machine"}}, func() { listener.Close() }
		}
	}
	return nil, func() {}
}

// reaches sends a child through each profile that is on offer, and makes it try every target.
func (t *Trial) reaches(ctx context.Context, init string) (all []doctor.Reach) {
	baits, end := bait(ctx)
	defer end()
	wanted := append(targets(t.config), baits...)
	words := []string{"reach"}
	for _, w := range wanted {
		words = append(words, w.address)
	}
	oracle := outside(ctx, init, words)
	seen := map[string]bool{}
	for _, policy := range Policies(t.config) {
		for _, profile := range policy.Profiles {
			if !seen[profile.Name] {
				all = append(all, t.reachesOf(ctx, policy, profile, wanted, words, oracle)...)
			}
			seen[profile.Name] = true
		}
	}
	return all
}

func (t *Trial) reachesOf(ctx context.Context, p compile.Policy, profile compile.Profile, wanted []target, words, oracle []string) (all []doctor.Reach) {
	attempt, err := t.send(ctx, p, profile, words...)
	said := lines(attempt.said)
	if err == nil && len(said) != len(wanted) {
		err = fmt.Errorf("it said %q", attempt.said)
	}
	if err != nil {
		return []doctor.Reach{{Profile: profile.Name, Error: err.Error()}}
	}
	for i, w := range wanted {
		if isUsual(w) && said[i] == oracle[i] {
			continue // no such engine exists here, neither within nor without
		}
		all = append(all, doctor.Reach{
			Profile: profile.Name, Address: w.address, What: w.what, Child: unless(said[i], runfile.Reached), Host: oracle[i],
		})
	}
	return all
}

// isUsual reports whether a target may well be missing.
func isUsual(w target) bool {
	return engines.IsUsual(strings.TrimPrefix(w.address, "unix:"))
}

// outsideTime bounds the same attempts outside of a sandbox.
const outsideTime = 20 * time.Second

// outside runs the child's program on the host. It returns for each address why it was not reached, or "" if it was.
func outside(ctx context.Context, init string, words []string) []string {
	ctx, cancel := context.WithTimeout(ctx, outsideTime)
	defer cancel()
	command := exec.CommandContext(ctx, init, words...)
	command.Env = []string{}
	out, err := command.Output()
	said := lines(out)
	if err == nil && len(said) != len(words)-1 {
		err = errors.New("it said something else")
	}
	why := make([]string, len(words)-1)
	for i := range why {
		if err != nil {
			why[i] = "the attempt itself failed: " + err.Error()
			continue
		}
		why[i] = unless(said[i], runfile.Reached)
	}
	return why
}

func lines(said []byte) []string { return strings.Split(strings.TrimSuffix(string(said), "\n"), "\n") }

// unless returns text, or "" if text equals other.
func unless(text, other string) string {
	if text == other {
		return ""
	}
	return text
}
