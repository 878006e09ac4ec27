// Package launchers is the one list of the launchers that Torno has. A new one is a folder below package sandbox, which
// describes itself in a launcher.Kind and passes the suite of package sandboxtest, and a line here: the configuration, the
// help, the doctor and the watcher work from this list.
package launchers

import (
	"torno/internal/launcher"
	"torno/sandbox/docker"
	"torno/sandbox/gvisor"
)

// All are the launchers, in the order in which profiles with "auto" take them: an engine that is there is what this
// machine's operator runs anyway. A profile that does not name its launcher has the first one.
var All = launcher.List{docker.Kind, gvisor.Kind}
