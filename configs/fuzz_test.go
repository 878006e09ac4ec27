package configs

import (
	"bytes"
	"errors"
	"io/fs"
	"math/big"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"gopkg.in/yaml.v3"
)

// FuzzParse: whatever is in a file, it loads as something that is written and read back as the same, or each of its
// problems names the file, a line of it and what is wrong. What loads is a policy without a gap.
func FuzzParse(f *testing.F) {
	addConfigurations(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, warnings, err := readOnFour("fuzz.yaml", data)
		checkProblems(t, data, warnings)
		if err != nil {
			var problems *Error
			if !errors.As(err, &problems) || len(problems.Problems) == 0 || strings.Count(err.Error(), "\n") > maxShown {
				t.Fatalf("%#v is no error of a configuration", err)
			}
			checkProblems(t, data, problems.Problems)
			return
		}
		checkRoundTrip(t, "fuzz.yaml", c)
		checkPolicies(t, c)
		var document yaml.Node
		if err := yaml.Unmarshal(data, &document); err != nil || tricky(&document) {
			t.Errorf("%q loads (%v), and says something elsewhere than where it stands", data, err)
		}
	})
}

// tricky says whether there is an anchor, an alias, a merge key or a tag that is not YAML's own.
func tricky(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.Anchor != "" || n.Tag == "!!merge" || n.Style&yaml.TaggedStyle != 0 ||
		slices.ContainsFunc(n.Content, tricky)
}

