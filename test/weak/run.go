package weak

import (
	"context"
	"io"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
)

// begin starts a container, which is removed when the test ends.
func (p Places) begin(host *container.HostConfig, argv ...string) (id string) {
	p.Helper()
	made, err := p.API.ContainerCreate(p.Context(), &container.Config{
		Image: p.Image, Entrypoint: argv, Env: []string{"ENGINE_ID=" + strings.Repeat("ab", 32)},
	}, host, nil, nil, "")
	p.must(err)
	p.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), engineTime)
		defer cancel()
		if err := p.API.ContainerRemove(ctx, made.ID, container.RemoveOptions{Force: true}); err != nil {
			p.Errorf("remove a weak container: %v", err)
		}
	})
	p.must(p.API.ContainerStart(p.Context(), made.ID, container.StartOptions{}))
	return made.ID
}

// Ended is a container that has run to its end.
func (p Places) Ended(host *container.HostConfig, argv ...string) (id string, code int) {
	p.Helper()
	id = p.begin(host, argv...)
	done, failed := p.API.ContainerWait(p.Context(), id, container.WaitConditionNotRunning)
	select {
	case result := <-done:
		code = int(result.StatusCode)
	case err := <-failed:
		p.Fatal(err)
	}
	return id, code
}

// Run is a whole run of one.
func (p Places) Run(host *container.HostConfig, argv ...string) (stdout string, code int) {
	p.Helper()
	id, code := p.Ended(host, argv...)
	var out, errors strings.Builder
	p.log(id, &out, &errors)
	if code != 0 {
		p.Logf("a weak container said: %s", &errors)
	}
	return out.String(), code
}

// Log is how much of a container's standard output the engine has kept.
func (p Places) Log(id string) int64 {
	p.Helper()
	var kept counter
	p.log(id, &kept, io.Discard)
	return int64(kept)
}

func (p Places) log(id string, stdout, stderr io.Writer) {
	p.Helper()
	log, err := p.API.ContainerLogs(p.Context(), id, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	p.must(err)
	defer log.Close()
	_, err = stdcopy.StdCopy(stdout, stderr, log)
	p.must(err)
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
