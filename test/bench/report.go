package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Report is what one run of all series has come to.
type Report struct {
	Machine Machine    `json:"machine"`
	Series  []Measured `json:"series"`
}

// Machine is where it was measured.
type Machine struct {
	At      time.Time `json:"at"`
	Version string    `json:"version"`
	System  string    `json:"system"`
	CPUs    int       `json:"cpus"`
	Engine  string    `json:"engine,omitempty"`
	Load    string    `json:"load"`     // before the first series
	FlushMS float64   `json:"flush_ms"` // one write and flush, the median of some
}

// Measured is a series with its figures.
type Measured struct {
	Title   string   `json:"title"`
	Turns   string   `json:"turns"`
	Figures []Figure `json:"figures"`
	Missing []string `json:"missing,omitempty"` // what this machine could not measure
}

// Figure is a number, and what was wanted of it.
type Figure struct {
	Says  string  `json:"says"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	P95   float64 `json:"p95,omitempty"`
	P99   float64 `json:"p99,omitempty"`
	Most  float64 `json:"most,omitempty"`
	Bar   bool    `json:"bar,omitempty"`
	Part  bool    `json:"part,omitempty"`
}

// Held says whether the figure is what was wanted of it.
func (f Figure) Held() bool { return f.Most == 0 || f.Value <= f.Most }

// result is a line of a benchmark: its name without the number of processors, its rounds, and its figures.
var result = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.+)$`)

// read finds the figures of a series in what its benchmark has printed. One that is not there was not measured on this machine, and is named as missing.
func (s series) read(out string) Measured {
	values := map[string]float64{}
	for _, line := range result.FindAllStringSubmatch(out, -1) {
		fields := strings.Fields(line[2])
		for i := 0; i+1 < len(fields); i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				values[line[1]+" "+fields[i+1]] = value
			}
		}
	}
	measured := Measured{Title: s.Title, Turns: s.Turns}
	for _, f := range s.Figures {
		name := s.Bench
		if f.Case != "" {
			name += "/" + f.Case
		}
		value, found := values[name+" "+f.Unit]
		if !found {
			measured.Missing = append(measured.Missing, f.Says)
			continue
		}
		measured.Figures = append(measured.Figures, Figure{
			Says: f.Says, Unit: f.Unit, Value: value, Most: f.Most, Bar: f.Bar, Part: f.Part,
			P95: values[name+" "+f.Unit+"-p95"], P99: values[name+" "+f.Unit+"-p99"],
		})
	}
	return measured
}

func (m Measured) write(w io.Writer) {
	fmt.Fprintf(w, "\n%s (%s)\n", m.Title, m.Turns)
	for _, f := range m.Figures {
		line := fmt.Sprintf("  %-58s %9s", f.Says, number(f.Value, f.Unit))
		if f.P95 != 0 {
			line += fmt.Sprintf("   p95 %s  p99 %s", number(f.P95, f.Unit), number(f.P99, f.Unit))
		}
		switch {
		case f.Most == 0:
		case f.Held():
			line += fmt.Sprintf("   ✓ at most %v", f.Most)
		default:
			line += fmt.Sprintf("   ✗ wanted: at most %v", f.Most)
		}
		fmt.Fprintln(w, line)
	}
	for _, what := range m.Missing {
		fmt.Fprintf(w, "  %-58s not measured here\n", what)
	}
}

// number writes a value with as many digits as it is worth, and milliseconds with their name.
func number(value float64, unit string) string {
	digits := 2
	if value >= 10 {
		digits = 1
	}
	text := strconv.FormatFloat(value, 'f', digits, 64)
	if strings.HasPrefix(unit, "ms-") {
		text += " ms"
	}
	return text
}

// look says what machine this is, and what a flush costs in a directory.
func look(dir string) Machine {
	load, _ := os.ReadFile("/proc/loadavg")
	return Machine{
		At: time.Now().UTC().Truncate(time.Second), CPUs: runtime.NumCPU(), FlushMS: flush(dir),
		Version: cmp.Or(said("git", "describe", "--tags", "--always", "--dirty"), "unknown"),
		System:  cmp.Or(said("uname", "-srm"), runtime.GOOS), Engine: said("docker", "version", "--format", "{{.Server.Version}}"),
		Load: strings.Join(firstOf(strings.Fields(string(load)), 3), " "),
	}
}

func (m Machine) write(w io.Writer) {
	fmt.Fprintf(w, "Torno %s on %s, %d processors, Docker %s, %s\nload before: %s; one flush: %.2f ms\n",
		m.Version, m.System, m.CPUs, cmp.Or(m.Engine, "not there"), m.At.Format("2006-01-02 15:04 MST"), m.Load, m.FlushMS)
}

// said is what a command prints, or nothing where it fails.
func said(name string, args ...string) string {
	out, _ := exec.Command(name, args...).Output()
	return strings.TrimSpace(string(out))
}

func firstOf(words []string, n int) []string { return words[:min(n, len(words))] }

// flush is the median of some flushed writes in a directory, in milliseconds. It is 0 where none can be made.
func flush(dir string) float64 {
	name := filepath.Join(dir, ".flush")
	f, err := os.Create(name)
	if err != nil {
		return 0
	}
	defer os.Remove(name)
	defer f.Close()
	var took []time.Duration
	for range 21 {
		begin := time.Now()
		if _, err := f.WriteString("flushed\n"); err != nil || f.Sync() != nil {
			return 0
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return float64(took[len(took)/2].Microseconds()) / 1000
}
