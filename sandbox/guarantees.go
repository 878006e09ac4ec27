package sandbox

import "sort"

// GuaranteeKey names one thing that a launcher enforces. A profile's at_least is a list of keys.
type GuaranteeKey string

// The keys. They are API: profiles in the field name them.
const (
	NoNetwork       GuaranteeKey = "no_network"
	NoCapabilities  GuaranteeKey = "no_capabilities"
	NoNewPrivileges GuaranteeKey = "no_new_privileges"
	SyscallFilter   GuaranteeKey = "syscall_filter"
	ReadOnlyRoot    GuaranteeKey = "read_only_root"
	PrivateTmp      GuaranteeKey = "private_tmp"
	Namespaces      GuaranteeKey = "namespaces"   // pid, ipc, uts, mount and cgroup
	OwnIdentity     GuaranteeKey = "own_identity" // a uid and gid that no one else has; files keep their owner
	MountsByHandle  GuaranteeKey = "mounts_by_handle"
	MountProof      GuaranteeKey = "mount_proof"
	MemoryLimit     GuaranteeKey = "memory"
	SwapLimit       GuaranteeKey = "swap"
	CPULimit        GuaranteeKey = "cpu"
	PidsLimit       GuaranteeKey = "pids"
	OpenFilesLimit  GuaranteeKey = "open_files"
	FileSizeLimit   GuaranteeKey = "file_size"
	LogLimit        GuaranteeKey = "log"
	KernelIsolation GuaranteeKey = "kernel_isolation" // the child does not talk to the host's kernel
	Sockets         GuaranteeKey = "sockets"          // a child reaches the profile's sockets, and no others in what it sees
	Attested        GuaranteeKey = "attested"         // the host looks at the finished sandbox before the agent runs
)

// GuaranteeKeys are all keys, in the order in which they are shown.
var GuaranteeKeys = []GuaranteeKey{
	NoNetwork, NoCapabilities, NoNewPrivileges, SyscallFilter, ReadOnlyRoot, PrivateTmp, Namespaces, OwnIdentity,
	MountsByHandle, MountProof, MemoryLimit, SwapLimit, CPULimit, PidsLimit, OpenFilesLimit, FileSizeLimit, LogLimit,
	KernelIsolation, Sockets, Attested,
}

// Acceptable are the keys that every start of a watcher demands and that its operator may do without: the limits without
// which one child can take the machine down. Walls are not among them.
var Acceptable = []GuaranteeKey{MemoryLimit, PidsLimit}

// Guarantee is what a launcher says of one key.
type Guarantee struct {
	Enforced bool   `json:"enforced"`
	By       string `json:"by"` // by what it is enforced, or why it is not
}

// Guarantees is what a launcher enforces here and now, key by key. A key that is absent is not enforced.
type Guarantees map[GuaranteeKey]Guarantee

// Missing are the demanded keys that are not enforced, sorted.
func (g Guarantees) Missing(demanded []GuaranteeKey) []GuaranteeKey {
	var missing []GuaranteeKey
	for _, key := range demanded {
		if !g[key].Enforced {
			missing = append(missing, key)
		}
	}
	sort.Slice(missing, func(i, j int) bool { return missing[i] < missing[j] })
	return missing
}
