package arch

import (
	"fmt"
	"slices"
	"strings"
)

const module = "torno"

// room says what the product's code in a package may import beside the standard library: packages of ours by their path
// below the module, and packages of others. "x/..." is x and everything below it.
type room struct {
	ours, theirs []string
	open         bool // tests and tools of the repository may import anything
}

// leaves know nothing of Torno but their own subject. Every package may use them, also the clients.
var leaves = []string{
	"internal/agent", "internal/approval", "internal/atomicfile", "internal/boot", "internal/engines", "internal/flock", "internal/nearest", "internal/paths", "internal/pipes", "internal/retry", "internal/strictjson", "internal/thread", "internal/version",
}

const (
	unix     = "golang.org/x/sys/unix"
	yaml     = "gopkg.in/yaml.v3"
	fsnotify = "github.com/fsnotify/fsnotify"
	// What a parent takes of its child is shown as a diff, and its names are compared as file systems compare them.
	textDiff  = "github.com/rogpeppe/go-internal/diff"
	textForms = "golang.org/x/text/unicode/norm"
	// The Model Context Protocol is spoken in the parent's container alone.
	mcpLibrary = "github.com/modelcontextprotocol/go-sdk/..."
	// Docker's modules are for sandbox/docker and what lies below it alone, and its client for sandbox/docker/engine.
	dockerTypes = "github.com/docker/docker/api/types/..."
)

// ofMassGen are the packages that know how MassGen keeps its subagents.
var ofMassGen = []string{
	"manager/massgen", "manager/massgen/carry", "manager/massgen/evaluation", "manager/massgen/handover", "manager/massgen/inherit", "manager/massgen/layout",
	"manager/massgen/outcome", "manager/massgen/profile", "manager/massgen/modes", "manager/massgen/team", "internal/massgen/remains",
}

