package configs

import (
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"torno/internal/agent"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// The schema has every key, the field for its value, and its bounds. Reading, writing and the lists of known keys use
// it. examples/full.yaml explains the keys to people.

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
	tib = 1 << 40
	day = 24 * time.Hour
)

// Bounds that several keys share.
const (
	maxRuns    = 10_000
	maxWaiting = 10_000
	maxRoots   = 256
	maxPool    = 1000
	maxUID     = 1<<31 - 1 // engines accept no larger uid
)

func (c *Config) schema() object {
	return slices.Concat(object{
		{"version", version{}},
		{"state", absPath{&c.State}},
		{"max_running", number[int]{&c.MaxRunning, 1, maxRuns}},
		{"queue", number[int]{&c.Queue, 0, maxWaiting}},
		{"uids", object{
			{"first", number[int64]{&c.UIDs.First, 100_000, maxUID}},
			{"count", number[int64]{&c.UIDs.Count, 1, 1_000_000}},
		}},
		{"mounts", oneOf(&c.Mounts, MountsAuto, MountsByHandle, MountsByPath)},
		{"accept", list[sandbox.GuaranteeKey]{&c.Accept, len(sandbox.Acceptable), acceptSchema, "; write a list of limits"}},
		{"disk", object{
			{"floor", size{&c.Disk.Floor, mib, 64 * tib}},
			{"floor_files", number[int64]{&c.Disk.FloorFiles, 1, 1_000_000_000}},
		}},
		{"pool", object{
			{"size", poolSize{&c.Pool.Size}},
			{"idle", span{&c.Pool.Idle, time.Minute, 7 * day}},
			{"most", number[int]{&c.Pool.Most, 1, maxPool}},
		}},
	}, c.launcherSchema(), object{
		{"init", absPath{&c.Init}},
		{"log", object{
			{"format", oneOf(&c.Log.Format, LogAuto, LogText, LogJSON)},
			{"level", oneOf(&c.Log.Level, LevelDebug, LevelInfo, LevelWarn, LevelError)},
		}},
		{"metrics", loopback{&c.Metrics}},
		{"retention", object{
			{"age", span{&c.Retention.Age, time.Hour, 3650 * day}},
			{"runs", number[int]{&c.Retention.Runs, 100, 10_000_000}},
			{"size", size{&c.Retention.Size, 16 * mib, tib}},
			{"max_request_age", span{&c.Retention.MaxRequestAge, time.Hour, 365 * day}},
			{"workspaces", object{
				{"remove", oneOf(&c.Retention.Workspaces.Remove, RemoveNone, RemoveMade, RemoveAll)},
				{"age", span{&c.Retention.Workspaces.Age, time.Hour, 3650 * day}},
				{"number", number[int]{&c.Retention.Workspaces.Number, 1, 1_000_000}},
				{"size", size{&c.Retention.Workspaces.Size, mib, 1024 * tib}},
			}},
		}},
		{"shutdown", object{
			{"budget", span{&c.Shutdown.Budget, time.Second, 24 * time.Hour}},
			{"running", oneOf(&c.Shutdown.Running, Drain, Cancel, Keep)},
		}},
		{"gateway", c.Gateway.schema()},
		{"profiles", named[compile.Profile]{&c.Profiles, c.newProfile, profileName, c.profileSchema}},
		{"outboxes", named[Outbox]{&c.Outboxes, newOutbox, outboxName, outboxSchema}},
	})
}

func profileName(p compile.Profile) string { return p.Name }
func outboxName(o Outbox) string           { return o.Name }

func (c *Config) profileSchema(p *compile.Profile) object {
	return slices.Concat(object{
		{"description", text{&p.Description, 200}},
		{"sandbox", oneOf(&p.Sandbox, append(c.launchers.Names(), SandboxAuto)...)},
		{"rootfs", root{&p.RootFS}},
		{"image", image{&p.RootFS}},
		{"pull", onlyIf{boolean{&p.RootFS.Pull}, p.RootFS.Pull}},
		{"agent", onlyIf{oneOf(&p.Agent, agent.Names()...), p.Agent != ""}},
		{"model", onlyIf{model{p}, p.Model+p.ModelRoute != ""}},
		{"programs", list[compile.Programs]{&p.Programs, 32, func(to *compile.Programs) value { return programs{to} }, "; write a list of paths, or of {host, as}"}},
		{"command", list[string]{&p.Command, 256, func(s *string) value { return argument{s} }, "; write one element for each argument: nothing is split, no shell is used"}},
		{"workspace", onlyIf{oneOf(&p.Workspace, compile.WorkspaceDirect, compile.WorkspaceCopy), p.Workspace == compile.WorkspaceCopy}},
		{"artifacts", list[string]{&p.Artifacts, 32, func(s *string) value { return text{s, 256} }, "; write a list of patterns of files in the workspace, such as report/ or *.pdf"}},
		{"answer", oneOf(&p.Answer, compile.AnswerModes...)},
		{"answer_max", size{&p.AnswerMax, 1, runfile.MaxAnswer}},
		{"env", literals{&p.Env}},
		{"limits", limitsSchema(&p.Limits)},
		{"sockets", list[sandbox.Socket]{&p.Sockets, 16, socketSchema, "; write a list of {host, target, port}"}},
	}, doorSchema(p), object{
		{"at_least", list[sandbox.GuaranteeKey]{&p.AtLeast, len(sandbox.GuaranteeKeys), guaranteeSchema, "; write a list of guarantees"}},
		{"timeout", object{
			{"default", span{&p.Timeout.Default, time.Second, maxTimeout}},
			{"min", span{&p.Timeout.Min, time.Second, maxTimeout}},
			{"max", span{&p.Timeout.Max, time.Second, maxTimeout}},
		}},
		{"attempts", number[int]{&p.Attempts, 1, 5}},
		{"umask", mask{&p.Umask}},
		{"stdin", boolean{&p.Stdin}},
		{"messages", onlyIf{boolean{&p.Messages}, p.Messages}},
		{"approvals", approvals{&p.Approvals}},
	})
}

