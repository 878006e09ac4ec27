package gateway

import (
	"io"
	"net/http"
	"testing"
	"time"
)

// BenchmarkWay sends each request directly and through a door, in turn, and reports what the door adds.
func BenchmarkWay(b *testing.B) {
	r := newRig(b)
	through := r.open(spec("run"))
	var direct, door time.Duration
	for b.Loop() {
		begun := time.Now()
		request := ask(messages, "hello", true)
		request.URL.Host = r.url[len("http://"):]
		request.Header.Set("X-Api-Key", secret)
		take(b, http.DefaultClient, request)
		middle := time.Now()
		take(b, through, ask(messages, "hello", true))
		direct, door = direct+middle.Sub(begun), door+time.Since(middle)
	}
	b.ReportMetric(float64(direct.Microseconds())/float64(b.N), "direct-µs")
	b.ReportMetric(float64((door-direct).Microseconds())/float64(b.N), "added-µs")
	b.ReportMetric(float64(door)/float64(direct), "ratio")
}

func take(b *testing.B, c *http.Client, request *http.Request) {
	response, err := c.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		b.Fatal(response.Status, err)
	}
}
