package usage

// slot names a scalar that the scanner looks for.
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
	startInput // this and the next four, in the same order as above: the numbers at a stream's start
	startOutput
	startCacheRead
	startCacheWrite
	startCacheWriteHour
	firstText // the slots from here on are texts, not numbers
	kind
	finish
	slots
)

// found holds the scalars that the scanner found in a document.
type found struct {
	numbers [firstText]int64
	seen    [slots]bool
	kind    string
	bad     bool // a number cannot be read or believed
}

// count keeps a number. If a document tells it twice, the higher one counts.
func (f *found) count(at slot, n int64) {
	f.numbers[at] = max(f.numbers[at], n)
	f.seen[at] = true
}

// say keeps a text. A document that names two different kinds is not believed.
func (f *found) say(at slot, text string) {
	f.bad = f.bad || at == kind && f.seen[kind] && text != f.kind
	f.seen[at] = true
	if at == kind {
		f.kind = text
	}
}

// raise takes over each number of another document that is higher than ours.
func (f *found) raise(other *found) {
	for i := range f.numbers {
		f.numbers[i] = max(f.numbers[i], other.numbers[i])
	}
	for i := range f.seen {
		f.seen[i] = f.seen[i] || other.seen[i]
	}
	f.bad = f.bad || other.bad
}
