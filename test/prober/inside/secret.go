package inside

// Secret is a text that Search looks for. It is masked all the time: a program that knew the text would find itself.
type Secret struct {
	Name   string
	Masked []byte
}

// Errand is what to ask, and what to look for then.
type Errand struct {
	Secrets []Secret // those named "environment" and "memory" a child of its own is to have
	Asks    []Ask
	Answers string // the directory for the answers
}

// Ask is a request for a model.
type Ask struct {
	Name, Path, Body string
	// Until is the text with which it is enough of the answer: the connection stays open then. "" is for all of it.
	Until string
}

// Found has the findings of Search.
type Found struct {
	Places     map[string][]string // where a secret was, by its name
	Files      int                 // how many were read to their end
	Bytes      int64
	Memories   []int // processes whose memory was read
	Closed     []int // those whose memory may not be read
	Unreadable int   // files that may not be read
}

const mask = 0xa5

// Mask hides a text, and Unmask shows it again.
func Mask(text string) []byte {
	masked := []byte(text)
	for i := range masked {
		masked[i] ^= mask
	}
	return masked
}

// Unmask is the text that was masked.
func Unmask(masked []byte) string { return string(Mask(string(masked))) }

// matcher finds masked texts in bytes.
type matcher struct {
	secrets []Secret
	starts  [1 << 16]bool // the first two bytes of each secret
	longest int
}

func newMatcher(secrets []Secret) *matcher {
	m := &matcher{secrets: secrets}
	for _, s := range secrets {
		m.starts[startOf(s.Masked[0]^mask, s.Masked[1]^mask)] = true
		m.longest = max(m.longest, len(s.Masked))
	}
	return m
}

func startOf(first, second byte) uint16 { return uint16(first)<<8 | uint16(second) }

// in calls found with the name of each secret that begins in data.
func (m *matcher) in(data []byte, found func(name string)) {
	for i := 0; i+1 < len(data); i++ {
		if !m.starts[startOf(data[i], data[i+1])] {
			continue
		}
		for _, s := range m.secrets {
			if beginsWith(data[i:], s.Masked) {
				found(s.Name)
			}
		}
	}
}

func beginsWith(data, masked []byte) bool {
	if len(data) < len(masked) {
		return false
	}
	for i, b := range masked {
		if data[i] != b^mask {
			return false
		}
	}
	return true
}