// rooms is the map of the house, from the wire up: cmd → watcher → sandbox → delegation, and manager → delegation.
var rooms = map[string]room{
	"delegation":                 {theirs: []string{unix, "github.com/google/renameio/v2"}},
	"manager":                    {ours: []string{"delegation", "internal/beneath"}, theirs: []string{fsnotify}},
	"manager/massgen":            {ours: []string{"delegation"}},
	"manager/massgen/outcome":    {ours: []string{"delegation", "manager/massgen", "internal/massgen/remains"}},
	"manager/massgen/handover":   {ours: []string{"manager/massgen", "internal/beneath"}},
	"manager/massgen/layout":     {ours: []string{"delegation", "manager/massgen", "manager/massgen/carry", "manager/massgen/outcome", "internal/beneath"}},
	"manager/massgen/profile":    {ours: []string{"internal/beneath"}, theirs: []string{yaml}},
	"manager/massgen/team":       {},
	"manager/massgen/modes":      {ours: []string{"manager/massgen/team"}},
	"manager/massgen/inherit":    {ours: []string{"delegation"}},
	"manager/massgen/carry":      {ours: []string{"internal/beneath"}},
	"manager/massgen/evaluation": {ours: []string{"internal/beneath", "manager/massgen/carry"}},
	"manager/patch":              {ours: []string{"delegation", "internal/beneath", "internal/inode", "internal/paths"}, theirs: []string{unix, textDiff, textForms}},
	"manager/agentfile":          {ours: []string{"internal/beneath", "manager/answerschema"}, theirs: []string{yaml}},
	"manager/answerschema":       {theirs: []string{"github.com/google/jsonschema-go/jsonschema"}},
	"manager/mcp":                {ours: []string{"delegation", "manager", "manager/patch", "internal/beneath", "internal/lock", "internal/socket", "internal/trust"}, theirs: []string{mcpLibrary}},
	"manager/mcp/stakpak":        {ours: []string{"delegation", "manager", "manager/mcp", "internal/agent"}},
	"manager/mcp/jarvis":         {ours: []string{"delegation", "manager", "manager/agentfile", "manager/answerschema", "manager/mcp"}},
	"manager/mcp/massgen":        {ours: append([]string{"delegation", "manager", "manager/mcp", "internal/beneath"}, ofMassGen...)},
	"internal/beneath":           {ours: []string{"delegation"}},
	"sandbox":                    {ours: []string{"delegation", "internal/boot"}},
	"sandbox/compile":            {ours: []string{"delegation", "sandbox", "internal/massgen", "internal/runfile"}},
	"internal/massgen":           {theirs: []string{yaml}},
	"internal/massgen/remains":   {ours: []string{"internal/beneath"}},
	"internal/paths":             {},
	"internal/pipes":             {theirs: []string{unix}},
	"internal/agent":             {},
	"internal/approval":          {},
	"internal/agent/installed":   {},
	"internal/agent/adapter":     {ours: []string{"internal/beneath", "internal/massgen/remains"}, theirs: []string{unix}},
	"internal/engines":           {},
	"internal/flock":             {},
	"internal/retry":             {},
	"internal/nearest":           {},
	"internal/strictjson":        {},
	"internal/version":           {},
	"internal/logfile":           {},
	"internal/lock":              {theirs: []string{unix}},
	"internal/crash":             {},
	"internal/cli":               {theirs: []string{unix}},
	"internal/runfile":           {theirs: []string{unix}},
	"internal/initproc":          {ours: []string{"internal/agent/adapter", "internal/boot", "internal/runfile"}, theirs: []string{unix}},
	"internal/cgroups":           {theirs: []string{unix}},
	"internal/mounts":            {ours: []string{"sandbox"}, theirs: []string{unix}},
	"internal/seccomp":           {},
	"internal/tree":              {theirs: []string{unix}},
	"internal/trust":             {theirs: []string{unix}},
	"internal/runsc":             {ours: []string{"internal/trust"}},
	"internal/images":            {ours: []string{"internal/trust"}, theirs: []string{"github.com/google/go-containerregistry/...", "github.com/klauspost/compress/zstd", unix}},
	"internal/doctor":            {ours: []string{"sandbox", "internal/mounts"}, theirs: []string{unix}},
	"internal/gateway":           {ours: []string{"internal/calendar", "internal/gateway/budget", "internal/gateway/cache", "internal/gateway/registry", "internal/gateway/credential", "internal/gateway/dial", "internal/gateway/prices", "internal/gateway/route", "internal/gateway/usage", "internal/gateway/wire", "internal/socket"}, theirs: []string{unix}},
	"internal/gateway/setup":     {ours: []string{"internal/atomicfile", "internal/gateway/prices", "internal/gateway/route", "internal/trust"}, theirs: []string{yaml}},
	"internal/gateway/upstreams": {ours: []string{
		"internal/gateway", "internal/gateway/credential", "internal/gateway/dial", "internal/gateway/route",
	}},
	"cmd/model-gateway": {
		ours: []string{
			"internal/calendar", "internal/cli", "internal/gateway", "internal/gateway/budget", "internal/gateway/control", "internal/gateway/credential", "internal/gateway/prices",
			"internal/gateway/route", "internal/gateway/setup", "internal/gateway/upstreams", "internal/lock", "internal/logfile",
		},
		theirs: []string{unix},
	},
	"internal/gateway/process":    {ours: []string{"internal/gateway/control", "internal/gateway/setup", "internal/logfile"}, theirs: []string{unix}},
	"internal/gateway/control":    {ours: []string{"internal/calendar", "internal/gateway", "internal/gateway/budget", "internal/socket"}},
	"internal/gateway/wire":       {},
	"internal/gateway/cache":      {},
	"internal/gateway/registry":   {ours: []string{"internal/gateway/cache"}},
	"internal/gateway/dial":       {},
	"internal/gateway/credential": {ours: []string{"internal/gateway/dial", "internal/gateway/route", "internal/lock", "internal/trust"}, theirs: []string{unix}},
	"internal/gateway/route":      {},
	"contrib":                     {},
	"internal/service":            {ours: []string{"contrib", "internal/atomicfile"}},
	"internal/boot":               {theirs: []string{unix}},
	"internal/atomicfile":         {},
	"internal/calendar":           {ours: []string{"internal/atomicfile"}},
	"internal/thread":             {theirs: []string{unix}},
	"internal/launcher":           {ours: []string{"sandbox", "sandbox/local", "internal/doctor"}},
	"internal/programs":           {ours: []string{"internal/trust"}},
	"sandbox/launchers":           {ours: []string{"internal/launcher", "sandbox/docker", "sandbox/gvisor"}},
	"internal/journal":            {ours: []string{"delegation", "sandbox", "internal/atomicfile", "internal/boot", "internal/inode", "internal/thread"}, theirs: []string{"modernc.org/sqlite/..."}},
	"watcher/approvals":           {ours: []string{"delegation", "internal/crash", "internal/journal"}},
	"internal/inode":              {ours: []string{"internal/boot"}, theirs: []string{unix}},
	"internal/control":            {ours: []string{"delegation", "internal/calendar", "sandbox", "internal/journal", "internal/socket"}},
	"internal/events":             {ours: []string{"delegation", "internal/evict", "sandbox"}},
	"internal/evict":              {},
	"internal/metrics":            {ours: []string{"delegation", "internal/control", "internal/journal"}},
	"internal/socket":             {ours: []string{"internal/socket/connect"}, theirs: []string{unix}},
	"internal/socket/connect":     {theirs: []string{unix}},
	"configs": {
		ours: []string{
			"delegation", "sandbox", "sandbox/compile", "internal/gateway/budget", "internal/gateway/prices", "internal/gateway/route",
			"internal/gateway/setup", "internal/launcher", "internal/runfile", "internal/trust",
		},
		theirs: []string{yaml},
	},
	"sandbox/local/attest":   {ours: []string{"sandbox", "internal/cgroups", "internal/mounts"}, theirs: []string{unix}},
	"sandbox/local/lay":      {ours: []string{"sandbox", "internal/mounts"}, theirs: []string{unix}},
	"sandbox/local/hostroot": {ours: []string{"sandbox", "internal/runfile"}},
	"sandbox/local": {
		ours:   []string{"delegation", "sandbox", "sandbox/local/attest", "sandbox/local/hostroot", "internal/mounts", "internal/runfile", "internal/trust"},
		theirs: []string{unix},
	},
	"sandbox/docker": {
		ours: []string{
			"sandbox", "sandbox/local", "sandbox/local/attest", "sandbox/local/hostroot", "internal/doctor", "internal/launcher",
			"internal/mounts", "sandbox/docker/...",
		},
		theirs: []string{dockerTypes},
	},
	"sandbox/docker/create": {
		ours: []string{
			"delegation", "sandbox", "sandbox/local", "sandbox/local/attest", "sandbox/local/hostroot", "internal/mounts", "internal/runfile",
			"internal/seccomp", "sandbox/docker/engine", "sandbox/docker/image", "sandbox/docker/names", "sandbox/docker/processes",
			"sandbox/docker/recipe",
		},
		theirs: []string{dockerTypes},
	},
	"sandbox/docker/box": {
		ours: []string{
			"sandbox", "sandbox/local", "sandbox/local/attest", "internal/mounts", "internal/runfile", "sandbox/docker/engine",
			"sandbox/docker/names", "sandbox/docker/output", "sandbox/docker/processes",
		},
		theirs: []string{dockerTypes},
	},
	"sandbox/docker/engine": {ours: []string{"sandbox"}, theirs: []string{dockerTypes, "github.com/docker/docker/client", "github.com/containerd/errdefs"}},
	"sandbox/docker/names":  {ours: []string{"sandbox", "sandbox/local"}},
	"sandbox/docker/recipe": {
		ours:   []string{"sandbox", "sandbox/local", "sandbox/local/hostroot", "internal/runfile"},
		theirs: []string{dockerTypes},
	},
	"sandbox/docker/image": {
		ours:   []string{"sandbox", "sandbox/local", "sandbox/local/hostroot", "sandbox/docker/engine", "sandbox/docker/names", "internal/runfile"},
		theirs: []string{dockerTypes},
	},
	"sandbox/docker/output": {ours: []string{"sandbox", "internal/runfile"}, theirs: []string{"github.com/docker/docker/pkg/stdcopy"}},
	"sandbox/docker/processes": {
		ours: []string{"sandbox", "sandbox/local", "sandbox/local/attest", "sandbox/local/hostroot", "sandbox/docker/recipe", "internal/runfile"},
	},
	"sandbox/docker/survey": {
		ours:   []string{"sandbox", "sandbox/local", "sandbox/docker/engine", "sandbox/docker/names", "internal/doctor"},
		theirs: []string{dockerTypes},
	},
	"sandbox/gvisor": {
		ours: []string{
			"delegation", "sandbox", "sandbox/local", "sandbox/local/attest", "sandbox/local/lay", "sandbox/local/hostroot",
			"internal/doctor", "internal/images", "internal/launcher", "internal/mounts", "internal/programs", "internal/runfile",
			"internal/runsc", "internal/seccomp", "internal/trust", "sandbox/gvisor/boxes", "sandbox/gvisor/bundle", "sandbox/gvisor/command", "sandbox/gvisor/follow", "sandbox/gvisor/groups", "sandbox/gvisor/keeper", "sandbox/gvisor/keeper/output", "sandbox/gvisor/outside",
		},
		theirs: []string{unix},
	},
	"sandbox/gvisor/boxes": {ours: []string{"sandbox", "internal/atomicfile", "sandbox/gvisor/keeper", "sandbox/local/attest", "sandbox/local/lay"}},
	"sandbox/gvisor/bundle": {
		ours:   []string{"sandbox", "sandbox/local", "sandbox/local/hostroot", "internal/runfile"},
		theirs: []string{"github.com/opencontainers/runtime-spec/..."},
	},
	"sandbox/gvisor/command":       {ours: []string{"sandbox", "sandbox/gvisor/keeper", "internal/runfile"}, theirs: []string{unix}},
	"sandbox/gvisor/follow":        {ours: []string{"sandbox", "sandbox/local", "sandbox/gvisor/keeper", "sandbox/gvisor/keeper/output", "internal/runfile"}},
	"sandbox/gvisor/groups":        {ours: []string{"sandbox", "sandbox/local", "internal/cgroups", "internal/runfile"}},
	"sandbox/gvisor/keeper":        {ours: []string{"internal/boot", "internal/cgroups", "internal/crash", "internal/runfile", "internal/socket/connect", "sandbox/gvisor/keeper/output", "sandbox/local/lay"}, theirs: []string{unix}},
	"sandbox/gvisor/keeper/output": {},
	"sandbox/gvisor/outside": {ours: []string{
		"sandbox", "sandbox/local/attest", "sandbox/gvisor/boxes", "sandbox/gvisor/command", "sandbox/gvisor/groups", "sandbox/gvisor/keeper",
	}},
	"sandbox/pool":            {ours: []string{"delegation", "sandbox", "internal/crash", "internal/retry", "internal/runfile"}},
	"sandbox/sandboxtest/...": {ours: []string{"delegation", "sandbox", "sandbox/compile", "sandbox/pool", "internal/boot", "internal/mounts", "internal/retry", "internal/runfile", "internal/trust", "sandbox/sandboxtest/...", "test/attack", "test/prober/..."}, theirs: []string{unix}},
	"watcher/schedule":        {ours: []string{"delegation", "sandbox"}},
	"watcher/hang":            {},
	"watcher/limit":           {},
	"watcher/notice":          {ours: []string{"delegation"}},
	"watcher/output":          {ours: []string{"delegation", "sandbox", "internal/crash", "internal/runfile", "watcher/limit"}},
	"watcher/workspace":       {ours: []string{"delegation", "sandbox", "internal/tree", "watcher/hang"}},
	"watcher/outbox": {
		ours: []string{
			"delegation", "sandbox", "sandbox/compile", "internal/crash", "internal/events", "internal/inode", "internal/journal", "watcher/limit", "watcher/notice",
			"watcher/outbox/identity", "watcher/output", "watcher/run", "watcher/workspace",
		},
		theirs: []string{fsnotify},
	},
	"watcher/outbox/identity": {ours: []string{"delegation", "internal/crash", "internal/inode", "internal/journal"}},
	"watcher/collect": {ours: []string{
		"delegation", "internal/crash", "internal/inode", "internal/journal", "internal/mounts", "internal/tree", "sandbox", "watcher/hang", "watcher/limit", "watcher/workspace",
	}},
	"watcher/door": {ours: []string{
		"delegation", "internal/calendar", "internal/gateway", "internal/gateway/budget", "internal/gateway/route", "internal/journal", "internal/runfile", "sandbox",
		"watcher/run",
	}},
	"watcher/session": {ours: []string{"delegation", "internal/crash", "internal/evict", "sandbox", "watcher/run"}},
	"watcher/run": {ours: []string{
		"delegation", "sandbox", "internal/crash", "internal/journal", "internal/runfile", "internal/tree", "watcher/hang", "watcher/notice",
		"watcher/approvals", "watcher/output", "watcher/schedule", "watcher/workspace",
	}},
	"watcher": {
		ours: []string{
			"delegation", "sandbox", "sandbox/compile", "internal/calendar", "internal/crash", "internal/events", "internal/journal", "internal/control", "internal/inode", "internal/paths",
			"watcher/collect", "watcher/hang", "watcher/limit", "watcher/notice", "watcher/outbox", "watcher/outbox/identity", "watcher/output", "watcher/run", "watcher/schedule", "watcher/session", "watcher/workspace",
		},
		theirs: []string{fsnotify, unix},
	},
	"cmd/sandbox-keeper": {ours: []string{"sandbox/gvisor/keeper"}},
	"cmd/sandbox-init":   {ours: []string{"internal/initproc"}},
	"cmd/subagent":       {ours: []string{"delegation", "manager", "manager/mcp", "manager/mcp/jarvis", "manager/mcp/massgen", "manager/mcp/stakpak", "manager/patch", "internal/cli"}},
	"cmd/watcher": {
		ours: []string{
			"delegation", "sandbox", "sandbox/compile", "sandbox/launchers", "watcher", "configs", "internal/agent/installed", "internal/cli", "internal/control", "internal/doctor", "internal/events",
			"internal/journal", "internal/launcher", "internal/lock", "internal/programs", "internal/serve", "internal/service", "internal/trust", "watcher/session",
		},
		theirs: []string{unix, yaml, "golang.org/x/term"},
	},
	"internal/serve": {
		ours: []string{
			"delegation", "sandbox", "sandbox/compile", "sandbox/local", "sandbox/pool", "watcher", "configs", "internal/atomicfile", "internal/calendar", "internal/control", "internal/doctor", "internal/events",
			"internal/gateway/control", "internal/gateway/process", "internal/journal", "internal/launcher", "internal/lock", "internal/metrics", "internal/mounts", "internal/programs", "internal/runfile", "internal/tree",
			"internal/trust", "watcher/collect", "watcher/door", "watcher/hang", "watcher/outbox", "watcher/run", "watcher/session", "watcher/workspace",
		},
		theirs: []string{unix},
	},
	"internal/gateway/budget": {ours: []string{"internal/lock"}},
	"internal/gateway/prices": {ours: []string{"internal/gateway/budget", "internal/gateway/usage"}},
	"internal/gateway/usage":  {},

	"scripts/...": {open: true},
	"test/...":    {open: true},
}

