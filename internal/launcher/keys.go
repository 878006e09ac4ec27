package launcher

import (
	"maps"
	"regexp"
	"strings"
)

// Form is what a key of the configuration holds.
type Form int

// The forms.
const (
	Text    Form = iota // of at most Max bytes, which Match matches
	Program             // the absolute path of a program; "" lets the launcher find it
	Address             // "unix:///path/of/a/socket", through which one is root on this machine: no sandbox sees it
	Size                // bytes, from Min to Max
)

// Key is a key of a launcher in the configuration.
type Key struct {
	Name string
	Form Form

	Min, Max int64
	Match    *regexp.Regexp // nil matches everything
	Wrong    string         // of a text or an address that does not match: "is no name of a runtime; …"
	Env      string         // the variable that says it where the configuration does not
	Default  any            // a string, or an int64 for a Size; nil is "" and 0
}

// Settings are the values of a launcher's keys: an int64 for a Size, and otherwise a string.
type Settings map[string]any

// Text is the value of a key that is no Size.
func (s Settings) Text(key string) string { text, _ := s[key].(string); return text }

// Size is the value of a key that is a Size.
func (s Settings) Size(key string) int64 { size, _ := s[key].(int64); return size }

// With is a copy in which a key has another value.
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

// Socket is the path in the value of an Address.
func (s Settings) Socket(key string) string { return strings.TrimPrefix(s.Text(key), Scheme) }

// Sockets are the paths of all addresses.
func (k *Kind) Sockets(s Settings) (all []string) {
	for _, key := range k.Keys {
		if key.Form == Address {
			all = append(all, s.Socket(key.Name))
		}
	}
	return all
}

// Defaults are the settings of a configuration that says nothing of the launcher. What the environment may say is left
// to Complete.
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

// Complete fills in what the configuration has left to the environment or to the default.
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
