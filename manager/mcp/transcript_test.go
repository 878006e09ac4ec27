package mcp

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// A transcript is a session: what the client and the host do, and what the model reads. Lines that begin with these are played:
//
//	> TOOL ARGUMENTS     the model calls a tool
//	! LINE               the client writes a line as it is
//	$ VERB ARG…          the host does something, see stage.do; "$ outbox" lists its files, "$ asked ID" a request, "$ model ID" its model, "$ wanted ID" what
//	                   else a request asks for (of the newest one where ID is *), "$ sent ID N" an input, "$ config ID" its run configuration,
//	                   "$ file NAME" a file of the parent's
//	@ BUDGETS            the server begins anew with budgets, as JSON
//
// All else is what came of it, with what differs each time taken out. go test -run Transcripts -update writes it anew.
func TestTranscripts(t *testing.T) { Transcripts(t, "testdata", Options{}) }

// Transcripts plays the transcripts of a directory, with the tools that the options choose.
func Transcripts(t *testing.T, dir string, o Options) {
	TranscriptsAt(t, dir, func(string) Options { return o })
}

// TranscriptsAt is Transcripts for a set that must know the directory of the parent's. Each server has a set of its own.
func TranscriptsAt(t *testing.T, dir string, at func(origin string) Options) {
	all, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(all) == 0 {
		t.Fatal("there are no transcripts:", err)
	}
	for _, path := range all {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil || len(archive.Files) != 1 {
				t.Fatal("a transcript is one file:", err)
			}
			was := archive.Files[0].Data
			s := newStage(t)
			is := play(s, was, func() Options {
				o := at(s.origin)
				o.Fresh = -1
				return o
			})
			if *update {
				archive.Files[0].Data = is
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if !bytes.Equal(was, is) {
				t.Errorf("%s", diff.Diff("want", was, "got", is))
			}
		})
	}
}

func play(s *stage, transcript []byte, base func() Options) []byte {
	s.Helper()
	var tasks taskNames
	var out bytes.Buffer
	var p *peer
	for line := range strings.Lines(string(transcript)) {
		if !strings.ContainsAny(line[:1], ">!$@#") {
			continue
		}
		out.WriteString(line)
		kind, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		rest = strings.NewReplacer("$ORIGIN", s.origin, "$OUTBOX", s.path).Replace(rest)
		rest = tasks.put(rest)
		var came string
		switch word, more, _ := strings.Cut(rest, " "); kind {
		case "@":
			o := base()
			s.check(json.Unmarshal([]byte(rest), &o.Budgets))
			p = s.serve(o)
		case "$":
			switch word {
			case "outbox":
				came = s.files() + "\n"
			case "asked":
				came = s.asked(more)
			case "model":
				came = fmt.Sprintf("model %q\n", s.request(more).Model)
			case "sent":
				came = s.sent(more)
			case "wanted":
				came = s.wanted(more)
			case "config":
				came = s.config(more)
			case "file":
				came = s.file(more)
			default:
				s.do(word, fields(expand(more)))
			}
		case ">":
			if p == nil {
				p = s.serve(base())
			}
			came = shown(p.tool(word, expand(more)))
		case "!":
			if p == nil {
				p = s.serve(base())
			}
			p.send(expand(rest))
			came = shownRaw(p.hear())
		}
		out.WriteString(s.normal(tasks.take(came)))
	}
	return out.Bytes()
}

// taskNames are the ids that tools chose for tasks, in their order. A transcript calls them $TASK1, $TASK2….
type taskNames []string

// take writes the names for the ids, and finds new ids.
func (n *taskNames) take(text string) string {
	for _, found := range taskID.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(*n, found[1]) {
			*n = append(*n, found[1])
		}
	}
	for i, id := range *n {
		text = strings.ReplaceAll(text, id, fmt.Sprintf("$TASK%d", i+1))
	}
	return text
}

// put writes the ids for the names.
func (n taskNames) put(text string) string {
	for i, id := range n {
		text = strings.ReplaceAll(text, fmt.Sprintf("$TASK%d", i+1), id)
	}
	return text
}

// fields are words, or texts in quotes.
func fields(line string) (all []string) {
	for _, f := range regexp.MustCompile(`"((?:[^"\\]|\\.)*)"|\S+`).FindAllStringSubmatch(line, -1) {
		if strings.HasPrefix(f[0], `"`) {
			all = append(all, f[1])
		} else {
			all = append(all, f[0])
		}
	}
	return all
}

// expand writes LONG(n) as n letters.
func expand(text string) string {
	return regexp.MustCompile(`LONG\((\d+)\)`).ReplaceAllStringFunc(text, func(m string) string {
		var n int
		fmt.Sscanf(m, "LONG(%d)", &n)
		return strings.Repeat("x", n)
	})
}

// shown is a tool's result as the two kinds of clients give it to a model.
func shown(r said) string {
	var b strings.Builder
	if r.IsError {
		b.WriteString("error\n")
	}
	for _, c := range r.Content {
		for line := range strings.Lines(c.Text) {
			b.WriteString("  text  " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	if r.Struct == nil {
		return b.String()
	}
	return b.String() + "  json  " + string(r.Struct) + "\n"
}

func shownRaw(r reply) string {
	if r.Error != nil {
		return fmt.Sprintf("  id %s error %d %s\n", r.ID, r.Error.Code, r.Error.Message)
	}
	return fmt.Sprintf("  id %s result %s\n", r.ID, r.Result)
}

var (
	hash      = regexp.MustCompile(`\b[0-9a-f]{16,32}\b`)
	random    = regexp.MustCompile(`([a-z]+)_[0-9a-f]{8}\b`)
	took      = regexp.MustCompile(`"duration_ms":\d+`)
	since     = regexp.MustCompile(` for \d+ s\b|"running_seconds":\d+,`)
	sizes     = regexp.MustCompile(`request is \d+ bytes`)
	versionOf = regexp.MustCompile(`"version":"[^"]*"`)
	taskID    = regexp.MustCompile(`Task ID: ([a-z0-9]{6})(?:\n|\\n|$)`)
	clocks    = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC|\[\d\d:\d\d:\d\d\]`)
	spans     = regexp.MustCompile(`\b\d+\.\d\d?s\b`)
	seconds   = regexp.MustCompile(`"(execution_time_seconds|elapsed_seconds|waited_seconds)":\s?[0-9.e-]+|"(seconds_remaining)":[0-9.e-]+`)
	letters   = regexp.MustCompile(`msg_\d+_(\d+)\.json`)
	times     = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)`)
)

// normal takes out what differs each time.
func (s *stage) normal(text string) string {
	text = strings.NewReplacer(s.origin, "$ORIGIN", s.path, "$OUTBOX", filepath.Dir(s.path), "$BASE").Replace(text)
	text = strings.ReplaceAll(text, strings.TrimPrefix(note, "Fields named untrusted_* "), "…")
	text = strings.ReplaceAll(text, strings.ReplaceAll(noteRest, `\`, `\\`), "…")
	for _, r := range []struct {
		what *regexp.Regexp
		with string
	}{{hash, "HASH"}, {random, "${1}_RANDOM"}, {took, `"duration_ms":N`}, {versionOf, `"version":"VERSION"`}, {times, "TIME"}, {clocks, "TIME"}, {spans, "N.NNs"}, {since, ""}, {sizes, "request is N bytes"}, {seconds, `"$1$2":N`}, {letters, "msg_N_$1.json"}} {
		text = r.what.ReplaceAllString(text, r.with)
	}
	return text
}
