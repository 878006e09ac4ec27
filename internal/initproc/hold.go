//go:build linux

package initproc

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/pipes"
	"torno/internal/runfile"
)

// errAbandoned says that init was never released: the launcher closed its input, or the time was up.
var errAbandoned = errors.New("was not released")

// sayHolding says that init has begun, and now holds.
func sayHolding() error {
	if pipes.WriteAll(unix.Stderr, []byte(runfile.Holding)) != nil {
		return errAbandoned
	}
	return nil
}

// awaitRelease waits for the release. Init has read nothing of the run yet, and the host may look at all of it from
// outside. awaitRelease reads the word, with its token if it has one, and no byte after that: those are the agent's.
func awaitRelease() (token string, err error) {
	if err := awaitInput(runfile.HoldTime); err != nil {
		return "", errAbandoned
	}
	switch word, err := readWord(len(runfile.Release)); {
	case err != nil:
		return "", err
	case word == runfile.Release:
		return "", nil
	case word == runfile.MarkedRelease:
		return readWord(runfile.TokenSize)
	}
	return "", errAbandoned
}

// readWord reads exactly size bytes.
func readWord(size int) (string, error) {
	word := make([]byte, size)
	for have := 0; have < len(word); {
		n, err := unix.Read(unix.Stdin, word[have:])
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			if err := awaitInput(runfile.HoldTime); err != nil {
				return "", errAbandoned
			}
		case err != nil || n == 0:
			return "", errAbandoned
		default:
			have += n
		}
	}
	return string(word), nil
}

// awaitInput waits until there is input, or its end, but not longer than most. The watcher may be dead, and the input
// may outlive the watcher's connection: then its end never comes.
func awaitInput(most time.Duration) error {
	return awaitInputOf(unix.Stdin, most)
}

func awaitInputOf(fd int, most time.Duration) error {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for until := time.Now().Add(most); ; {
		switch n, err := unix.Poll(poll, int(max(0, time.Until(until)).Milliseconds())); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n == 0:
			return errAbandoned
		default:
			return nil
		}
	}
}

// nullDevice is the device number of /dev/null on every Linux.
var nullDevice = unix.Mkdev(1, 3)

// closeInput gives an agent that has no input /dev/null, in place of the input on which the release came.
func closeInput() error {
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return refuse(runfile.FailureSetup, "an empty input: open /dev/null: %w", err)
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return refuse(runfile.FailureSetup, "an empty input: %w", err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFCHR || uint64(stat.Rdev) != nullDevice {
		return refuse(runfile.FailureSetup, "an empty input: /dev/null is another device, %s", deviceName(uint64(stat.Rdev)))
	}
	if err := unix.Dup3(fd, unix.Stdin, 0); err != nil {
		return refuse(runfile.FailureSetup, "an empty input: %w", err)
	}
	return nil
}

func deviceName(rdev uint64) string { return fmt.Sprintf("%d:%d", unix.Major(rdev), unix.Minor(rdev)) }
