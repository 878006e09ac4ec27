package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzReader: what is taken, net/http reads as the same request, and it has a body of the same bytes. One that reads
// byte by byte reads the same.
func FuzzReader(f *testing.F) {
	for _, a := range attacks {
		if len(a.raw) < 1<<12 {
			f.Add([]byte(a.raw))
		}
	}
	f.Add([]byte(with("Content-Length: 5\r\nConnection: close, x-b\r\nX-B: c\r\n", "12345")))
	f.Add([]byte(with("Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n", "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		head, body, err := readAll(bytes.NewReader(raw), 1<<16)
		slow, slowBody, slowErr := readAll(iotest.OneByteReader(bytes.NewReader(raw)), 1<<16)
		if (err == nil) != (slowErr == nil) || !bytes.Equal(body, slowBody) || err == nil && head.Path != slow.Path {
			t.Fatalf("byte by byte it is another request: %v, %v", err, slowErr)
		}
		if err != nil {
			return
		}
		other, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			t.Fatalf("net/http refuses it: %v", err)
		}
		otherBody, err := io.ReadAll(other.Body)
		if err != nil || !bytes.Equal(body, otherBody) {
			t.Errorf("net/http reads another body, %q and not %q: %v", otherBody, body, err)
		}
		if other.Method != head.Method || other.URL.EscapedPath() != head.Path && other.URL.RawPath != "" || other.URL.RawQuery != head.RawQuery {
			t.Errorf("net/http reads %s %s, and not %+v", other.Method, other.URL, head)
		}
		for name, values := range head.Header {
			if !slices.Equal(other.Header[name], values) {
				t.Errorf("net/http reads %s as %q and not as %q", name, other.Header[name], values)
			}
		}
	})
}

func TestHeadKeepsNothingOfTheConnection(t *testing.T) {
	head, _, err := readAll(strings.NewReader(with("Content-Length: 1\r\nConnection: keep-alive, X-Secret, close\r\nX-Secret: a\r\nTE: gzip\r\nProxy-Authorization: b\r\nKeep-Alive: 5\r\nX-Stays: c\r\n", "1")), 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(head.Header) != 1 || head.Header.Get("X-Stays") != "c" || !head.Close {
		t.Errorf("got %+v", head)
	}
}

func TestUpgrades(t *testing.T) {
	for _, fields := range []string{
		"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
		"Connection: keep-alive, uPgRaDe\r\n",
		"Upgrade: h2c\r\n",
		"HTTP2-Settings: AAMAAABkAAQAAP__\r\n",
	} {
		head, _, err := readAll(strings.NewReader("GET /v1/responses HTTP/1.1\r\nHost: localhost\r\n"+fields+"\r\n"), 10)
		if err != nil || !head.Upgrade {
			t.Errorf("%q: %+v, %v", fields, head, err)
		}
	}
}

func TestAClientThatGoes(t *testing.T) {
	whole := with("Transfer-Encoding: chunked\r\n", "2\r\nab\r\n0\r\n\r\n")
	for cut := 1; cut < len(whole); cut++ {
		if _, _, err := readAll(strings.NewReader(whole[:cut]), 10); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut off behind %q: %v", whole[:cut], err)
		}
	}
	if _, _, err := readAll(strings.NewReader(""), 10); err != io.EOF {
		t.Errorf("nothing at all: %v", err)
	}
}

func TestAnswers(t *testing.T) {
	var raw bytes.Buffer
	header := http.Header{"Content-Type": {"text/event-stream"}, "Content-Length": {"7"}, "X-Line": {"a\r\nX-Forged: b"}}
	if err := (Answer{Status: 200, Header: header, Length: Chunked}).WriteHead(&raw); err != nil {
		t.Fatal(err)
	}
	pieces := NewPieces(&raw)
	for _, piece := range []string{"data: 1\n\n", "", "data: 2\n\n"} {
		if _, err := pieces.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	pieces.Close()
	response, err := http.ReadResponse(bufio.NewReader(&raw), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "data: 1\n\ndata: 2\n\n" || response.Header.Get("X-Forged") != "" || raw.Len() != 0 {
		t.Errorf("got %q with %v: %v", body, response.Header, err)
	}
}
