package launcher

import (
	"maps"
	"regexp"
	"strings"
)

// Form is the kind of value that a key of the configuration holds.
type Form int

// The forms.
const (
	Text    Form = iota // a text of at most Max bytes that Match matches
	Program             // the absolute path of a program; "" lets the launcher find it
	Address             // "unix:///path/of/a/socket"; no sandbox sees it, because its users are root on this machine
	Size                // a number of bytes, from Min to Max
)

// Key is a key of a launcher in the configuration.
type Key struct {
	Name string
	Form Form

	Min, Max int64
	Match    *regexp.Regexp // nil matches everything
	Wrong    string         // the error for a text or an address that does not match: "is not the name of a runtime; …"
	Env      string         // the environment variable that holds the value if the configuration does not
	Default  any            // a string, or an int64 for a Size; nil means "" or 0
}

// Settings holds the values of a launcher's keys: an int64 for a Size, and otherwise a string.
type Settings map[string]any

// Text returns the value of a key that is no Size.
func (s Settings) Text(key string) string { text, _ := s[key].(string); return text }

// Size returns the value of a key that is a Size.
func (s Settings) Size(key string) int64 { size, _ := s[key].(int64); return size }

// With returns a copy with another value for one key.
func (s Settings) With(key string, value any) Settings {
	other := maps.Clone(s)
	if other == nil {
		other = Settings{}
	}
	other[key] = value
	return other
}

// Scheme begins an Address.
const Scheme = "unix://"

// Socket returns the path in the value of an Address.
func (s Settings) Socket(key string) string { return strings.TrimPrefix(s.Text(key), Scheme) }

// Sockets returns the paths of all addresses.
func (k *Kind) Sockets(s Settings) (all []string) {
	for _, key := range k.Keys {
		if key.Form == Address {
			all = append(all, s.Socket(key.Name))
		}
	}
	return all
}

// Defaults returns the settings before the configuration is read: the default of each Size, and "" for all other keys.
// Complete fills in those later, from the environment or the default.
func (k *Kind) Defaults() Settings {
	s := Settings{}
	for _, key := range k.Keys {
		if key.Form != Size {
			s[key.Name] = ""
			continue
		}
		size, _ := key.Default.(int64)
		s[key.Name] = size
	}
	return s
}

// Complete fills in the keys that the configuration leaves empty, from the environment or else from the default.
func (k *Kind) Complete(s Settings, getenv func(string) string) {
	for _, key := range k.Keys {
		if key.Form == Size || s.Text(key.Name) != "" {
			continue
		}
		text, _ := key.Default.(string)
		if key.Env != "" && getenv(key.Env) != "" {
			text = getenv(key.Env)
		}
		s[key.Name] = text
	}
}
