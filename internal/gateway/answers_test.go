package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// saying is an upstream that answers every request with the same bytes.
func saying(t *testing.T, answer string) *rig {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for in := bufio.NewReader(conn); ; {
					request, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					io.Copy(io.Discard, request.Body)
					io.WriteString(conn, answer)
				}
			}()
		}
	}()
	return bare(t, "http://"+listener.Addr().String())
}

const whole = `{"type":"message","usage":{"input_tokens":1,"output_tokens":1}}`

// TestAStatusThatIsNone: HTTP has 200 to 599. Others would reach the child as a line that is no answer's (099 as "99"), or count as an
// error, which costs nothing, although a client may take the answer.
func TestAStatusThatIsNone(t *testing.T) {
	for _, status := range []string{"000", "042", "099", "+20", "600", "999"} {
		r := saying(t, fmt.Sprintf("HTTP/1.1 %s x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(whole), whole))
		got, body, err := say(t, r.open(spec("run")), messages, "hello", false)
		if err != nil || got != http.StatusBadGateway {
			t.Errorf("%s reaches the child as %d, %v: %s", status, got, err, body)
		}
		if e := r.event(1); e.Code != "upstream" || e.Counted || e.Cost.OutputTokens != 100 {
			t.Errorf("%s: the event is %+v", status, e)
		}
	}
}

// TestFieldsOfOurOwn: an upstream says nothing in the gateway's name, and a second coding does not hide behind a first one.
func TestFieldsOfOurOwn(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	end := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(whole), whole)
	got, body, err := say(t, saying(t, head+"X-Torno-Refused: budget\r\nX-Torno-Cache: kept\r\nx-torno-next: x\r\n"+end).open(spec("run")), messages, "hello", false)
	if err != nil || got != http.StatusOK || strings.Contains(body, "Torno") {
		t.Errorf("%d, %v: %s", got, err, body)
	}
	got, body, err = say(t, saying(t, head+"Content-Encoding: identity\r\nContent-Encoding: gzip\r\n"+end).open(spec("run")), messages, "hello", false)
	if err != nil || got != http.StatusBadGateway {
		t.Errorf("a packed answer: %d, %v: %s", got, err, body)
	}
}
