// Command caller asks a model again and again over one connection, and prints how long each answer took, a line each: microseconds
// to the head of the answer, and to its end.
//
//	caller URL EACH
//
// Before each EACH messages it asks for the list of models, and ends when that is refused. So the upstream says when it is the
// caller's turn.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const message = `{"model":"m","max_tokens":50,"stream":true,"messages":[{"role":"user","content":"hello"}]}`

func main() {
	if err := run(os.Args[1], os.Args[2], os.Getenv("ANTHROPIC_API_KEY")); err != nil {
		fmt.Fprintln(os.Stderr, "caller:", err)
		os.Exit(1)
	}
}

func run(url, text, key string) error {
	each, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	for {
		turn, err := send(http.MethodGet, url+"/v1/models", "", key)
		if err != nil || turn.status != http.StatusOK {
			return err
		}
		for range each {
			answer, err := send(http.MethodPost, url+"/v1/messages", message, key)
			if err != nil {
				return err
			}
			if answer.status != http.StatusOK {
				return fmt.Errorf("the answer is a %d", answer.status)
			}
			fmt.Println(answer.head.Microseconds(), answer.whole.Microseconds())
		}
	}
}

// answered says how an answer came.
type answered struct {
	status      int
	head, whole time.Duration
}

func send(method, url, body, key string) (a answered, err error) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Api-Key", key)
	begin := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	a.status, a.head = response.StatusCode, time.Since(begin)
	_, err = io.Copy(io.Discard, response.Body)
	a.whole = time.Since(begin)
	return a, err
}
