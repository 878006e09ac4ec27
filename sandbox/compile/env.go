package compile

import (
	"maps"
	"slices"

	"torno/sandbox"
)

// Caches lie below Home, because the root is read-only and a tool's downloads do not belong in the workspace.
const (
	cacheDir  = sandbox.Home + "/.cache"
	gitConfig = "gitconfig"
)

// baseEnv is the environment that every child finds. Nothing in it depends on the host (I7).
var baseEnv = map[string]string{
	"PATH":    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME":    sandbox.Home,
	"USER":    "agent",
	"LOGNAME": "agent",
	"SHELL":   "/bin/sh",
	"TMPDIR":  "/tmp",
	"LANG":    "C.UTF-8",
	"TZ":      "UTC",

	"XDG_CACHE_HOME":  cacheDir,
	"XDG_CONFIG_HOME": sandbox.Home + "/.config",
	"XDG_DATA_HOME":   sandbox.Home + "/.local/share",
	"XDG_STATE_HOME":  sandbox.Home + "/.local/state",

	"PIP_CACHE_DIR":                 cacheDir + "/pip",
	"PIP_DISABLE_PIP_VERSION_CHECK": "1",
	"UV_CACHE_DIR":                  cacheDir + "/uv",
	"UV_LINK_MODE":                  "copy", // the cache and the workspace are different file systems
	"npm_config_cache":              cacheDir + "/npm",
	"npm_config_update_notifier":    "false",
	"FASTMCP_SHOW_CLI_BANNER":       "false",

	"GIT_CONFIG_SYSTEM": sandbox.RunDir + "/" + gitConfig,
}

// gitDefaults makes git work in a fresh sandbox: the context belongs to other users, and a commit needs an author. It
// is git's system configuration, so every other configuration overrides it: the repository's, the agent's, the
// profile's.
const gitDefaults = `[safe]
	directory = *
[user]
	name = agent
	email = agent@sandbox.invalid
`

// environment returns the child's environment, sorted. The profile's literals win.
func environment(profile map[string]string, own map[string]string) []string {
	all := maps.Clone(baseEnv)
	maps.Copy(all, own)
	maps.Copy(all, profile)
	env := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		env = append(env, name+"="+all[name])
	}
	return env
}
