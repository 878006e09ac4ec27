package process

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"torno/internal/gateway/control"
)

// TestAGatewayOfAnotherProtocol: the number of the protocol begins each path, so a gateway that speaks another one knows no path of ours. It
// is told nothing, no second one is started beside it, and the operator hears of it.
func TestAGatewayOfAnotherProtocol(t *testing.T) {
	state := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(state, control.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	other := http.NewServeMux()
	other.HandleFunc("/v2/", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Handler: other}
	go server.Serve(listener)
	defer server.Close()
	client := control.Dial(state)
	defer client.Close()
	var said error
	s := &Supervisor{
		State: state, Setup: []byte("routes: {}\n"), Client: client, Log: slog.New(slog.DiscardHandler), Trouble: func(err error) { said = err },
		Program: func() (string, error) { return "", errors.New("a second one is started") },
	}
	s.Look(t.Context())
	if said == nil || !strings.Contains(said.Error(), "it is of another version") {
		t.Errorf("what was said: %v", said)
	}
}
