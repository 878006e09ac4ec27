//go:build linux

// Prober is what tests run in a sandbox where a shell's script would not do. It is static and needs nothing of the
// sandbox but its own file.
//
//	prober look DIR…        what is to be seen here, as an inside.Report; DIRs are private, so what is in them does not count
//	prober try GROUND       everything that must not work, each an inside.Outcome; GROUND is an inside.Ground
//	prober network GROUND   the same, in a network that is made open before
//	prober leave DIR        try to leave there what the host should not find
//	prober stay             be a neighbour: say how to be reached, as an inside.Neighbour, and stay
//	prober exhaust TAKINGS  take as much of each inside.Taking as there is, one after another
//	prober search ERRAND    ask what an inside.Errand in a file says, and look everywhere for its secrets, as inside.Found
//	prober echo SOCKET      send much through a unix socket, on many connections, and want it back
//	prober beat             start programs, and say how long that takes, as inside.Beats
//
// Everything is JSON. The results are judged outside, by the contract suite and by package verdict.
package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"torno/test/prober/inside"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "prober:", err)
		os.Exit(1)
	}
}

func run(what string, args []string) error {
	switch what {
	case "look":
		return look(args)
	case "try":
		return try(args[0])
	case "network":
		return tryInNetwork(args[0])
	case "leave":
		return inside.Leave(args[0])
	case "search":
		return search(args[0])
	case "keep":
		return inside.Keep(args[0])
	case "stay":
		return stay()
	case "exhaust":
		return exhaust(args[0])
	case "take":
		return take(args[0], args[1])
	case "hold":
		if err := take(args[0], args[1]); err != nil {
			return err
		}
		return wait()
	case "bomb":
		inside.Bomb()
	case "beat":
		inside.Beat(func(b inside.Beats) { json.NewEncoder(os.Stdout).Encode(b) })
	case "flood":
		return flood(args[0])
	case "burn":
		return burn()
	case "talk":
		return talk(args)
	case "echo":
		return echo(args[0])
	case "whoami":
		_, err := fmt.Println(os.Geteuid())
		return err
	case "nothing":
		return nil
	}
	return fmt.Errorf("unknown command %q", what)
}

func look(private []string) error {
	report, err := inside.Look(private)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

func try(text string) error {
	var ground inside.Ground
	if err := json.Unmarshal([]byte(text), &ground); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(inside.Try(&ground))
}

func tryInNetwork(ground string) error {
	held, err := inside.OpenNetwork()
	if err == nil {
		err = try(ground)
	}
	runtime.KeepAlive(held)
	return err
}

// search asks a model all that it is told to, and has a child that knows some secrets. Then it looks everywhere.
func search(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var errand inside.Errand
	if err := json.Unmarshal(text, &errand); err != nil {
		return err
	}
	for _, ask := range errand.Asks {
		rest, err := ask.Send(os.Getenv("ANTHROPIC_BASE_URL"), errand.Answers)
		if err != nil {
			return fmt.Errorf("%s: %w", ask.Name, err)
		}
		if rest != nil {
			defer rest.Close()
		}
	}
	end, err := inside.Plant(errand.Secrets)
	if err != nil {
		return err
	}
	found, err := inside.Search(errand.Secrets)
	if err = errors.Join(err, end()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

// stay listens on the machine's own loopback and at a name that only its network namespace has.
func stay() error {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	abstract, err := net.Listen("unix", fmt.Sprintf("@torno-prober-%d", tcp.Addr().(*net.TCPAddr).Port))
	if err != nil {
		return err
	}
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	n := inside.Neighbour{Hostname: name, TCP: tcp.Addr().String(), Abstract: abstract.Addr().String()}
	if err := json.NewEncoder(os.Stdout).Encode(n); err != nil {
		return err
	}
	for {
		conn, err := tcp.Accept()
		if err != nil {
			return err
		}
		conn.Close()
	}
}

// exhaust prints what came of takings.
func exhaust(text string) error {
	var wanted []inside.Taking
	if err := json.Unmarshal([]byte(text), &wanted); err != nil {
		return err
	}
	inside.Exhaust(wanted, func(t inside.Taking) { json.NewEncoder(os.Stdout).Encode(t) })
	return nil
}

// take takes one thing, up to a number.
func take(what, text string) error {
	most, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	return inside.Take(os.Stdout, what, most)
}

// wait says that it holds what it has, and waits for the end.
func wait() error {
	if _, err := fmt.Println("holding"); err != nil {
		return err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGTERM)
	<-ended
	return nil
}

// flood prints lines, a mebibyte at a time.
func flood(text string) error {
	mebibytes, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	line := []byte(strings.Repeat("all work and no play\n", 1<<20/21))
	for range mebibytes {
		if _, err := os.Stdout.Write(line); err != nil {
			return err
		}
	}
	return nil
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

// What echo sends: several connections at once, each with more than any buffer on the way holds.
const (
	echoes    = 40
	echoBytes = 3 << 20
)

// echo sends a lot through many connections of a unix socket, or of a port, at once, ends its writing, and wants all of it back.
func echo(path string) error {
	errs := make(chan error, echoes)
	for range echoes {
		go func() { errs <- echoOnce(path) }()
	}
	var all error
	for range echoes {
		all = errors.Join(all, <-errs)
	}
	if all == nil {
		fmt.Println("all of it is back")
	}
	return all
}

func echoOnce(path string) error {
	network := "unix"
	if !strings.HasPrefix(path, "/") {
		network = "tcp"
	}
	conn, err := net.Dial(network, path)
	if err != nil {
		return err
	}
	defer conn.Close()
	sent, back := sha256.New(), sha256.New()
	wrote := make(chan error, 1)
	go func() {
		_, err := io.CopyN(io.MultiWriter(conn, sent), rand.Reader, echoBytes)
		wrote <- errors.Join(err, conn.(interface{ CloseWrite() error }).CloseWrite())
	}()
	n, err := io.Copy(back, conn)
	if err = errors.Join(err, <-wrote); err == nil && (n != echoBytes || !bytes.Equal(sent.Sum(nil), back.Sum(nil))) {
		err = fmt.Errorf("%d bytes came back, which are not those that were sent", n)
	}
	return err
}

// talk says hello to one unix socket after the other, and prints the answers.
func talk(paths []string) error {
	for _, path := range paths {
		if err := greet(path); err != nil {
			return err
		}
	}
	return nil
}

func greet(path string) error {
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
