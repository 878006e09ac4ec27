package usage

// slot names a scalar that is looked for.
type slot uint8

const (
	none slot = iota
	input
	output
	cacheRead
	cacheWrite
	cacheWriteHour
	total
	toolInput  // read beside the prompt
	thinking   // written beside the output
	startInput // and the four after it, in the same order: what a stream told at its start
	startOutput
	startCacheRead
	startCacheWrite
	startCacheWriteHour
	firstText // from here on texts, not numbers
	kind
	finish
	slots
)

// found holds the values of a document that the scanner looks for.
type found struct {
	numbers [firstText]int64
	seen    [slots]bool
	kind    string
	bad     bool // a number cannot be read, or not be believed
}

// count keeps a number. Where a document tells it twice, the higher one counts.
func (f *found) count(at slot, n int64) {
	f.numbers[at] = max(f.numbers[at], n)
	f.seen[at] = true
}

// say keeps a text. A document that says of what kind it is twice is not to be believed.
func (f *found) say(at slot, text string) {
	f.bad = f.bad || at == kind && f.seen[kind] && text != f.kind
	f.seen[at] = true
	if at == kind {
		f.kind = text
	}
}

// raise takes every number of another document that is higher.
func (f *found) raise(other *found) {
	for i := range f.numbers {
		f.numbers[i] = max(f.numbers[i], other.numbers[i])
	}
	for i := range f.seen {
		f.seen[i] = f.seen[i] || other.seen[i]
	}
	f.bad = f.bad || other.bad
}
