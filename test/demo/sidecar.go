package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"torno/manager"
)

// sidecar is the home of both: the watcher's container and the agent's are made of what contrib/sidecar/compose.yaml says of them.
//
// The demo's directories take the place of those that the file names, so that three programs have three names for the outbox: the engine calls
// it as this machine does, the watcher and the agent as the file says.
type sidecar struct {
	*stage
	file   composeFile
	id     string   // the watcher's container
	made   []string // containers
	images []string
	shared bool // the state directory was mounted over itself
}

// What the file calls its directories.
const (
	composeDir     = "contrib/sidecar"
	composedOutbox = "/srv/torno/outbox"
	composedState  = "/var/lib/torno"
	composedSocket = "/var/run/docker.sock"
	composedConfig = "/etc/torno/sidecar.yaml"
)

// performSidecar sets up, plays, and takes everything away again.
func performSidecar(ctx context.Context, e *engine, p *page) (marks []string, err error) {
	switch {
	case e == nil:
		return nil, errors.New("a sidecar needs a Docker engine: start one, or run scripts/engine run make demo-sidecar as root")
	case os.Geteuid() != 0:
		return nil, errors.New("the sidecar's watcher is root, and so are its files: run this as root")
	}
	s, err := newStage(e, p)
	if err != nil {
		return nil, err
	}
	beside := &sidecar{stage: s}
	s.home, s.parts = beside, withoutModel()
	defer func() { err = s.strike(ctx, err); marks = s.marks }()
	for _, step := range []func(context.Context) error{
		s.build, s.layOut, beside.configure, beside.buildImage, beside.importParent, beside.serve, s.runParent, s.overlap, beside.views,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// configure writes the file of contrib with the demo's directories, and lets what is mounted below the state directory be seen on both sides.
func (s *sidecar) configure(context.Context) (err error) {
	if s.file, err = readCompose(filepath.Join(composeDir, "compose.yaml")); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(composeDir, "watcher.yaml"))
	if err != nil {
		return err
	}
	view := "here: " + composedOutbox
	if strings.Count(string(text), view) != 1 {
		return fmt.Errorf("the sidecar's configuration has no view %q of the outbox", view)
	}
	own := strings.NewReplacer(composedState, s.path("state"), view, view+", engine: "+s.outbox).Replace(string(text))
	if err := os.WriteFile(s.path("watcher.yaml"), []byte(own), 0o600); err != nil {
		return err
	}
	if err := bindToItself(s.path("state")); err != nil {
		return fmt.Errorf("mount the state directory over itself: %w", err)
	}
	s.shared = true
	return nil
}

func (s *sidecar) image(name string) string { return "torno-demo-" + name + ":" + filepath.Base(s.dir) }

// buildImage has the engine build the Dockerfile of contrib, of nothing but the programs.
func (s *sidecar) buildImage(ctx context.Context) error {
	begin := time.Now()
	recipe, err := os.ReadFile(filepath.Join(composeDir, "Dockerfile"))
	if err != nil {
		return err
	}
	runsc, err := exec.LookPath("runsc")
	if err != nil {
		return fmt.Errorf("make demo-sidecar has runsc in its PATH: %w", err)
	}
	files := map[string]string{"runsc": runsc}
	for _, name := range []string{"watcher", "model-gateway", "sandbox-init", "sandbox-keeper"} {
		files[name] = filepath.Join(s.programs, name)
	}
	from, to := io.Pipe()
	packed := make(chan struct{})
	go func() {
		defer close(packed)
		to.CloseWithError(pack(to, recipe, files))
	}()
	s.images = append(s.images, s.image("watcher"))
	query := url.Values{"t": {s.image("watcher")}, "rm": {"1"}, "forcerm": {"1"}, "networkmode": {"none"}}
	body, err := s.engine.call(ctx, http.MethodPost, "/build?"+query.Encode(), "application/x-tar", from)
	if err == nil {
		err = errors.Join(progress(body), body.Close())
	}
	from.Close()
	<-packed
	if err != nil {
		return fmt.Errorf("build the watcher's image: %w", err)
	}
	s.item("image", "built of the Dockerfile in %s, with no registry", ms(time.Since(begin)))
	return nil
}

// pack writes what docker build sends to an engine.
func pack(to io.Writer, recipe []byte, files map[string]string) error {
	w := tar.NewWriter(to)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "Dockerfile", Mode: 0o644, Size: int64(len(recipe))}); err != nil {
		return err
	}
	if _, err := w.Write(recipe); err != nil {
		return err
	}
	for name, path := range files {
		if err := packFile(w, name, path); err != nil {
			return err
		}
	}
	return w.Close()
}

func packFile(w *tar.Writer, name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(w, file)
	return err
}

func (s *sidecar) importParent(ctx context.Context) error {
	s.images = append(s.images, "torno-demo:"+filepath.Base(s.dir))
	return container{s.stage}.importParent(ctx)
}

