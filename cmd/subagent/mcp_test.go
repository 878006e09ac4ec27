package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/internal/cli"
)

// TestAPortThatIsTakenLeavesTheToken starts a second server on a taken port: it fails and does not replace the first one's token.
func TestAPortThatIsTakenLeavesTheToken(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file := filepath.Join(t.TempDir(), "token")
	was := strings.Repeat("k", 40)
	if err := os.WriteFile(file, []byte(was), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	env := func(string) string { return "" }
	system := cli.System{Env: env, In: strings.NewReader(""), Out: cli.NewOutput(&said, env), Errors: cli.NewOutput(&said, env)}
	args := []string{"mcp", "--outbox", t.TempDir(), "--http", listener.Addr().String(), "--token-file", file}
	if code := run(t.Context(), args, system); code != exitUsage || !strings.Contains(said.String(), "address already in use") {
		t.Errorf("exit code %d, %s", code, said.String())
	}
	if is, err := os.ReadFile(file); string(is) != was {
		t.Errorf("the file has %q, %v", is, err)
	}
}
