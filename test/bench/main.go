// Command bench measures Torno and what it stands beside, and makes one report of it: text for a reader, JSON for a program, a
// picture for the README.
//
//	go run ./test/bench                        # as make bench; the report is in dist/bench
//	go run ./test/bench -only cold             # the series whose names have the word
//	go run ./test/bench -draw docs/speed.json  # the pictures of an earlier report, beside it
//
// The series are Go's benchmarks of other packages (series.go), each run by itself and one after the other. In a series the things that
// are compared take turns, so what counts is their ratio; a time alone is the machine's. A figure that is above what is wanted of it is
// marked, and does not fail the report: a noisy minute would fail it, too. What must hold on every machine is a test (test/work).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "", "measure the series whose names have this word")
	to := flags.String("to", filepath.Join("dist", "bench"), "the directory of the report")
	draw := flags.String("draw", "", "draw the pictures of the report in this file beside it, and measure nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *draw != "" {
		return redraw(*draw)
	}
	if err := os.MkdirAll(*to, 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "torno-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	report := Report{Machine: look(*to)}
	report.Machine.write(os.Stdout)
	var failed []error
	for _, s := range all {
		if !strings.Contains(strings.ToLower(s.Title), strings.ToLower(*only)) {
			continue
		}
		fmt.Fprintf(os.Stderr, "… %s\n", s.Title)
		measured, err := s.measure(ctx, programs(dir))
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.Title, err))
			continue
		}
		measured.write(os.Stdout)
		report.Series = append(report.Series, measured)
	}
	return errors.Join(append(failed, report.save(*to))...)
}

// measure runs the benchmark of a series. One that prints no figure at all has measured nothing, whatever its code.
func (s series) measure(ctx context.Context, tests programs) (Measured, error) {
	program, err := tests.of(ctx, s.Package)
	if err != nil {
		return Measured{}, err
	}
	command := exec.CommandContext(ctx, program, s.arguments()...)
	command.Dir, command.Stderr = s.Package, os.Stderr
	out, err := command.Output()
	if err != nil {
		return Measured{}, fmt.Errorf("benchmark %s of %s: %w\n%s", s.Bench, s.Package, err, out)
	}
	measured := s.read(string(out))
	if len(measured.Figures) == 0 {
		return Measured{}, fmt.Errorf("benchmark %s of %s printed none of its figures:\n%s", s.Bench, s.Package, out)
	}
	return measured, nil
}

// arguments select the benchmark among those of its package.
func (s series) arguments() []string {
	return []string{"-test.run=^$", "-test.bench=^Benchmark" + s.Bench + "$", "-test.benchtime=" + s.Turns, "-test.timeout=60m"}
}

// programs are the test programs of packages, in a directory. Each is built once.
type programs string

func (dir programs) of(ctx context.Context, name string) (string, error) {
	program := filepath.Join(string(dir), filepath.Base(name)+".test")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, name).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the tests of %s: %w\n%s", name, err, out)
	}
	return program, nil
}

func redraw(file string) error {
	report, err := readReport(file)
	if err != nil {
		return err
	}
	return report.draw(strings.TrimSuffix(file, ".json"))
}

func readReport(file string) (report Report, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return report, err
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return report, fmt.Errorf("%s: %w", file, err)
	}
	return report, nil
}

// draw writes the pictures.
func (r Report) draw(base string) error {
	return errors.Join(
		os.WriteFile(base+".svg", []byte(bars(r)), 0o644),
		os.WriteFile(base+"-roads.svg", []byte(roads(r)), 0o644),
	)
}

// save writes the report in its three forms.
func (r Report) save(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	var text strings.Builder
	r.Machine.write(&text)
	for _, s := range r.Series {
		s.write(&text)
	}
	base := filepath.Join(dir, "report")
	err = errors.Join(
		os.WriteFile(base+".json", append(data, '\n'), 0o644),
		os.WriteFile(base+".txt", []byte(text.String()), 0o644),
		r.draw(base),
	)
	if err == nil {
		fmt.Fprintf(os.Stderr, "the report is in %s.txt, .json, .svg and -roads.svg\n", base)
	}
	return err
}