const maxTimeout = 30 * 24 * time.Hour

// limitsSchema returns the schema of a profile's limits. The lower bounds are as much as a sandbox needs before the
// agent does anything.
func limitsSchema(l *sandbox.Limits) object {
	return object{
		{"memory", size{&l.Memory, 16 * mib, 64 * tib}},
		{"cpus", processors{&l.CPUs}},
		{"pids", number[int64]{&l.Pids, 32, 4_194_304}},
		{"open_files", number[int64]{&l.OpenFiles, 64, 1_048_576}},
		{"file_size", size{&l.FileSize, mib, 64 * tib}},
		{"tmp", size{&l.Tmp, mib, tib}},
		{"home", size{&l.Home, mib, tib}},
		{"shm", size{&l.Shm, 64 * kib, tib}},
		{"log", size{&l.Log, 64 * kib, gib}},
		{"workspace", size{&l.Workspace, mib, 1024 * tib}},
		{"workspace_files", number[int64]{&l.WorkspaceFiles, 16, 1_000_000_000}},
	}
}

func socketSchema(s *sandbox.Socket) value {
	return object{
		{"host", absPath{&s.Host}},
		{"target", absPath{&s.Target}},
		{"port", onlyIf{number[uint16]{&s.Port, runfile.MinPort, 65535}, s.Port != 0}},
	}
}

func acceptSchema(key *sandbox.GuaranteeKey) value { return oneOf(key, sandbox.Acceptable...) }

func guaranteeSchema(key *sandbox.GuaranteeKey) value { return oneOf(key, sandbox.GuaranteeKeys...) }

func outboxSchema(o *Outbox) object {
	paths := func(s *string) value { return absPath{s} }
	return object{
		{"dir", absPath{&o.Dir}},
		{"allow", list[string]{&o.Allow, maxRoots, paths, "; write a list of directories"}},
		{"read", list[string]{&o.Read, maxRoots, paths, "; write a list of directories"}},
		{"read_allowed", boolean{&o.ReadAllowed}},
		{"profiles", list[string]{&o.Profiles, maxNamed, func(s *string) value { return text{s, 63} }, "; write a list of profiles, the default one first"}},
		{"max_running", number[int]{&o.MaxRunning, 1, maxRuns}},
		{"queue", number[int]{&o.Queue, 0, maxWaiting}},
		{"busy", oneOf(&o.Busy, BusyRefuse, BusyQueue)},
		{"owners", list[uint32]{&o.Owners, maxRoots, func(id *uint32) value { return number[uint32]{id, 0, maxUID} }, "; write a list of uids"}},
		{"paths", list[compile.PathMap]{&o.Paths, maxRoots, pathSchema, "; write a list of {parent, here, engine}"}},
		{"max_request_bytes", size{&o.MaxRequestBytes, 4 * kib, 64 * mib}},
		{"tree", object{
			{"children", number[int]{&o.Tree.Children, 1, 1000}},
			{"depth", number[int]{&o.Tree.Depth, 1, 16}},
		}},
	}
}

func pathSchema(m *compile.PathMap) value {
	return object{{"parent", absPath{&m.Parent}}, {"here", absPath{&m.Here}}, {"engine", absPath{&m.Engine}}}
}

// version is the version number of the schema.
type version struct{}

func (version) read(r *report, key string, n *yaml.Node) {
	if n.ShortTag() != "!!int" || n.Value != "1" {
		r.problem(key, "%s is not a version that this watcher reads; write 1", kindOf(n))
	}
}

func (version) write() *yaml.Node { return plainNode("1") }

// onlyIf wraps a value. It writes the key only if set is true.
type onlyIf struct {
	value
	set bool
}

func (v onlyIf) write() *yaml.Node {
	if !v.set {
		return nil
	}
	return v.value.write()
}
