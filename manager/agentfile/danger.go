package agentfile

import "strings"

// dangers maps keys that ask for more than a sandbox allows to the reason why each is refused. The keys have no
// capitals, hyphens or underscores.
var dangers = map[string]string{
	"hooks":                           "runs commands by itself",
	"hook":                            "runs commands by itself",
	"permissionmode":                  "changes who is asked before a tool is used",
	"defaultmode":                     "changes who is asked before a tool is used",
	"bypasspermissions":               "lets every tool pass without asking",
	"dangerouslyskippermissions":      "lets every tool pass without asking",
	"allowdangerouslyskippermissions": "lets every tool pass without asking",
	"autoapprove":                     "lets every tool pass without asking",
	"skippermissions":                 "lets every tool pass without asking",
	"yolo":                            "lets every tool pass without asking",
	"sandbox":                         "is for the operator of the watcher to say",
	"sandboxed":                       "is for the operator of the watcher to say",
	"dangerouslydisablesandbox":       "is for the operator of the watcher to say",
	"network":                         "asks for a network, which no child has",
	"networkmode":                     "asks for a network, which no child has",
	"privileged":                      "asks for rights on the host",
	"user":                            "asks for rights on the host",
	"sudo":                            "asks for rights on the host",
	"capabilities":                    "asks for rights on the host",
	"capadd":                          "asks for rights on the host",
	"devices":                         "asks for rights on the host",
	"docker":                          "asks for rights on the host",
	"securityopt":                     "asks for rights on the host",
	"image":                           "is for the operator of the watcher to say",
	"mounts":                          "asks for directories of the host",
	"volumes":                         "asks for directories of the host",
	"adddir":                          "asks for directories of the host",
	"adddirs":                         "asks for directories of the host",
	"additionaldirectories":           "asks for directories of the host",
	"settings":                        "brings settings that hold hooks and permissions",
	"settingsources":                  "brings settings that hold hooks and permissions",
	"plugins":                         "brings settings that hold hooks and permissions",
	"plugindir":                       "brings settings that hold hooks and permissions",
	"extraargs":                       "brings options of a command",
	"cliargs":                         "brings options of a command",
	"apikeyhelper":                    "runs commands by itself",
	"statusline":                      "runs commands by itself",
}

// danger returns why a key is refused, or "". It reads the key as a careless program would.
func danger(key string) string {
	return dangers[strings.NewReplacer("-", "", "_", "", " ", "", ".", "").Replace(strings.ToLower(strings.TrimSpace(key)))]
}
