package images

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// slowBody sends pieces of n bytes, each after a while, and ends when the request does.
func slowBody(n int, after time.Duration) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		out, in := io.Pipe()
		go func() {
			for {
				select {
				case <-r.Context().Done():
					in.CloseWithError(r.Context().Err())
					return
				case <-time.After(after):
					in.Write(make([]byte, n))
				}
			}
		}()
		return &http.Response{StatusCode: http.StatusOK, Body: out, Request: r}, nil
	}
}

func TestPatience(t *testing.T) {
	cases := map[string]struct {
		n      int
		after  time.Duration
		reader time.Duration // how long the reader takes for a piece
		bytes  int64         // how many have come when it ends
		code   Code
	}{
		"nothing":                 {1, time.Hour, 0, 0, Slow},
		"drops":                   {100, time.Second, 0, 1000, Slow},
		"slow but steady":         {8 << 10, time.Second, 0, 1 << 20, Mismatch},
		"quick for a slow reader": {100, 0, time.Minute, 1 << 20, Mismatch},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate("r.example", Options{Transport: slowBody(test.n, test.after), Patience: 10 * time.Second})
				request, err := http.NewRequestWithContext(withBound(t.Context(), 1<<20), http.MethodGet, "https://r.example/", nil)
				if err != nil {
					t.Fatal(err)
				}
				response, err := g.RoundTrip(request)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				var n int64
				piece := make([]byte, 32<<10)
				for err == nil {
					var got int
					got, err = response.Body.Read(piece)
					n += int64(got)
					time.Sleep(test.reader)
				}
				wants(t, err, test.code)
				if n != test.bytes {
					t.Errorf("%d bytes came", n)
				}
			})
		})
	}
}
