// Package launchers is the only list of Torno's launchers. A new launcher needs a folder below package sandbox, where
// it describes itself in a launcher.Kind and passes the suite of package sandboxtest, and a line here. The
// configuration, the help, the doctor and the watcher work from this list.
package launchers

import (
	"torno/internal/launcher"
	"torno/sandbox/docker"
	"torno/sandbox/gvisor"
)

// All lists the launchers in the order that profiles with "auto" try them. An installed engine comes first, because the
// machine's operator runs it anyway. A profile that names no launcher gets the first one.
var All = launcher.List{docker.Kind, gvisor.Kind}
