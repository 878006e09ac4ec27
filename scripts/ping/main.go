// Command ping says whether a Docker engine answers: ping [-wait 20s] [-while PID] unix:///run/docker.sock. With -wait it
// asks again and again until the engine does, the time is over, or the process PID is gone. It needs nothing but Go, so
// that scripts/engine runs where neither curl nor a Docker client is installed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const (
	oneTry = 2 * time.Second
	pause  = 20 * time.Millisecond
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ping:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("ping", flag.ContinueOnError)
	wait := flags.Duration("wait", 0, "how long to ask again")
	pid := flags.Int("while", 0, "the process without which waiting is pointless")
	if err := flags.Parse(args); err != nil {
		return err
	}
	network, address, err := parse(flags.Arg(0))
	if err != nil {
		return err
	}
	deadline := time.Now().Add(*wait)
	for {
		err := ask(ctx, network, address)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if *pid > 0 && !alive(*pid) {
			return fmt.Errorf("process %d is gone: %w", *pid, err)
		}
		time.Sleep(pause)
	}
}

// parse understands what DOCKER_HOST usually says. An engine behind TLS or ssh cannot be asked so simply.
func parse(host string) (network, address string, err error) {
	u, err := url.Parse(host)
	switch {
	case err != nil:
		return "", "", err
	case u.Scheme == "unix" && u.Path != "":
		return "unix", u.Path, nil
	case (u.Scheme == "tcp" || u.Scheme == "http") && u.Host != "":
		return "tcp", u.Host, nil
	default:
		return "", "", fmt.Errorf("%q is neither unix:///path nor tcp://host:port", host)
	}
}

// ask sends one GET /_ping.
func ask(ctx context.Context, network, address string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, oneTry)
	defer cancel()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine/_ping", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 16))
	if err != nil || response.StatusCode != http.StatusOK || string(body) != "OK" {
		return fmt.Errorf("what listens there is no Docker engine: %s %q %w", response.Status, body, err)
	}
	return nil
}

// alive says whether a process runs. One that ended and was not waited for counts as gone.
func alive(pid int) bool {
	_, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	return err == nil
}
