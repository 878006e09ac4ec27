package gvisor_test

import (
	"testing"

	"torno/sandbox"
)

// BenchmarkAttest is the look at a sandbox that holds: what every run waits for between its start and its release.
func BenchmarkAttest(b *testing.B) {
	h := newHouse(b)
	base := workshop(b)
	l := h.launch(base, "ours")
	spec := specOf(base, "", "/bin/true")
	spec.RootFS = sandbox.RootFS{Host: true}
	held, err := l.Create(b.Context(), sandbox.NewSandboxID(), spec)
	if err == nil {
		err = l.Start(b.Context(), held)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer l.Remove(b.Context(), held)
	a, err := l.Open(b.Context(), held, "")
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	<-a.Output() // it holds
	b.ReportAllocs()
	for b.Loop() {
		if seen, err := l.Attest(b.Context(), held); err != nil || !seen.Attested {
			b.Fatalf("%+v, %v", seen, err)
		}
	}
}
