package delegation_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"torno/delegation"
)

// A parent writes a request; the watcher finds it by its name, reads it and answers.
func Example() {
	path, err := os.MkdirTemp("", "outbox")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(path)
	outbox, err := delegation.OpenDir(path)
	if err != nil {
		panic(err)
	}
	defer outbox.Close()

	// The parent's side.
	id, err := delegation.ParseSubagentID("greeter")
	if err != nil {
		panic(err)
	}
	requestID, err := delegation.ParseRequestID("9f2c4e1ab0d37755")
	if err != nil {
		panic(err)
	}
	request := delegation.Request{
		SubagentID: id, RequestID: requestID, Task: "echo hello", Workspace: "workspaces/greeter", TimeoutSeconds: 60,
	}
	data, err := request.Encode()
	if err != nil {
		panic(err)
	}
	if err := outbox.Publish(delegation.RequestName(id), data); err != nil {
		panic(err)
	}

	// The watcher's side.
	err = outbox.Names(context.Background(), 100, func(names []string) error {
		for _, name := range names {
			kind, rawID := delegation.ParseName(name)
			fmt.Println(kind, rawID)
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	data, _, err = outbox.Read("request_greeter.json", 1<<20)
	if err != nil {
		panic(err)
	}
	request, err = delegation.DecodeRequest(data)
	if err != nil {
		panic(err)
	}
	fmt.Println(request.Task, request.TimeoutSeconds)
	// Output:
	// request greeter
	// echo hello 60
}

// What is wrong with a request comes as a code for programs and a sentence for people.
func ExampleDecodeRequest_refusal() {
	_, err := delegation.DecodeRequest([]byte(`{
		"version": 1, "subagent_id": "../etc", "request_id": "r1", "task": "look around", "workspace": "/w", "timeout_seconds": 60
	}`))
	var refusal *delegation.Refusal
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Code, refusal.Field)
		fmt.Println(refusal.Text)
	}
	// Output:
	// bad_id subagent_id
	// Invalid request: subagent_id must begin with a letter or a digit, not '.'
}
