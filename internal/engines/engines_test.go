package engines

import (
	"slices"
	"strings"
	"testing"

	"torno/internal/paths"
)

// TestEverySocketIsAPlace: what is kept from sandboxes by its name holds every socket, under both of its names.
func TestEverySocketIsAPlace(t *testing.T) {
	for _, socket := range Sockets() {
		for _, name := range []string{socket, "/var" + socket} {
			if !slices.ContainsFunc(Places(), func(place string) bool { return paths.Within(place, name) }) {
				t.Errorf("%s is in no place", name)
			}
			if !IsSocket(name) || !IsUsual(name) {
				t.Errorf("%s is not known", name)
			}
		}
		if tidy, err := paths.Tidy(socket); err != nil || tidy != socket || !strings.HasPrefix(socket, "/run/") {
			t.Errorf("%s is not the tidy name below /run: %v", socket, err)
		}
	}
	if IsSocket("/srv/model.sock") || IsUsual("/srv/docker.sock") || !IsSocket("/srv/docker.sock") {
		t.Error("a socket is known by its name alone, and a usual one by its path")
	}
}
