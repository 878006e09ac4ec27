package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// family is a metric with all of its series, in the text format of Prometheus, version 0.0.4.
type family struct {
	name, kind, help string
	labels           []string
	series           map[string]float64 // by the labels, as the function written writes them
}

func newFamily(kind, name, help string, labels ...string) *family {
	return &family{name: "torno_" + name, kind: kind, help: help, labels: labels, series: map[string]float64{}}
}

// add adds to the series with these values of the labels, in the order of f.labels.
func (f *family) add(by float64, values ...string) { f.series[written(f.labels, values)] += by }

func (f *family) write(to *strings.Builder) {
	f.head(to)
	for _, labels := range slices.Sorted(maps.Keys(f.series)) {
		sample(to, f.name, labels, f.series[labels])
	}
}

func (f *family) head(to *strings.Builder) {
	fmt.Fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
}

func sample(to *strings.Builder, name, labels string, value float64) {
	fmt.Fprintf(to, "%s%s %s\n", name, labels, strconv.FormatFloat(value, 'g', -1, 64))
}

// written writes labels as the format wants them.
func written(names, values []string) string {
	if len(names) == 0 {
		return ""
	}
	pairs := make([]string, len(names))
	for i, name := range names {
		pairs[i] = name + `="` + escaped(values[i]) + `"`
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// escaped writes the value of a label, so that no text can end the value or the line.
func escaped(value string) string {
	return strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`).Replace(strings.ToValidUTF8(value, "�"))
}

// bounds are the upper ends of the buckets, in seconds.
var bounds = [...]float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600, 3600}

// histogram is one series of a histogram.
type histogram struct {
	buckets [len(bounds)]uint64 // each one also counts the values of the buckets before it
	count   uint64
	sum     float64
}

func (h *histogram) observe(seconds float64) {
	for i, bound := range bounds {
		if seconds <= bound {
			h.buckets[i]++
		}
	}
	h.count++
	h.sum += seconds
}

// write writes the samples. Each has the given label with the given value.
func (h *histogram) write(to *strings.Builder, name, label, value string) {
	bucket := func(end string, count uint64) {
		sample(to, name+"_bucket", written([]string{label, "le"}, []string{value, end}), float64(count))
	}
	for i, bound := range bounds {
		bucket(strconv.FormatFloat(bound, 'g', -1, 64), h.buckets[i])
	}
	bucket("+Inf", h.count)
	labels := written([]string{label}, []string{value})
	sample(to, name+"_sum", labels, h.sum)
	sample(to, name+"_count", labels, float64(h.count))
}
