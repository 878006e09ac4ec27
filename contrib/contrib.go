// Package contrib has the files with which service managers start Torno. The command that installs them takes them
// here.
//
//	text, err := contrib.Services.ReadFile("systemd/torno-watcher.service")
package contrib

import "embed"

// Services holds the units of systemd and the property list of launchd.
//
//go:embed systemd/torno-watcher.service systemd/user/torno-watcher.service launchd/dev.torno.vm.plist
var Services embed.FS
