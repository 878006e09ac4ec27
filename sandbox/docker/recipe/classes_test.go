package recipe_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"torno/sandbox/docker/recipe"
)

// class is what a field of the engine's types is to us.
type class string

const (
	unset    class = "unset"    // empty in every sandbox; the engine's default is harmless, or the field is a hole
	constant class = "constant" // the same in every sandbox, and not empty
	limit    class = "limit"    // follows the profile's limits and nothing else
	ours     class = "ours"     // names, paths and identities that the host chose
)

// classes has every field of what can be said to the engine about a container. A version of the engine's client with a
// new field does not pass before a developer has classified it (I1).
var classes = map[string]class{
	"Config.Hostname":        constant,
	"Config.Domainname":      unset,
	"Config.User":            ours,
	"Config.AttachStdin":     unset, // of use to the command line client only
	"Config.AttachStdout":    unset,
	"Config.AttachStderr":    unset,
	"Config.ExposedPorts":    unset,
	"Config.Tty":             unset, // a terminal is a way to type into another one
	"Config.OpenStdin":       ours,
	"Config.StdinOnce":       ours,
	"Config.Env":             constant, // empty, and said so: nothing of ours or of a secret is in it (I7)
	"Config.Cmd":             ours,     // the nonce
	"Config.Healthcheck":     constant, // none: it would run an image's program beside init
	"Config.ArgsEscaped":     unset,
	"Config.Image":           ours,
	"Config.Volumes":         unset, // directories on the host's disk without a bound
	"Config.WorkingDir":      constant,
	"Config.Entrypoint":      constant,
	"Config.NetworkDisabled": constant,
	"Config.MacAddress":      unset,
	"Config.OnBuild":         unset,
	"Config.Labels":          ours,
	"Config.StopSignal":      constant,
	"Config.StopTimeout":     unset,
	"Config.Shell":           unset,

	"HealthConfig.Test":          constant,
	"HealthConfig.Interval":      unset,
	"HealthConfig.Timeout":       unset,
	"HealthConfig.StartPeriod":   unset,
	"HealthConfig.StartInterval": unset,
	"HealthConfig.Retries":       unset,

	"HostConfig.Binds":           unset, // a string with colons, which creates what it does not find
	"HostConfig.ContainerIDFile": unset,
	"HostConfig.LogConfig":       limit,
	"HostConfig.NetworkMode":     constant,
	"HostConfig.PortBindings":    unset,
	"HostConfig.RestartPolicy":   constant,
	"HostConfig.AutoRemove":      unset, // its exit code would be gone before we read it
	"HostConfig.VolumeDriver":    unset,
	"HostConfig.VolumesFrom":     unset,
	"HostConfig.ConsoleSize":     unset,
	"HostConfig.Annotations":     unset, // instructions to runtimes
	"HostConfig.CapAdd":          unset,
	"HostConfig.CapDrop":         constant,
	"HostConfig.CgroupnsMode":    constant,
	"HostConfig.DNS":             unset,
	"HostConfig.DNSOptions":      unset,
	"HostConfig.DNSSearch":       unset,
	"HostConfig.ExtraHosts":      unset,
	"HostConfig.GroupAdd":        unset,
	"HostConfig.IpcMode":         constant,
	"HostConfig.Cgroup":          unset,
	"HostConfig.Links":           unset,
	"HostConfig.OomScoreAdj":     unset,
	"HostConfig.PidMode":         unset, // private
	"HostConfig.Privileged":      unset,
	"HostConfig.PublishAllPorts": unset,
	"HostConfig.ReadonlyRootfs":  constant,
	"HostConfig.SecurityOpt":     ours, // one of two filters, and no new privileges
	"HostConfig.StorageOpt":      unset,
	"HostConfig.Tmpfs":           limit,
	"HostConfig.UTSMode":         unset, // private
	"HostConfig.UsernsMode":      unset, // "host" would switch off the engine's own
	"HostConfig.ShmSize":         limit,
	"HostConfig.Sysctls":         unset,
	"HostConfig.Runtime":         ours, // the operator's choice
	"HostConfig.Isolation":       unset,
	"HostConfig.Mounts":          ours,
	"HostConfig.MaskedPaths":     constant,
	"HostConfig.ReadonlyPaths":   constant,
	"HostConfig.Init":            constant, // false

	"Resources.CPUShares":            unset,
	"Resources.Memory":               limit,
	"Resources.NanoCPUs":             limit,
	"Resources.CgroupParent":         unset, // outside of the engine's own
	"Resources.BlkioWeight":          unset,
	"Resources.BlkioWeightDevice":    unset,
	"Resources.BlkioDeviceReadBps":   unset,
	"Resources.BlkioDeviceWriteBps":  unset,
	"Resources.BlkioDeviceReadIOps":  unset,
	"Resources.BlkioDeviceWriteIOps": unset,
	"Resources.CPUPeriod":            unset,
	"Resources.CPUQuota":             unset,
	"Resources.CPURealtimePeriod":    unset,
	"Resources.CPURealtimeRuntime":   unset,
	"Resources.CpusetCpus":           unset,
	"Resources.CpusetMems":           unset,
	"Resources.Devices":              unset,
	"Resources.DeviceCgroupRules":    unset,
	"Resources.DeviceRequests":       unset,
	"Resources.KernelMemory":         unset,
	"Resources.KernelMemoryTCP":      unset,
	"Resources.MemoryReservation":    unset,
	"Resources.MemorySwap":           limit,
	"Resources.MemorySwappiness":     unset,
	"Resources.OomKillDisable":       unset,
	"Resources.PidsLimit":            limit,
	"Resources.Ulimits":              limit,
	"Resources.CPUCount":             unset, // Windows
	"Resources.CPUPercent":           unset,
	"Resources.IOMaximumIOps":        unset,
	"Resources.IOMaximumBandwidth":   unset,

	"LogConfig.Type":   constant,
	"LogConfig.Config": limit,

	"RestartPolicy.Name":              constant,
	"RestartPolicy.MaximumRetryCount": unset,

	"Ulimit.Name": ours,
	"Ulimit.Hard": limit,
	"Ulimit.Soft": limit,

	"Mount.Type":           ours, // a bind, or init's volume
	"Mount.Source":         ours,
	"Mount.Target":         ours,
	"Mount.ReadOnly":       ours,
	"Mount.Consistency":    unset,
	"Mount.BindOptions":    ours,
	"Mount.VolumeOptions":  ours,
	"Mount.ImageOptions":   unset,
	"Mount.TmpfsOptions":   unset,
	"Mount.ClusterOptions": unset,

	"BindOptions.Propagation":            ours, // rslave for views, never a kind that goes back to the host
	"BindOptions.NonRecursive":           ours,
	"BindOptions.CreateMountpoint":       unset, // the engine would make what is missing, as root
	"BindOptions.ReadOnlyNonRecursive":   ours,
	"BindOptions.ReadOnlyForceRecursive": unset,

	"VolumeOptions.NoCopy":       constant,
	"VolumeOptions.Labels":       unset,
	"VolumeOptions.Subpath":      unset, // B3
	"VolumeOptions.DriverConfig": unset,
}