// pkg is what the rules look at of a package.
type pkg struct {
	path    string // below the module
	imports []string
}

// roomOf is the entry of a package: its own, or the one of "x/..." that holds it.
func roomOf(path string) (room, bool) {
	if r, ok := rooms[path]; ok {
		return r, true
	}
	for pattern, r := range rooms {
		if matches(pattern, path) {
			return r, true
		}
	}
	return room{}, false
}

func matches(pattern, path string) bool {
	above, deep := strings.CutSuffix(pattern, "/...")
	return path == above || deep && strings.HasPrefix(path, above+"/")
}

func allowed(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path) })
}

// forbiddenImports are the edges that the map does not have.
func forbiddenImports(all []pkg, standard func(path string) bool) []string {
	var found []string
	for _, p := range all {
		r, ok := roomOf(p.path)
		if !ok {
			found = append(found, fmt.Sprintf("%s is not on the map in rooms_test.go", p.path))
		}
		if r.open || !ok {
			continue
		}
		for _, path := range p.imports {
			own, ours := strings.CutPrefix(path, module+"/")
			switch {
			case standard(path),
				ours && allowed(append(leaves, r.ours...), own),
				!ours && allowed(r.theirs, path):
			default:
				found = append(found, fmt.Sprintf("%s may not import %s", p.path, path))
			}
		}
	}
	return found
}

