// Package inside looks around in a sandbox, as a curious agent would, and writes down what it finds. It judges nothing:
// the suite does, and what it would say of the host itself, outside of every sandbox, shows whether its judgement is
// worth anything.
package inside

// Report is what Look found.
type Report struct {
	Agent, Init Status
	InitName    string
	// InitSecrets is what came of opening the environment, the memory and the descriptors of process 1.
	InitSecrets map[string]Outcome

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
	Reach       map[string]Outcome // connecting to the given addresses
	Loopback    Outcome            // connecting to a listener of its own
	Families    map[string]Outcome // opening a socket of an unusual family

	Calls map[string]Outcome // system calls with arguments that are nonsense to who may make them

	Listings map[string][]string // of directories
	Mounts   map[string]Mount    // by path; of several the uppermost
	Writable []string            // files and directories, of private ones only the top
	Devices  []string            // device nodes
}

// Outcome is Done or the name of an error, as in "EPERM".
type Outcome string

// Done says that it worked.
const Done Outcome = "done"

// Denied says that it was forbidden, rather than wrong.
func (o Outcome) Denied() bool {
	return o == "EPERM" || o == "EACCES" || o == "ENOSYS" || o == "EAFNOSUPPORT"
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
}
