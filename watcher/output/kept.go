package output

// Bounds of the segments that are kept of a run: their number, and their size. Small segments come fast, and a client
// that looks twice a second must find them all.
const (
	MaxSegments = 1024
	fullKept    = 64 // this many, if each is full
	maxKept     = fullKept * segmentBytes
)

// kept has the sizes of the segments of a run that still exist, the newest last. Their numbers have no hole.
type kept struct {
	sizes []int
	all   int
}

// add adds a segment, and returns how many of the oldest must go.
func (k *kept) add(size int) (surplus int) {
	k.sizes, k.all = append(k.sizes, size), k.all+size
	for len(k.sizes)-surplus > MaxSegments || k.all > maxKept && len(k.sizes)-surplus > 1 {
		k.all -= k.sizes[surplus]
		surplus++
	}
	k.sizes = append(k.sizes[:0], k.sizes[surplus:]...)
	return surplus
}

// drop removes the oldest segments over the bound. Segments from an earlier watcher, or from another sandbox of the
// run, count as full, because their sizes were not noted.
func (s *Live) drop(size int) {
	if len(s.kept.sizes) == 0 {
		for range min(fullKept, s.Seq-1) {
			s.kept.add(segmentBytes)
		}
		for old := max(1, s.Seq-MaxSegments); old < s.Seq-fullKept; old++ {
			s.Remove(old)
		}
	}
	surplus := s.kept.add(size)
	oldest := s.Seq - len(s.kept.sizes) + 1
	for old := oldest - surplus; old < oldest; old++ {
		s.Remove(old)
	}
}

// Span returns the numbers of the first and the last segment that still exist.
func (s *Live) Span() (first, last int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.kept.sizes); n > 0 {
		return s.Seq - n + 1, s.Seq
	}
	return max(1, s.Seq-MaxSegments+1), s.Seq
}
