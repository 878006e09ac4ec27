package route

import (
	"slices"
	"strings"

	"torno/internal/nearest"
)

const maxModel = 256

// model returns the upstream's name of a model, or an error if the child may not have it.
func (r *Route) model(name string) (string, error) {
	if !isModel(name) {
		return "", bad(CodeModel, "the name of the model has characters that no model has, or is too long")
	}
	lower := strings.ToLower(name)
	has := func(variant string) bool { // the parts of a tuned model's name are an organisation's words
		return !strings.HasPrefix(lower, "ft:") && slices.Contains(strings.Split(lower, ":")[1:], variant)
	}
	if !r.reaches("stored") && strings.Contains(lower, "@preset/") {
		return "", bad(CodeReach, "this route has no stored presets of models (@preset/), because a preset may name another model")
	}
	if !r.reaches("web_search") && has("online") {
		return "", bad(CodeReach, "this route has no models that search the web (:online)")
	}
	if !r.reaches("provider") && has("nitro") {
		return "", bad(CodeReach, "this route has no models of the fastest provider (:nitro), because their price is different")
	}
	at := slices.IndexFunc(r.Models, func(m Model) bool { return m.Name == name })
	if at < 0 && strings.HasSuffix(lower, "[1m]") {
		return "", bad(CodeReach, "this route has no models with the long window ([1m]), because their price is different; "+
			"ask for %s", short(name[:len(name)-len("[1m]")]))
	}
	if len(r.Models) == 0 {
		return name, nil
	}
	if at < 0 {
		at = slices.IndexFunc(r.Models, func(m Model) bool {
			begin, open := strings.CutSuffix(m.Name, "*")
			return open && strings.HasPrefix(name, begin)
		})
	}
	if at < 0 {
		return "", bad(CodeModel, "the route %s has no model %s%s", r.Name, short(name), r.offer(name))
	}
	if r.Models[at].Upstream != "" {
		return r.Models[at].Upstream, nil
	}
	return name, nil
}

// offer names the available models.
func (r *Route) offer(name string) string {
	var names []string
	for _, m := range r.Models {
		names = append(names, m.Name)
	}
	if near := nearest.Word(name, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; it has " + strings.Join(names, ", ")
}

// isModel reports whether a text can be the name of a model. It has no character with a meaning in a path, in JSON, or
// in a log.
func isModel(name string) bool {
	if name == "" || len(name) > maxModel {
		return false
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`%\;?#"<>^{|}`+"`", c) >= 0 {
			return false
		}
	}
	_, err := decodeSegment(name)
	return err == nil
}