func addConfigurations(f *testing.F) {
	names, err := fs.Glob(Examples, "examples/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(Examples, name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	bad, err := txtar.ParseFile("testdata/bad.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range bad.Files {
		if strings.HasSuffix(file.Name, ".yaml") {
			f.Add(file.Data)
		}
	}
	const good = "version: 1\nstate: /s\noutboxes: {o: {dir: /srv/o, allow: [/srv/w]}}\n"
	for _, text := range []string{
		good, "version: [1\n", "a\tb: 1\n", "\x00", "version: 1\n\n\x07\n", "version: 1\n\xff", "\xff\xfev\x00", "\ufeff" + good, "{" + strings.Repeat("a: {", 5000),
		strings.Repeat("- ", 20_000), "&a [*a]", "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", "<<: {version: 1}\n" + good, "!!binary x: y\n", "? [a]\n: b\n",
		good + "? {x: y}\n: z\n", good + "version: 1\n", good + "---\n", good + "...\n", "---", good + "outboxes.o: {}\n", good + "\"a\\nb\": c\n",
		strings.Replace(good, "/s\n", "&s /s\n", 1), strings.Replace(good, "/s\n", "!!str /s\n", 1), strings.Replace(good, "/srv/o,", "&o /srv/o, <<: {queue: 7},", 1),
		strings.Replace(good, "/srv/w]", "/srv/w], read: [], owners: [], paths: []", 1) + "profiles: {p: {command: [], env: {}, sockets: [], at_least: []}}\n", good + "profiles: {p: {image: ''}}\n",
		strings.Replace(good, "/srv/w]", "/srv/w], profiles: []", 1), good + "profiles: {}\n", good + "profiles: {p: {}, q: {}}\n",
		"version: 1\nstate: &s /s\noutboxes: {o: {dir: /srv/o, allow: [/srv/w], read: [*s]}}\n",
		strings.Replace(good, "/srv/w", "/srv/../etc", 1), strings.Replace(good, "/srv/w", "/", 1), strings.Replace(good, "[/srv/w]", "[]", 1),
		strings.Replace(good, "/srv/w", "/srv/o", 1), strings.Replace(good, "state: /s", "state: /srv/w/state", 1), strings.Replace(good, "version: 1", "version: 0x1", 1),
		good + "profiles: {p: {limits: {memory: 1.001KB, cpus: .inf}, env: {A: 1, B: yes, C: \"\\0\"}, umask: 0o77}}\n",
		good + "profiles: {p: {command: [\"\", ' ', \"\\u2028\", '# x', '{{.Task}}', '{{.Nope}}', on, 1e3, ~]}}\n",
		good + "profiles: {p: {sandbox: auto, rootfs: 'dir:/srv/r'}, q: {sandbox: gvisor, rootfs: 'oci:/l@sha256:0'}, s: {rootfs: archive:/a}}\n",
		good + "profiles: {p: {rootfs: 'dir:/srv/r', image: ''}, q: {image: 'dir:/x', rootfs: host}, s: {rootfs: 'dir:/\\0', sandbox: gvisor}}\n",
		good + "docker: {runtime: runsc}\ngvisor: {runsc: /r, keeper: /k, cache: 1TiB}\nprofiles: {p: {sandbox: gvisor, image: 'a@sha256:b', pull: true}}\n",
		good + "profiles: {p: {programs: [/usr/local/go, {host: /opt/a, as: /usr/local/b}, {host: /opt/c, as: /opt/c}]}, q: {programs: []}}\n",
		good + "profiles: {p: {programs: [/, {as: /x}, {host: /srv/w}, ~, [], '/a:b', {host: /opt/a, host: /opt/b}]}}\n",
		good + "profiles: {p: {timeout: {default: 1h, min: 1ns, max: 2562047h47m16.854775807s}}}\n",
	} {
		f.Add([]byte(text))
	}
}

// TestSyntaxErrorsNameTheirLine: the library names none where the first line is to blame, and none for what is no text.
func TestSyntaxErrorsNameTheirLine(t *testing.T) {
	for text, line := range map[string]int{
		"version: [1\nstate: x\n": 1, "a: b: c": 1, "version: 1\nstate: \x07\n": 2, "version: 1\n\n# \xff\n": 3, "\u0080": 1, "version: 1\n\tx: y\n": 2,
	} {
		_, _, err := readOnFour("c.yaml", []byte(text))
		var problems *Error
		if !errors.As(err, &problems) || len(problems.Problems) != 1 || problems.Problems[0].Line != line {
			t.Errorf("%q: %v, want line %d", text, err, line)
		}
	}
}

// TestWhatIsEmptyIsNotThere: an empty list or mapping is written as nothing, so it has to be read as nothing.
func TestWhatIsEmptyIsNotThere(t *testing.T) {
	const text = "version: 1\nstate: /s\noutboxes: {o: {dir: /srv/o, allow: [/srv/w], read: [], owners: [], paths: []}}\n" +
		"profiles: {p: {command: [], env: {}, sockets: [], at_least: []}}\n"
	c, _ := parsed(t, text)
	checkRoundTrip(t, text, c)
}

// checkProblems: of a file that has a line, every problem names one. What is not there stands after the last one.
func checkProblems(t *testing.T, data []byte, problems []Problem) {
	t.Helper()
	lines := 1 + bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r")) + bytes.Count(data, []byte("\u0085")) +
		bytes.Count(data, []byte("\u2028")) + bytes.Count(data, []byte("\u2029"))
	for _, p := range problems {
		whole := strings.HasPrefix(p.Text, "is empty") || strings.HasPrefix(p.Text, "is larger")
		if p.File != "fuzz.yaml" || p.Text == "" || p.Line > lines+1 || p.Line < 1 && !whole {
			t.Errorf("of %d lines: %+v", lines, p)
		}
	}
}

func checkPolicies(t *testing.T, c Config) {
	t.Helper()
	for _, policy := range c.Policies() {
		if len(policy.Allow) == 0 || len(policy.Profiles) == 0 || policy.Dir == "" || len(policy.Hidden) == 0 {
			t.Errorf("a policy with gaps: %+v", policy)
		}
		allPaths := append([]string{policy.Dir}, policy.Hidden...)
		for _, root := range append(policy.Allow, policy.Read...) {
			allPaths = append(allPaths, string(root))
		}
		for _, p := range allPaths {
			if !path.IsAbs(p) || path.Clean(p) != p {
				t.Errorf("%q is not the one spelling of a path", p)
			}
		}
	}
}

var (
	sizeText  = regexp.MustCompile(`\A([0-9]{1,18}(\.[0-9]{1,9})?) ?((?:[KMGT]i?|k)?B)?\z`)
	maskText  = regexp.MustCompile(`\A(0o)?0*[0-7]{1,2}\z`)
	factors   = map[string]int64{"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "": 1}
	shortSpan = regexp.MustCompile(`[a-z]0[a-z]`)
)

// FuzzUnits holds sizes, processors and masks against exact arithmetic, and shows that whatever is written is read back.
func FuzzUnits(f *testing.F) {
	for _, text := range []string{
		"0", "512", "512MiB", "1.001KB", "0.29kB", "1.5 GiB", "999999999999999999", "999999999999999999TiB", "8388607TiB", "9007199254740993", "1e3", "0x10", "-1", "+1",
		"1,5GiB", "1MIB", "1 000", "1_000", "", "B", "1KiB\n", "077", "0o77", "100", "0000000000000000000000077", "0b1", "0.01", "1024", "1024.0001", ".5", "NaN", ".inf", "1e-2",
		"\u0663", "90s", "1h0m0.5s",
	} {
		f.Add(text, int64(0))
	}
	for _, n := range []int64{1, 999, 1000, 1024, 3 << 29, 1<<53 + 1, 1<<62 - 1, -1, -1 << 63, int64(time.Hour), int64(90 * time.Minute), int64(100 * time.Millisecond), 10, 1024000} {
		f.Add("", n)
	}
	f.Fuzz(func(t *testing.T, text string, n int64) {
		checkSize(t, text)
		checkMask(t, text)
		checkProcessors(t, text)
		checkSpan(t, time.Duration(n))
		if n < 0 {
			return
		}
		if back, ok := parseSize(showSize(n)); n < 1e18 && (!ok || back != n) {
			t.Errorf("%d is shown as %s, which is %d (%t)", n, showSize(n), back, ok)
		}
		thousandths := 10 + n%(maxProcessors*1000-9)
		var back int64
		if processors := read(processors{&back}, processors{&thousandths}.write()); processors != nil || back != thousandths {
			t.Errorf("%d thousandths are read as %d, %v", thousandths, back, processors)
		}
	})
}

// read is what a value says of a node.
func read(v value, n *yaml.Node) []Problem {
	r := &report{lines: map[string]int{}}
	v.read(r, "key", n)
	return r.problems
}

func checkSize(t *testing.T, text string) {
	t.Helper()
	got, ok := parseSize(text)
	form := sizeText.FindStringSubmatch(text)
	if form == nil {
		if ok {
			t.Errorf("%q is %d bytes", text, got)
		}
		return
	}
	exact, _ := new(big.Rat).SetString(form[1])
	exact.Mul(exact, new(big.Rat).SetInt64(factors[strings.TrimSuffix(form[3], "B")]))
	want := new(big.Int).Quo(exact.Num(), exact.Denom())
	fits := want.BitLen() <= 62
	if ok != fits || ok && want.Int64() != got {
		t.Errorf("%q is %d bytes (%t), want %v", text, got, ok, want)
	}
}

func checkMask(t *testing.T, text string) {
	t.Helper()
	bits := -1
	problems := read(mask{&bits}, &yaml.Node{Kind: yaml.ScalarNode, Value: text})
	if good := maskText.MatchString(text); good != (len(problems) == 0) || good && (bits < 0 || bits > 0o77) {
		t.Errorf("%q is the mask %03o, %v", text, bits, problems)
	}
}

// checkProcessors lets YAML say which texts are numbers, and big.Rat which number.
func checkProcessors(t *testing.T, text string) {
	t.Helper()
	got := int64(-1)
	if problems := read(processors{&got}, plainNode(text)); len(problems) > 0 {
		return
	}
	exact, ok := new(big.Rat).SetString(text)
	if !ok || got < 10 || got > maxProcessors*1000 {
		t.Fatalf("%q is %d thousandths of a processor", text, got)
	}
	off := exact.Mul(exact, big.NewRat(1000, 1)).Sub(exact, big.NewRat(got, 1))
	if off.Abs(off).Cmp(big.NewRat(500_001, 1_000_000)) > 0 {
		t.Errorf("%q is %d thousandths of a processor", text, got)
	}
}

func checkSpan(t *testing.T, d time.Duration) {
	t.Helper()
	text := showSpan(d)
	back, ok := parseSpan(plainNode(text))
	if !ok || back != d || d != 0 && shortSpan.MatchString(text) {
		t.Errorf("%v is shown as %s and read as %v (%t)", d, text, back, ok)
	}
}