// config is what the engine is told of a service of the file.
func (s *sidecar) config(name, image string) (map[string]any, error) {
	socket, ok := strings.CutPrefix(s.engine.address, "unix://")
	if !ok {
		return nil, fmt.Errorf("the engine's socket is no file of this machine: %s", s.engine.address)
	}
	config, err := s.file.Services[name].container(image, map[string]place{
		composedSocket: {path: socket}, composedOutbox: {path: s.outbox}, composedConfig: {path: s.path("watcher.yaml")},
		composedState: {path: s.path("state"), same: true},
	})
	if err != nil {
		return nil, fmt.Errorf("%s of compose.yaml: %w", name, err)
	}
	return config, nil
}

// start makes a container and starts it.
func (s *sidecar) start(ctx context.Context, name string, config map[string]any) (id string, err error) {
	name = filepath.Base(s.dir) + "-" + name
	s.made = append(s.made, name)
	if id, err = s.engine.create(ctx, name, config); err != nil {
		return "", err
	}
	s.marks = append(s.marks, id)
	return id, s.engine.do(ctx, http.MethodPost, "/containers/"+id+"/start")
}

// serve starts the watcher's container and waits until the watcher serves.
func (s *sidecar) serve(ctx context.Context) error {
	config, err := s.config("watcher", s.image("watcher"))
	if err != nil {
		return err
	}
	begin := time.Now()
	if s.id, err = s.start(ctx, "watcher", config); err != nil {
		return err
	}
	go func() {
		code, err := s.engine.exitCode(context.WithoutCancel(ctx), s.id)
		s.ended <- errors.Join(err, fmt.Errorf("its container ended with %d", code))
	}()
	return s.awaitWatcher(ctx, begin)
}

// live runs the agent in the container that the file has for it. The demo's agent needs no network.
func (s *sidecar) live(ctx context.Context, told, complaints io.Writer) (code int, err error) {
	config, err := s.config("agent", "torno-demo:"+filepath.Base(s.dir))
	if err != nil {
		return 0, err
	}
	config["Entrypoint"], config["NetworkDisabled"] = []string{"/agent", "parent"}, true
	config["HostConfig"].(map[string]any)["NetworkMode"] = "none"
	id, err := s.start(ctx, "agent", config)
	if err != nil {
		return 0, err
	}
	if err := s.engine.follow(ctx, id, told, complaints); err != nil {
		return 0, err
	}
	return s.engine.exitCode(ctx, id)
}

// views shows how each of the three calls one workspace, as the engine tells what the containers have of the machine.
func (s *sidecar) views(ctx context.Context) error {
	workspace := filepath.Join(manager.Workspaces, helper(0))
	if _, err := os.Stat(filepath.Join(s.outbox, workspace)); err != nil {
		return fmt.Errorf("the workspace that the agent made is not this machine's: %w", err)
	}
	s.head("One workspace, by its names")
	s.item("the engine", "%s", filepath.Join(s.outbox, workspace))
	names := map[string]bool{s.outbox: true}
	for _, name := range []string{"watcher", "agent"} {
		inside, err := s.inside(ctx, name)
		if err != nil {
			return err
		}
		names[inside] = true
		s.item("the "+name, "%s", filepath.Join(inside, workspace))
	}
	if len(names) != 3 {
		return fmt.Errorf("three programs had to have three names for the outbox, and they are %v", names)
	}
	run, err := s.door.Run(ctx, helper(0))
	s.item("the child", "%s", run.Workspace)
	return err
}

// inside is how a container calls the outbox.
func (s *sidecar) inside(ctx context.Context, name string) (string, error) {
	var c struct {
		Mounts []struct{ Source, Destination string }
	}
	if err := s.engine.get(ctx, "/containers/"+filepath.Base(s.dir)+"-"+name+"/json", &c); err != nil {
		return "", err
	}
	for _, m := range c.Mounts {
		if m.Source == s.outbox {
			return m.Destination, nil
		}
	}
	return "", fmt.Errorf("the container of the %s does not have the outbox", name)
}

// leave stops the watcher, has it remove what it keeps, and removes containers, images and the mount.
func (s *sidecar) leave(ctx context.Context) error {
	var failed error
	if s.id != "" {
		failed = errors.Join(s.engine.do(ctx, http.MethodPost, "/containers/"+s.id+"/stop"), s.engine.follow(ctx, s.id, s.log, s.log), s.purge(ctx))
	}
	for _, name := range s.made {
		failed = errors.Join(failed, s.engine.remove(ctx, "/containers/"+name+"?force=1&v=1"))
	}
	for _, name := range s.images {
		failed = errors.Join(failed, s.engine.remove(ctx, "/images/"+name))
	}
	if s.shared {
		failed = errors.Join(failed, unix.Unmount(s.path("state"), 0))
	}
	return failed
}

// purge is the watcher's own, in a container like its own.
func (s *sidecar) purge(ctx context.Context) error {
	config, err := s.config("watcher", s.image("watcher"))
	if err != nil {
		return err
	}
	config["Cmd"] = []string{"purge", "--yes", "--config", "/etc/torno/watcher.yaml"}
	config["HostConfig"].(map[string]any)["RestartPolicy"] = nil
	id, err := s.start(ctx, "purge", config)
	if err != nil {
		return err
	}
	code, err := s.engine.exitCode(ctx, id)
	if err == nil && code != 0 {
		err = fmt.Errorf("watcher purge ended with %d", code)
	}
	return errors.Join(err, s.engine.follow(ctx, id, s.log, s.log))
}
