package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"torno/configs"
	"torno/delegation"
	"torno/internal/cli"
	"torno/internal/serve"
	"torno/sandbox/compile"
)

func (a *app) specCommand() cli.Command {
	var outbox string
	return cli.Command{
		Name: "spec", Operands: "REQUEST.json [-- COMMAND…]", Brief: "print the sandbox that a request would get",
		About: `
Reads and compiles the request as the watcher does, and prints the sandbox that the request would get, as JSON. It starts nothing,
and looks at no path of the request. If the request would be refused, it says why. - reads standard input.`,
		Examples: []string{
			"watcher spec --config watcher.yaml outbox/request_sub_1.json",
			"watcher spec --dir ./outbox request.json | jq .mounts",
		},
		Options: append([]cli.Option{
			{Name: "outbox", Value: "NAME", Help: "the outbox of the request; needed if there are several outboxes", Set: cli.Text(&outbox)},
		}, a.source.options()...),
		Run: func(_ context.Context, args cli.Args) (int, error) {
			if len(args.Words) != 1 {
				return 0, cli.Usage("spec takes one request file")
			}
			config, _, err := a.source.load(args)
			if err != nil {
				return 0, err
			}
			return exitOK, a.spec(config, outbox, args.Words[0])
		},
	}
}

func (a *app) spec(config configs.Config, outbox, file string) error {
	i, err := outboxNamed(config, outbox)
	if err != nil {
		return err
	}
	data, err := a.readRequest(file, config.Outboxes[i].MaxRequestBytes)
	if err != nil {
		return err
	}
	request, err := delegation.DecodeRequest(data)
	if err != nil {
		return err
	}
	spec, warnings, err := compile.Compile(request, serve.Policies(config)[i])
	if err != nil {
		return err
	}
	for _, w := range warnings {
		a.Warn(w)
	}
	if a.JSON {
		return a.Out.Object(spec)
	}
	text, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return fmt.Errorf("print the spec: %w", err)
	}
	_, err = fmt.Fprintln(a.Out, string(text))
	return err
}

// outboxNamed returns the index of an outbox; "" names the only one.
func outboxNamed(config configs.Config, name string) (int, error) {
	var names []string
	for i, o := range config.Outboxes {
		if o.Name == name || name == "" && len(config.Outboxes) == 1 {
			return i, nil
		}
		names = append(names, o.Name)
	}
	if name == "" {
		return 0, cli.Usage("which outbox is the request for? say --outbox NAME")
	}
	return 0, cli.Unknown("outbox", name, names)
}

// readRequest reads a request as the watcher does: only a regular file, and not more bytes than the limit.
func (a *app) readRequest(file string, limit int64) ([]byte, error) {
	if file == "-" {
		data, err := io.ReadAll(io.LimitReader(a.In, limit+1))
		if err == nil && int64(len(data)) > limit {
			return nil, &delegation.Refusal{
				Code: delegation.CodeTooBig, Text: fmt.Sprintf("Invalid request: on standard input there are over %d bytes", limit),
			}
		}
		return data, err
	}
	dir, err := delegation.OpenDir(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	data, _, err := dir.Read(filepath.Base(file), limit)
	if refusal := delegation.RefuseEntry(filepath.Base(file), err); refusal != nil {
		return nil, refusal
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Hint(fmt.Errorf("there is no file %s", file), "name a request file, or - for standard input")
	}
	return data, err
}