// client is a program that is copied into an untrusted container.
type client struct {
	program      string
	systems      []string // where it runs
	ours, theirs []string // all that it may consist of
}

var clients = []client{
	{
		program: "cmd/subagent",
		systems: []string{"linux", "darwin"},
		ours: slices.Concat([]string{
			"cmd/subagent", "delegation", "manager", "manager/agentfile", "manager/answerschema", "manager/mcp", "manager/mcp/jarvis", "manager/mcp/massgen",
			"manager/mcp/stakpak", "manager/patch", "internal/beneath", "internal/cli", "internal/inode", "internal/lock", "internal/socket", "internal/socket/connect", "internal/trust",
		}, ofMassGen, leaves),
		theirs: []string{
			"golang.org/x/sys/...", "github.com/google/renameio/v2/...", fsnotify + "/...", textDiff, "golang.org/x/text/unicode/norm", "golang.org/x/text/transform",
			yaml, // of files that describe agents, and of kinds of subagents
			// What the library of the Model Context Protocol brings along: schemas, JSON, templates of addresses, and its client's login.
			mcpLibrary, "github.com/google/jsonschema-go/...", "github.com/segmentio/...", "github.com/yosida95/uritemplate/...",
			"golang.org/x/oauth2/...", "golang.org/x/sync/errgroup", "golang.org/x/time/rate",
		},
	},
	{
		program: "cmd/sandbox-init",
		systems: []string{"linux"},
		ours: append([]string{
			"cmd/sandbox-init", "internal/agent", "internal/agent/adapter", "internal/initproc", "internal/runfile",
			"delegation", "internal/beneath", "internal/massgen/remains", // what an agent has left is found with the same care as in the parent
		}, leaves...),
		theirs: []string{"golang.org/x/sys/...", "github.com/google/renameio/v2/..."},
	},
}

// strangers are the packages among all dependencies of a client that it may not contain, directly or not.
func strangers(c client, deps []string, standard func(path string) bool) []string {
	var found []string
	for _, path := range deps {
		own, ours := strings.CutPrefix(path, module+"/")
		if standard(path) || ours && allowed(c.ours, own) || !ours && allowed(c.theirs, path) {
			continue
		}
		found = append(found, fmt.Sprintf("%s contains %s", c.program, path))
	}
	return found
}
