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
	OwnIdentity     GuaranteeKey = "own_identity" // a uid and gid that nobody else has; files keep their owner
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
	Sockets         GuaranteeKey = "sockets"          // of all the sockets it sees, a child reaches only the profile's
	Attested        GuaranteeKey = "attested"         // the host looks at the finished sandbox before the agent runs
)

// GuaranteeKeys lists all keys, in display order.
var GuaranteeKeys = []GuaranteeKey{
	NoNetwork, NoCapabilities, NoNewPrivileges, SyscallFilter, ReadOnlyRoot, PrivateTmp, Namespaces, OwnIdentity,
	MountsByHandle, MountProof, MemoryLimit, SwapLimit, CPULimit, PidsLimit, OpenFilesLimit, FileSizeLimit, LogLimit,
	KernelIsolation, Sockets, Attested,
}

// Acceptable lists the keys that a watcher demands at every start unless its operator does without them. They are the
// limits without which one child can take the machine down. No wall is among them.
var Acceptable = []GuaranteeKey{MemoryLimit, PidsLimit}

// Guarantee is a launcher's statement about one key.
type Guarantee struct {
	Enforced bool   `json:"enforced"`
	By       string `json:"by"` // the means that enforces it, or the reason why nothing does
}

// Guarantees states for each key whether a launcher enforces it, here and now. An absent key is not enforced.
type Guarantees map[GuaranteeKey]Guarantee

// Missing returns the demanded keys that are not enforced, sorted.
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
