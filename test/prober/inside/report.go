// Package inside is what the prober does in a sandbox. Look goes around as a curious agent would and writes down what
// it finds; Try attempts whatever an agent must not be able to do, one small probe for each thing. Neither judges: the
// contract suite holds a report against the spec, and package verdict holds outcomes against the page of verdicts.
package inside

// Report has the findings of Look.
type Report struct {
	Agent, Init Status
	InitName    string

	User          string   // the name of the agent's uid
	Users         []string // all names there are
	Environ       []string // sorted
	Descriptors   []string // what is open beyond the standard ones
	SessionLeader bool
	Dir           string
	Umask         int
	Hostname      string
	Namespaces    map[string]string // by kind
	Rlimits       map[string]uint64 // hard limits; the soft ones a Go program raises to them before anybody can look

	Up          []string // network interfaces
	Routes      []string
	Nameservers []string

	Listings map[string][]string // of directories
	Mounts   map[string]Mount    // by path; of several the uppermost
	Writable []string            // files and directories, of private ones only the top
	Devices  []string            // device nodes
}

// Status is a part of /proc/PID/status.
type Status struct {
	Uids, Gids   []int // real, effective, saved, file system
	Groups       []int
	Capabilities map[string]uint64 // Inh, Prm, Eff, Bnd, Amb
	NoNewPrivs   bool
	Seccomp      int // 2 is a filter
}

// Mount is a mounted file system.
type Mount struct {
	Options []string
	Bytes   uint64 // its size
	Files   uint64 // how many it can hold; 0 is no bound
}
