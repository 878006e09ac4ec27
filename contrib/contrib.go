// Package contrib has the files by which service managers start Torno, for the command that installs them.
//
//	text, err := contrib.Services.ReadFile("systemd/torno-watcher.service")
package contrib

import "embed"

// Services are the units of systemd and the property list of launchd.
//
//go:embed systemd/torno-watcher.service systemd/user/torno-watcher.service launchd/dev.torno.vm.plist
var Services embed.FS
