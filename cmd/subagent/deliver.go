package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"torno/manager"
)

// errNotDelivered means that a result could not be written out. It stays in the outbox.
var errNotDelivered = errors.New("the result was not taken")

// deliver prints a result, and acknowledges it after it was written out. Until then the result stays in the outbox,
// whatever happens to the output: a full disk, a reader that has gone, the death of this process.
func (c *app) deliver(run *manager.Run, result manager.Result, show func(manager.Result) (int, error)) (int, error) {
	code, err := c.write(result, show)
	if err != nil {
		return 0, fmt.Errorf("%w: subagent %s: write to standard output: %w", errNotDelivered, run.ID(), err)
	}
	if c.noAnswer {
		result = result.WithoutAnswer()
	}
	if err := run.Acknowledge(result); err != nil {
		c.Warn(fmt.Sprintf("the result was printed and may come again, because it is still in the outbox: %v", err))
	}
	return code, nil
}

// write prints a result. It handles SIGPIPE, because otherwise the first write into a pipe without a reader would end
// this process.
func (c *app) write(result manager.Result, show func(manager.Result) (int, error)) (int, error) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	code, err := show(result)
	return code, errors.Join(err, c.Out.Flush())
}