// classified are the types with fields of their own. What a field of another type holds is a value to us.
var classified = []reflect.Type{
	reflect.TypeFor[container.Config](), reflect.TypeFor[container.HealthConfig](), reflect.TypeFor[container.HostConfig](),
	reflect.TypeFor[container.Resources](), reflect.TypeFor[container.LogConfig](), reflect.TypeFor[container.RestartPolicy](),
	reflect.TypeFor[container.Ulimit](), reflect.TypeFor[mount.Mount](), reflect.TypeFor[mount.BindOptions](),
	reflect.TypeFor[mount.VolumeOptions](),
}

// name is how the table calls a type.
func name(t reflect.Type) string {
	if t == reflect.TypeFor[container.HealthConfig]() {
		return "HealthConfig" // an alias of a type with a longer name
	}
	return t.Name()
}

// TestEveryFieldIsClassified goes through the types, and through the table for what is no field any more.
func TestEveryFieldIsClassified(t *testing.T) {
	fields := map[string]bool{}
	for _, typ := range classified {
		for i := range typ.NumField() {
			field := typ.Field(i)
			if field.Anonymous {
				continue // Resources is in the list itself
			}
			key := name(typ) + "." + field.Name
			fields[key] = true
			if classes[key] == "" {
				t.Errorf("nobody has said what %s (%s) is to a sandbox", key, field.Type)
			}
		}
	}
	for key := range classes {
		if !fields[key] {
			t.Errorf("%s is in the table and not in the engine's types", key)
		}
	}
}

// TestFieldsAreOfTheirClass builds two containers that differ in everything in which two can, and a third that has the
// limits of the first and all else of the second.
func TestFieldsAreOfTheirClass(t *testing.T) {
	one, two := recipes["host"], recipes["image"]
	mixed := two
	mixed.Limits, mixed.CPUs = one.Limits, one.CPUs
	seen := map[string][3][]reflect.Value{}
	for i, r := range []recipe.Recipe{one, two, mixed} {
		config, host := r.Container()
		collect(reflect.ValueOf(*config), i, seen)
		collect(reflect.ValueOf(*host), i, seen)
	}
	for key, values := range seen {
		check(t, key, classes[key], values)
	}
	if len(seen) < len(classes)*9/10 {
		t.Errorf("only %d of %d fields were looked at", len(seen), len(classes))
	}
}

// collect gathers the values of fields, by their names in the table.
func collect(v reflect.Value, number int, seen map[string][3][]reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			collect(v.Elem(), number, seen)
		}
	case reflect.Slice:
		for i := range v.Len() {
			collect(v.Index(i), number, seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			key := name(v.Type()) + "." + field.Name
			if classes[key] != "" {
				values := seen[key]
				values[number] = append(values[number], v.Field(i))
				seen[key] = values
			}
			collect(v.Field(i), number, seen)
		}
	}
}

func check(t *testing.T, key string, c class, values [3][]reflect.Value) {
	t.Helper()
	for number, all := range values {
		for _, v := range all {
			if c == unset && !v.IsZero() {
				t.Errorf("%s is to be empty and is %v", key, v)
			}
			if c == constant && v.Kind() != reflect.Slice && v.IsZero() {
				t.Errorf("%s is to be said and is not", key)
			}
			if c == constant && !reflect.DeepEqual(v.Interface(), values[0][0].Interface()) && len(values[0]) > 0 {
				t.Errorf("%s is to be the same always and is %v in recipe %d", key, v, number)
			}
		}
	}
	if c == limit && !strings.HasSuffix(key, "Tmpfs") && !same(values[0], values[2]) {
		t.Errorf("%s is to follow the limits and nothing else: %v and %v", key, values[0], values[2])
	}
	if c == limit && same(values[0], values[1]) {
		t.Errorf("%s does not follow the limits", key)
	}
}

func same(a, b []reflect.Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !reflect.DeepEqual(a[i].Interface(), b[i].Interface()) {
			return false
		}
	}
	return true
}
