package output

// What is kept of a run: so many segments, and so much in them. Small ones come fast, and a client that looks twice a second is to find
// them all.
const (
	MaxSegments = 1024
	fullKept    = 64 // as many as that where each is full
	maxKept     = fullKept * segmentBytes
)

// kept are the sizes of a run's segments that are there, the newest last. Their numbers have no hole.
type kept struct {
	sizes []int
	all   int
}

// add adds a segment, and says how many of the oldest are to go.
func (k *kept) add(size int) (surplus int) {
	k.sizes, k.all = append(k.sizes, size), k.all+size
	for len(k.sizes)-surplus > MaxSegments || k.all > maxKept && len(k.sizes)-surplus > 1 {
		k.all -= k.sizes[surplus]
		surplus++
	}
	k.sizes = append(k.sizes[:0], k.sizes[surplus:]...)
	return surplus
}

// drop drops the oldest segments over the bound. What lies there of an earlier watcher, or of another sandbox of the run, counts as full:
// how much is in it was not noted.
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

// Span are the first and the last segment that are still there.
func (s *Live) Span() (first, last int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.kept.sizes); n > 0 {
		return s.Seq - n + 1, s.Seq
	}
	return max(1, s.Seq-MaxSegments+1), s.Seq
}
