//go:build linux

// Probe is what the suite runs in a real sandbox where a shell's script would not do. It is static and needs nothing
// of the sandbox but its own file.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"torno/sandbox/sandboxtest/inside"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func run(what string, args []string) error {
	switch what {
	case "look":
		return look(args)
	case "burn":
		return burn()
	case "talk":
		return talk(args[0])
	case "nothing":
		return nil
	}
	return fmt.Errorf("unknown command %q", what)
}

// look prints a report. Arguments with a space are addresses to reach, the others private directories.
func look(args []string) error {
	var reach, private []string
	for _, arg := range args {
		if strings.Contains(arg, " ") {
			reach = append(reach, arg)
		} else {
			private = append(private, arg)
		}
	}
	report, err := inside.Look(reach, private)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

// burn prints how many processors it got for itself in a while of trying to get them all.
func burn() error {
	begin := time.Now()
	end := begin.Add(2 * time.Second)
	done := make(chan struct{})
	for range runtime.NumCPU() {
		go func() {
			for time.Now().Before(end) {
			}
			done <- struct{}{}
		}()
	}
	for range runtime.NumCPU() {
		<-done
	}
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	used := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	_, err := fmt.Printf("%.2f\n", used.Seconds()/time.Since(begin).Seconds())
	return err
}

// talk says hello to a unix socket and prints the answer.
func talk(path string) error {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, "hello"); err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, conn)
	return err
}
