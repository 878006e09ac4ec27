package delegation

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkOutbox shows that reading and publishing cost the same however full the outbox is.
func BenchmarkOutbox(b *testing.B) {
	for _, files := range []int{0, 100_000} {
		outbox := newOutbox(b)
		for i := range files {
			write(b, outbox, fmt.Sprintf("response_%d.json", i), "")
		}
		b.Run(fmt.Sprintf("publish/%d", files), func(b *testing.B) {
			for b.Loop() {
				if err := outbox.Publish("request_s1.json", []byte("{}")); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("read/%d", files), func(b *testing.B) {
			for b.Loop() {
				if _, _, err := outbox.Read("request_s1.json", 100); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeRequest(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		request := Request{
			SubagentID: subagentID(b, "s1"), RequestID: requestID(b, "r1"), Workspace: "w", TimeoutSeconds: 1, Task: strings.Repeat("a b\n", size/4),
		}
		data, err := request.Encode()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(len(data)), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := DecodeRequest(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
