package units

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const contrib = "../../contrib/systemd/"

// service is the unit as it is installed, with drop-ins beside it.
func service(t testing.TB, dropIns ...string) Unit {
	t.Helper()
	return read(t, append([]string{"torno-watcher.service"}, dropIns...)...)
}

// gatewayUnit is the gateway's.
func gatewayUnit(t testing.TB) Unit {
	t.Helper()
	return read(t, "torno-gateway.service")
}

func read(t testing.TB, names ...string) Unit {
	t.Helper()
	var texts []string
	for _, name := range names {
		text, err := os.ReadFile(contrib + name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	unit, err := Parse(texts...)
	if err != nil {
		t.Fatal(err)
	}
	return unit
}

// TestUnitsAreReadAsSystemdReadsThem: lists grow, everything else is what was said last, and nothing takes both away.
func TestUnitsAreReadAsSystemdReadsThem(t *testing.T) {
	unit, err := Parse(`
# NoNewPrivileges=no
[Unit]
Description=[Service] is not here
[Service]
RestrictAddressFamilies=AF_UNIX
CapabilityBoundingSet=CAP_CHOWN
KillMode=mixed
`, `
[Service]
RestrictAddressFamilies=AF_INET AF_INET6
CapabilityBoundingSet=
CapabilityBoundingSet=CAP_FOWNER
KillMode=process
`)
	if err != nil {
		t.Fatal(err)
	}
	walls, err := unit.Walls()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(walls.Families, []string{"AF_UNIX", "AF_INET", "AF_INET6"}) || !slices.Equal(walls.Capabilities, []string{"CAP_FOWNER"}) {
		t.Errorf("the lists are %v and %v", walls.Families, walls.Capabilities)
	}
	if walls.NoNewPrivs || unit.Get("KillMode") != "process" {
		t.Errorf("the rest is %+v, %q", walls, unit.Get("KillMode"))
	}
}

func TestWhatIsNotUnderstoodIsAnError(t *testing.T) {
	for text, says := range map[string]string{
		"[Service]\nPrivateNetwork=yes":               "PrivateNetwork is not known",
		"[Service]\nnonsense":                         "no setting",
		"[Service]\nNoNewPrivileges=perhaps":          "NoNewPrivileges",
		"[Service]\nCapabilityBoundingSet=~CAP_CHOWN": "allows nothing by name",
		"[Service]\nSystemCallArchitectures=x86":      "not native",
	} {
		unit, err := Parse(text)
		if err == nil {
			_, err = unit.Walls()
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestTheUnitHasWalls looks whether all that stands before a service is there. What the others do is tried.
func TestTheUnitHasWalls(t *testing.T) {
	walls, err := service(t).Walls()
	if err != nil {
		t.Fatal(err)
	}
	if !walls.NoNewPrivs || !walls.NoRealtime || !walls.OneABI || !walls.Personality || walls.OpenFiles == 0 {
		t.Errorf("a wall is missing: %+v", walls)
	}
	if !slices.Equal(walls.Families, []string{"AF_UNIX"}) {
		t.Errorf("the service may open sockets of %v", walls.Families)
	}
}

// TestTheGatewaysUnitHasWalls: it alone may speak to the network, and has no right beside that.
func TestTheGatewaysUnitHasWalls(t *testing.T) {
	unit := gatewayUnit(t)
	walls, err := unit.Walls()
	if err != nil {
		t.Fatal(err)
	}
	if !walls.NoNewPrivs || !walls.NoRealtime || !walls.OneABI || !walls.Personality || !walls.NoNewCode || !walls.NoCore || walls.OpenFiles == 0 {
		t.Errorf("a wall is missing: %+v", walls)
	}
	if walls.Capabilities == nil || len(walls.Capabilities) != 0 {
		t.Errorf("it has capabilities: %v", walls.Capabilities)
	}
	if !slices.Equal(walls.Families, []string{"AF_UNIX", "AF_INET", "AF_INET6"}) {
		t.Errorf("it may open sockets of %v", walls.Families)
	}
	if user := unit.Get("User"); user == "" || user == "root" {
		t.Errorf("it is %q", user)
	}
	if stop, err := time.ParseDuration(unit.Get("TimeoutStopSec") + "s"); err != nil || stop < 35*time.Second {
		t.Errorf("systemd waits %v, %v, and answers under way have 30 seconds", stop, err)
	}
	if start := unit.Get("ExecStart"); !strings.HasSuffix(start, " --state /var/lib/"+unit.Get("StateDirectory")) || strings.Contains(start, "--config") {
		t.Errorf("it is started as %q, and its directory is %q", start, unit.Get("StateDirectory"))
	}
}

// TestNothingIsLeftUntriedForNothing holds the list of exceptions against the unit.
func TestNothingIsLeftUntriedForNothing(t *testing.T) {
	watcher, gateway := service(t), gatewayUnit(t)
	for name := range untried {
		if watcher.Get(name) == "" && gateway.Get(name) == "" {
			t.Errorf("%s is in no unit", name)
		}
	}
}
